//! What a node computes or reads along some of its axes only, as an array of its own.

use crate::prelude::*;
use rewright_ir::expr::{
    Affine, Axis, AxisKind, Body, BodyRef, Index, IndexExpr, Init, Mode, Operand, Out, Source, SymExpr, Write, prune,
};
use rewright_ir::{ArrayExpr, Dim, Name};

/// The form that a position is made of; of one that is found in an array, what is added.
fn form_of(position: &mut IndexExpr) -> &mut Affine {
    match position {
        IndexExpr::Affine(form) | IndexExpr::FloorDiv(form, _) | IndexExpr::Mod(form, _) => form,
        IndexExpr::Gather { offset, .. } => offset,
    }
}

/// True if an array can have each of these axes: they begin at 0, and it is said where they end.
pub(super) fn are_plain(axes: &[Axis]) -> bool {
    axes.iter().all(|axis| axis.lo == SymExpr::default() && axis.hi.is_some())
}

/// The node of the axes of these numbers that gives a value of the body of another one, whose axes are [plain](are_plain), along which alone that value
/// varies; and what it reads.
pub(super) fn node_along(
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
        let form = form_of(&mut index.expr);
        let offset = form.offset.clone();
        let terms: Vec<(u32, i64)> = form.axes().iter().filter_map(|&(axis, c)| Some((place(axis)?, c))).collect();
        // The same terms, in the same order: nothing overflows.
        *form = terms.into_iter().fold(Affine::default(), |form, (axis, c)| form.add_axis(axis, c).unwrap_or_default());
        form.offset = offset;
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
pub(super) fn operand_along(expr: &ArrayExpr, arg: usize, dtype: DType, along: &[u32]) -> Operand {
    let taken = |name: &Name| {
        let of = |hi: &SymExpr| hi.terms().iter().any(|(symbol, _)| symbol == name);
        let axes = || expr.axes.iter().any(|axis| axis.name == *name || axis.hi.as_ref().is_some_and(of));
        expr.operands.iter().any(|operand| operand.name == *name) || axes()
    };
    let name = (0..).map(|n| Name::from(format!("x{n}"))).find(|name| !taken(name)).unwrap_or(Name::new("x"));
    let at = |&axis: &u32| Index { expr: IndexExpr::Affine(Affine::axis(axis)), mode: Mode::Proved };
    Operand { name, source: Source::Array(arg as u32), dtype, index: along.iter().map(at).collect() }
}

/// Puts the arguments in the order in which operands use them, as a reader expects; where something else uses one, too, they stay.
pub(super) fn in_order_of_use(expr: &mut ArrayExpr, args: &mut Vec<Value>) {
    let mut order: Vec<u32> = Vec::new();
    for operand in &expr.operands {
        if let Source::Array(arg) | Source::Scalar(arg) = operand.source
            && !order.contains(&arg)
        {
            order.push(arg);
        }
    }
    let found = |position: &IndexExpr| matches!(position, IndexExpr::Gather { .. });
    let mut positions = expr.operands.iter().flat_map(|operand| operand.index.iter().map(|index| &index.expr));
    let starts = expr.reductions.iter().any(|reduction| matches!(reduction.init, Init::Existing(_)));
    if order.len() != args.len()
        || starts
        || positions.any(found)
        || expr.outs.iter().flat_map(|out| &out.index).any(found)
    {
        return;
    }
    *args = order.iter().map(|&arg| args[arg as usize]).collect();
    for operand in &mut expr.operands {
        if let Source::Array(arg) | Source::Scalar(arg) = &mut operand.source {
            *arg = order.iter().position(|known| known == arg).map_or(*arg, |place| place as u32);
        }
    }
}
