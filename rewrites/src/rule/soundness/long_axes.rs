//! Cases with one long axis, at each rank and in each place. All other axes have the extent 1.
//!
//! Counts and positions of 8 and 16 bits wrap there. Axes that are too long for 16 bits are for rules with a
//! term of 8 or 16 bits only.

use super::cases::{MAX_RANK, attr_count, attrs_beside_large, case, nth_attrs};
use super::dynamic::applied;
use super::positions::indexing;
use super::sample::thinned;
use crate::rule::typing::{Case, type_case};
use crate::rule::{Node, Rule};
use rewright_ir::DType;

/// At this extent, counts and the last position overflow 8 bits; at the other one, a count is 0 exactly.
const LONG: (u64, u64) = (260, 256);

/// The same for 16 bits.
const LONGEST: [u64; 2] = [1 << 16, (1 << 16) + 4];

/// The combinations of attributes for each shape.
const MAX_ATTRS: usize = 4;
const MAX_LONGEST_ATTRS: usize = 2;

/// The cases of axes too long for 8 bits, and of those too long for 16 bits, for these combinations of dtypes
/// in turn.
pub(super) fn long_axes(rule: &Rule, dtypes: &[Vec<DType>]) -> (Vec<Case>, Vec<Case>) {
    if dtypes.is_empty() {
        return Default::default();
    }
    let (always, exactly) = LONG;
    let mut long = of_extents(rule, dtypes, &[always], MAX_ATTRS);
    if !long.iter().any(|case| has_narrow_term(rule, case)) {
        return (long, Vec::new());
    }
    long.extend(of_extents(rule, dtypes, &[exactly], MAX_ATTRS));
    (long, of_extents(rule, dtypes, &LONGEST, MAX_LONGEST_ATTRS))
}

fn of_extents(rule: &Rule, dtypes: &[Vec<DType>], extents: &[u64], most: usize) -> Vec<Case> {
    let count = rule.vars.len();
    let positions_are_scalars = count > 1 && !indexing(rule).is_empty();
    let mut cases = Vec::new();
    let places = (1..=MAX_RANK).flat_map(|rank| (0..rank).map(move |axis| (rank, axis)));
    let places = extents.iter().flat_map(|&extent| places.clone().map(move |place| (extent, place)));
    for (number, (extent, (rank, axis))) in places.enumerate() {
        let mut shape = vec![1; rank];
        shape[axis] = extent;
        let of_var = &dtypes[number % dtypes.len()];
        let applied_to = |of_vars: &[Vec<u64>]| {
            let choices = attrs_beside_large(rule, of_vars, &shape);
            let attrs = (0..attr_count(&choices)).map(|n| nth_attrs(&choices, n));
            let made = attrs.filter_map(|attrs| applied(rule, case(rule, of_var, of_vars, attrs)));
            thinned(made.collect(), most)
        };
        let same = if positions_are_scalars { Vec::new() } else { applied_to(&vec![shape.clone(); count]) };
        // One array beside scalars: positions, or factors.
        if same.is_empty() && count > 1 {
            for one in (0..count).filter(|&var| !rule.vars[var].constant) {
                let of_vars: Vec<Vec<u64>> =
                    (0..count).map(|var| if var == one { shape.clone() } else { Vec::new() }).collect();
                cases.extend(applied_to(&of_vars));
            }
        }
        cases.extend(same);
    }
    cases
}

/// Whether a term is an integer of 8 or 16 bits.
fn has_narrow_term(rule: &Rule, case: &Case) -> bool {
    let Ok(typed) = type_case(rule, case) else { return false };
    let is_narrow = |dtype: DType| dtype.is_int() && dtype.size() <= 2;
    let terms = rule.nodes.iter().zip(&typed.nodes).filter(|(node, _)| !matches!(node, Node::Var(_)));
    terms.filter_map(|(_, ty)| ty.as_ref()).any(|ty| is_narrow(ty.dtype()))
}
