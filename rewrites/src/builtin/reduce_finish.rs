//! `reduce-finish`: what is computed of the results of reductions becomes part of their node.

use super::node::{Node, append, is_large, is_pointwise};
use super::reduce_fusion::{may_move, takes_in};
use super::scalar_finish::reduces;
use crate::prelude::*;
use rewright_ir::expr::{
    Affine, AxisKind, BodyInst, BodyOp, BodyRef, Index, IndexExpr, Mode, Operand, Out, Source, SymExpr,
};
use rewright_ir::ops::reduced::Reduced;
use rewright_ir::{ArrayExpr, Attr, Dim};
use smallvec::SmallVec;
use std::sync::Arc;

/// Makes one `arrayexpr` of reductions along rows and the elementwise work on what they come to: the mean of each row is divided by its
/// length where the row is summed, and a norm's root is taken there.
///
/// What reads the results is an `arrayexpr` that goes along the axes that are kept, and is all that reads them. Several reductions that it
/// reads become one pass if they go along the same axes and combine in the same order; others stay, and their results are read. It waits until
/// reductions have taken in what they reduce. Functions, as a logarithm of what each row comes to, stay a pass of their own, which computes a vector of them at once, and a
/// remark says so. What reads more than 64 values stays by itself, and a remark says so where one of the first 64 is what a
/// reduction comes to; so does what reads only reductions of what large nodes compute, that stay apart from these.
///
/// It is exact: the finisher computes the same of the same totals.
pub struct ReduceFinish;

static REDUCE_FINISH: RewriteDef =
    RewriteDef::root("reduce-finish", "reductions take in what is computed of their results", &ReduceFinish)
        .roots(&["arrayexpr"])
        .stage(Stage::BeforeLowering)
        .after(&["array-expr", "reduce-fusion"])
        .reach(1);
register_rewrite!(REDUCE_FINISH);

/// What reads more arrays stays by itself: each would be looked at whenever one of them changes.
const MOST_READ: usize = 64;

/// Cycles of a function. What takes as many is some dozen instructions, which one row after the other would wait for; a division or a root is one, of
/// complex numbers some, too.
const FUNCTION: u32 = 10;
const COMPLEX_FUNCTION: u32 = 8;

/// What becomes one node.
pub struct Finished {
    reductions: SmallVec<[Inst; 2]>,
    expr: ArrayExpr,
    args: Vec<Value>,
}

impl RootRewrite for ReduceFinish {
    type Match = (Inst, Box<Finished>);

    fn matches(&self, cx: &MatchCx<'_>, root: Inst) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        let data = func.inst(root);
        let reader = data.attrs.expr().filter(|expr| is_pointwise(expr)).ok_or(NoMatch::quiet())?;
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
        let mut node: Option<Node> = None;
        for inst in defs {
            if node.as_ref().is_some_and(|node| node.of.contains(&inst)) || !may_join(cx, inst, root) {
                continue;
            }
            let Some(found) = Node::of(cx, inst).filter(|node| !node.is_total()) else { continue };
            node = match node {
                None => Some(found),
                Some(first) => Some(first.joined(found)),
            };
        }
        let node = node.ok_or(NoMatch::quiet())?;
        if let Some(inst) = reader.body.insts.iter().find(|inst| is_long(inst)) {
            let BodyOp::Op(op, _) = &inst.op else { return Err(NoMatch::quiet()) };
            let why = format!(
                "`{}` of what rows come to stays a pass of its own, which computes it of several at once",
                op.name
            );
            return Err(NoMatch::because(why).at(inst.loc));
        }
        let reductions = node.of.clone();
        let (expr, args) = node.finished(func, reader, &data.args).ok_or(NoMatch::quiet())?;
        Ok((root, Box::new(Finished { reductions, expr, args })))
    }

