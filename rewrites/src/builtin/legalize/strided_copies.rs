//! `strided-copies`: copies arrays of which a window reads every second element, or every third one, and so
//! on.

use super::operand_copy::{MANY_READS, OperandCopy, copy_of, points};
use crate::prelude::*;
use rewright_ir::expr::{Affine, AxisKind, BodyRef, Index, IndexExpr, Mode, Source, SymExpr, axes_along};
use rewright_ir::{ArrayExpr, Dim, Function, Scalar};

/// Copies an operand of a window that moves by several elements of the last dim for each point of the last
/// axis, such as the image of a convolution with a stride. In the copy, elements with the same remainder are
/// next to each other: `x[c*q + r]` becomes `copy[r, q]`, so that adjacent points read adjacent elements.
///
/// A copy is made where the node has [many](MANY_READS) points for each element of it, and where lowering
/// [unrolls](ArrayExpr::is_unrolled) the window: then remainders are constants. Rows that share elements, as
/// those of several output channels, have loops that are blocked for registers instead.
///
/// It is exact. It needs constant extents, by which all positions are in bounds.
pub struct StridedCopies;

static STRIDED_COPIES: RewriteDef = RewriteDef::root(
    "strided-copies",
    "copies operands of which a window reads every n-th element, with those next to each other",
    &StridedCopies,
)
.roots(&["arrayexpr"])
.stage(Stage::BeforeLowering)
.after(&["padded-copies"])
.before(&["array-expr"])
.reach(1);
register_rewrite!(STRIDED_COPIES);

impl RootRewrite for StridedCopies {
    type Match = (Inst, Vec<OperandCopy>);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let copies = OperandCopy::of_reduction(cx.func(), root, copy)?;
        let mut reading = ArrayExpr::clone(cx.func().inst(root).attrs.expr().ok_or(NoMatch::quiet())?);
        for copy in &copies {
            reading.operands[copy.operand].index.clone_from(&copy.index);
        }
        if reading.is_unrolled() { Ok((root, copies)) } else { Err(NoMatch::quiet()) }
    }

    fn apply(&self, (root, copies): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        OperandCopy::replace(root, copies, rw)
    }
}

/// The copy of an operand, if it is possible and worth it.
fn copy(func: &Function, args: &[Value], expr: &ArrayExpr, number: usize) -> Option<OperandCopy> {
    let operand = &expr.operands[number];
    let Source::Array(arg) = operand.source else { return None };
    let dims = func.ty(args[arg as usize]).dims();
    let extents: Vec<i64> = dims.iter().map(constant).collect::<Option<_>>()?;
    let (last, &extent) = (operand.index.last()?, extents.last()?);
    let IndexExpr::Affine(form) = &last.expr else { return None };
    let last_axis = expr.last_parallel()?;
    let step = Some(form.coefficient(last_axis)).filter(|step| *step > 1 && *step < extent)?;
    let has_window = form.axes().iter().any(|&(axis, _)| expr.axes[axis as usize].kind == AxisKind::Reduce);
    if !has_window || expr.rows_share(last_axis) {
        return None;
    }
    let rounds = (extent - 1) / step + 1;
    let elements = extents.iter().rev().skip(1).copied().chain([step, rounds]).fold(1, i64::saturating_mul);
    let are_inside = operand.index.iter().zip(&extents).all(|(index, extent)| is_inside(expr, index, *extent));
    if points(expr)? < elements.saturating_mul(MANY_READS) || !are_inside {
        return None;
    }
    let dim = |extent: i64| Some(Dim::Const(u64::try_from(extent).ok()?));
    let mut copied: Vec<Dim> = dims[..dims.len() - 1].to_vec();
    copied.extend([dim(step)?, dim(rounds)?]);
    let axes = axes_along(&copied, |_| false);
    let (remainder, quotient) = (axes.len() as u32 - 2, axes.len() as u32 - 1);
    let proved = |expr: IndexExpr| Index { expr, mode: Mode::Proved };
    let mut read: Vec<Index> = (0..remainder).map(|axis| proved(IndexExpr::Affine(Affine::axis(axis)))).collect();
    let place = Affine::axis(remainder).add_axis(quotient, step)?;
    // The last round may go beyond the end.
    let mode = if extent % step == 0 { Mode::Proved } else { Mode::Pad(Scalar::zero(operand.dtype)) };
    read.push(Index { expr: IndexExpr::Affine(place), mode });
    let array = args[arg as usize];
    let (array, read) = through_copy(func, array, &read).unwrap_or((array, read));
    let made = copy_of(operand, read, (axes, copied), None, expr);
    let mut index = operand.index[..operand.index.len() - 1].to_vec();
    index.push(proved(IndexExpr::Mod(form.clone(), step)));
    index.push(proved(IndexExpr::FloorDiv(form.clone(), step)));
    Some(OperandCopy { operand: number, array, expr: made, index })
}

