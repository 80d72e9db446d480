//! Moves reduced axes to the front, for sequential reductions over several rows.
//!
//! In sequential order a row begins with the result of the rows before it, but kernels with rows begin each
//! row with the neutral element. With the other axes last, each point is combined with the result in memory,
//! and the points of each result keep their order.

use super::along::along;
use rewright_ir::ArrayExpr;
use rewright_ir::expr::{AxisKind, Combine, Order};

/// The expression with the reduced axes first, if several of its rows are combined to one result in
/// sequence.
pub fn rows_first(expr: &ArrayExpr) -> Option<ArrayExpr> {
    let of_kind = |wanted| (0u32..).zip(&expr.axes).filter(move |(_, axis)| axis.kind == wanted).map(|(axis, _)| axis);
    let order: Vec<u32> = of_kind(AxisKind::Reduce).chain(of_kind(AxisKind::Parallel)).collect();
    let has_rows = expr.axes.last().is_some_and(|axis| axis.kind == AxisKind::Reduce);
    // If each result has one row, its axes are last already.
    let is_one_row = expr.axes.is_sorted_by_key(|axis| axis.kind == AxisKind::Reduce);
    let builtin = expr.reductions.iter().all(|reduction| matches!(reduction.combine, Combine::Builtin(_)));
    let in_sequence = Order::common(expr.orders()) == Some(Order::Sequential) && !expr.any_order().all(|any| any);
    (has_rows && !is_one_row && builtin && in_sequence).then(|| along(expr, &order))?
}
