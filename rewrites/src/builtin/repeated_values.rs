//! `repeated-values`: what a node would compute again and again is an array of its own first.

use super::apart::{are_plain, axes_of, form, take_out};
use super::array_expr::MAX_REPEATED_CYCLES;
use super::node::is_pointwise;
use crate::prelude::*;
use rewright_ir::expr::{Axis, BodyInst, BodyOp, BodyRef, Operand, Source, SymExpr, prune};
use rewright_ir::{ArrayExpr, Traits};

/// Takes values out of an `arrayexpr` that vary along inner axes, not along one outside of them, and take longer to compute than to read: in
/// `x + sin(y)` of a matrix and a row, the sines are those of the row, and computed once.
///
/// It is exact. `array-expr` leaves such values apart from the beginning, but a front end may hand over nodes that have them in.
pub struct RepeatedValues;

static REPEATED_VALUES: RewriteDef = RewriteDef::root(
    "repeated-values",
    "what a node would compute again along an axis is an array of its own first",
    &RepeatedValues,
)
.roots(&["arrayexpr"])
.stage(Stage::BeforeLowering)
.before(&["array-expr"])
.reach(1);
register_rewrite!(REPEATED_VALUES);

/// More axes than a set of them has bits are left alone, and so are long bodies, in which looking for values would take too long.
const MOST_AXES: usize = 64;
const MOST_INSTS: usize = 4096;

/// A set of axes.
type Axes = u64;

/// A value and the axes that it varies along.
type Found = (Inst, u32, Vec<u32>);

impl RootRewrite for RepeatedValues {
    type Match = Found;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Found, NoMatch> {
        let data = cx.func().inst(root);
        let Some(expr) = data.attrs.expr().filter(|_| data.attrs.str("schedule").is_none()) else {
            return Err(NoMatch::quiet());
        };
        let small = expr.axes.len() <= MOST_AXES && expr.body.insts.len() <= MOST_INSTS;
        if expr.axes.len() < 2 || !small || !is_pointwise(expr) || !are_plain(&expr.axes) {
            return Err(NoMatch::quiet());
        }
        let Some((value, axes)) = repeated(expr) else { return Err(NoMatch::quiet()) };
        let along = (0..expr.axes.len() as u32).filter(|axis| axes >> axis & 1 == 1).collect();
        Ok((root, value, along))
    }

    fn apply(&self, (root, value, along): Found, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let dtype = rw.func().inst(root).attrs.expr().map(|expr| expr.body.insts[value as usize].dtypes[0]);
        let dtype = dtype.ok_or_else(|| RewriteError::new("it has no expression"))?;
        let value = BodyRef::Inst(value, 0);
        take_out(rw, root, (value, dtype), &along, |rest, args, operand| {
            rest.operands.push(operand);
            let read = BodyRef::Operand(rest.operands.len() as u32 - 1);
            let values = rest.body.insts.iter_mut().flat_map(|inst| &mut inst.args).chain(&mut rest.body.yields);
            values.filter(|known| **known == value).for_each(|known| *known = read);
            prune(&mut rest.body, &rest.axes, &mut rest.operands, args);
        })
    }
}

/// The last value that varies along some axes only, is used by one that varies along more, and takes longer to compute than to read.
fn repeated(expr: &ArrayExpr) -> Option<(u32, Axes)> {
    // Along an axis of one point nothing is repeated.
    let several = |axis: &Axis| axis.hi.as_ref().and_then(SymExpr::as_constant) != Some(1);
    let all = expr.axes.iter().enumerate().filter(|(_, axis)| several(axis)).fold(0, |axes, (n, _)| axes | 1 << n);
    // What varies along outer axes only is computed once for each point of these by any kernel, and `array-expr` puts it there.
    let repeats = |axes: Axes| {
        let inside = axes & all;
        inside != 0 && all & !inside & ((1 << inside.ilog2()) - 1) != 0
    };
    let reads_index = |inst: &BodyInst| inst.args.iter().any(|value| matches!(value, BodyRef::Axis(_)));
    if !expr.operands.iter().any(|operand| repeats(along(operand, all))) && !expr.body.insts.iter().any(reads_index) {
        return None;
    }
    // Of each value: its axes, those of what uses it, and at most how many cycles it takes with all that it is computed of.
    let count = expr.body.insts.len();
    let (mut axes, mut used_by, mut cycles) = (vec![0; count], vec![0; count], vec![0u32; count]);
    for (n, inst) in expr.body.insts.iter().enumerate() {
        let BodyOp::Op(op, _) = &inst.op else { return None };
        cycles[n] = op.cycles();
        for value in &inst.args {
            axes[n] |= match *value {
                BodyRef::Operand(m) => along(&expr.operands[m as usize], all),
                BodyRef::Axis(axis) => 1 << axis,
                BodyRef::Inst(m, _) => axes[m as usize],
                BodyRef::Const(_) | BodyRef::Acc(_) => 0,
            };
            if let BodyRef::Inst(m, _) = *value {
                cycles[n] = cycles[n].saturating_add(cycles[m as usize]);
            }
        }
        for value in &inst.args {
            if let BodyRef::Inst(m, _) = *value {
                used_by[m as usize] |= axes[n];
            }
        }
    }
    for value in &expr.body.yields {
        if let BodyRef::Inst(m, _) = *value {
            used_by[m as usize] |= all;
        }
    }
    let worth = |&n: &usize| {
        let found = repeats(axes[n]) && used_by[n] & all & !axes[n] != 0 && expr.body.insts[n].dtypes.len() == 1;
        found && cycles[n] > MAX_REPEATED_CYCLES && total(expr, n).is_some_and(|cycles| cycles > MAX_REPEATED_CYCLES)
    };
    (0..count).rev().find(worth).map(|n| (n as u32, axes[n]))
}

/// The axes that an operand varies along.
fn along(operand: &Operand, all: Axes) -> Axes {
    let found = operand.index.iter().any(|index| form(&index.expr).is_none());
    match operand.source {
        Source::Array(_) | Source::Scalar(_) if !found => {
            axes_of(&operand.index).iter().fold(0, |axes, axis| axes | 1 << axis)
        }
        _ => all,
    }
}

/// The cycles that a value takes with all that it is computed of; none if something of that may fail, which then happens at no points more or less.
fn total(expr: &ArrayExpr, value: usize) -> Option<u32> {
    let mut needed = vec![false; value + 1];
    needed[value] = true;
    let mut sum = 0u32;
    for n in (0..=value).rev() {
        if !needed[n] {
            continue;
        }
        let inst = &expr.body.insts[n];
        let BodyOp::Op(op, _) = &inst.op else { return None };
        if op.traits.contains(Traits::PARTIAL) {
            return None;
        }
        sum = sum.saturating_add(op.cycles());
        for value in &inst.args {
            if let BodyRef::Inst(m, _) = *value {
                needed[m as usize] = true;
            }
        }
    }
    Some(sum)
}
