//! `reduce-finish`: fuses reductions along rows with the elementwise consumer of their results.

use super::reduce_fusion::takes_in;
use super::reduction_node::{along_rows, contracts, reduces, scans};
use crate::builtin::fusion::cost::is_large;
use crate::builtin::fusion::legality::{is_pointwise, is_scheduled, may_move};
use crate::builtin::fusion::node::FusedExpr;
use crate::prelude::*;
use rewright_ir::expr::{BodyInst, BodyOp};
use rewright_ir::ops::reduced::Reduced;
use rewright_ir::{ArrayExpr, Attr};
use smallvec::SmallVec;
use std::sync::Arc;

/// Fuses reductions along rows, scans, and contractions (`dot_general`), with the elementwise work on their
/// results into one `arrayexpr`: the mean of a row is divided by the row's length where the row is summed,
/// and a bias and an activation function are applied to a product of matrices block by block.
///
/// The consumer is an `arrayexpr` along the kept axes, and the only user of the results. Several reductions
/// that it reads are fused into one pass if they have the same axes and combine in the same order. The
/// consumer reads the results of the others, and of all contractions but the first, from memory. The rewrite
/// waits until `reduce-fusion` has fused the reductions with their producers.
///
/// These consumers are not fused:
///
/// - Functions, such as a logarithm of each row's result: a pass of their own computes a vector of them at
///   once. A remark says so. Where the innermost axis is parallel, as in products of matrices, functions are
///   fused.
/// - Consumers of contractions whose extents are only known to be equal at a call.
/// - Consumers of more than 64 values. A remark says so if one of the first 64 is the result of a reduction.
/// - Consumers that read only reductions of large nodes, which are not fused with their reductions either.
///
/// It is exact: the finisher computes the same operations on the same totals.
pub struct ReduceFinish;

static REDUCE_FINISH: RewriteDef = RewriteDef::root(
    "reduce-finish",
    "fuses the computation of a reduction's result into the reduction",
    &ReduceFinish,
)
.roots(&["arrayexpr"])
.stage(Stage::BeforeLowering)
.after(&["scan-fusion"])
.reach(1);
register_rewrite!(REDUCE_FINISH);

/// Consumers of more values are not fused: the rewrite would look at each value whenever one of them
/// changes.
const MOST_READ: usize = 64;

/// Cycles of a function: some dozen instructions, for which each row would wait in turn. Divisions and roots
/// take fewer cycles. Complex divisions and roots take some more than real ones.
const FUNCTION: u32 = 10;
const COMPLEX_FUNCTION: u32 = 8;

/// The fused node.
pub struct FusedConsumer {
    reductions: SmallVec<[Inst; 2]>,
    expr: ArrayExpr,
    args: Vec<Value>,
}

impl RootRewrite for ReduceFinish {
    type Match = (Inst, Box<FusedConsumer>);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        let data = func.inst(root);
        let reader =
            data.attrs.expr().filter(|expr| is_pointwise(expr) && !is_scheduled(data)).ok_or(NoMatch::quiet())?;
        let here = |arg: &Value| func.def_inst(*arg).filter(|&inst| func.block_of(inst) == func.block_of(root));
        let defs: SmallVec<[Inst; 8]> = data.args.iter().take(MOST_READ).filter_map(here).collect();
        if data.args.len() > MOST_READ {
            return Err(match defs.iter().any(|&inst| reduces(func, inst)) {
                true => NoMatch::because(
                    "it reads very many values: it stays a pass after the reductions whose results are among them",
                ),
                false => NoMatch::quiet(),
            });
        }
        if defs.iter().any(|&inst| takes_in_operand(cx, inst)) {
            return Err(NoMatch::quiet());
        }
        let mut node: Option<FusedExpr> = None;
        for inst in defs {
            if node.as_ref().is_some_and(|node| node.of.contains(&inst)) || !may_join(cx, inst, root) {
                continue;
            }
            let found = along_rows(cx, inst).filter(|node| !node.is_total()).or_else(|| scans(cx, inst));
            node = match (node, found) {
                (None, None) => contracts(cx, inst),
                (None, found) => found,
                (Some(first), Some(found)) => Some(first.joined(found)),
                (first, None) => first,
            };
        }
        let node = node.ok_or(NoMatch::quiet())?;
        if let Some(inst) = reader.body.insts.iter().find(|inst| is_long(inst) && !node.has_columns()) {
            let BodyOp::Op(op, _) = &inst.op else { return Err(NoMatch::quiet()) };
            let why = format!("`{}` of row results stays a pass of its own, which computes several at once", op.name);
            return Err(NoMatch::because(why).at(inst.loc));
        }
        let reductions = node.of.clone();
        let (expr, args) = node.finished(func, reader, &data.args).ok_or(NoMatch::quiet())?;
        Ok((root, Box::new(FusedConsumer { reductions, expr, args })))
    }

    fn apply(&self, (root, found): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let FusedConsumer { reductions, expr, args } = *found;
        let loc = rw.func().inst(root).loc;
        rw.set_point(Point::Before(root));
        rw.set_loc(loc);
        let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
        let node = rw.insert(rewright_ir::builder::find_op("arrayexpr")?, args, attrs)?;
        let results = rw.func().inst(node).results.clone();
        rw.replace(root, &results)?;
        reductions.iter().try_for_each(|&inst| rw.erase(inst))?;
        rw.remark(loc, "computed where rows are combined".to_string());
        Ok(())
    }
}

/// True if the instruction takes so much longer for single numbers than for vectors that another pass is
/// cheaper.
pub(super) fn is_long(inst: &BodyInst) -> bool {
    let BodyOp::Op(op, _) = &inst.op else { return true };
    let is_complex = inst.dtypes.iter().any(|dtype| dtype.is_complex());
    // The reciprocal of a root is only two instructions.
    op.cycles() >= if is_complex { COMPLEX_FUNCTION } else { FUNCTION } && (is_complex || op.name != "rsqrt")
}

/// True if `reduce-fusion` fuses the reduction with its producer first: it becomes a node then, which others
/// may join. False without a check for large producers, because each user of their reductions would repeat
/// the check.
fn takes_in_operand(cx: &MatchCx<'_>, inst: Inst) -> bool {
    let func = cx.func();
    let operand = Reduced::of(func, func.inst(inst)).and_then(|_| func.def_inst(func.inst(inst).args[0]));
    operand.is_some_and(|producer| !is_large(func, producer) && takes_in(cx, producer))
}

/// True if the consumer is the only user of a reduction, and the reduction can be computed at the consumer.
fn may_join(cx: &MatchCx<'_>, inst: Inst, reader: Inst) -> bool {
    let func = cx.func();
    let data = func.inst(inst);
    let only_there = |&value: &Value| func.each_user(value).all(|user| user == reader) && !cx.is_written(value);
    let still = |&arg: &Value| !cx.is_written(arg) && !cx.is_ended(arg);
    data.results.iter().all(only_there)
        && data.results.iter().all(|&value| !cx.is_ended(value))
        && data.args.iter().all(still)
        && may_move(cx, inst, &[reader])
}
