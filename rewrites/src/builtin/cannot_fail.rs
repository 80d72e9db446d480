//! What can't fail, whatever its operands hold.

use crate::prelude::*;
use rewright_ir::expr::{BodyOp, Index, IndexExpr, Mode, Source, SymExpr, Write};
use rewright_ir::op::Traits;
use rewright_ir::{ArrayExpr, Dim, InstData};

/// Ops on whole arrays that take every array of the types that they accept.
const TOTAL: &[&str] = &["sum", "prod", "any", "all", "transpose", "flip", "expand_dims", "to_array"];

/// True if an instruction is certain to give results. What is not known to be counts as what may fail.
pub fn cannot_fail(func: &Function, inst: Inst) -> bool {
    let data = func.inst(inst);
    if !data.op.is_pure() {
        return false;
    }
    match data.attrs.expr() {
        Some(expr) => expression_cannot_fail(func, data, expr),
        None if data.op.traits.contains(Traits::PARTIAL) => false,
        None => (data.op.is_elementwise() && extents_agree(func, data)) || TOTAL.contains(&data.op.name),
    }
}

/// True if the types say that operands broadcast.
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

/// True if the types say that operands have the extents of the axes that read them, and no op in the body may fail.
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

/// True if a bound is certain to be a dim.
fn is_dim(bound: &SymExpr, dim: Dim) -> bool {
    match dim {
        Dim::Const(extent) => i64::try_from(extent).is_ok_and(|extent| *bound == SymExpr::constant(extent)),
        Dim::Sym(name) => *bound == SymExpr::symbol(name),
        Dim::Any => false,
    }
}