/// The reads of a copy's array in place of reads of the copy, such as one with a border, if the array of the
/// reads is one.
fn through_copy(func: &Function, copy: Value, read: &[Index]) -> Option<(Value, Vec<Index>)> {
    let data = func.inst(func.def_inst(copy)?);
    let expr = data.attrs.expr()?;
    let ([own], [out]) = (&expr.operands[..], &expr.outs[..]) else { return None };
    let Source::Array(arg) = own.source else { return None };
    let is_axis = |(dim, position): (u32, &IndexExpr)| {
        let from_start = expr.axes.get(dim as usize).is_some_and(|axis| axis.lo == SymExpr::default());
        from_start && *position == IndexExpr::Affine(Affine::axis(dim))
    };
    let copies = expr.body.insts.is_empty() && expr.body.yields[..] == [BodyRef::Operand(0)];
    let is_whole = expr.guard.is_empty() && out.fill.is_none() && out.dtype == own.dtype;
    let moves = expr.axes.iter().all(|axis| axis.kind == AxisKind::Parallel) && expr.reductions.is_empty();
    if !copies || !is_whole || !moves || !(0..).zip(&out.index).all(is_axis) {
        return None;
    }
    let forms: Vec<Affine> = read.iter().map(|index| index.expr.form().cloned()).collect::<Option<_>>()?;
    // Positions beyond the end of the copy are beyond the end of the array, too, if its mode allows that.
    let is_ragged =
        |form: &Affine| (0..).zip(read).any(|(axis, index)| form.coefficient(axis) != 0 && index.mode != Mode::Proved);
    let composed = |index: &Index| match (&index.expr, index.mode) {
        (IndexExpr::Affine(form), Mode::Pad(_) | Mode::Wrap | Mode::Clamp) => {
            Some(Index { expr: IndexExpr::Affine(form.along(&forms)?), mode: index.mode })
        }
        (IndexExpr::Affine(form), Mode::Proved) if !is_ragged(form) => {
            Some(Index { expr: IndexExpr::Affine(form.along(&forms)?), mode: Mode::Proved })
        }
        _ => None,
    };
    let index = own.index.iter().map(composed).collect::<Option<_>>()?;
    Some((data.args[arg as usize], index))
}

fn constant(dim: &Dim) -> Option<i64> {
    SymExpr::of_dim(*dim)?.as_constant().filter(|extent| *extent > 0)
}

/// True if a position is in bounds at all points, by the first and last index of each axis.
fn is_inside(expr: &ArrayExpr, index: &Index, extent: i64) -> bool {
    let (IndexExpr::Affine(form), Mode::Proved) = (&index.expr, &index.mode) else { return false };
    let indices = |axis: u32| {
        let axis = &expr.axes[axis as usize];
        let (lo, hi) = (axis.lo.as_constant()?, axis.hi.as_ref()?.as_constant()?);
        (lo < hi).then_some((lo, hi - 1))
    };
    let ends = form.extremes(indices, |_| None);
    ends.is_some_and(|(least, most)| least >= 0 && most < i128::from(extent))
}
