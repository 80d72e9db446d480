//! Expressions of which the axes that are combined along come last.
//!
//! A kernel that goes along other axes last keeps in memory what it came to so far. Of positions that is not enough, each of which goes with a
//! value. These kernels go along the combined axes last, however far apart the elements lie then: the order in which positions are combined
//! makes no difference.

use rewright_ir::ArrayExpr;
use rewright_ir::expr::{Affine, AxisKind, Body, BodyOp, BodyRef, IndexExpr};

/// The expression with the reduced axes last, if it must go along them last, may, and does not.
pub fn rows_last(expr: &ArrayExpr) -> Option<ArrayExpr> {
    let pairs = expr.reductions.iter().any(|reduction| reduction.accumulators.len() > 1);
    let free = expr.any_order().all(|any| any);
    let kinds = || expr.axes.iter().map(|axis| axis.kind);
    let is_last = kinds().skip_while(|kind| *kind == AxisKind::Parallel).all(|kind| kind == AxisKind::Reduce);
    let plain = |body: &Body| body.insts.iter().all(|inst| matches!(inst.op, BodyOp::Op(..)));
    let bodies = || std::iter::once(&expr.body).chain(&expr.finish);
    if is_last || !pairs || !free || !bodies().all(plain) {
        return None;
    }
    let of_kind = |wanted| (0u32..).zip(kinds()).filter(move |(_, kind)| *kind == wanted).map(|(axis, _)| axis);
    let order: Vec<u32> = of_kind(AxisKind::Parallel).chain(of_kind(AxisKind::Reduce)).collect();
    let mut place = vec![0; order.len()];
    (0..).zip(&order).for_each(|(now, &before)| place[before as usize] = now);
    let mut turned = expr.clone();
    turned.axes = order.iter().map(|&axis| expr.axes[axis as usize].clone()).collect();
    let positions =
        turned.operands.iter_mut().flat_map(|operand| operand.index.iter_mut().map(|index| &mut index.expr));
    for position in positions.chain(turned.outs.iter_mut().flat_map(|out| &mut out.index)) {
        *position = moved(position, &place)?;
    }
    for body in std::iter::once(&mut turned.body).chain(&mut turned.finish) {
        let args = body.insts.iter_mut().flat_map(|inst| &mut inst.args);
        for value in args.chain(&mut body.yields) {
            if let BodyRef::Axis(axis) = value {
                *axis = place[*axis as usize];
            }
        }
    }
    Some(turned)
}

/// A position where the axes have these places. Only affine ones are lowered.
fn moved(position: &IndexExpr, place: &[u32]) -> Option<IndexExpr> {
    let IndexExpr::Affine(form) = position else { return None };
    let mut start = Affine::constant(0);
    start.offset = form.offset.clone();
    let moved = form.axes().iter().try_fold(start, |sum, &(axis, c)| sum.add_axis(place[axis as usize], c));
    moved.map(IndexExpr::Affine)
}
