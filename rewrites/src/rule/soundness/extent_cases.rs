//! Cases in which each axis takes each extent: 0, 1, 2, 3, and extents related to the rule's integers.
//!
//! A rule that is wrong for empty arrays, or for arrays of one element, is wrong at any dtype, so the cases
//! of one combination of shapes and attributes have two combinations of dtypes. One axis of one variable
//! changes at a time; two variables that have an axis in common change together.

use super::cases::{attr_count, attrs_beside, case, nth_attrs};
use super::dynamic::applied;
use super::integers::extents_near;
use crate::rule::Rule;
use crate::rule::typing::Case;
use rewright_ir::DType;

/// The extents that every axis takes.
const SHORT: [u64; 4] = [0, 1, 2, 3];

/// The shapes of which one axis is changed, by rank; the extents of neighbouring axes differ.
const BASES: [&[u64]; 5] = [&[3], &[2, 3], &[2, 3, 2], &[3, 2, 2, 2], &[2, 3, 2, 2, 2]];

/// The limit on elements of an array.
const MAX_SIZE: u64 = 4096;

/// The limit on elements of an array of one axis.
const MAX_LONG: u64 = 1 << 17;

/// The combinations of dtypes for each combination of shapes and attributes.
const DTYPES_EACH: usize = 2;

/// The limit on combinations whose types are inferred; those of few axes come first.
pub(super) const MAX_TRIED: usize = 20_000;

/// The same for the question whether a rule has types at all.
pub(crate) const MAX_TYPED: usize = 1_000;

/// The cases of all extents.
pub(crate) struct ExtentCases {
    /// The cases that have types.
    pub cases: Vec<Case>,
    /// The number of combinations that were left out.
    pub left_out: usize,
}

/// The cases of a rule, for these combinations of dtypes in turn, among the first `most` combinations.
pub(crate) fn extent_cases(rule: &Rule, dtypes: &[Vec<DType>], most: usize) -> ExtentCases {
    let mut cases = Vec::new();
    let (mut tried, mut left_out) = (0, 0);
    if dtypes.is_empty() {
        return ExtentCases { cases, left_out };
    }
    let each = DTYPES_EACH.min(dtypes.len());
    for shapes in shapes(rule) {
        let choices = attrs_beside(rule, &shapes, &[]);
        let count = attr_count(&choices);
        for number in 0..count {
            if tried >= most {
                left_out += count - number;
                break;
            }
            let attrs = nth_attrs(&choices, number);
            for of_vars in (0..each).map(|n| &dtypes[(tried + n) % dtypes.len()]) {
                cases.extend(applied(rule, case(rule, of_vars, &shapes, attrs.clone())));
            }
            tried += each;
        }
    }
    ExtentCases { cases, left_out }
}

/// The shapes of all variables; those of few axes first.
fn shapes(rule: &Rule) -> Vec<Vec<Vec<u64>>> {
    let near = extents_near(rule);
    let count = rule.vars.len();
    let arrays: Vec<usize> = (0..count).filter(|&var| !rule.vars[var].constant).collect();
    let mut all: Vec<Vec<Vec<u64>>> = Vec::new();
    for base in BASES {
        let of_rank = of_rank(base, &near);
        // One shape for all variables, and one array beside scalars.
        for shape in &of_rank {
            all.push(vec![shape.clone(); count]);
            if count > 1 {
                let alone = |&array: &usize| {
                    (0..count).map(|var| if var == array { shape.clone() } else { Vec::new() }).collect()
                };
                all.extend(arrays.iter().map(alone));
            }
        }
        for (at, &first) in arrays.iter().enumerate() {
            for &second in &arrays[at + 1..] {
                for (a, b) in of_pair(base, &of_rank, &near) {
                    // Other variables are like the first of the two, or scalars.
                    for others in [&a, &Vec::new()].into_iter().take(if count > 2 { 2 } else { 1 }) {
                        let shape = |var: usize| match var {
                            _ if var == first => a.clone(),
                            _ if var == second => b.clone(),
                            _ => others.clone(),
                        };
                        all.push((0..count).map(shape).collect());
                    }
                }
            }
        }
    }
    all
}

fn size(shape: &[u64]) -> u64 {
    shape.iter().product()
}

/// The shape with the extent of one axis changed.
fn with_extent(base: &[u64], axis: usize, extent: u64) -> Vec<u64> {
    let mut shape = base.to_vec();
    shape[axis] = extent;
    shape
}

/// Shapes of one rank: every axis takes every extent. Up to two axes take all combinations of short extents.
fn of_rank(base: &[u64], near: &[u64]) -> Vec<Vec<u64>> {
    let mut all: Vec<Vec<u64>> = Vec::new();
    if let [_, _] = base {
        all.extend(SHORT.iter().flat_map(|&n| SHORT.map(|m| vec![n, m])));
    }
    all.extend([0, 1].map(|extent| vec![extent; base.len()]));
    let limit = if base.len() == 1 { MAX_LONG } else { MAX_SIZE };
    for axis in 0..base.len() {
        for &extent in SHORT.iter().chain(near) {
            let shape = with_extent(base, axis, extent);
            if size(&shape) <= limit && !all.contains(&shape) {
                all.push(shape);
            }
        }
    }
    all
}

/// Shapes of two variables: of one rank with different extents of one axis, and of different ranks, as in
/// broadcasting.
fn of_pair(base: &[u64], of_rank: &[Vec<u64>], near: &[u64]) -> Vec<(Vec<u64>, Vec<u64>)> {
    let mut all = Vec::new();
    let extents: Vec<u64> = match base.len() {
        1 => SHORT.iter().chain(near).copied().filter(|&n| n <= MAX_SIZE).collect(),
        _ => SHORT.to_vec(),
    };
    for axis in 0..base.len() {
        let pairs = extents.iter().flat_map(|&n| extents.iter().map(move |&m| (n, m)));
        let pairs = pairs.filter(|(n, m)| n != m && (SHORT.contains(n) || SHORT.contains(m)));
        all.extend(pairs.map(|(n, m)| (with_extent(base, axis, n), with_extent(base, axis, m))));
    }
    for shape in of_rank.iter().filter(|shape| size(shape) <= MAX_SIZE) {
        for from in 1..base.len() {
            all.push((shape.clone(), shape[from..].to_vec()));
            all.push((shape[from..].to_vec(), shape.clone()));
        }
    }
    all
}
