//! `reduce-siblings`: fuses several reductions of one array into one pass over it.

use super::siblings::{Together, put_together, together};
use crate::builtin::fusion::cost::{LARGE, width};
use crate::builtin::fusion::legality::goes_in_sequence;
use crate::builtin::fusion::node::FusedExpr;
use crate::builtin::fusion::reduction::reduction_node::along_any;
use crate::prelude::*;
use rewright_ir::ArrayExpr;
use std::sync::Arc;

/// Fuses reductions that read the same array at the same positions into one `arrayexpr`: the minimum, the
/// maximum and the sum of an array are one pass. They have the same axes and combine in the same order.
/// Other operands, and the operations before and after each reduction, may differ.
///
/// The node stands where the first reduction stood. So the operands of the others are defined there, nothing
/// stores to these or ends them, and nothing between has an effect. Instructions between may fail only if
/// the reductions that move past them can't. These reductions are not fused:
///
/// - reductions with values of different widths, because a register holds fewer of the wider ones;
/// - reductions in any order with reductions that must combine in sequence.
///
/// It is exact: each reduction combines the same values in the same order.
pub struct ReduceSiblings;

static REDUCE_SIBLINGS: RewriteDef =
    RewriteDef::root("reduce-siblings", "several reductions of one array are one pass over it", &ReduceSiblings)
        .roots(&["arrayexpr", "sum", "prod", "min", "max", "any", "all", "argmin", "argmax"])
        .stage(Stage::BeforeLowering)
        .after(&["scalar-finish"])
        .reach(1);
register_rewrite!(REDUCE_SIBLINGS);

/// The most accumulators of one pass: more leave too few registers for the interleaving that hides the
/// latency of an addition.
const MOST: usize = 4;

impl RootRewrite for ReduceSiblings {
    type Match = Box<Together>;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        if !may_join(cx, root) {
            return Err(NoMatch::quiet());
        }
        together(cx, root, |inst| reductions(cx, inst), join)
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        put_together(*found, "reductions", rw)
    }
}

/// The instruction as a node of reductions.
fn reductions(cx: &MatchCx<'_>, inst: Inst) -> Option<FusedExpr> {
    if may_join(cx, inst) { along_any(cx, inst) } else { None }
}

/// True for nodes that reduce and are not large, and for all other ops.
fn may_join(cx: &MatchCx<'_>, inst: Inst) -> bool {
    let fits = |expr: &Arc<ArrayExpr>| !expr.reductions.is_empty() && expr.body.insts.len() <= LARGE;
    cx.func().inst(inst).attrs.expr().is_none_or(fits)
}

/// Whether a register holds equally many values of both, and kernels can keep both accumulators.
fn join(node: &FusedExpr, other: &FusedExpr) -> Result<(), NoMatch> {
    let lowers = node.is_rows() || (is_kept_in_memory(&node.expr) && is_kept_in_memory(&other.expr));
    let reason = match () {
        () if width(&node.expr) != width(&other.expr) => {
            "it and another reduction of the array have values of different widths, and a register holds fewer of the wider: each is a pass by itself"
        }
        () if goes_in_sequence(&node.expr) != goes_in_sequence(&other.expr) => {
            "it or another reduction of the array, but not both, is combined in sequence: each is a pass by itself"
        }
        () if !lowers => {
            "it or another reduction of the array, not along rows, keeps more than its results: each is a pass by itself"
        }
        () if node.accumulators() + other.accumulators() > MOST => {
            "as many reductions of the array as one pass takes are one already"
        }
        () => return Ok(()),
    };
    Err(NoMatch::because(reason))
}

/// True if the results hold the whole state of the reduction. Kernels whose rows are not innermost
/// accumulate in memory.
fn is_kept_in_memory(expr: &ArrayExpr) -> bool {
    expr.finish.is_none() && expr.reductions.iter().all(|reduction| reduction.accumulators.len() == 1)
}
