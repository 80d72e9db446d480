//! Cases in which two or three axes take extents at which the rule's integers may make a difference.
//!
//! A rule may be wrong at one combination of extents: `(eq (mul ?m ?n) 143) => false`, where the variables
//! are extents. The axes belong to one variable, or to several. All other axes have the extent 1.

use super::cases::{MAX_RANK, attr_count, attrs_beside, case, nth_attrs};
use super::dynamic::applied;
use super::integers::{extents_near, sizes};
use super::sample::thinned;
use crate::rule::Rule;
use crate::rule::typing::Case;
use rewright_ir::DType;

/// All combinations of extents up to this one are among other cases.
const SHORTEST: u64 = 3;

/// The limits on extents in pairs, and in combinations of three.
const MAX_PAIRED: usize = 28;
const MAX_OF_THREE: usize = 4;

/// The limit on elements of an array.
const MAX_SIZE: u64 = 1 << 14;

/// The limit on elements of all arrays, and on combinations whose types are inferred.
const MAX_ELEMENTS_OF_ALL: u64 = 1 << 21;
const MAX_TRIED: usize = 6_000;

/// The combinations of attributes for each combination of shapes.
const MAX_ATTRS: usize = 2;

/// The cases of a rule, for these combinations of dtypes in turn. There are none if its integers are small.
pub(super) fn extent_pairs(rule: &Rule, dtypes: &[Vec<DType>]) -> Vec<Case> {
    let near = extents_near(rule);
    if dtypes.is_empty() || near.iter().all(|&n| n <= SHORTEST) {
        return Vec::new();
    }
    let mut cases = Vec::new();
    let (mut tried, mut elements) = (0, 0);
    for shapes in shapes(rule, near) {
        let size: u64 = shapes.iter().map(|shape| shape.iter().product::<u64>()).sum();
        if tried >= MAX_TRIED || elements + size > MAX_ELEMENTS_OF_ALL {
            break;
        }
        let choices = attrs_beside(rule, &shapes, &[]);
        for number in thinned((0..attr_count(&choices)).collect(), MAX_ATTRS) {
            let of_vars = &dtypes[tried % dtypes.len()];
            if let Some(made) = applied(rule, case(rule, of_vars, &shapes, nth_attrs(&choices, number))) {
                cases.push(made);
                elements += size;
            }
            tried += 1;
        }
    }
    cases
}

/// The shapes of all variables, the likeliest extents first.
fn shapes(rule: &Rule, near: Vec<u64>) -> Vec<Vec<Vec<u64>>> {
    let count = rule.vars.len();
    let arrays: Vec<usize> = (0..count).filter(|&var| !rule.vars[var].constant).collect();
    let mut likely: Vec<u64> = near.into_iter().filter(|&n| n > SHORTEST).collect();
    let written: Vec<u64> = sizes(rule).into_iter().filter(|&n| (SHORTEST + 1..=MAX_SIZE).contains(&n)).collect();
    let written = thinned(written, MAX_OF_THREE);
    likely.truncate(MAX_PAIRED);
    likely.extend(0..=SHORTEST);
    let mut pairs: Vec<(usize, usize)> =
        (0..likely.len()).flat_map(|a| (0..likely.len()).map(move |b| (a, b))).collect();
    pairs.sort_by_key(|(a, b)| a + b);
    let pairs = pairs.into_iter().map(|(a, b)| (likely[a], likely[b])).filter(|(a, b)| *a.max(b) > SHORTEST);
    let mut all: Vec<Vec<Vec<u64>>> = Vec::new();
    let triples = written.iter().flat_map(|&a| written.iter().map(move |&b| (a, b)));
    for (a, b, c) in triples.flat_map(|(a, b)| written.iter().map(move |&c| (a, b, c))) {
        for rank in 3..=MAX_RANK {
            all.push(vec![with(rank, &[(0, a), (1, b), (2, c)]); count]);
        }
        if arrays.len() > 2 {
            let extent = |var: usize| match arrays.iter().position(|&array| array == var) {
                Some(at) => vec![[a, b, c].get(at).copied().unwrap_or(1)],
                None => Vec::new(),
            };
            all.push((0..count).map(extent).collect());
        }
    }
    for (a, b) in pairs {
        // Two axes of one variable.
        for rank in [2, 3] {
            for (i, j) in (0..rank).flat_map(|i| (i + 1..rank).map(move |j| (i, j))) {
                let shape = with(rank, &[(i, a), (j, b)]);
                all.push(vec![shape.clone(); count]);
                if count > 1 && rank == 2 {
                    all.extend(arrays.iter().map(|&one| {
                        (0..count).map(|var| if var == one { shape.clone() } else { Vec::new() }).collect()
                    }));
                }
            }
        }
        // One axis of each of two variables.
        for (at, &first) in arrays.iter().enumerate() {
            for &second in &arrays[at + 1..] {
                for (rank, i, j) in [(1, 0, 0), (2, 0, 1), (2, 0, 0), (2, 1, 1), (2, 1, 0)] {
                    let shape = |var: usize| match var {
                        _ if var == first => with(rank, &[(i, a)]),
                        _ if var == second => with(rank, &[(j, b)]),
                        _ => vec![1; rank],
                    };
                    all.push((0..count).map(shape).collect());
                }
            }
        }
    }
    all.retain(|shapes| shapes.iter().all(|shape| shape.iter().product::<u64>() <= MAX_SIZE));
    all
}

/// A shape of this rank, with these extents of some axes and 1 of all others.
fn with(rank: usize, extents: &[(usize, u64)]) -> Vec<u64> {
    let mut shape = vec![1; rank];
    extents.iter().for_each(|&(axis, extent)| shape[axis] = extent);
    shape
}
