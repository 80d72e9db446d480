//! `strided-copies`: copies arrays of which a window reads every second element, or every third one, and so
//! on.

use super::operand_copy::{MANY_READS, OperandCopy, copy_of, points};
use crate::prelude::*;
use rewright_ir::expr::{
    Affine, AxisKind, BodyInst, BodyOp, Index, IndexExpr, Mode, Operand, Source, SymExpr, axes_along,
};
use rewright_ir::{ArrayExpr, Dim, Function, Scalar, Traits};

/// Copies an operand of a window that moves by several elements of the last dim for each point of the last
/// axis, such as the image of a convolution with a stride. In the copy, elements with the same remainder are
/// next to each other: `x[c*q + r]` becomes `copy[r, q]`, so that adjacent points read adjacent elements.
///
/// A copy is made where the node has [many](MANY_READS) points for each element of it, and where lowering
/// [unrolls](ArrayExpr::few_points) the window: then remainders are constants. Rows that share elements, as
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
        let data = cx.func().inst(root);
        let others = data.attrs.expr().filter(|expr| {
            let mut others = (0..).zip(&expr.operands);
            others
                .all(|(number, operand)| copies.iter().any(|copy| copy.operand == number) || is_adjacent(expr, operand))
        });
        if others.is_some() { Ok((root, copies)) } else { Err(NoMatch::quiet()) }
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
    let parallel = last_parallel(expr)?;
    let step = Some(step_of(form, parallel)).filter(|step| *step > 1 && *step < extent)?;
    let has_window = form.axes().iter().any(|&(axis, _)| expr.axes[axis as usize].kind == AxisKind::Reduce);
    let is_partial = |inst: &BodyInst| !matches!(&inst.op, BodyOp::Op(op, _) if !op.traits.contains(Traits::PARTIAL));
    let is_unrolled = expr.few_points().is_some()
        && !expr.rows_share(parallel)
        && !expr.body.insts.iter().any(is_partial)
        && expr.outs.iter().all(|out| out.fill.is_none());
    if !has_window || !is_unrolled {
        return None;
    }
    let ranges: Vec<(i64, i64)> = expr
        .axes
        .iter()
        .map(|axis| {
            let (lo, hi) = (axis.lo.as_constant()?, axis.hi.as_ref()?.as_constant()?);
            (lo < hi).then_some((lo, hi - 1))
        })
        .collect::<Option<_>>()?;
    let rounds = (extent - 1) / step + 1;
    let elements = extents.iter().rev().skip(1).copied().chain([step, rounds]).fold(1, i64::saturating_mul);
    let are_inside = operand.index.iter().zip(&extents).all(|(index, extent)| is_inside(index, *extent, &ranges));
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
    let made = copy_of(operand, read, (axes, copied), None, expr);
    let mut index = operand.index[..operand.index.len() - 1].to_vec();
    index.push(proved(IndexExpr::Mod(form.clone(), step)));
    index.push(proved(IndexExpr::FloorDiv(form.clone(), step)));
    Some(OperandCopy { operand: number, expr: made, index })
}

fn last_parallel(expr: &ArrayExpr) -> Option<u32> {
    Some(expr.axes.iter().rposition(|axis| axis.kind == AxisKind::Parallel)? as u32)
}

/// The distance of positions at adjacent points of an axis.
fn step_of(form: &Affine, axis: u32) -> i64 {
    form.axes().iter().find(|(own, _)| *own == axis).map_or(0, |&(_, step)| step)
}

/// True if adjacent points of the last parallel axis read one element, or adjacent elements.
fn is_adjacent(expr: &ArrayExpr, operand: &Operand) -> bool {
    let Some(axis) = last_parallel(expr) else { return false };
    let step = |index: &Index| match &index.expr {
        IndexExpr::Affine(form) => Some(step_of(form, axis)),
        _ => None,
    };
    let Some((last, others)) = operand.index.split_last() else { return true };
    others.iter().all(|index| step(index) == Some(0)) && matches!(step(last), Some(0 | 1))
}

fn constant(dim: &Dim) -> Option<i64> {
    SymExpr::of_dim(*dim)?.as_constant().filter(|extent| *extent > 0)
}

/// True if a position is in bounds at all points, by the first and last index of each axis.
fn is_inside(index: &Index, extent: i64, ranges: &[(i64, i64)]) -> bool {
    let (IndexExpr::Affine(form), Mode::Proved) = (&index.expr, &index.mode) else { return false };
    let ends = |[mut least, mut most]: [i64; 2], &(axis, c): &(u32, i64)| {
        let (first, last) = ranges[axis as usize];
        let (a, b) = (first.checked_mul(c)?, last.checked_mul(c)?);
        least = least.checked_add(a.min(b))?;
        most = most.checked_add(a.max(b))?;
        Some([least, most])
    };
    let start = form.offset.as_constant().map(|offset| [offset; 2]);
    let ends = start.and_then(|start| form.axes().iter().try_fold(start, ends));
    ends.is_some_and(|[least, most]| least >= 0 && most < extent)
}
