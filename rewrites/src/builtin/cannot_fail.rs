//! Instructions that can't fail, whatever their operands hold.

use crate::prelude::*;
use rewright_ir::expr::{BodyOp, Index, IndexExpr, Mode, Source, SymExpr, Write};
use rewright_ir::op::{InferCx, Traits};
use rewright_ir::ops::view::broadcast_axes;
use rewright_ir::{ArrayExpr, Dim, InstData};

/// Ops on whole arrays that are total on the types that they accept.
const TOTAL: &[&str] = &["sum", "prod", "any", "all", "transpose", "flip", "expand_dims", "to_array"];

/// True if an instruction is certain not to fail; conservative.
pub fn cannot_fail(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    if !data.op.is_pure() {
        return false;
    }
    match data.attrs.expr() {
        Some(expr) => expression_cannot_fail(func, data, expr),
        None if data.op.name == "item" => func.ty(data.args[0]).dims().iter().all(|dim| *dim == Dim::Const(1)),
        None if data.op.traits.contains(Traits::PARTIAL) => false,
        None if data.op.is_elementwise() => extents_agree(func, data),
        None => TOTAL.contains(&data.op.name) || view_cannot_fail(func, data),
    }
}

/// True if the types prove that the operands broadcast.
fn extents_agree(func: &Function, data: &InstData) -> bool {
    let arrays = data.args.iter().map(|&v| func.ty(v)).filter(|ty| ty.is_array());
    if arrays.clone().count() < 2 {
        return true;
    }
    let rank = arrays.clone().map(Type::rank).max().unwrap_or(0);
    (1..=rank).all(|from_last| {
        let dims = arrays.clone().filter_map(|ty| ty.dims().iter().rev().nth(from_last - 1));
        let mut wide = dims.filter(|&&dim| dim != Dim::Const(1));
        let first = wide.next();
        { wide }.all(|dim| Some(dim) == first && *dim != Dim::Any)
    })
}

/// True if the types prove that an array has the extents that a view requires.
fn view_cannot_fail(func: &Function, data: &InstData) -> bool {
    let &[x] = &data.args[..] else { return false };
    let ty = func.ty(x);
    let dims = data.attrs.dims("dims").unwrap_or(&[]);
    match data.op.name {
        // One extent is inferred from the others, or all are known.
        "reshape" => dims == [Dim::Any] || ty.dims().iter().chain(dims).all(|dim| matches!(dim, Dim::Const(_))),
        "squeeze" => {
            let Some(axes) = data.attrs.ints("axes") else { return true };
            let from_end = |&axis: &i64| if axis < 0 { axis + ty.rank() as i64 } else { axis };
            let dim = |axis: i64| usize::try_from(axis).ok().and_then(|axis| ty.dims().get(axis));
            axes.iter().map(from_end).all(|axis| dim(axis) == Some(&Dim::Const(1)))
        }
        "broadcast_in_dim" => {
            let args = [ty.clone()];
            let cx = InferCx { op: data.op, args: &args, consts: &[], attrs: &data.attrs, callee: None };
            let fits = |from: Dim, to: Dim| from == Dim::Const(1) || to == Dim::Any || (from == to && from != Dim::Any);
            broadcast_axes(&cx).is_ok_and(|axes| ty.dims().iter().zip(axes).all(|(&dim, axis)| fits(dim, dims[axis])))
        }
        _ => false,
    }
}

/// True if the types prove that operands have the extents of the axes that index them, and no op in the body
/// may fail.
fn expression_cannot_fail(func: &Function, data: &InstData, expr: &ArrayExpr) -> bool {
    let ops = expr.body.insts.iter().all(|i| match &i.op {
        BodyOp::Op(op, _) => !op.traits.contains(Traits::PARTIAL),
        BodyOp::Nested(_) => false,
    });
    let covered = |(&dim, index): (&Dim, &Index)| match (&index.expr, index.mode) {
        (IndexExpr::Affine(form), Mode::Proved) => match form.as_axis().map(|axis| &expr.axes[axis as usize]) {
            Some(axis) => axis.lo == SymExpr::default() && axis.hi.as_ref().is_some_and(|hi| is_dim(hi, dim)),
            None => form.as_constant() == Some(0) && dim == Dim::Const(1),
        },
        _ => false,
    };
    let read = expr.operands.iter().all(|o| match o.source {
        Source::Scalar(_) => true,
        Source::Array(arg) => func.ty(data.args[arg as usize]).dims().iter().zip(&o.index).all(covered),
        _ => false,
    });
    let plain = expr.outs.iter().all(|o| {
        let at_axis = |index: &IndexExpr| matches!(index, IndexExpr::Affine(form) if form.as_axis().is_some());
        o.fill.is_none() && o.write == Write::Unique && o.index.iter().all(at_axis)
    });
    ops && read && plain && expr.guard.is_empty() && expr.reductions.is_empty() && expr.finish.is_none()
}

/// True if a bound is certain to equal a dim.
fn is_dim(bound: &SymExpr, dim: Dim) -> bool {
    match dim {
        Dim::Const(extent) => i64::try_from(extent).is_ok_and(|extent| *bound == SymExpr::constant(extent)),
        Dim::Sym(name) => *bound == SymExpr::symbol(name),
        Dim::Any => false,
    }
}
