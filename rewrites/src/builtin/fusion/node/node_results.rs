//! `node-results`: removes unread and duplicate results of a node.

use crate::prelude::*;
use rewright_ir::expr::{Body, BodyInst, BodyOp, BodyRef, Combine, IndexExpr, Init, Operand, Out, Reduction, prune};
use rewright_ir::{ArrayExpr, Attr};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Removes unread results of an `arrayexpr`, merges equal results, and merges equal reductions. Fusion and
/// the removal of users leave such nodes behind.
///
/// Value numbering of the body finds equal values. A node stays as it is if it has a schedule, accumulators
/// that start from arrays, or results that are stored to or ended. It is exact; as with `dce`, an error that
/// only an unread result had is gone with it.
pub struct NodeResults;

static NODE_RESULTS: RewriteDef =
    RewriteDef::root("node-results", "nodes give each result once, and none that nothing reads", &NodeResults)
        .roots(&["arrayexpr"])
        .stage(Stage::BeforeLowering)
        .after(&["expr-siblings"])
        .reach(1);
register_rewrite!(NODE_RESULTS);

/// The most instructions of a body: the rewrite looks at a node after each change nearby, and longer bodies
/// would take too long.
const MOST_INSTS: usize = 4096;

/// The smaller node that replaces a node.
pub struct Smaller {
    root: Inst,
    expr: ArrayExpr,
    args: Vec<Value>,
    /// For each result of the old node the number of the new node's result; none for unread results.
    results: SmallVec<[Option<usize>; 4]>,
}

impl RootRewrite for NodeResults {
    type Match = Box<Smaller>;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        smaller(cx, root).map(Box::new).ok_or(NoMatch::quiet())
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let Smaller { root, expr, args, results } = *found;
        let loc = rw.func().inst(root).loc;
        let (before, after) = (results.len(), expr.outs.len());
        let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
        let node = rw.insert(rewright_ir::builder::find_op("arrayexpr")?, args, attrs)?;
        let (old, new) = (rw.func().inst(root).results.clone(), rw.func().inst(node).results.clone());
        for (&old, place) in old.iter().zip(&results) {
            if let Some(place) = place {
                rw.replace_uses(old, new[*place])?;
            }
        }
        rw.erase(root)?;
        match before - after {
            0 => rw.remark(loc, "the same reduction is made once"),
            1 => rw.remark(loc, "a result that nothing reads, or that another one is, is left out"),
            n => rw.remark(loc, format!("{n} results that nothing reads, or that others are, are left out")),
        }
        Ok(())
    }
}

fn smaller(cx: &MatchCx<'_>, root: Inst) -> Option<Smaller> {
    let func = cx.func();
    let data = func.inst(root);
    let expr = data.attrs.expr().filter(|_| data.attrs.str("schedule").is_none())?;
    let (unread, several) = (|| data.results.iter().any(|&r| func.use_count(r) == 0), expr.outs.len() > 1);
    if !several && expr.reductions.len() < 2 || expr.body.insts.len() > MOST_INSTS {
        return None;
    }
    let from_arrays = |reduction: &Reduction| matches!(reduction.init, Init::Existing(_));
    let fixed = |&value: &Value| cx.is_written(value) || cx.is_ended(value);
    if expr.reductions.iter().any(from_arrays) || data.results.iter().any(fixed) {
        return None;
    }
    let numbers = EqualValues::of(expr);
    let (results, kept) = numbers.kept(expr, |n| func.use_count(data.results[n]) > 0);
    // A node without results is left to `dce`.
    if kept.is_empty() || (kept.len() == expr.outs.len() && !unread() && !numbers.has_equal_reductions()) {
        return None;
    }
    let mut args = data.args.to_vec();
    let expr = without(expr, &kept, &numbers, &mut args);
    Some(Smaller { root, expr, args, results })
}

/// The equal values of a node.
struct EqualValues {
    /// For each accumulator the first one that equals it.
    accumulators: Vec<u32>,
    /// For each result its value.
    values: Vec<BodyRef>,
}

