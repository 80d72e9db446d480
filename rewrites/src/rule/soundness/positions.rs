//! Positions: test values of integer variables that index arrays.
//!
//! Random integers are mostly out of bounds, where the pattern fails. Positions are drawn from the extents of
//! the case: from either end, next to the ends of narrow dtypes, and next to the rule's integers.

use super::integers::integers;
use super::points::fits;
use crate::rule::typing::Case;
use crate::rule::{Node, NodeId, Rule};
use rewright_ir::{Attrs, DType, Literal, LiteralCx, Scalar};

/// Axes up to this extent are indexed at all positions.
const MAX_WHOLE: i128 = 6;

/// The ends of narrow dtypes, at which an index wraps.
const NARROW_ENDS: [i128; 8] = [-(1 << 15), -(1 << 7), 0, 1 << 7, 1 << 8, 1 << 15, 1 << 16, 1 << 31];

/// The variables that index arrays: those among the operands of an op on arrays in which a literal is an
/// integer whatever the other operands are.
pub(super) fn indexing(rule: &Rule) -> Vec<usize> {
    let mut found = Vec::new();
    for node in &rule.nodes {
        if let Node::Op(term) = node
            && !term.op.is_elementwise()
        {
            let (dtypes, attrs) = (vec![Some(DType::F32); term.args.len()], Attrs::new());
            for (operand, &arg) in term.args.iter().enumerate() {
                let zero = LiteralCx { literal: Literal::Int(0), operand, dtypes: &dtypes, attrs: &attrs };
                if (term.op.literal)(&zero).is_int() {
                    add_indexing(rule, arg, &mut found);
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Adds the variables on which a position depends through elementwise ops.
fn add_indexing(rule: &Rule, node: NodeId, found: &mut Vec<usize>) {
    match &rule.nodes[node] {
        Node::Var(var) => found.push(*var),
        Node::Op(term) | Node::Computed(term) if term.op.is_elementwise() => {
            term.args.iter().for_each(|&arg| add_indexing(rule, arg, found));
        }
        _ => {}
    }
}

/// For each variable its positions in a case; none for a variable that is no index, or no integer. The first
/// position depends on the case.
pub(super) fn positions(rule: &Rule, case: &Case) -> Vec<Vec<Scalar>> {
    let mut all: Vec<Vec<Scalar>> = vec![Vec::new(); case.vars.len()];
    let indexing = indexing(rule);
    if indexing.is_empty() {
        return all;
    }
    let mut extents: Vec<i128> = case.shapes.iter().flatten().map(|&n| n as i128).collect();
    extents.sort_unstable();
    extents.dedup();
    let mut candidates: Vec<i128> = Vec::new();
    for &n in &extents {
        let inside = candidates_below(rule, n).into_iter().filter(|at| (-n..n).contains(at));
        candidates.extend(inside);
    }
    candidates.sort_unstable();
    candidates.dedup();
    // Cases of other dtypes and shapes begin elsewhere.
    let seed = case.vars.iter().fold(extents.iter().sum::<i128>() as usize, |seed, (ty, _)| {
        seed.wrapping_mul(31).wrapping_add(ty.dtype() as usize + 7 * ty.rank())
    });
    for var in indexing {
        let dtype = case.vars[var].0.dtype();
        if !dtype.is_int() {
            continue;
        }
        let scalars = candidates.iter().filter_map(|&at| Literal::Int(at).at(dtype));
        let mut list: Vec<Scalar> = scalars.filter(|&scalar| fits(rule, case, var, scalar)).collect();
        if !list.is_empty() {
            let first = seed.wrapping_add(var.wrapping_mul(5)) % list.len();
            list.rotate_left(first);
        }
        all[var] = list;
    }
    all
}

/// Positions on an axis, which may be out of bounds.
fn candidates_below(rule: &Rule, extent: i128) -> Vec<i128> {
    if extent <= MAX_WHOLE {
        return (-extent..extent).collect();
    }
    let ends = [-extent, 0, extent / 2, extent];
    let written = integers(rule).into_iter().map(i128::from).flat_map(|n| [n, -n, extent - n, n - extent]);
    let near = |at: i128| [at - 2, at - 1, at, at + 1, at + 2];
    NARROW_ENDS.into_iter().chain(ends).chain(written).flat_map(near).collect()
}
