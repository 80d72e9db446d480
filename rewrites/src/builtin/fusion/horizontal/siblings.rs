//! Fuses instructions of a block that read one array into one pass over it.

use crate::builtin::cannot_fail::cannot_fail;
use crate::builtin::fusion::legality::{NEAR, block_order, is_still_between, is_there};
use crate::builtin::fusion::node::FusedExpr;
use crate::builtin::redundancy::dce::is_unneeded;
use crate::prelude::*;
use rewright_ir::{ArrayExpr, Attr};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// The users before and after an instruction that are examined if the array has more uses than this.
const MOST_USERS: usize = 8;

/// The fused node.
pub struct Together {
    /// The fused instructions, in block order.
    of: SmallVec<[Inst; 2]>,
    expr: ArrayExpr,
    args: Vec<Value>,
}

/// Finds an instruction's siblings that can be computed where the first of them stands. `node` gives the
/// node of an instruction, and `joins` whether fusing two nodes that read one array at the same positions is
/// profitable.
pub(super) fn together(
    cx: &MatchCx<'_>,
    root: Inst,
    node: impl Fn(Inst) -> Option<FusedExpr>,
    joins: impl Fn(&FusedExpr, &FusedExpr) -> Result<(), NoMatch>,
) -> Result<Box<Together>, NoMatch> {
    let node = |inst| node(inst).filter(|_| is_still(cx, inst) && !is_unneeded(cx, inst));
    let all = siblings(cx, root);
    // Most instructions have no siblings.
    if all.len() == 1 {
        return Err(NoMatch::quiet());
    }
    let mut own = Some(node(root).ok_or(NoMatch::quiet())?);
    let starts = all.iter().take_while(|&&inst| inst != root).count();
    let nodes = all.iter().map(|&inst| if inst == root { own.take() } else { node(inst) });
    let nodes: SmallVec<[Option<FusedExpr>; 4]> = nodes.collect();
    let mut apart = NoMatch::quiet();
    for start in 0..=starts {
        let joins = |node: &FusedExpr, other: &FusedExpr| match joins(node, other) {
            Ok(()) => true,
            Err(reason) => {
                // The later one of a pair reports the reason.
                if other.of.contains(&root) {
                    apart = reason;
                }
                false
            }
        };
        if let Some(node) = from_first(cx, &nodes[start..], joins) {
            return Ok(Box::new(Together { of: node.of, expr: node.expr, args: node.args }));
        }
    }
    Err(apart)
}

/// Inserts the node where the first instruction stands, with a remark that names the parts.
pub(super) fn put_together(found: Together, what: &str, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
    let Together { of, expr, args } = found;
    let count = if expr.reductions.is_empty() { expr.outs.len() } else { expr.reductions.len() };
    let loc = rw.func().inst(of[0]).loc;
    rw.set_point(Point::Before(of[0]));
    rw.set_loc(loc);
    let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
    let node = rw.insert(rewright_ir::builder::find_op("arrayexpr")?, args, attrs)?;
    let mut results = rw.func().inst(node).results.clone().into_iter();
    // All `item`s are inserted before the first replacement, because the insertion point is there.
    let mut values: Vec<SmallVec<[Value; 2]>> = Vec::new();
    for &inst in &of {
        let own = rw.func().inst(inst).results.clone();
        let scalars: SmallVec<[bool; 2]> = own.iter().map(|&value| rw.func().ty(value).is_scalar()).collect();
        let taken = scalars.into_iter().zip(&mut results);
        let found = taken.map(|(scalar, result)| if scalar { rw.op("item", [result]) } else { Ok(result) });
        values.push(found.collect::<Result<_, RewriteError>>()?);
    }
    of.iter().zip(values).try_for_each(|(&inst, values)| rw.replace(inst, &values))?;
    rw.remark(loc, format!("{count} {what} of one array in one pass"));
    Ok(())
}

/// The first node fused with those that can be computed at its position, if there are any.
fn from_first(
    cx: &MatchCx<'_>,
    all: &[Option<FusedExpr>],
    mut joins: impl FnMut(&FusedExpr, &FusedExpr) -> bool,
) -> Option<FusedExpr> {
    let func = cx.func();
    let (Some(alone), later) = all.split_first()? else { return None };
    let first = alone.of[0];
    let mut joined = Cow::Borrowed(alone);
    for other in later.iter().flatten() {
        let inst = other.of[0];
        // `cse` merges equal computations, whichever rewrite comes first in a pipeline.
        if joined.of.iter().any(|&known| is_same(func, known, inst)) {
            continue;
        }
        let moves_freely = cannot_fail(func, inst);
        let passes = |between| moves_freely || joined.of.contains(&between);
        let may_move =
            other.args.iter().all(|&arg| is_there(func, arg, first)) && is_still_between(func, first, inst, &passes);
        if may_move && joined.reads_as(other) && joins(&joined, other) {
            joined = Cow::Owned(joined.into_owned().joined(other.clone()));
        }
    }
    (joined.of.len() > 1).then(|| joined.into_owned())
}

/// True if two instructions compute the same.
fn is_same(func: &Function, a: Inst, b: Inst) -> bool {
    let (a, b) = (func.inst(a), func.inst(b));
    a.op == b.op && a.args == b.args && a.attrs == b.attrs
}

/// True if nothing stores to or ends the operands and results of an instruction.
fn is_still(cx: &MatchCx<'_>, inst: Inst) -> bool {
    let data = cx.func().inst(inst);
    data.args.iter().chain(&data.results).all(|&value| !cx.is_written(value) && !cx.is_ended(value))
}

/// An instruction and the others in its block that read one of its arrays, in block order.
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

/// A few instructions before and after an instruction that read a value.
fn nearest_users(func: &Function, root: Inst, value: Value) -> impl Iterator<Item = Inst> + '_ {
    let later = std::iter::successors(func.next_inst(root), |&inst| func.next_inst(inst));
    let earlier = std::iter::successors(func.prev_inst(root), |&inst| func.prev_inst(inst));
    // The terminator is skipped: it may have very many operands.
    let reads = move |inst: &Inst| func.next_inst(*inst).is_some() && func.inst(*inst).args.contains(&value);
    { later }.take(NEAR).filter(reads).take(MOST_USERS).chain({ earlier }.take(NEAR).filter(reads).take(MOST_USERS))
}
