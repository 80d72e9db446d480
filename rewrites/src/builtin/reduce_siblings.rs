//! `reduce-siblings`: several reductions of one array become one pass over it.

use super::node::{LARGE, Node};
use super::reduce_fusion::dtype_of;
use super::siblings::{Together, put_together, together};
use crate::prelude::*;
use rewright_ir::ArrayExpr;
use rewright_ir::expr::{AxisKind, Combine, Monoid, Order};
use smallvec::SmallVec;
use std::sync::Arc;

/// Makes one `arrayexpr` of reductions that read the same array at the same places: the least, the greatest and the sum of an array are one
/// pass over it. They go along the same axes and combine in the same order; what else each of them reads, and computes before and after,
/// stays its own.
///
/// The node stands where the first of them stood. What the others read is there, nothing stores to it or ends it, and nothing between has an
/// effect or fails, but for what those that can't fail pass. Reductions whose values have other widths stay, for a register has room for fewer of the wider ones, and those that need not be combined
/// in sequence stay apart from those that must.
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

/// The reductions that an instruction is.
fn reductions(cx: &MatchCx<'_>, inst: Inst) -> Option<Node> {
    if may_join(cx, inst) { Node::along_any(cx, inst) } else { None }
}

/// True of nodes that reduce and are not large, and of all other ops.
fn may_join(cx: &MatchCx<'_>, inst: Inst) -> bool {
    let fits = |expr: &Arc<ArrayExpr>| !expr.reductions.is_empty() && expr.body.insts.len() <= LARGE;
    cx.func().inst(inst).attrs.expr().is_none_or(fits)
}

/// Whether a register has room for as many values of both, and kernels can keep what both come to.
fn join(node: &Node, other: &Node) -> Result<(), NoMatch> {
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

/// True if all that has to be known of what a result came to so far is the result, which kernels keep in memory that do not go along rows.
fn is_kept_in_memory(expr: &ArrayExpr) -> bool {
    expr.finish.is_none() && expr.reductions.iter().all(|reduction| reduction.accumulators.len() == 1)
}

/// True if elements of a row are combined one after the other.
pub(super) fn goes_in_sequence(expr: &ArrayExpr) -> bool {
    let along_row = expr.axes.last().is_some_and(|axis| axis.kind == AxisKind::Reduce);
    along_row && expr.orders().any(|order| order == Order::Sequential)
}

/// The bytes of the widest value of a point: as many points are computed at once as a register has room for such. What is narrower would be computed
/// with fewer at once beside it. Bytes and bools are added up eight at a time.
pub(super) fn width(expr: &ArrayExpr) -> usize {
    widths(expr).into_iter().max().unwrap_or_else(|| computed_width(expr))
}

/// The same for each reduction, as if it were the only one.
pub(super) fn widths(expr: &ArrayExpr) -> SmallVec<[usize; 4]> {
    let computed = computed_width(expr);
    let mut yields = expr.body.yields.iter();
    let combined = expr.reductions.iter().map(|reduction| {
        let sums = matches!(reduction.combine, Combine::Builtin(Monoid::Sum));
        let own = reduction.accumulators.iter().zip(yields.by_ref());
        let wide = own.filter(|&(_, &value)| !(sums && dtype_of(expr, value).is_some_and(|from| from.size() == 1)));
        wide.map(|(dtype, _)| dtype.size()).max().unwrap_or(1).max(computed)
    });
    combined.collect()
}

/// The bytes of the widest value that is computed or read of a point.
fn computed_width(expr: &ArrayExpr) -> usize {
    let computed = expr.body.insts.iter().flat_map(|inst| &inst.dtypes).map(|dtype| dtype.size());
    let read = expr.operands.iter().filter(|operand| !operand.index.is_empty()).map(|operand| operand.dtype.size());
    computed.chain(read).max().unwrap_or(1)
}
