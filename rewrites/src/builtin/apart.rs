//! What a node computes or reads along some of its axes only, as an array of its own.

use crate::prelude::*;
use rewright_ir::expr::{
    Affine, Axis, AxisKind, Body, BodyRef, Index, IndexExpr, Mode, Operand, Out, Source, SymExpr, Write, prune,
};
use rewright_ir::{ArrayExpr, Attr, Dim, Name};
use smallvec::SmallVec;
use std::sync::Arc;

/// The form that a position is made of; none if it is found in an array.
pub(super) fn form(position: &IndexExpr) -> Option<&Affine> {
    match position {
        IndexExpr::Affine(form) | IndexExpr::FloorDiv(form, _) | IndexExpr::Mod(form, _) => Some(form),
        IndexExpr::Gather { .. } => None,
    }
}

/// The axes that positions go along, in order.
pub(super) fn axes_of(index: &[Index]) -> SmallVec<[u32; 4]> {
    let forms = index.iter().filter_map(|index| form(&index.expr));
    let mut axes: SmallVec<[u32; 4]> = forms.flat_map(|form| form.axes().iter().map(|&(axis, _)| axis)).collect();
    axes.sort_unstable();
    axes.dedup();
    axes
}

/// True if an array can have each of these axes: they begin at 0, and it is said where they end.
pub(super) fn are_plain(axes: &[Axis]) -> bool {
    axes.iter().all(|axis| axis.lo == SymExpr::default() && axis.hi.is_some())
}

/// Computes a value of a node's body as an array before the node, along the axes of these numbers, which are [plain](are_plain): it varies along no others, and none
/// of its positions are found in arrays. `read` is given what is left, its arguments, and the operand that reads the array.
pub(super) fn take_out(
    rw: &mut Rewriter<'_>,
    root: Inst,
    (value, dtype): (BodyRef, DType),
    along: &[u32],
    read: impl FnOnce(&mut ArrayExpr, &mut Vec<Value>, Operand),
) -> Result<(), RewriteError> {
    let data = rw.func().inst(root).clone();
    let Some(expr) = data.attrs.expr() else { return Err(RewriteError::new("it has no expression")) };
    let (own, args) = node_along(expr, &data.args, (value, dtype), along);
    rw.set_point(Point::Before(root));
    rw.set_loc(data.loc);
    let array = rw.op_with("arrayexpr", args, Attrs::new().with("expr", Attr::Expr(Arc::new(own))))?;
    let (mut rest, mut args) = (ArrayExpr::clone(expr), data.args.to_vec());
    let operand = operand_along(expr, args.len(), dtype, along);
    args.push(array);
    read(&mut rest, &mut args, operand);
    rest.order_args(&mut args);
    let node = rw.insert(data.op, args, data.attrs.with("expr", Attr::Expr(Arc::new(rest))))?;
    let results = rw.func().inst(node).results.clone();
    rw.replace(root, &results)
}

/// The node that gives the value, and what it reads.
fn node_along(
    expr: &ArrayExpr,
    args: &[Value],
    (value, dtype): (BodyRef, DType),
    along: &[u32],
) -> (ArrayExpr, Vec<Value>) {
    let place = |axis: u32| along.iter().position(|&own| own == axis).map(|place| place as u32);
    let axes: Vec<Axis> =
        along.iter().map(|&axis| Axis { kind: AxisKind::Parallel, ..expr.axes[axis as usize].clone() }).collect();
    let (mut operands, mut args) = (expr.operands.clone(), args.to_vec());
    let mut body = Body { insts: expr.body.insts.clone(), yields: vec![value] };
    prune(&mut body, &expr.axes, &mut operands, &mut args);
    for index in operands.iter_mut().flat_map(|operand| &mut operand.index) {
        let (IndexExpr::Affine(form) | IndexExpr::FloorDiv(form, _) | IndexExpr::Mod(form, _)) = &mut index.expr else {
            continue;
        };
        let terms = form.axes().iter().filter_map(|&(axis, c)| Some((place(axis)?, c)));
        // The same terms, in the same order: nothing overflows.
        let mut moved = terms.fold(Affine::default(), |form, (axis, c)| form.add_axis(axis, c).unwrap_or_default());
        moved.offset = std::mem::take(&mut form.offset);
        *form = moved;
    }
    for value in body.insts.iter_mut().flat_map(|inst| &mut inst.args).chain(&mut body.yields) {
        if let BodyRef::Axis(axis) = value {
            *axis = place(*axis).unwrap_or(*axis);
        }
    }
    let dims = axes.iter().map(|axis| axis.hi.as_ref().map_or(Dim::Any, dim_of)).collect();
    let index = (0..axes.len() as u32).map(|axis| IndexExpr::Affine(Affine::axis(axis))).collect();
    let outs = vec![Out { dtype, dims, index, fill: None, write: Write::Unique }];
    let (guard, reductions, locs) = (Vec::new(), Vec::new(), expr.locs.clone());
    (ArrayExpr { axes, guard, operands, body, reductions, finish: None, outs, locs }, args)
}

/// The dim of an extent.
fn dim_of(extent: &SymExpr) -> Dim {
    match (extent.terms(), u64::try_from(extent.constant)) {
        (&[], Ok(constant)) => Dim::Const(constant),
        (&[(symbol, 1)], Ok(0)) => Dim::Sym(symbol),
        _ => Dim::Any,
    }
}

/// An operand that reads such an array, the argument of a number.
fn operand_along(expr: &ArrayExpr, arg: usize, dtype: DType, along: &[u32]) -> Operand {
    let taken = |name: &Name| {
        let of = |hi: &SymExpr| hi.terms().iter().any(|(symbol, _)| symbol == name);
        let axes = || expr.axes.iter().any(|axis| axis.name == *name || axis.hi.as_ref().is_some_and(of));
        expr.operands.iter().any(|operand| operand.name == *name) || axes()
    };
    let name = (0..).map(|n| Name::from(format!("x{n}"))).find(|name| !taken(name)).unwrap_or(Name::new("x"));
    let at = |&axis: &u32| Index { expr: IndexExpr::Affine(Affine::axis(axis)), mode: Mode::Proved };
    Operand { name, source: Source::Array(arg as u32), dtype, index: along.iter().map(at).collect() }
}
