//! Conditions under which the instructions of a block may be fused: the form of their expressions, and
//! whether they can move past the instructions between them.

use crate::builtin::cannot_fail::cannot_fail;
use crate::prelude::*;
use rewright_ir::expr::{AxisKind, BodyOp, IndexExpr, Order, SymExpr, Write};
use rewright_ir::{ArrayExpr, Dim, InstData};

/// The most instructions between two instructions that are fused.
pub(crate) const NEAR: usize = 256;

/// True if an expression computes each element of its results independently.
pub(crate) fn is_pointwise(expr: &ArrayExpr) -> bool {
    let zero = SymExpr::default();
    let in_order = |(axis, index): (usize, &IndexExpr)| match index {
        IndexExpr::Affine(form) => form.as_axis() == Some(axis as u32),
        _ => false,
    };
    expr.guard.is_empty()
        && expr.reductions.is_empty()
        && expr.axes.iter().all(|axis| axis.kind == AxisKind::Parallel && axis.lo == zero)
        && expr.body.insts.iter().all(|inst| matches!(inst.op, BodyOp::Op(..)))
        && expr.outs.iter().all(|out| {
            out.fill.is_none()
                && out.write == Write::Unique
                && out.index.len() == expr.axes.len()
                && out.index.iter().enumerate().all(in_order)
        })
}

/// True if the node has a `schedule` attribute, which holds for this node only.
pub(crate) fn is_scheduled(data: &InstData) -> bool {
    data.attrs.str("schedule").is_some()
}

/// Whether an axis with this end runs over all of a dim.
pub(crate) fn covers(end: Option<&SymExpr>, dim: Dim) -> bool {
    end.is_some() && SymExpr::of_dim(dim).as_ref() == end
}

/// True if the elements of a row are combined in sequence.
pub(crate) fn goes_in_sequence(expr: &ArrayExpr) -> bool {
    let along_row = expr.axes.last().is_some_and(|axis| axis.kind == AxisKind::Reduce);
    along_row && expr.orders().any(|order| order == Order::Sequential)
}

/// True if the producer and the other reductions can move to where the first reduction stands.
pub(crate) fn may_move(cx: &MatchCx<'_>, producer: Inst, reductions: &[Inst]) -> bool {
    let func = cx.func();
    let (first, last) = (reductions[0], reductions[reductions.len() - 1]);
    (cannot_fail(func, producer) || is_still_between(func, producer, first, &|_| false))
        && (first == last || is_still_between(func, first, last, &|inst| reductions.contains(&inst)))
}

/// The order of two instructions of a block.
pub(crate) fn block_order(func: &Function, a: Inst, b: Inst) -> std::cmp::Ordering {
    match a == b {
        true => std::cmp::Ordering::Equal,
        false if func.comes_before(a, b) => std::cmp::Ordering::Less,
        false => std::cmp::Ordering::Greater,
    }
}

/// True if all instructions between two of a block, except the moved ones, have no effect and cannot fail,
/// and there are at most [`NEAR`].
pub(crate) fn is_still_between(func: &Function, from: Inst, to: Inst, moved: &dyn Fn(Inst) -> bool) -> bool {
    let between = std::iter::successors(func.prev_inst(to), |&inst| func.prev_inst(inst)).take_while(|&i| i != from);
    let mut count = 0;
    { between }.all(|inst| {
        count += 1;
        count <= NEAR && (moved(inst) || cannot_fail(func, inst))
    })
}

/// True if a value is defined before an instruction, or in another block.
pub(crate) fn is_there(func: &Function, value: Value, at: Inst) -> bool {
    func.def_inst(value).is_none_or(|def| func.block_of(def) != func.block_of(at) || func.comes_before(def, at))
}
