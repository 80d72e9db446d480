//! Permutes the axes of an expression, or drops axes of one point.

use rewright_ir::ArrayExpr;
use rewright_ir::expr::{Affine, AxisKind, BodyOp, BodyRef, Combine, IndexExpr};
use rewright_ir::{Name, Scalar};

/// The new place of an axis.
#[derive(Clone, Copy)]
enum Now {
    /// The axis has this number now.
    At(u32),
    /// The axis is dropped; this is its only index.
    Only(i64),
}

/// The expression with these axes, in this order. Each other axis must have one point, at a known index.
/// `None` if the expression has a nested expression, or if a position is not affine.
pub fn along(expr: &ArrayExpr, axes: &[u32]) -> Option<ArrayExpr> {
    let now = |axis: u32| match axes.iter().position(|&kept| kept == axis) {
        Some(place) => Some(Now::At(place as u32)),
        None => expr.axes[axis as usize].lo.as_constant().map(Now::Only),
    };
    let now: Vec<Now> = (0..expr.axes.len() as u32).map(now).collect::<Option<_>>()?;
    let mut turned = expr.clone();
    turned.axes = axes.iter().map(|&axis| expr.axes[axis as usize].clone()).collect();
    let positions =
        turned.operands.iter_mut().flat_map(|operand| operand.index.iter_mut().map(|index| &mut index.expr));
    for position in positions.chain(turned.outs.iter_mut().flat_map(|out| &mut out.index)) {
        *position = moved(position, &now)?;
    }
    let regions = turned.reductions.iter_mut().filter_map(|reduction| match &mut reduction.combine {
        Combine::Region(region) => Some(region),
        Combine::Builtin(_) => None,
    });
    for body in std::iter::once(&mut turned.body).chain(&mut turned.finish).chain(regions) {
        if !body.insts.iter().all(|inst| matches!(inst.op, BodyOp::Op(..))) {
            return None;
        }
        let args = body.insts.iter_mut().flat_map(|inst| &mut inst.args);
        for value in args.chain(&mut body.yields) {
            if let BodyRef::Axis(axis) = value {
                *value = match now[*axis as usize] {
                    Now::At(place) => BodyRef::Axis(place),
                    Now::Only(index) => BodyRef::Const(Scalar::I64(index)),
                };
            }
        }
    }
    Some(turned)
}

/// A position in terms of the new axes.
fn moved(position: &IndexExpr, now: &[Now]) -> Option<IndexExpr> {
    let IndexExpr::Affine(form) = position else { return None };
    let mut moved = Affine::constant(0);
    moved.offset = form.offset.clone();
    for &(axis, factor) in form.axes() {
        moved = match now[axis as usize] {
            Now::At(place) => moved.add_axis(place, factor)?,
            Now::Only(index) => {
                moved.offset.constant = moved.offset.constant.checked_add(index.checked_mul(factor)?)?;
                moved
            }
        };
    }
    Some(IndexExpr::Affine(moved))
}

/// The axes of these names, in this order. `None` if the order of the reduced axes changes, since results
/// would then not be bitwise the same.
pub fn in_order(expr: &ArrayExpr, names: impl Iterator<Item = Name>) -> Option<Vec<u32>> {
    let number = |name| expr.axes.iter().position(|axis| axis.name == name).map(|axis| axis as u32);
    let order: Vec<u32> = names.map(number).collect::<Option<_>>()?;
    let reduced = |axes: &[u32]| -> Vec<Option<u32>> {
        axes.iter().map(|&axis| Some(axis).filter(|&axis| expr.axes[axis as usize].kind == AxisKind::Reduce)).collect()
    };
    let plain: Vec<u32> = (0..expr.axes.len() as u32).collect();
    let mut each = order.clone();
    each.sort_unstable();
    (each == plain && reduced(&order) == reduced(&plain)).then_some(order)
}
