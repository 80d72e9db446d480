//! `reduce-fusion`: fuses reductions with the producers of their operands.

use crate::builtin::fusion::cost::{cycles, widths};
use crate::builtin::fusion::elementwise::array_expr::node_of;
use crate::builtin::fusion::legality::{block_order, goes_in_sequence, is_pointwise, may_move};
use crate::builtin::fusion::node::dtype_of;
use crate::prelude::*;
use rewright_ir::expr::{AxisKind, Body, BodyRef, Index, IndexExpr, Mode, Operand, Order, Out, Source, Write};
use rewright_ir::ops::reduced::Reduced;
use rewright_ir::{ArrayExpr, Attr, InstData};
use smallvec::SmallVec;
use std::sync::Arc;

/// Fuses elementwise work with the reductions of its results into one `arrayexpr`, so that the array between
/// them is never written: `sum(x * x)` is one pass over x.
///
/// The producer is an elementwise op, an applied function or an `arrayexpr`. Only reductions along the same
/// axes may read its results. Producer and reductions become one node with one result for each reduction.
/// The node stands where the first reduction stood. So nothing between the fused instructions may have an
/// effect or fail, except a moved instruction that cannot fail itself, and nothing may store to the operands
/// or end them.
///
/// One node has at most 16 reductions. Several reductions are not fused, and their operand is materialized,
/// where no kernel computes the fused node or a slow one does:
///
/// - The reduced axes are not the last ones, and a reduction keeps more state than its result, such as a
///   position beside its element.
/// - One reduction combines in sequence and others need not.
/// - The totals of one reduction are wider than those of another, so that a register holds fewer of them.
///   Twice as wide is still better than another pass if the producer is cheap.
///
/// It is exact: the node's reduce axes are the reduced axes, and the order of combination is the same.
pub struct ReduceFusion;

static REDUCE_FUSION: RewriteDef =
    RewriteDef::root("reduce-fusion", "fuses the producer of an operand into the reduction", &ReduceFusion)
        .roots(&["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"])
        .stage(Stage::BeforeLowering)
        .after(&["array-expr"])
        .reach(1);
register_rewrite!(REDUCE_FUSION);

/// Producers with more users or more results are not fused.
const MOST_USERS: usize = 16;
/// Cycles an element of a cheap producer: less time than another pass over memory takes.
const LITTLE: u32 = 4;
/// The fused node, and the instructions that it replaces.
pub struct Fused {
    producer: Inst,
    /// The fused reductions, in block order.
    reductions: SmallVec<[Inst; 4]>,
    expr: ArrayExpr,
    args: Vec<Value>,
}

