//! `operand-reads`: materializes operands with indexing that kernels do not support.

use crate::builtin::fusion::legality::covers;
use crate::builtin::fusion::node::materialize::{Taken, are_plain, axes_of, may_fail, take_out};
use crate::prelude::*;
use rewright_ir::expr::{
    Affine, Axis, BodyOp, BodyRef, Condition, Index, IndexExpr, Mode, Operand, Source, SymExpr, Test,
};
use rewright_ir::{ArrayExpr, Attr, Function};
use std::sync::Arc;

/// Materializes operands of an `arrayexpr` that are read beyond the ends of an array, or at quotients or
/// remainders of indices. Each becomes a node that only reads and is run by copying rows. The kernel then
/// reads the copy with affine indices. If an axis ends with the array, no read is out of bounds, and the
/// node's index is marked as proved instead.
///
/// The copy has no more elements than the node has points, if all its axes are parallel; otherwise it has no
/// more axes than the operand. Operands that are read at many positions for each element, as by a sliding
/// window, are not materialized. It is exact, and reads at the same positions: a node without points reads
/// nothing.
pub struct OperandReads;

static OPERAND_READS: RewriteDef =
    RewriteDef::root("operand-reads", "materializes operands with indexing that kernels do not support", &OperandReads)
        .roots(&["arrayexpr"])
        .stage(Stage::BeforeLowering)
        .before(&["array-expr"])
        .reach(1);
register_rewrite!(OPERAND_READS);

/// The change of a node.
pub enum OperandChange {
    /// All positions are in bounds, although their mode does not say so.
    Inside(Inst, Box<ArrayExpr>),
    /// These operands are materialized.
    Operands(Inst, Vec<(usize, Taken)>),
}

impl RootRewrite for OperandReads {
    type Match = OperandChange;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<OperandChange, NoMatch> {
        let data = cx.func().inst(root);
        let Some(expr) = data.attrs.expr().filter(|_| data.attrs.str("schedule").is_none()) else {
            return Err(NoMatch::quiet());
        };
        if let Some(straight) = straightened(cx.func(), &data.args, expr) {
            return Ok(OperandChange::Inside(root, Box::new(straight)));
        }
        let flat = expr.body.insts.iter().all(|inst| matches!(inst.op, BodyOp::Op(..)));
        if expr.only_reads().is_some() || !flat || !expr.guard.is_empty() {
            return Err(NoMatch::quiet());
        }
        if !expr.operands.iter().any(is_elsewhere) {
            return Err(NoMatch::quiet());
        }
        let is_read = read_by(expr);
        let numbers = 0..expr.operands.len();
        let elsewhere = numbers.filter(|&number| is_read[number] && is_elsewhere(&expr.operands[number]));
        let (mut taken, mut because) = (Vec::new(), NoMatch::quiet());
        for number in elsewhere {
            match apart(cx.func(), &data.args, expr, number) {
                Ok(operand) => taken.push((number, operand)),
                Err(why) => because = NoMatch::because(why),
            }
        }
        if taken.is_empty() { Err(because) } else { Ok(OperandChange::Operands(root, taken)) }
    }

    fn apply(&self, found: OperandChange, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let (root, taken) = match found {
            OperandChange::Operands(root, taken) => (root, taken),
            OperandChange::Inside(root, straight) => {
                let attrs = rw.func().inst(root).attrs.clone();
                return rw.set_attrs(root, attrs.with("expr", Attr::Expr(Arc::from(straight))));
            }
        };
        let (numbers, taken): (Vec<usize>, Vec<Taken>) = taken.into_iter().unzip();
        take_out(rw, root, &taken, |rest, _, operands| {
            for (number, operand) in numbers.into_iter().zip(operands) {
                let known = &mut rest.operands[number];
                *known = Operand { name: known.name, ..operand };
            }
        })
    }
}

/// Whether each operand is read at every point.
fn read_by(expr: &ArrayExpr) -> Vec<bool> {
    let mut is_read = vec![false; expr.operands.len()];
    for value in expr.body.insts.iter().flat_map(|inst| &inst.args).chain(&expr.body.yields) {
        if let BodyRef::Operand(number) = *value {
            is_read[number as usize] = true;
        }
    }
    is_read
}

/// The operand of a number as an array of its own, or why it is not materialized.
fn apart(func: &Function, args: &[Value], expr: &ArrayExpr, number: usize) -> Result<Taken, &'static str> {
    let operand = &expr.operands[number];
    let mut along = axes_of(&operand.index).to_vec();
    if along.is_empty() {
        along = (0..expr.axes.len() as u32).collect();
    }
    let has_results = || along.iter().all(|&axis| expr.axes[axis as usize].kind.has_results());
    if !are_plain(&expr.axes) {
        return Err("where an operand is read beyond its ends, an axis has no extent of its own");
    }
    if !(has_results() || along.len() <= operand.index.len()) {
        return Err("an operand that is read beyond its ends would take an array larger than itself and the result");
    }
    let overflows = "where an operand is read beyond its ends, the extent of an axis overflows";
    // The node reads nothing if another axis has no points.
    let fails = may_fail(func, args, operand);
    let others = (0..expr.axes.len() as u32).filter(|axis| fails && !along.contains(axis));
    let extent = |axis: u32| expr.axes[axis as usize].hi.as_ref();
    let unknown = others.filter_map(extent).filter(|hi| hi.as_constant().is_none_or(|hi| hi < 1));
    let unknown = unknown.filter(|hi| along.iter().all(|&axis| extent(axis) != Some(hi)));
    let guard = unknown.map(has_points).collect::<Option<_>>().ok_or(overflows)?;
    Ok(Taken { value: BodyRef::Operand(number as u32), dtype: operand.dtype, along, guard })
}

/// The condition that an axis of this extent has points: `1 - extent <= 0`.
fn has_points(extent: &SymExpr) -> Option<Condition> {
    let mut form = Affine::constant(1i64.checked_sub(extent.constant)?);
    for &(symbol, coefficient) in extent.terms() {
        form.offset = form.offset.add_term(symbol, coefficient.checked_neg()?)?;
    }
    Some(Condition { form, test: Test::NotPositive })
}

/// The node with positions marked as proved where the axis ends with the array; none if there are no such
/// positions.
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

/// True if kernels do not support the operand's indexing, but row copies do.
fn is_elsewhere(operand: &Operand) -> bool {
    let elsewhere = |index: &Index| {
        let divided = matches!(index.expr, IndexExpr::FloorDiv(..) | IndexExpr::Mod(..));
        divided || matches!(index.mode, Mode::Wrap | Mode::Clamp | Mode::Pad(_))
    };
    let found = |index: &Index| index.expr.form().is_none();
    let is_array = matches!(operand.source, Source::Array(_));
    is_array && operand.index.iter().any(elsewhere) && !operand.index.iter().any(found)
}
