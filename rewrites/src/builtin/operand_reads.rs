//! `operand-reads`: what a kernel can't read is an array of its own first.

use super::apart::{are_plain, axes_of, form, take_out};
use super::array_expr::covers;
use crate::prelude::*;
use rewright_ir::expr::{Axis, AxisKind, BodyOp, BodyRef, Index, IndexExpr, Mode, Operand, Source, SymExpr};
use rewright_ir::{ArrayExpr, Attr, Function};
use std::sync::Arc;

/// Takes operands out of an `arrayexpr` that are read beyond the ends of an array, or at quotients or remainders of indices: they become nodes which do
/// nothing but read, and which are run by copying rows. A kernel reads straight through what they give, and computes the rest. Where an axis ends with the
/// array, nothing is read beyond, and the node reads straight itself.
///
/// An array like that is as large as a result, or else has no more axes than the one that is read: what is read at many places for each element, as by a
/// window that slides, stays. It is exact, and reads at the same positions.
pub struct OperandReads;

static OPERAND_READS: RewriteDef =
    RewriteDef::root("operand-reads", "what a kernel can't read is an array of its own first", &OperandReads)
        .roots(&["arrayexpr"])
        .stage(Stage::BeforeLowering)
        .before(&["array-expr"])
        .reach(1);
register_rewrite!(OPERAND_READS);

/// What is to be done with a node.
pub enum Found {
    /// All positions are inside that look as if they were not.
    Inside(Inst, Box<ArrayExpr>),
    /// An operand is taken out, which varies along these axes.
    Operand(Inst, usize, Vec<u32>),
}

impl RootRewrite for OperandReads {
    type Match = Found;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Found, NoMatch> {
        let data = cx.func().inst(root);
        let Some(expr) = data.attrs.expr().filter(|_| data.attrs.str("schedule").is_none()) else {
            return Err(NoMatch::quiet());
        };
        if let Some(straight) = straightened(cx.func(), &data.args, expr) {
            return Ok(Found::Inside(root, Box::new(straight)));
        }
        let reads_only = expr.body.insts.is_empty() && expr.operands.len() == 1 && expr.reductions.is_empty();
        let flat = expr.body.insts.iter().all(|inst| matches!(inst.op, BodyOp::Op(..)));
        if reads_only || !flat || !expr.guard.is_empty() {
            return Err(NoMatch::quiet());
        }
        let mut because = NoMatch::quiet();
        for (number, operand) in expr.operands.iter().enumerate().filter(|(_, operand)| is_elsewhere(operand)) {
            match why_stays(expr, operand) {
                None => return Ok(Found::Operand(root, number, axes_of(&operand.index).to_vec())),
                Some(why) => because = NoMatch::because(why),
            }
        }
        Err(because)
    }

    fn apply(&self, found: Found, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let (root, number, along) = match found {
            Found::Operand(root, number, along) => (root, number, along),
            Found::Inside(root, straight) => {
                let attrs = rw.func().inst(root).attrs.clone();
                return rw.set_attrs(root, attrs.with("expr", Attr::Expr(Arc::from(straight))));
            }
        };
        let dtype = rw.func().inst(root).attrs.expr().map(|expr| expr.operands[number].dtype);
        let dtype = dtype.ok_or_else(|| RewriteError::new("it has no expression"))?;
        take_out(rw, root, (BodyRef::Operand(number as u32), dtype), &along, |rest, _, operand| {
            let known = &mut rest.operands[number];
            *known = Operand { name: known.name, ..operand };
        })
    }
}

/// Why an operand is not taken out.
fn why_stays(expr: &ArrayExpr, operand: &Operand) -> Option<&'static str> {
    let along = axes_of(&operand.index);
    let parallel = || along.iter().all(|&axis| expr.axes[axis as usize].kind == AxisKind::Parallel);
    if !are_plain(&expr.axes) {
        Some("where an operand is read beyond its ends, an axis has no extent of its own")
    } else if operand.index.iter().any(|index| index.mode == Mode::Check) {
        Some("an operand is read beyond its ends along one axis, and may fail along another")
    } else if along.is_empty() || !(parallel() || along.len() <= operand.index.len()) {
        Some("what is read beyond the ends of an array is larger than that, and than the result")
    } else {
        None
    }
}

/// The node with positions as proved that are those of an axis which ends with the array; none if there are no others.
fn straightened(func: &Function, args: &[Value], expr: &ArrayExpr) -> Option<ArrayExpr> {
    let dim = |operand: &Operand, at: usize| match operand.source {
        Source::Array(arg) => func.ty(args[arg as usize]).dims().get(at).copied(),
        _ => None,
    };
    let is_inside = |operand: &Operand, at: usize, index: &Index| {
        let IndexExpr::Affine(form) = &index.expr else { return false };
        let axis = form.as_axis().map(|axis| &expr.axes[axis as usize]);
        let beyond = matches!(index.mode, Mode::Wrap | Mode::Clamp | Mode::Pad(_));
        let ends = |axis: &Axis| {
            axis.lo == SymExpr::default() && dim(operand, at).is_some_and(|dim| covers(axis.hi.as_ref(), dim))
        };
        beyond && axis.is_some_and(ends)
    };
    let mut straight: Option<ArrayExpr> = None;
    for (number, operand) in expr.operands.iter().enumerate() {
        for (at, index) in operand.index.iter().enumerate().filter(|(at, index)| is_inside(operand, *at, index)) {
            let straight = straight.get_or_insert_with(|| expr.clone());
            straight.operands[number].index[at] = Index { mode: Mode::Proved, ..index.clone() };
        }
    }
    straight
}

/// True if no kernel can read an operand, but copying rows can.
fn is_elsewhere(operand: &Operand) -> bool {
    let elsewhere = |index: &Index| {
        let divided = matches!(index.expr, IndexExpr::FloorDiv(..) | IndexExpr::Mod(..));
        divided || matches!(index.mode, Mode::Wrap | Mode::Clamp | Mode::Pad(_))
    };
    let found = |index: &Index| form(&index.expr).is_none();
    let is_array = matches!(operand.source, Source::Array(_));
    is_array && operand.index.iter().any(elsewhere) && !operand.index.iter().any(found)
}
