//! Contractions and windows: reductions of columns that use an element of an operand for several rows of the
//! result, as products of matrices and convolutions do.
//!
//! Their loop programs compute several rows at once, so each element is loaded once for all of them.

use crate::lower::Strided;
use crate::lower::unroll::unrolled;
use rewright_ir::expr::{Affine, AxisKind, IndexExpr, Operand, Source};
use rewright_ir::{ArrayExpr, Type};

/// The least rows for which staging pays, and the least points of the sum.
const LEAST_ROWS: u64 = 64;
const LEAST_POINTS: u64 = 128;

/// True if tiles of rows are worth it for a contraction with this number of rows along the shared axis and
/// of points along the reduce axes: shared elements are copied once for each tile. They are always worth it
/// if shared elements are not adjacent along the last axis, since vectors of the copy are.
pub fn is_worth_tiling(expr: &ArrayExpr, args: &[Strided<'_>], (rows, steps): (u64, u64)) -> bool {
    let is_large = rows >= LEAST_ROWS && steps >= LEAST_POINTS;
    let is_shared = |operand: &&Operand| shared_axis(expr).is_some_and(|axis| !moves(operand, axis as u32));
    is_large || expr.operands.iter().filter(is_shared).any(|operand| is_scattered(expr, operand, args))
}

/// True if the last axis moves along another dim of an operand than the one with the least stride.
fn is_scattered(expr: &ArrayExpr, operand: &Operand, args: &[Strided<'_>]) -> bool {
    let Source::Array(arg) = operand.source else { return false };
    let (Some(arg), last) = (args.get(arg as usize), expr.axes.len() as u32 - 1) else { return false };
    let stride = |dim: usize| match (arg.shape.get(dim), arg.strides.get(dim)) {
        (Some(2..), Some(stride)) => Some(stride.unsigned_abs()),
        _ => None,
    };
    let least = (0..operand.index.len()).filter_map(stride).min();
    let along_last = |dim: &usize| match &operand.index[*dim].expr {
        IndexExpr::Affine(form) => form.axes().iter().any(|&(axis, _)| axis == last),
        _ => false,
    };
    (0..operand.index.len()).filter(along_last).any(|dim| stride(dim) > least)
}

/// True if rows of results share elements, so that a loop program, which computes several rows at once, loads
/// fewer: contractions whose reduce axes are outside of the last parallel axis, and windows without loops.
pub fn has_shared_rows(expr: &ArrayExpr, args: &[Type]) -> bool {
    shared_axis(expr).is_some() || has_windows(expr) && unrolled(expr, args).is_some()
}

/// True if rows of results read the same elements at other points of the reduce axes, as those of a
/// convolution do: positions are sums of a parallel axis and a reduce axis, that of the last axis, too.
/// Windows of whole rows are kernels, for which several rows are one.
fn has_windows(expr: &ArrayExpr) -> bool {
    let Some(last) = expr.axes.iter().rposition(|axis| axis.kind == AxisKind::Parallel) else { return false };
    let kind = |axis: u32| expr.axes[axis as usize].kind;
    // Whether the last axis, or another one, moves along a dim together with a reduce axis.
    let moves = |operand: &Operand, is_last: bool| {
        let mut forms = operand.index.iter().filter_map(|index| index.expr.form());
        forms.any(|form| {
            let is_wanted = |axis: u32| kind(axis) == AxisKind::Parallel && (axis as usize == last) == is_last;
            form.axes().iter().any(|&(axis, _)| is_wanted(axis))
                && form.axes().iter().any(|&(axis, _)| kind(axis) == AxisKind::Reduce)
        })
    };
    expr.scan().is_none() && expr.operands.iter().any(|operand| moves(operand, true) && moves(operand, false))
}

/// The innermost parallel axis along which results share the elements of an operand, which differ along the
/// last axis and a reduce axis.
pub fn shared_axis(expr: &ArrayExpr) -> Option<usize> {
    let last = expr.axes.len().checked_sub(1).filter(|_| expr.scan().is_none())?;
    let axes_of = |kind: AxisKind| (0..last).filter(move |&axis| expr.axes[axis].kind == kind);
    let is_shared = |axis: usize| {
        expr.operands.iter().any(|operand| {
            let goes_along = |axis: usize| moves(operand, axis as u32);
            matches!(operand.source, Source::Array(_))
                && goes_along(last)
                && axes_of(AxisKind::Reduce).any(goes_along)
                && !goes_along(axis)
        })
    };
    let mut outer = axes_of(AxisKind::Parallel).rev();
    outer.find(|&axis| is_shared(axis)).filter(|_| expr.axes[last].kind == AxisKind::Parallel)
}

/// True if the position of an operand's element may depend on an axis. Positions other than affine ones count
/// as such, since their elements are not staged.
fn moves(operand: &Operand, axis: u32) -> bool {
    let names = |form: &Affine| form.axes().iter().any(|&(named, _)| named == axis);
    operand.index.iter().any(|index| match &index.expr {
        IndexExpr::Affine(form) => names(form),
        _ => true,
    })
}
