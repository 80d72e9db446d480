//! Decides whether a template's result has the extents of the pattern's result, if the types leave them
//! open.
//!
//! An extent `?` of a result of `add ?x ?y` is that of either operand, because the other one may be 1 and
//! broadcast. So a template that drops an operand may have another shape than its pattern although both have
//! the same type.

use super::{Node, NodeId, Rule};
use rewright_ir::{Dim, Type};
use smallvec::SmallVec;

/// The first variable that the term drops and whose extents the pattern's result, of type `want`, may have.
/// `types` are those of the variables; `same` says which of them are one value.
pub(crate) fn lost<'t>(
    rule: &Rule,
    term: NodeId,
    want: &Type,
    types: impl Fn(usize) -> &'t Type,
    same: impl Fn(usize, usize) -> bool,
) -> Option<usize> {
    if !want.dims().contains(&Dim::Any) {
        return None;
    }
    let kept = keeps(rule, term);
    // These ops broadcast, so it is known which extents the result has. For other ops it is not.
    let broadcasts = rule.nodes.iter().all(|node| !matches!(node, Node::Op(term) if !term.op.is_elementwise()));
    let harmless = |var: usize| {
        let others = || (0..kept.len()).filter(|&other| kept[other]);
        let shaped = |axis: usize, dim: Dim| {
            dim == Dim::Const(1)
                || at(want, axis) != Some(Dim::Any)
                || dim != Dim::Any && others().any(|other| at(types(other), axis) == Some(dim))
        };
        let ty = types(var);
        kept[var]
            || ty.rank() == 0
            || others().any(|other| same(var, other))
            || broadcasts && ty.dims().iter().rev().enumerate().all(|(axis, &dim)| shaped(axis, dim))
    };
    (0..kept.len()).find(|&var| !harmless(var))
}

/// The extent of an axis, counted from the last one.
fn at(ty: &Type, axis: usize) -> Option<Dim> {
    ty.dims().iter().rev().nth(axis).copied()
}

/// The variables that a term contains.
pub(crate) fn keeps(rule: &Rule, term: NodeId) -> SmallVec<[bool; 8]> {
    let mut kept = SmallVec::from_elem(false, rule.vars.len());
    mark(rule, term, &mut kept);
    kept
}

fn mark(rule: &Rule, node: NodeId, found: &mut [bool]) {
    match &rule.nodes[node] {
        Node::Var(var) => found[*var] = true,
        Node::Op(term) => term.args.iter().for_each(|&arg| mark(rule, arg, found)),
        // A computed constant is a scalar, whatever it is computed from.
        Node::Computed(_) | Node::Literal(_) => {}
    }
}
