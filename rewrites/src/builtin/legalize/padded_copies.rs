//! `padded-copies`: copies arrays that a reduction reads many times beyond their ends.

use crate::builtin::fusion::node::materialize::{dim_of, may_fail};
use crate::prelude::*;
use rewright_ir::expr::{
    Affine, Axis, AxisKind, Body, BodyOp, BodyRef, Condition, Index, IndexExpr, Mode, Operand, Out, Source, SymExpr,
    Test, Write, axes_along,
};
use rewright_ir::{ArrayExpr, Attr, Dim, Function, Name, Scalar};
use std::sync::Arc;

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

/// The points for each element of a copy from which on it is made. A copy is a read and a write more.
const MANY_READS: i64 = 8;

/// The assumed value of a symbol.
const USUAL_EXTENT: i64 = 64;

/// A copy of an operand.
pub struct PaddedCopy {
    operand: usize,
    /// The node that makes the copy. Its only argument is the operand's array.
    expr: ArrayExpr,
    /// How the reduction reads the copy.
    index: Vec<Index>,
}

impl RootRewrite for PaddedCopies {
    type Match = (Inst, Vec<PaddedCopy>);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let data = cx.func().inst(root);
        let expr = data.attrs.expr().filter(|_| data.attrs.str("schedule").is_none()).ok_or(NoMatch::quiet())?;
        let flat = expr.body.insts.iter().all(|inst| matches!(inst.op, BodyOp::Op(..)));
        let reduces = expr.axes.iter().any(|axis| axis.kind == AxisKind::Reduce);
        if !flat || !reduces || !expr.guard.is_empty() || expr.scan().is_some() {
            return Err(NoMatch::quiet());
        }
        let copies = (0..expr.operands.len()).filter_map(|operand| copy(cx.func(), &data.args, expr, operand));
        let copies: Vec<PaddedCopy> = copies.collect();
        if copies.is_empty() { Err(NoMatch::quiet()) } else { Ok((root, copies)) }
    }

    fn apply(&self, (root, copies): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let data = rw.func().inst(root).clone();
        let Some(expr) = data.attrs.expr() else { return Err(RewriteError::new("it has no expression")) };
        rw.set_point(Point::Before(root));
        rw.set_loc(data.loc);
        let (mut rest, mut args) = (ArrayExpr::clone(expr), data.args.to_vec());
        for PaddedCopy { operand, expr, index } in copies {
            let Source::Array(array) = rest.operands[operand].source else { continue };
            let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
            let source = Source::Array(args.len() as u32);
            args.push(rw.op_with("arrayexpr", vec![data.args[array as usize]], attrs)?);
            rest.operands[operand] = Operand { source, index, ..rest.operands[operand].clone() };
        }
        rest.order_args(&mut args);
        let node = rw.insert(data.op, args, data.attrs.clone().with("expr", Attr::Expr(Arc::new(rest))))?;
        let results = rw.func().inst(node).results.clone();
        rw.replace(root, &results)
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
fn copy(func: &Function, args: &[Value], expr: &ArrayExpr, number: usize) -> Option<PaddedCopy> {
    let operand = &expr.operands[number];
    let Source::Array(arg) = operand.source else { return None };
    let dims = func.ty(args[arg as usize]).dims();
    // An operand that the body does not use is not read.
    let value = BodyRef::Operand(number as u32);
    let mut used = expr.body.insts.iter().flat_map(|inst| &inst.args).chain(&expr.body.yields);
    let is_moved = |index: &Index| matches!(index.mode, Mode::Pad(_) | Mode::Wrap | Mode::Clamp);
    if !used.any(|used| *used == value) || !operand.index.iter().any(is_moved) {
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
    let index = (0..axes.len() as u32).map(|axis| IndexExpr::Affine(Affine::axis(axis))).collect();
    let made = ArrayExpr {
        axes,
        guard,
        operands: vec![Operand { source: Source::Array(0), index: read, ..operand.clone() }],
        body: Body { insts: Vec::new(), yields: vec![BodyRef::Operand(0)] },
        reductions: Vec::new(),
        finish: None,
        outs: vec![Out { dtype: operand.dtype, dims: extents, index, fill, write: Write::Unique }],
        locs: expr.locs.clone(),
    };
    let index = copied.into_iter().flatten().map(|copied| copied.read).collect();
    Some(PaddedCopy { operand: number, expr: made, index })
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

/// The extent of an axis.
fn extent(axis: &Axis) -> Option<SymExpr> {
    axis.hi.clone()?.plus_scaled(&axis.lo, -1)
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

/// About how many points an expression has.
fn points(expr: &ArrayExpr) -> Option<i64> {
    expr.axes.iter().try_fold(1, |points: i64, axis| Some(points.saturating_mul(about(&extent(axis)?))))
}

/// About how long an extent is.
fn about(extent: &SymExpr) -> i64 {
    extent.eval(|_| Some(USUAL_EXTENT)).filter(|extent| *extent > 0).unwrap_or(USUAL_EXTENT)
}
