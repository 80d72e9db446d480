//! `reduce-siblings`: several reductions of one array become one pass over it.

use super::reduce_finish::{LARGE, Node};
use super::reduce_fusion::{NEAR, block_order, dtype_of, is_still_between};
use crate::prelude::*;
use rewright_ir::expr::{Combine, Monoid};
use rewright_ir::{ArrayExpr, Attr};
use smallvec::SmallVec;
use std::sync::Arc;

/// Makes one `arrayexpr` of reductions that read the same array at the same places: the least, the greatest and the sum of an array are one
/// pass over it. They go along the same axes and combine in the same order; what else each of them reads, and computes before and after,
/// stays its own.
///
/// The node stands where the first of them stood. What the others read is there, nothing stores to it or ends it, and nothing between has an
/// effect or fails. Reductions whose values have other widths stay: a register has room for fewer of the wider ones.
///
/// It is exact: each combines what it did, in the same order.
pub struct ReduceSiblings;

static REDUCE_SIBLINGS: RewriteDef =
    RewriteDef::root("reduce-siblings", "several reductions of one array are one pass over it", &ReduceSiblings)
        .roots(&["arrayexpr", "sum", "prod", "min", "max", "any", "all", "argmin", "argmax"])
        .stage(Stage::BeforeLowering)
        .after(&["array-expr", "reduce-fusion", "reduce-finish", "scalar-finish"])
        .reach(1);
register_rewrite!(REDUCE_SIBLINGS);

/// The most accumulators of one pass: more leave no registers for as many groups of lanes as hide what an addition takes.
const MOST: usize = 4;
/// Of an array with more uses, so many users after each are looked at.
const MOST_USERS: usize = 8;

/// What becomes one node.
pub struct Together {
    /// In block order.
    of: SmallVec<[Inst; 2]>,
    expr: ArrayExpr,
    args: Vec<Value>,
}

impl RootRewrite for ReduceSiblings {
    type Match = Box<Together>;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let all = siblings(cx, root);
        let starts = all.iter().take_while(|&&inst| inst != root).count();
        let node = (0..=starts).find_map(|start| together(cx, all.get(start..)?)).ok_or(NoMatch::quiet())?;
        Ok(Box::new(Together { of: node.of, expr: node.expr, args: node.args }))
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let Together { of, expr, args } = *found;
        let loc = rw.func().inst(of[0]).loc;
        rw.set_point(Point::Before(of[0]));
        rw.set_loc(loc);
        let count = expr.reductions.len();
        let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
        let node = rw.insert(rewright_ir::builder::find_op("arrayexpr")?, args, attrs)?;
        let mut results = rw.func().inst(node).results.clone().into_iter();
        // All before the first is replaced, for there they are put in.
        let mut values: Vec<SmallVec<[Value; 2]>> = Vec::new();
        for &inst in &of {
            let own = rw.func().inst(inst).results.clone();
            let scalars: SmallVec<[bool; 2]> = own.iter().map(|&value| rw.func().ty(value).is_scalar()).collect();
            let taken = scalars.into_iter().zip(&mut results);
            let found = taken.map(|(scalar, result)| if scalar { rw.op("item", [result]) } else { Ok(result) });
            values.push(found.collect::<Result<_, RewriteError>>()?);
        }
        of.iter().zip(values).try_for_each(|(&inst, values)| rw.replace(inst, &values))?;
        rw.remark(loc, format!("{count} reductions of one array in one pass"));
        Ok(())
    }
}

/// The reductions that an instruction is, if nothing changes or ends what they read.
fn reductions(cx: &MatchCx<'_>, inst: Inst) -> Option<Node> {
    let still = |&value: &Value| !cx.is_written(value) && !cx.is_ended(value);
    let data = cx.func().inst(inst);
    let fits = |expr: &Arc<ArrayExpr>| !expr.reductions.is_empty() && expr.body.insts.len() <= LARGE;
    let is_one = data.attrs.expr().is_none_or(fits) && data.args.iter().chain(&data.results).all(still);
    is_one.then(|| Node::along_any(cx, inst)).flatten()
}

