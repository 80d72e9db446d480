//! `operand-reads`: what a kernel can't read is an array of its own first.

use super::apart::{are_plain, in_order_of_use, node_along, operand_along};
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
        let Some(number) = expr.operands.iter().position(is_elsewhere) else { return Err(NoMatch::quiet()) };
        let reads_only = expr.body.insts.is_empty() && expr.operands.len() == 1 && expr.reductions.is_empty();
        let flat = expr.body.insts.iter().all(|inst| matches!(inst.op, BodyOp::Op(..)));
        if reads_only || !flat || !expr.guard.is_empty() {
            return Err(NoMatch::quiet());
        }
        let operand = &expr.operands[number];
        let along = axes_of(operand);
        if !are_plain(&expr.axes) {
            return Err(NoMatch::because("where an operand is read beyond its ends, an axis has no extent of its own"));
        }
        if operand.index.iter().any(|index| index.mode == Mode::Check) {
            return Err(NoMatch::because(
                "an operand is read beyond its ends along one axis, and may fail along another",
            ));
        }
        let parallel = along.iter().all(|&axis| expr.axes[axis as usize].kind == AxisKind::Parallel);
        if along.is_empty() || !(parallel || along.len() <= operand.index.len()) {
            return Err(NoMatch::because(
                "what is read beyond the ends of an array is larger than that, and than the result",
            ));
        }
        Ok(Found::Operand(root, number, along))
    }

    fn apply(&self, found: Found, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let (root, number, along) = match found {
            Found::Operand(root, number, along) => (root, number, along),
            Found::Inside(root, straight) => {
                let attrs = rw.func().inst(root).attrs.clone();
                return rw.set_attrs(root, attrs.with("expr", Attr::Expr(Arc::from(straight))));
            }
        };
        let data = rw.func().inst(root).clone();
        let Some(expr) = data.attrs.expr() else { return Ok(()) };
        let Operand { dtype, source: Source::Array(arg), .. } = expr.operands[number] else { return Ok(()) };
        let (own, args) = node_along(expr, &data.args, (BodyRef::Operand(number as u32), dtype), &along);
        rw.set_point(Point::Before(root));
        rw.set_loc(data.loc);
        let array = rw.op_with("arrayexpr", args, Attrs::new().with("expr", Attr::Expr(Arc::new(own))))?;
        let mut rest = ArrayExpr::clone(expr);
        let mut args = data.args.to_vec();
        // Its place is free where nobody else reads what it read.
        let place = if uses(expr, arg) == 1 { arg as usize } else { args.len() };
        let name = expr.operands[number].name;
        rest.operands[number] = Operand { name, ..operand_along(expr, place, dtype, &along) };
        if place == args.len() {
            args.push(array);
        } else {
            args[place] = array;
        }
        in_order_of_use(&mut rest, &mut args);
        let node = rw.insert(data.op, args, data.attrs.with("expr", Attr::Expr(Arc::new(rest))))?;
        let results = rw.func().inst(node).results.clone();
        rw.replace(root, &results)
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
    let has_inside =
        |operand: &Operand| operand.index.iter().enumerate().any(|(at, index)| is_inside(operand, at, index));
    expr.operands.iter().any(has_inside).then(|| {
        let mut straight = expr.clone();
        for (operand, known) in straight.operands.iter_mut().zip(&expr.operands) {
            for (at, index) in operand.index.iter_mut().enumerate() {
                if is_inside(known, at, index) {
                    index.mode = Mode::Proved;
                }
            }
        }
        straight
    })
}

/// True if no kernel can read an operand, but copying rows can.
fn is_elsewhere(operand: &Operand) -> bool {
    let elsewhere = |index: &Index| {
        let divided = matches!(index.expr, IndexExpr::FloorDiv(..) | IndexExpr::Mod(..));
        divided || matches!(index.mode, Mode::Wrap | Mode::Clamp | Mode::Pad(_))
    };
    let found = |index: &Index| matches!(index.expr, IndexExpr::Gather { .. });
    let is_array = matches!(operand.source, Source::Array(_));
    is_array && operand.index.iter().any(elsewhere) && !operand.index.iter().any(found)
}

/// The axes that an operand varies along, in order.
fn axes_of(operand: &Operand) -> Vec<u32> {
    let forms = operand.index.iter().filter_map(|index| match &index.expr {
        IndexExpr::Affine(form) | IndexExpr::FloorDiv(form, _) | IndexExpr::Mod(form, _) => Some(form),
        IndexExpr::Gather { .. } => None,
    });
    let mut axes: Vec<u32> = forms.flat_map(|form| form.axes().iter().map(|&(axis, _)| axis)).collect();
    axes.sort_unstable();
    axes.dedup();
    axes
}

/// How often a node uses an argument.
fn uses(expr: &ArrayExpr, arg: u32) -> usize {
    let own = |operand: &Operand| matches!(operand.source, Source::Array(n) | Source::Scalar(n) if n == arg);
    let found = |position: &IndexExpr| finds(position, arg);
    let operands = expr.operands.iter().filter(|operand| own(operand)).count();
    let indices = expr.operands.iter().flat_map(|operand| &operand.index).filter(|index| found(&index.expr)).count();
    let outs = expr.outs.iter().flat_map(|out| &out.index).filter(|position| found(position)).count();
    let starts = expr
        .reductions
        .iter()
        .filter(|reduction| matches!(&reduction.init, rewright_ir::expr::Init::Existing(args) if args.contains(&arg)));
    operands + indices + outs + starts.count()
}

/// True if a position is found in an argument.
fn finds(position: &IndexExpr, in_arg: u32) -> bool {
    match position {
        IndexExpr::Gather { arg, index, .. } => *arg == in_arg || index.iter().any(|position| finds(position, in_arg)),
        _ => false,
    }
}
