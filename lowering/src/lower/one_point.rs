//! Drops axes of one point from reductions.
//!
//! A sum of `[n, 1, m]` along the last axis becomes a sum of `[n, m]`, so that the innermost loop has
//! several iterations and the loops around it can merge. Rows stay rows, and accumulators in memory stay in
//! memory, since the order of combination depends on that: a sum of `[n, m, 1]` along the second axis
//! becomes a sum of `[m, n]` along the first one.

use super::along::along;
use rewright_ir::expr::{Affine, AxisKind, Combine, Index, IndexExpr, Mode, Monoid, Reduction, Source};
use rewright_ir::{ArrayExpr, Dim, Type};

/// The expression without axes of one point, if it is a reduction with such axes. Its instruction has
/// operands of these types.
pub fn without_one_point(expr: &ArrayExpr, args: &[Type]) -> Option<ArrayExpr> {
    let kept = kept(expr)?;
    let is_gone = |form: &Affine| form.axes().iter().any(|(axis, _)| !kept.contains(axis));
    // A broadcast operand and a result need an axis at each dim, unless the dim is known to be of extent 1.
    let may_go = |(position, dim): (&IndexExpr, &Dim)| match position {
        IndexExpr::Affine(form) => !is_gone(form) || *dim == Dim::Const(1),
        _ => false,
    };
    let may_be_read = |(index, dim): (&Index, &Dim)| index.mode != Mode::Broadcast || may_go((&index.expr, dim));
    let are_read = expr.operands.iter().all(|operand| match operand.source {
        Source::Array(n) => operand.index.iter().zip(args[n as usize].dims()).all(may_be_read),
        _ => operand.index.is_empty(),
    });
    let are_written = expr.outs.iter().all(|out| out.index.iter().zip(&out.dims).all(may_go));
    (kept.len() < expr.axes.len() && are_read && are_written).then(|| along(expr, &kept))?
}

/// The remaining axes, in their new order; `None` if the expression is no reduction, or if it is a scan. The
/// only result of an exclusive scan over one point is the initial value.
fn kept(expr: &ArrayExpr) -> Option<Vec<u32>> {
    if expr.scan().is_some() {
        return None;
    }
    let goes_on = |axis: u32| expr.axes[axis as usize].points() != Some(1);
    let is_reduced = |axis: u32| expr.axes[axis as usize].kind == AxisKind::Reduce;
    let all = || 0..expr.axes.len() as u32;
    let last = |wanted: &dyn Fn(u32) -> bool| all().rev().find(|&axis| wanted(axis));
    // Keep at least one reduced axis.
    let spare = last(&|axis| is_reduced(axis) && goes_on(axis)).or(last(&is_reduced))?;
    let mut kept: Vec<u32> = all().filter(|&axis| axis == spare || goes_on(axis)).collect();
    // The reduced axes of a row have no parallel axis after them. The last one of the other reduced axes has
    // one, and must keep it.
    let row = last(&|axis| !is_reduced(axis)).map_or(0, |axis| axis + 1);
    if let Some(at) = kept.iter().rposition(|&axis| is_reduced(axis) && axis < row)
        && kept[at..].iter().all(|&axis| is_reduced(axis))
        && !expr.any_order().all(|any| any)
    {
        match kept.iter().rposition(|&axis| !is_reduced(axis)) {
            Some(parallel) => kept[parallel..=at].rotate_left(1),
            None => kept.insert(at + 1, row - 1),
        }
    }
    // Each row of products begins with a rounded product, unless rows are points.
    let adds_products = |reduction: &Reduction| matches!(reduction.combine, Combine::Builtin(Monoid::Dot));
    let has_rows = |axis: Option<u32>| axis.is_some_and(is_reduced);
    let keeps_rows = has_rows(all().last()) == has_rows(kept.last().copied());
    (keeps_rows || !expr.reductions.iter().any(adds_products)).then_some(kept)
}