impl RootRewrite for ReduceFusion {
    type Match = Box<Fused>;

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Box<Fused>, NoMatch> {
        let func = cx.func();
        let quiet = || NoMatch::quiet();
        let &[operand] = &func.inst(root).args[..] else { return Err(quiet()) };
        let producer = func.def_inst(operand).ok_or(quiet())?;
        if func.block_of(producer) != func.block_of(root) {
            return Err(quiet());
        }
        let values = &func.inst(producer).results;
        let too_many = || NoMatch::because("too many instructions use its operand, which is computed by itself");
        if values.len() > MOST_USERS {
            return Err(too_many());
        }
        if values.iter().any(|&value| cx.is_written(value) || cx.is_ended(value)) {
            return Err(quiet());
        }
        let mut reductions = SmallVec::<[Inst; 4]>::new();
        for &value in values {
            reductions.extend(func.few_users(value, MOST_USERS).ok_or_else(too_many)?);
            if reductions.len() > MOST_USERS {
                return Err(too_many());
            }
        }
        let reduced = |inst: Inst| Reduced::of(func, func.inst(inst));
        let axes = reduced(root).map(|reduced| reduced.axes).filter(|axes| !axes.is_empty()).ok_or(quiet())?;
        let alike = |&inst: &Inst| {
            func.block_of(inst) == func.block_of(root) && reduced(inst).is_some_and(|other| other.axes == axes)
        };
        if !reductions.iter().all(alike) {
            return Err(NoMatch::because(match values.len() {
                1 => "its operand has other uses, and so is computed by itself",
                _ => {
                    "the producer of its operand has other results, which are used elsewhere, and so is a pass by itself"
                }
            }));
        }
        reductions.sort_by(|&a, &b| block_order(func, a, b));
        let node = node_of(cx, producer).filter(|node| values.len() == 1 || is_pointwise(&node.expr)).ok_or(quiet())?;
        if node.args.iter().any(|&arg| cx.is_written(arg) || cx.is_ended(arg)) {
            return Err(NoMatch::because("an operand of the producer of its operand is written to, or ends"));
        }
        if !may_move(cx, producer, &reductions) {
            return Err(NoMatch::because("the producer of its operand can't be moved to the reduction"));
        }
        if !has_even_rows(&node.expr, &axes) {
            return Err(NoMatch::because("it reduces several axes along which an operand is stretched"));
        }
        let found: Vec<&InstData> = reductions.iter().map(|&inst| func.inst(inst)).collect();
        let expr = fused(func, node.expr, values, &found, &axes).ok_or(quiet())?;
        if let Some(reason) = apart(&expr) {
            return Err(NoMatch::because(reason));
        }
        Ok(Box::new(Fused { producer, reductions, expr, args: node.args }))
    }

    fn apply(&self, found: Box<Fused>, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let Fused { producer, reductions, expr, args } = *found;
        let loc = rw.func().inst(reductions[0]).loc;
        rw.set_point(Point::Before(reductions[0]));
        rw.set_loc(loc);
        let attrs = Attrs::new().with("expr", Attr::Expr(Arc::new(expr)));
        let node = rw.insert(rewright_ir::builder::find_op("arrayexpr")?, args, attrs)?;
        let results = rw.func().inst(node).results.clone();
        let names: Vec<&str> = reductions.iter().map(|&inst| rw.func().inst(inst).op.name).collect();
        // All `item`s are inserted before the first replacement, because the insertion point is there.
        let value = |(&reduction, &result): (&Inst, &Value)| {
            let scalar = rw.func().ty(rw.func().inst(reduction).results[0]).is_scalar();
            if scalar { rw.op("item", [result]) } else { Ok(result) }
        };
        let values: Result<SmallVec<[Value; 2]>, RewriteError> = reductions.iter().zip(&results).map(value).collect();
        for (&reduction, value) in reductions.iter().zip(values?) {
            rw.replace(reduction, &[value])?;
        }
        rw.remark(loc, format!("{} in one pass with the producer of the operand", names.join(", ")));
        rw.erase(producer)
    }
}

/// True if the rewrite fuses a producer with its reductions. Checks all conditions of the rewrite.
pub(crate) fn takes_in(cx: &MatchCx<'_>, producer: Inst) -> bool {
    let func = cx.func();
    // All results are reduced alike or the producer is not fused, so one user of one result decides.
    let first_user = |&value: &Value| func.each_user(value).next();
    let is_root = |inst: &Inst| REDUCE_FUSION.roots.contains(&func.inst(*inst).op.name);
    let user = func.inst(producer).results.iter().find_map(first_user).filter(is_root);
    user.is_some_and(|user| ReduceFusion.matches(cx, user).is_ok())
}

