//! Materializes values that a node computes or reads along only some of its axes.

use crate::prelude::*;
use rewright_ir::expr::{
    Affine, Axis, AxisKind, Body, BodyRef, Condition, Index, IndexExpr, Mode, Operand, Out, Source, SymExpr, Write,
};
use rewright_ir::{ArrayExpr, Attr, Dim, Function, OperandNames, Scalar};
use smallvec::SmallVec;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A value of a node's body that is materialized: it varies along these axes only, and none of its indices
/// are read from arrays.
pub struct Taken {
    /// The value.
    pub value: BodyRef,
    /// Its dtype.
    pub dtype: DType,
    /// Numbers of axes, in order; these are [plain](are_plain).
    pub along: Vec<u32>,
    /// Conditions without axes: if one does not hold, nothing is computed, and the elements are unread
    /// zeros.
    pub guard: Vec<Condition>,
}

/// The axes that positions depend on, in order.
pub(crate) fn axes_of(index: &[Index]) -> SmallVec<[u32; 4]> {
    let forms = index.iter().filter_map(|index| index.expr.form());
    let mut axes: SmallVec<[u32; 4]> = forms.flat_map(|form| form.axes().iter().map(|&(axis, _)| axis)).collect();
    axes.sort_unstable();
    axes.dedup();
    axes
}

/// True if all axes start at 0 and have known ends, so that an array can have them.
pub(crate) fn are_plain(axes: &[Axis]) -> bool {
    axes.iter().all(|axis| axis.lo == SymExpr::default() && axis.hi.is_some())
}

/// True if a read may fail at a point, and so not in a node without points. Checks that run once a call give
/// the same result either way and do not count.
pub(crate) fn may_fail(func: &Function, args: &[Value], operand: &Operand) -> bool {
    let Source::Array(arg) = operand.source else { return false };
    let dims = func.ty(args[arg as usize]).dims();
    let fails = |(index, dim): (&Index, &Dim)| match index.mode {
        Mode::Pad(_) | Mode::Broadcast => false,
        // Wrapping and clamping fail in an array without elements.
        Mode::Wrap | Mode::Clamp => !matches!(*dim, Dim::Const(1..)),
        // The extent of an axis is checked once.
        Mode::Proved => !matches!(&index.expr, IndexExpr::Affine(form) if form.as_axis().is_some()),
        Mode::Check => true,
    };
    operand.index.iter().zip(dims).any(fails)
}

/// Materializes values of a node's body before the node. `read` gets the remaining expression, its
/// arguments, and the operands that read the new arrays.
pub(crate) fn take_out(
    rw: &mut Rewriter<'_>,
    root: Inst,
    taken: &[Taken],
    read: impl FnOnce(&mut ArrayExpr, &mut Vec<Value>, Vec<Operand>),
) -> Result<(), RewriteError> {
    let data = rw.func().inst(root).clone();
    let Some(expr) = data.attrs.expr() else { return Err(RewriteError::new("it has no expression")) };
    rw.set_point(Point::Before(root));
    rw.set_loc(data.loc);
    let mut args = data.args.to_vec();
    let mut names = OperandNames::of(&expr.axes, &expr.operands);
    let mut operands = Vec::new();
    for value in taken {
        let (own, own_args) = node_of(expr, &data.args, value)?;
        let array = rw.op_with("arrayexpr", own_args, Attrs::new().with("expr", Attr::Expr(Arc::new(own))))?;
        let at = |&axis: &u32| Index { expr: IndexExpr::Affine(Affine::axis(axis)), mode: Mode::Proved };
        let (source, index) = (Source::Array(args.len() as u32), value.along.iter().map(at).collect());
        operands.push(Operand { name: names.free("x"), source, dtype: value.dtype, index });
        args.push(array);
    }
    let mut rest = ArrayExpr::clone(expr);
    read(&mut rest, &mut args, operands);
    rest.order_args(&mut args);
    let node = rw.insert(data.op, args, data.attrs.clone().with("expr", Attr::Expr(Arc::new(rest))))?;
    let results = rw.func().inst(node).results.clone();
    rw.replace(root, &results)
}

/// The node that computes a value, and its arguments.
fn node_of(expr: &ArrayExpr, args: &[Value], taken: &Taken) -> Result<(ArrayExpr, Vec<Value>), RewriteError> {
    let Taken { value, dtype, along, guard } = taken;
    // The instructions and operands that the value depends on.
    let (mut insts, mut reads, mut left) = (BTreeSet::new(), BTreeSet::new(), vec![*value]);
    while let Some(value) = left.pop() {
        match value {
            BodyRef::Inst(n, _) if insts.insert(n) => left.extend(&expr.body.insts[n as usize].args),
            BodyRef::Operand(n) => {
                reads.insert(n);
            }
            _ => {}
        }
    }
    let (insts, reads) = (Vec::from_iter(insts), Vec::from_iter(reads));
    // Their new numbers.
    let place = |all: &[u32], n: u32| {
        let place = all.binary_search(&n).map(|place| place as u32);
        place.map_err(|_| RewriteError::new("a value varies along another axis"))
    };
    let moved = |value: &mut BodyRef| {
        match value {
            BodyRef::Inst(n, _) => *n = place(&insts, *n)?,
            BodyRef::Operand(n) => *n = place(&reads, *n)?,
            BodyRef::Axis(axis) => *axis = place(along, *axis)?,
            _ => {}
        }
        Ok::<(), RewriteError>(())
    };
    let own = insts.iter().map(|&n| expr.body.insts[n as usize].clone()).collect();
    let mut body = Body { insts: own, yields: vec![*value] };
    body.insts.iter_mut().flat_map(|inst| &mut inst.args).chain(&mut body.yields).try_for_each(moved)?;
    let mut operands: Vec<Operand> = reads.iter().map(|&n| expr.operands[n as usize].clone()).collect();
    for index in operands.iter_mut().flat_map(|operand| &mut operand.index) {
        let Some(form) = index.expr.form_mut() else { continue };
        let mut own = Affine::default();
        own.offset = std::mem::take(&mut form.offset);
        for &(axis, coefficient) in form.axes() {
            let sum = own.add_axis(place(along, axis)?, coefficient);
            own = sum.ok_or_else(|| RewriteError::new("a position overflows"))?;
        }
        *form = own;
    }
    let parallel = |&axis: &u32| Axis { kind: AxisKind::Parallel, ..expr.axes[axis as usize].clone() };
    let axes: Vec<Axis> = along.iter().map(parallel).collect();
    let dims = axes.iter().map(|axis| axis.hi.as_ref().map_or(Dim::Any, dim_of)).collect();
    let index = (0..axes.len() as u32).map(|axis| IndexExpr::Affine(Affine::axis(axis))).collect();
    let fill = (!guard.is_empty()).then(|| Scalar::zero(*dtype));
    let outs = vec![Out { dtype: *dtype, dims, index, fill, write: Write::Unique }];
    let (reductions, locs) = (Vec::new(), expr.locs.clone());
    let mut own = ArrayExpr { axes, guard: guard.clone(), operands, body, reductions, finish: None, outs, locs };
    let mut args = args.to_vec();
    own.order_args(&mut args);
    Ok((own, args))
}

/// The dim of an extent.
pub(crate) fn dim_of(extent: &SymExpr) -> Dim {
    match (extent.terms(), u64::try_from(extent.constant)) {
        (&[], Ok(constant)) => Dim::Const(constant),
        (&[(symbol, 1)], Ok(0)) => Dim::Sym(symbol),
        _ => Dim::Any,
    }
}
