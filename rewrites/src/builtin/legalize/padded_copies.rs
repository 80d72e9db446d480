//! `padded-copies`: copies arrays that a reduction reads many times beyond their ends.

use super::operand_copy::{MANY_READS, OperandCopy, about, copy_of, extent, points};
use crate::builtin::fusion::node::materialize::{dim_of, may_fail};
use crate::prelude::*;
use rewright_ir::expr::{Affine, Axis, Condition, Index, IndexExpr, Mode, Operand, Source, SymExpr, Test, axes_along};
use rewright_ir::{ArrayExpr, Dim, Function, Name, Scalar};

/// Copies an operand of a reduction that is read with a boundary mode, such as the image of a padded
/// convolution, into an array with a border (a *halo*). The reduction then reads the copy inside of its ends.
///
/// A copy reads and writes each element once, so it is made where the reduction has [many](MANY_READS) points
/// for each element of the copy. Without it, a loop is split at the border, and points of the border are
/// tested one by one: better for a stencil of few points, and worse for a window.
///
/// It is exact. A node without points reads nothing, so a copy that could fail has conditions.
pub struct PaddedCopies;

static PADDED_COPIES: RewriteDef = RewriteDef::root(
    "padded-copies",
    "copies operands that a reduction reads many times beyond the ends of an array",
    &PaddedCopies,
)
.roots(&["arrayexpr"])
.stage(Stage::BeforeLowering)
.after(&["reads-in-bounds"])
.before(&["array-expr"])
.reach(1);
register_rewrite!(PADDED_COPIES);

impl RootRewrite for PaddedCopies {
    type Match = (Inst, Vec<OperandCopy>);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let copies = OperandCopy::of_reduction(cx.func(), root, copy)?;
        Ok((root, copies))
    }

    fn apply(&self, (root, copies): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        OperandCopy::replace(root, copies, rw)
    }
}

/// A dim of the copy.
struct CopyDim {
    extent: SymExpr,
    /// The position in the array, without the copy's axis.
    low: SymExpr,
    mode: Mode,
    /// How the reduction reads the copy.
    read: Index,
}

/// The copy of an operand, if it is possible and worth it.
fn copy(func: &Function, args: &[Value], expr: &ArrayExpr, number: usize) -> Option<OperandCopy> {
    let operand = &expr.operands[number];
    let Source::Array(arg) = operand.source else { return None };
    let dims = func.ty(args[arg as usize]).dims();
    let is_moved = |index: &Index| matches!(index.mode, Mode::Pad(_) | Mode::Wrap | Mode::Clamp);
    if !operand.index.iter().any(is_moved) {
        return None;
    }
    // A position without axes needs no dim: it is the same in each element's address.
    let copied: Vec<Option<CopyDim>> =
        operand.index.iter().zip(dims).map(|(index, dim)| copy_dim(expr, index, *dim)).collect::<Option<_>>()?;
    let elements = copied.iter().flatten().map(|copied| about(&copied.extent));
    let elements = elements.fold(1, i64::saturating_mul);
    if points(expr)? < elements.saturating_mul(MANY_READS) {
        return None;
    }
    let extents: Vec<Dim> = copied.iter().flatten().map(|copied| dim_of(&copied.extent)).collect();
    let symbols: Vec<Name> = symbols(&copied, operand).collect();
    let mut axes = axes_along(&extents, |name| symbols.contains(&name));
    for (axis, copied) in axes.iter_mut().zip(copied.iter().flatten()) {
        axis.hi = Some(copied.extent.clone());
    }
    let mut next = 0;
    let place = |(copied, index): (&Option<CopyDim>, &Index)| match copied {
        None => index.clone(),
        Some(copied) => {
            let mut form = Affine::axis(next);
            form.offset = copied.low.clone();
            next += 1;
            Index { expr: IndexExpr::Affine(form), mode: copied.mode }
        }
    };
    let read = copied.iter().zip(&operand.index).map(place).collect();
    let is_known = |axis: &&Axis| extent(axis).and_then(|extent| extent.as_constant()).is_some_and(|n| n > 0);
    let fails = may_fail(func, args, operand);
    let uncertain = expr.axes.iter().filter(|axis| fails && !is_known(axis));
    let guard: Vec<Condition> = uncertain.map(has_points).collect::<Option<_>>()?;
    let fill = (!guard.is_empty()).then(|| Scalar::zero(operand.dtype));
    let made = ArrayExpr { guard, ..copy_of(operand, read, (axes, extents), fill, expr) };
    let index = copied.into_iter().flatten().map(|copied| copied.read).collect();
    Some(OperandCopy { operand: number, array: args[arg as usize], expr: made, index })
}

/// The dim of the copy for a position in a dim of the array: `Some(None)` if the position is the same at all
/// points. `None` if the operand can't be copied.
fn copy_dim(expr: &ArrayExpr, index: &Index, dim: Dim) -> Option<Option<CopyDim>> {
    let IndexExpr::Affine(form) = &index.expr else { return None };
    if form.axes().is_empty() && index.mode != Mode::Check {
        return Some(None);
    }
    Some(Some(match index.mode {
        Mode::Check => return None,
        Mode::Proved | Mode::Broadcast => {
            CopyDim { extent: SymExpr::of_dim(dim)?, low: SymExpr::default(), mode: Mode::Proved, read: index.clone() }
        }
        Mode::Pad(_) | Mode::Wrap | Mode::Clamp => {
            let (mut extent, mut low) = (SymExpr::constant(1), form.offset.clone());
            for &(axis, coefficient) in form.axes() {
                let Axis { lo, hi, .. } = &expr.axes[axis as usize];
                let last = hi.clone()?.plus_scaled(&SymExpr::constant(1), -1)?;
                let steps = coefficient.checked_abs()?;
                extent = extent.plus_scaled(&last, steps)?.plus_scaled(lo, steps.checked_neg()?)?;
                low = low.plus_scaled(if coefficient > 0 { lo } else { &last }, coefficient)?;
            }
            let mut own = form.clone();
            own.offset = own.offset.plus_scaled(&low, -1)?;
            let read = Index { expr: IndexExpr::Affine(own), mode: Mode::Proved };
            CopyDim { extent, low, mode: index.mode, read }
        }
    }))
}

/// The condition that an axis has points: `1 - extent <= 0`.
fn has_points(axis: &Axis) -> Option<Condition> {
    let mut form = Affine::default();
    form.offset = SymExpr::constant(1).plus_scaled(&extent(axis)?, -1)?;
    Some(Condition { form, test: Test::NotPositive })
}

/// The symbols of the copy.
fn symbols<'a>(copied: &'a [Option<CopyDim>], operand: &'a Operand) -> impl Iterator<Item = Name> + 'a {
    let own = copied.iter().flatten().flat_map(|copied| [&copied.extent, &copied.low]);
    let fixed = operand.index.iter().filter_map(|index| index.expr.form()).map(|form| &form.offset);
    own.chain(fixed).flat_map(|sum| sum.terms().iter().map(|&(name, _)| name))
}