impl EqualValues {
    fn of(expr: &ArrayExpr) -> EqualValues {
        let yields = numbered(&expr.body, &expr.operands, |n| n);
        if expr.reductions.is_empty() {
            return EqualValues { accumulators: Vec::new(), values: yields };
        }
        let mut accumulators: Vec<u32> = Vec::new();
        let mut known: Vec<(&Reduction, &[BodyRef], u32)> = Vec::new();
        let mut rest = &yields[..];
        for reduction in &expr.reductions {
            let first = accumulators.len() as u32;
            let (own, others) = rest.split_at(reduction.accumulators.len().min(rest.len()));
            let equal = known.iter().find(|(other, values, _)| *values == own && is_same(other, reduction));
            let start = equal.map_or(first, |(_, _, start)| *start);
            known.push((reduction, own, start));
            accumulators.extend((start..).take(reduction.accumulators.len()));
            rest = others;
        }
        let first = |n: u32| accumulators.get(n as usize).copied().unwrap_or(n);
        let values = match &expr.finish {
            Some(finish) => numbered(finish, &expr.operands, first),
            None => (0..expr.outs.len() as u32).map(|n| BodyRef::Acc(first(n))).collect(),
        };
        EqualValues { accumulators, values }
    }

    fn has_equal_reductions(&self) -> bool {
        self.accumulators.iter().enumerate().any(|(n, &first)| first as usize != n)
    }

    /// For each result its number among the kept results, if it is read; and the kept results.
    fn kept(
        &self,
        expr: &ArrayExpr,
        is_read: impl Fn(usize) -> bool,
    ) -> (SmallVec<[Option<usize>; 4]>, SmallVec<[usize; 4]>) {
        let mut kept: SmallVec<[usize; 4]> = SmallVec::new();
        let mut place = |n: usize| {
            let same = |&other: &usize| self.values[other] == self.values[n] && expr.outs[other] == expr.outs[n];
            is_read(n).then(|| {
                kept.iter().position(same).unwrap_or_else(|| {
                    kept.push(n);
                    kept.len() - 1
                })
            })
        };
        let places = (0..expr.outs.len()).map(&mut place).collect();
        (places, kept)
    }
}

/// True if two reductions are the same, except for their locations in the source.
fn is_same(a: &Reduction, b: &Reduction) -> bool {
    let known = matches!((&a.combine, &b.combine), (Combine::Builtin(x), Combine::Builtin(y)) if x == y);
    known && Reduction { loc: a.loc, ..b.clone() } == *a
}

/// An op's address, and its operands.
type OpKey = (usize, SmallVec<[BodyRef; 3]>);

/// The values that a body yields, each replaced by the first value that equals it.
fn numbered(body: &Body, operands: &[Operand], accumulator: impl Fn(u32) -> u32) -> Vec<BodyRef> {
    let same = |a: &Operand, b: &Operand| (&a.source, a.dtype, &a.index) == (&b.source, b.dtype, &b.index);
    let operand = |n: u32| {
        let own = &operands[n as usize];
        operands.iter().position(|other| same(other, own)).map_or(n, |first| first as u32)
    };
    let mut first: Vec<u32> = Vec::with_capacity(body.insts.len());
    let number = |first: &[u32], value: &BodyRef| match *value {
        BodyRef::Inst(n, result) => BodyRef::Inst(first[n as usize], result),
        BodyRef::Acc(n) => BodyRef::Acc(accumulator(n)),
        BodyRef::Operand(n) => BodyRef::Operand(operand(n)),
        other => other,
    };
    let mut known: FxHashMap<OpKey, SmallVec<[u32; 1]>> = FxHashMap::default();
    for (n, inst) in body.insts.iter().enumerate() {
        let n = n as u32;
        let BodyInst { op: BodyOp::Op(op, attrs), args, dtypes, .. } = inst else {
            first.push(n);
            continue;
        };
        let args: SmallVec<[BodyRef; 3]> = args.iter().map(|value| number(&first, value)).collect();
        let alike = known.entry((op.number(), args)).or_default();
        let is_same = |&&other: &&u32| {
            let other = &body.insts[other as usize];
            other.dtypes == *dtypes && matches!(&other.op, BodyOp::Op(_, own) if own == attrs)
        };
        let equal = alike.iter().find(is_same).copied();
        if equal.is_none() {
            alike.push(n);
        }
        first.push(equal.unwrap_or(n));
    }
    body.yields.iter().map(|value| number(&first, value)).collect()
}

/// The node with only the kept results and the values that they need.
fn without(expr: &ArrayExpr, kept: &[usize], numbers: &EqualValues, args: &mut Vec<Value>) -> ArrayExpr {
    let mut expr = expr.clone();
    let outs = kept.iter().map(|&n| expr.outs[n].clone()).collect();
    expr.outs = outs;
    if expr.reductions.is_empty() {
        let yields = kept.iter().map(|&n| expr.body.yields[n]).collect();
        expr.body.yields = yields;
    } else {
        keep_reductions(&mut expr, kept, numbers);
    }
    if !names_arguments(&expr) {
        prune_all(&mut expr, args);
    }
    expr
}