/// The reason why a node's reductions are better computed apart, from a materialized operand, if there is
/// one.
fn apart(expr: &ArrayExpr) -> Option<&'static str> {
    if Order::common(expr.orders()).is_none() {
        return Some("its operand is combined in several orders, and a kernel knows one");
    }
    if expr.reductions.len() == 1 {
        return None;
    }
    let widths = widths(expr);
    let (least, most) = (widths.iter().min().copied().unwrap_or(1), widths.iter().max().copied().unwrap_or(1));
    match () {
        () if !has_kernel(expr) => Some(
            "it or another reduction of the same, not along rows, keeps more than its result: each is a pass by itself",
        ),
        () if goes_in_sequence(expr) && expr.orders().count() < expr.reductions.len() => {
            Some("it or another reduction of the same, but not both, is combined in sequence: each is a pass by itself")
        }
        () if most > 2 * least || (most > least && cycles(expr) > LITTLE) => Some(
            "it and another reduction of the same have values of different widths, and a register holds fewer of the wider: each is a pass by itself",
        ),
        () => None,
    }
}

/// False if several rows combine into one result and their accumulators hold more than that result. The
/// exception: reductions in any order have kernels that put the reduced axes last.
fn has_kernel(expr: &ArrayExpr) -> bool {
    let rows_last = expr.axes.iter().map(|axis| axis.kind).skip_while(|kind| *kind == AxisKind::Parallel);
    let (is_last, is_plain) = ({ rows_last }.all(|kind| kind == AxisKind::Reduce), expr.finish.is_none());
    is_plain || is_last || expr.any_order().all(|any| any)
}

/// False if several trailing axes are reduced and an operand does not index all axes in order: a kernel
/// traverses a row in one loop.
fn has_even_rows(expr: &ArrayExpr, reduced: &[usize]) -> bool {
    let rank = expr.axes.len();
    let row = (0..rank).rev().take_while(|axis| reduced.contains(axis)).count();
    let along_all = |operand: &Operand| {
        let in_order = |(axis, index): (usize, &Index)| match &index.expr {
            IndexExpr::Affine(form) => form.as_axis() == Some(axis as u32) && index.mode == Mode::Proved,
            _ => false,
        };
        operand.index.len() == rank && operand.index.iter().enumerate().all(in_order)
    };
    row < 2 || expr.operands.iter().all(|operand| !matches!(operand.source, Source::Array(_)) || along_all(operand))
}

/// Builds the fused expression: `values` are the expression's results, `axes` the reduced axes; each
/// reduction becomes one result.
fn fused(
    func: &Function,
    mut expr: ArrayExpr,
    values: &[Value],
    reductions: &[&InstData],
    axes: &[usize],
) -> Option<ArrayExpr> {
    if expr.outs.len() != values.len() {
        return None;
    }
    let loc = expr.locs.first().copied().unwrap_or_default();
    let mut elements = SmallVec::<[(BodyRef, DType); 2]>::new();
    for (yielded, element) in expr.body.yields.clone().into_iter().zip(expr.outs.iter().map(|out| out.dtype)) {
        let from = dtype_of(&expr, yielded)?;
        elements.push((expr.body.cast(yielded, from, element, loc), element));
    }
    expr.body.yields.clear();
    for &axis in axes {
        expr.axes[axis].kind = AxisKind::Reduce;
    }
    let (mut outs, mut results, mut accumulators) = (Vec::new(), Vec::new(), 0);
    for data in reductions {
        let reduced = Reduced::of(func, data)?;
        let (value, element) = elements[values.iter().position(|value| data.args.first() == Some(value))?];
        expr.body.yields.extend(reduced.yields(value)?);
        let reduction = reduced.reduction(element);
        accumulators += reduction.accumulators.len() as u32;
        results.push(BodyRef::Acc(accumulators - 1));
        expr.reductions.push(reduction);
        let ty = func.ty(data.results[0]);
        outs.push(Out {
            dtype: ty.dtype(),
            dims: ty.dims().to_vec(),
            index: reduced.index(),
            fill: None,
            write: Write::Unique,
        });
        expr.locs.push(data.loc);
    }
    let in_order = (0..).map(BodyRef::Acc).take(results.len());
    if accumulators as usize != results.len() || !in_order.eq(results.iter().copied()) {
        expr.finish = Some(Body { yields: results, ..Body::default() });
    }
    expr.outs = outs;
    Some(expr)
}
