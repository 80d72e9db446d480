//! Moves reduced axes to the end, for reductions of positions.
//!
//! A kernel whose last axis is parallel accumulates in memory. That is not enough for positions, each of
//! which belongs to a value. The kernels of such reductions have the reduced axes last, whatever the strides
//! are: the order in which positions are combined does not change the result.

use super::along::along;
use rewright_ir::ArrayExpr;
use rewright_ir::expr::AxisKind;

/// The expression with the reduced axes last, if this is required, legal, and not yet so.
pub fn rows_last(expr: &ArrayExpr) -> Option<ArrayExpr> {
    let pairs = expr.reductions.iter().any(|reduction| reduction.accumulators.len() > 1);
    let free = expr.any_order().all(|any| any);
    let kinds = || expr.axes.iter().map(|axis| axis.kind);
    let is_last = kinds().skip_while(|kind| *kind == AxisKind::Parallel).all(|kind| kind == AxisKind::Reduce);
    if is_last || !pairs || !free {
        return None;
    }
    let of_kind = |wanted| (0u32..).zip(kinds()).filter(move |(_, kind)| *kind == wanted).map(|(axis, _)| axis);
    let order: Vec<u32> = of_kind(AxisKind::Parallel).chain(of_kind(AxisKind::Reduce)).collect();
    along(expr, &order)
}