/// True if arguments are named outside of operands too: by positions of scattered results, or by nested
/// expressions.
fn names_arguments(expr: &ArrayExpr) -> bool {
    let at_positions = |out: &Out| out.index.iter().any(|index| matches!(index, IndexExpr::Gather { .. }));
    let nests = |body: &Body| body.insts.iter().any(|inst| matches!(inst.op, BodyOp::Nested(_)));
    expr.outs.iter().any(at_positions) || nests(&expr.body) || expr.finish.as_ref().is_some_and(nests)
}

/// Keeps only the reductions that the kept results need.
fn keep_reductions(expr: &mut ArrayExpr, kept: &[usize], numbers: &EqualValues) {
    let all = numbers.accumulators.len() as u32;
    let mut finish =
        expr.finish.take().unwrap_or(Body { insts: Vec::new(), yields: (0..all).map(BodyRef::Acc).collect() });
    finish.yields = kept.iter().map(|&n| finish.yields[n]).collect();
    drop_unread(&mut finish);
    let mut read = vec![false; all as usize];
    let values = || finish.insts.iter().flat_map(|inst| &inst.args).chain(&finish.yields);
    for value in values() {
        if let BodyRef::Acc(n) = *value {
            read[numbers.accumulators[n as usize] as usize] = true;
        }
    }
    // A node with reduce axes keeps at least one reduction.
    if !read.contains(&true) {
        read[0] = true;
    }
    let mut place = vec![0; all as usize];
    let (mut reductions, mut yields, mut first) = (Vec::new(), Vec::new(), 0);
    for reduction in std::mem::take(&mut expr.reductions) {
        let count = reduction.accumulators.len();
        if read[first..first + count].contains(&true) {
            let own = yields.len() as u32;
            place[first..first + count].iter_mut().zip(own..).for_each(|(place, n)| *place = n);
            yields.extend_from_slice(&expr.body.yields[first..first + count]);
            reductions.push(reduction);
        }
        first += count;
    }
    let moved = |value: &mut BodyRef| {
        if let BodyRef::Acc(n) = value {
            *n = place[numbers.accumulators[*n as usize] as usize];
        }
    };
    finish.insts.iter_mut().flat_map(|inst| &mut inst.args).chain(&mut finish.yields).for_each(moved);
    let plain = finish.yields.iter().copied().eq((0..).map(BodyRef::Acc).take(yields.len()));
    expr.reductions = reductions;
    expr.body.yields = yields;
    expr.finish = (!plain).then_some(finish);
}

/// Drops the instructions of a finisher that no result needs.
fn drop_unread(finish: &mut Body) {
    let mut needed = vec![false; finish.insts.len()];
    let mark = |needed: &mut Vec<bool>, values: &[BodyRef]| {
        for value in values {
            if let BodyRef::Inst(n, _) = *value {
                needed[n as usize] = true;
            }
        }
    };
    mark(&mut needed, &finish.yields);
    for n in (0..finish.insts.len()).rev() {
        if needed[n] {
            mark(&mut needed, &finish.insts[n].args);
        }
    }
    let mut places: Vec<u32> = Vec::with_capacity(needed.len());
    let mut count = 0;
    for &needed in &needed {
        places.push(count);
        count += u32::from(needed);
    }
    let mut kept = needed.iter();
    finish.insts.retain(|_| kept.next().is_some_and(|&needed| needed));
    for value in finish.insts.iter_mut().flat_map(|inst| &mut inst.args).chain(&mut finish.yields) {
        if let BodyRef::Inst(n, _) = value {
            *n = places[*n as usize];
        }
    }
}

/// Drops axes, operands and arguments that neither the body nor the finisher reads.
fn prune_all(expr: &mut ArrayExpr, args: &mut Vec<Value>) {
    let ArrayExpr { axes, operands, body, finish, .. } = expr;
    let own = body.yields.len();
    let mut by_finish = |change: &mut dyn FnMut(&mut BodyRef)| {
        let values = finish.iter_mut().flat_map(|f| f.insts.iter_mut().flat_map(|i| &mut i.args).chain(&mut f.yields));
        values.filter(|value| matches!(value, BodyRef::Operand(_))).for_each(change);
    };
    // The body yields the finisher's operands while `prune` runs, so that they are kept and renumbered.
    by_finish(&mut |value| body.yields.push(*value));
    prune(body, axes, operands, args);
    let mut moved = body.yields.split_off(own).into_iter();
    by_finish(&mut |value| *value = moved.next().unwrap_or(*value));
}