/// The first of these, and those after it that can be computed there, if there are any.
fn together(cx: &MatchCx<'_>, all: &[Inst]) -> Option<Node> {
    let func = cx.func();
    let (&first, later) = all.split_first().filter(|(_, later)| !later.is_empty())?;
    let mut node = reductions(cx, first)?;
    for &inst in later {
        let Some(other) = reductions(cx, inst) else { continue };
        let last = node.of[node.of.len() - 1];
        let is_there = |&arg: &Value| match func.def_inst(arg) {
            Some(def) => func.block_of(def) != func.block_of(first) || func.comes_before(def, first),
            None => true,
        };
        let may_move = other.args.iter().all(is_there) && is_still_between(func, last, inst, &|_| false);
        let alike = node.reads_as(&other) && width(&node.expr) == width(&other.expr);
        let lowers = node.is_rows() || (is_kept_in_memory(&node.expr) && is_kept_in_memory(&other.expr));
        if may_move && alike && lowers && node.accumulators() + other.accumulators() <= MOST {
            node = node.joined(other);
        }
    }
    (node.of.len() > 1).then_some(node)
}

/// True if all that has to be known of what a result came to so far is the result, which kernels keep in memory that do not go along rows.
fn is_kept_in_memory(expr: &ArrayExpr) -> bool {
    expr.finish.is_none() && expr.reductions.iter().all(|reduction| reduction.accumulators.len() == 1)
}

/// The bytes of the widest value of a point: as many points are computed at once as a register has room for such. What is narrower would be computed
/// with fewer at once beside it. Bytes and bools are added up eight at a time.
fn width(expr: &ArrayExpr) -> usize {
    let computed = expr.body.insts.iter().flat_map(|inst| &inst.dtypes).map(|dtype| dtype.size());
    let read = expr.operands.iter().filter(|operand| !operand.index.is_empty()).map(|operand| operand.dtype.size());
    let mut yields = expr.body.yields.iter();
    let combined = expr.reductions.iter().flat_map(|reduction| {
        let sums = matches!(reduction.combine, Combine::Builtin(Monoid::Sum));
        let yields: SmallVec<[_; 2]> = yields.by_ref().take(reduction.accumulators.len()).collect();
        reduction.accumulators.iter().zip(yields).filter_map(move |(dtype, &value)| {
            let is_byte = dtype_of(expr, value).is_some_and(|from| from.size() == 1);
            (!(sums && is_byte)).then_some(dtype.size())
        })
    });
    computed.chain(read).chain(combined).max().unwrap_or(1)
}

/// An instruction and those in its block that read one of the arrays that it reads, in block order.
fn siblings(cx: &MatchCx<'_>, root: Inst) -> SmallVec<[Inst; 4]> {
    let func = cx.func();
    let mut found: SmallVec<[Inst; 4]> = SmallVec::from_slice(&[root]);
    for &arg in func.inst(root).args.iter().filter(|&&arg| func.ty(arg).rank() > 0) {
        match func.few_users(arg, MOST_USERS) {
            Some(users) => found.extend(users.into_iter().filter(|&user| func.block_of(user) == func.block_of(root))),
            None => found.extend(nearest_users(func, root, arg)),
        }
    }
    found.sort_by(|&a, &b| block_order(func, a, b));
    found.dedup();
    found
}

/// The next few instructions after one that read a value.
fn nearest_users(func: &Function, root: Inst, value: Value) -> impl Iterator<Item = Inst> + '_ {
    let later = std::iter::successors(func.next_inst(root), |&inst| func.next_inst(inst)).take(NEAR);
    later.filter(move |&inst| func.inst(inst).uses().any(|used| used == value)).take(MOST_USERS)
}