    fn apply(&self, (root, found): Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let Finished { reductions, expr, args } = *found;
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

/// True of what takes longer for one number after the other than for several at once, by more than a pass does.
fn is_long(inst: &BodyInst) -> bool {
    let BodyOp::Op(op, _) = &inst.op else { return true };
    let is_complex = inst.dtypes.iter().any(|dtype| dtype.is_complex());
    // The reciprocal of a root is but two instructions.
    op.cycles() >= if is_complex { COMPLEX_FUNCTION } else { FUNCTION } && (is_complex || op.name != "rsqrt")
}

/// True of a reduction that takes in what computes its operand (`reduce-fusion`): that is a node then, which others may join. Of a large node
/// it is not asked: all that reads what is reduced of it would.
fn takes_in_operand(cx: &MatchCx<'_>, inst: Inst) -> bool {
    let func = cx.func();
    let operand = Reduced::of(func, func.inst(inst)).and_then(|_| func.def_inst(func.inst(inst).args[0]));
    operand.is_some_and(|producer| !is_large(func, producer) && takes_in(cx, producer))
}

/// True if only the reader reads what a reduction gives, which can be computed there.
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

impl Node {
    /// The reduction, if it is along rows, or along one row that is all.
    pub(super) fn of(cx: &MatchCx<'_>, inst: Inst) -> Option<Node> {
        Node::along_any(cx, inst).filter(Node::is_rows)
    }

    /// True if it comes to one point.
    pub(super) fn is_total(&self) -> bool {
        self.expr.axes.iter().all(|axis| axis.kind == AxisKind::Reduce)
    }

    /// How many operations finish it.
    pub(super) fn finishes(&self) -> usize {
        self.expr.finish.as_ref().map_or(0, |finish| finish.insts.len())
    }

    /// With what is computed of the results.
    pub(super) fn finished(
        mut self,
        func: &Function,
        reader: &ArrayExpr,
        args: &[Value],
    ) -> Option<(ArrayExpr, Vec<Value>)> {
        let places = self.places(func, reader, args)?;
        let moved = |operand: &Operand| -> Option<Vec<Index>> {
            operand.index.iter().map(|index| moved(index, &places)).collect()
        };
        if reader.operands.iter().any(|operand| moved(operand).is_none()) {
            return None;
        }
        let numbers = self.take_operands(reader, args, moved)?;
        let mut finish = self.finish();
        let totals: Vec<BodyRef> = std::mem::take(&mut finish.yields);
        let mut values = Vec::new();
        for (operand, number) in reader.operands.iter().zip(numbers) {
            let (Source::Array(n) | Source::Scalar(n)) = operand.source else { return None };
            values.push(match self.results.iter().position(|&result| result == args[n as usize]) {
                Some(result) => {
                    let from = self.dtype_of(&finish, totals[result])?;
                    let loc = self.expr.locs.first().copied().unwrap_or_default();
                    finish.cast(totals[result], from, self.expr.outs[result].dtype, loc)
                }
                None => BodyRef::Operand(number),
            });
        }
        let along = |axis: u32| match places[axis as usize] {
            Some(own) => BodyRef::Axis(own),
            None => BodyRef::Const(Scalar::I64(0)),
        };
        finish.yields = append(&mut finish, &reader.body, &values, &along, 0);
        let out = |out: &Out| {
            let position = |place: &Option<u32>| place.map_or(Affine::constant(0), Affine::axis);
            Out { index: places.iter().map(position).map(IndexExpr::Affine).collect(), ..out.clone() }
        };
        self.expr.outs = reader.outs.iter().map(out).collect();
        self.expr.finish = Some(finish);
        self.expr.locs.extend(&reader.locs);
        Some((self.expr, self.args))
    }

    /// For each axis of the reader the one of the reductions that it is; none of those that have one point.
    fn places(&self, func: &Function, reader: &ArrayExpr, args: &[Value]) -> Option<Vec<Option<u32>>> {
        let mut places: Vec<Option<u32>> = vec![None; reader.axes.len()];
        for operand in &reader.operands {
            let (Source::Array(n) | Source::Scalar(n)) = operand.source else { return None };
            let Some(result) = self.results.iter().position(|&result| result == args[n as usize]) else { continue };
            let (out, ty) = (&self.expr.outs[result], func.ty(args[n as usize]));
            if out.index.len() != operand.index.len() {
                return None;
            }
            for ((from, to), &dim) in operand.index.iter().zip(&out.index).zip(ty.dims()) {
                let (IndexExpr::Affine(from), IndexExpr::Affine(to)) = (&from.expr, to) else { return None };
                match (from.as_axis(), to.as_axis()) {
                    (Some(axis), Some(own))
                        if SymExpr::of_dim(dim).is_some_and(|extent| reader.axes[axis as usize].hi == Some(extent)) =>
                    {
                        let place = &mut places[axis as usize];
                        if place.is_some_and(|known| known != own) {
                            return None;
                        }
                        *place = Some(own);
                    }
                    (_, None) if dim == Dim::Const(1) => {}
                    _ => return None,
                }
            }
        }
        let kept = self.expr.axes.iter().filter(|axis| axis.kind == AxisKind::Parallel).count() as u32;
        let each_once = (0..kept).all(|own| places.iter().filter(|place| **place == Some(own)).count() == 1);
        let one = Some(SymExpr::constant(1));
        let others = reader.axes.iter().zip(&places).all(|(axis, place)| place.is_some() || axis.hi == one);
        (each_once && others).then_some(places)
    }
}

/// A position, along other axes.
fn moved(index: &Index, places: &[Option<u32>]) -> Option<Index> {
    let IndexExpr::Affine(form) = &index.expr else { return None };
    let expr = match (form.as_axis(), form.as_constant()) {
        (Some(axis), _) => places[axis as usize].map_or(Affine::constant(0), Affine::axis),
        (None, Some(constant)) => Affine::constant(constant),
        (None, None) => return None,
    };
    // At the only point of an axis nothing is stretched.
    let mode = if expr.as_axis().is_none() { Mode::Proved } else { index.mode };
    Some(Index { expr: IndexExpr::Affine(expr), mode })
}
