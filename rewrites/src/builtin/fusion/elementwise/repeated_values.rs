//! `repeated-values`: materializes values that a node would compute again along an axis.

use super::array_expr::MAX_REPEATED_CYCLES;
use crate::builtin::fusion::legality::is_pointwise;
use crate::builtin::fusion::node::materialize::{Taken, are_plain, axes_of, may_fail, take_out};
use crate::prelude::*;
use rewright_ir::expr::{Axis, BodyInst, BodyOp, BodyRef, Operand, Source, SymExpr, prune};
use rewright_ir::{ArrayExpr, Traits};
use rustc_hash::{FxHashMap, FxHashSet};

/// Materializes values of an `arrayexpr` that vary along inner axes, are constant along an outer one, and
/// take longer to compute than to read: in `x + sin(y)` of a matrix and a row, the sines of the row are
/// computed once.
///
/// It is exact. `array-expr` does not fuse such values, but a front end may pass nodes that contain them.
pub struct RepeatedValues;

static REPEATED_VALUES: RewriteDef = RewriteDef::root(
    "repeated-values",
    "materializes operands that a node would recompute along an axis",
    &RepeatedValues,
)
.roots(&["arrayexpr"])
.stage(Stage::BeforeLowering)
.before(&["array-expr"])
.reach(1);
register_rewrite!(REPEATED_VALUES);

/// Nodes with more axes than a set has bits stay, and so do long bodies, in which the search would take too
/// long.
const MOST_AXES: usize = 64;
const MOST_INSTS: usize = 4096;

/// A set of axes.
type AxisSet = u64;

impl RootRewrite for RepeatedValues {
    type Match = (Inst, Vec<Taken>);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let data = cx.func().inst(root);
        let Some(expr) = data.attrs.expr().filter(|_| data.attrs.str("schedule").is_none()) else {
            return Err(NoMatch::quiet());
        };
        let small = expr.axes.len() <= MOST_AXES && expr.body.insts.len() <= MOST_INSTS;
        if expr.axes.len() < 2 || !small || !is_pointwise(expr) || !are_plain(&expr.axes) {
            return Err(NoMatch::quiet());
        }
        let taken: Vec<Taken> = repeated(expr, |operand| may_fail(cx.func(), &data.args, operand))
            .into_iter()
            .map(|found| apart(expr, found))
            .collect();
        if taken.is_empty() { Err(NoMatch::quiet()) } else { Ok((root, taken)) }
    }

    fn apply(&self, (root, taken): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        take_out(rw, root, &taken, |rest, args, operands| {
            let first = rest.operands.len() as u32;
            rest.operands.extend(operands);
            let reads = (first..).map(BodyRef::Operand);
            let read: FxHashMap<BodyRef, BodyRef> = taken.iter().map(|taken| taken.value).zip(reads).collect();
            for value in rest.body.insts.iter_mut().flat_map(|inst| &mut inst.args).chain(&mut rest.body.yields) {
                *value = read.get(value).copied().unwrap_or(*value);
            }
            prune(&mut rest.body, &rest.axes, &mut rest.operands, args);
        })
    }
}

/// A value as an array along its axes.
fn apart(expr: &ArrayExpr, (value, axes): (u32, AxisSet)) -> Taken {
    let along = (0..expr.axes.len() as u32).filter(|axis| axes >> axis & 1 == 1).collect();
    let dtype = expr.body.insts[value as usize].dtypes[0];
    Taken { value: BodyRef::Inst(value, 0), dtype, along, guard: Vec::new() }
}

/// The values to materialize: they vary along some axes only, have a user that varies along more, take
/// longer to compute than to read, and have no operand that may fail.
fn repeated(expr: &ArrayExpr, may_fail: impl Fn(&Operand) -> bool) -> Vec<(u32, AxisSet)> {
    // An axis of one point repeats nothing.
    let several = |axis: &Axis| axis.hi.as_ref().and_then(SymExpr::as_constant) != Some(1);
    let all = expr.axes.iter().enumerate().filter(|(_, axis)| several(axis)).fold(0, |axes, (n, _)| axes | 1 << n);
    // Every kernel computes a value that varies along outer axes only once for each of their points.
    let repeats = |axes: AxisSet| {
        let inside = axes & all;
        inside != 0 && all & !inside & ((1 << inside.ilog2()) - 1) != 0
    };
    let reads_index = |inst: &BodyInst| inst.args.iter().any(|value| matches!(value, BodyRef::Axis(_)));
    if !expr.operands.iter().any(|operand| repeats(along(operand, all))) && !expr.body.insts.iter().any(reads_index) {
        return Vec::new();
    }
    // For each value: its axes, the axes of its users, an upper bound of its cycles including its operands,
    // and whether it or an operand may fail. The number of points at which it may fail must not change.
    let count = expr.body.insts.len();
    let (mut axes, mut used_by, mut cycles) = (vec![0; count], vec![0; count], vec![0u32; count]);
    let mut fails = vec![false; count];
    for (n, inst) in expr.body.insts.iter().enumerate() {
        let BodyOp::Op(op, _) = &inst.op else { return Vec::new() };
        cycles[n] = op.cycles();
        fails[n] = op.traits.contains(Traits::PARTIAL);
        for value in &inst.args {
            axes[n] |= match *value {
                BodyRef::Operand(m) => along(&expr.operands[m as usize], all),
                BodyRef::Axis(axis) => 1 << axis,
                BodyRef::Inst(m, _) => axes[m as usize],
                BodyRef::Const(_) | BodyRef::Acc(_) => 0,
            };
            match *value {
                BodyRef::Inst(m, _) => {
                    cycles[n] = cycles[n].saturating_add(cycles[m as usize]);
                    fails[n] |= fails[m as usize];
                }
                BodyRef::Operand(m) => fails[n] |= may_fail(&expr.operands[m as usize]),
                _ => {}
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
        found && !fails[n] && cycles[n] > MAX_REPEATED_CYCLES && takes_long(expr, n as u32)
    };
    (0..count).filter(worth).map(|n| (n as u32, axes[n])).collect()
}

/// The axes that an operand varies along.
fn along(operand: &Operand, all: AxisSet) -> AxisSet {
    let found = operand.index.iter().any(|index| index.expr.form().is_none());
    match operand.source {
        Source::Array(_) | Source::Scalar(_) if !found => {
            axes_of(&operand.index).iter().fold(0, |axes, axis| axes | 1 << axis)
        }
        _ => all,
    }
}

/// True if a value takes longer to compute than to read.
fn takes_long(expr: &ArrayExpr, value: u32) -> bool {
    let (mut found, mut left, mut cycles) = (FxHashSet::default(), vec![value], 0u32);
    while let Some(n) = left.pop().filter(|_| cycles <= MAX_REPEATED_CYCLES) {
        let inst = &expr.body.insts[n as usize];
        if let (true, BodyOp::Op(op, _)) = (found.insert(n), &inst.op) {
            cycles = cycles.saturating_add(op.cycles());
            left.extend(inst.args.iter().filter_map(|value| match *value {
                BodyRef::Inst(m, _) => Some(m),
                _ => None,
            }));
        }
    }
    cycles > MAX_REPEATED_CYCLES
}
