//! Expressions of which the axes that are combined along come last.
//!
//! A kernel that goes along other axes last keeps in memory what it came to so far. Of positions that is not enough, each of which goes with a
//! value. These kernels go along the combined axes last, however far apart the elements lie then: the order in which positions are combined
//! makes no difference.

use super::along::along;
use rewright_ir::ArrayExpr;
use rewright_ir::expr::AxisKind;

/// The expression with the reduced axes last, if it must go along them last, may, and does not.
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
