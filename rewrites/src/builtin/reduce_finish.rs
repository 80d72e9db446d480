//! `reduce-finish`: what is computed of the results of reductions becomes part of their node.

use super::array_expr::node_of;
use super::reduce_fusion::{MOST_USERS, may_move};
use crate::prelude::*;
use rewright_ir::expr::{
    Affine, AxisKind, Body, BodyInst, BodyOp, BodyRef, Index, IndexExpr, Mode, Operand, Out, Reduction, Source,
    SymExpr, Write,
};
use rewright_ir::ops::reduced::Reduced;
use rewright_ir::{ArrayExpr, Attr, Dim, Name};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::Arc;

/// Makes one `arrayexpr` of reductions along rows and the elementwise work on what they come to: the mean of each row is divided by its
/// length where the row is summed, and a norm's root is taken there.
///
/// What reads the results is an `arrayexpr` that goes along the axes that are kept, and is all that reads them. Several reductions that it
/// reads become one pass if they go along the same axes and combine in the same order; others stay, and their results are read.
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

/// Nodes of more operations are large.
pub(super) const LARGE: usize = 256;

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
        let mut node: Option<Node> = None;
        for &arg in &data.args {
            let Some(inst) = func.def_inst(arg).filter(|&inst| func.block_of(inst) == func.block_of(root)) else {
                continue;
            };
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

/// True if an expression computes each element of its results by itself.
fn is_pointwise(expr: &ArrayExpr) -> bool {
    let zero = SymExpr::default();
    let in_order = |(axis, index): (usize, &IndexExpr)| match index {
        IndexExpr::Affine(form) => form.as_axis() == Some(axis as u32),
        _ => false,
    };
    expr.guard.is_empty()
        && expr.reductions.is_empty()
        && expr.axes.iter().all(|axis| axis.kind == AxisKind::Parallel && axis.lo == zero)
        && expr.body.insts.iter().all(|inst| matches!(inst.op, BodyOp::Op(..)))
        && expr.outs.iter().all(|out| {
            out.fill.is_none()
                && out.write == Write::Unique
                && out.index.len() == expr.axes.len()
                && out.index.iter().enumerate().all(in_order)
        })
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

/// True if reductions of a value are all that reads it, and it is computed where they can take that in: which is to be done before. Also
/// if that is by so large a node that looking at it for each of its results would take too long.
fn takes_in(cx: &MatchCx<'_>, value: Value) -> bool {
    let func = cx.func();
    let Some(inst) = func.def_inst(value) else { return false };
    let is_large = func.inst(inst).attrs.expr().is_some_and(|expr| expr.body.insts.len() > LARGE);
    let is_reduction = |user: Inst| Reduced::of(func, func.inst(user)).is_some();
    let are_reductions = || func.few_users(value, MOST_USERS).is_some_and(|users| users.into_iter().all(is_reduction));
    is_large || (are_reductions() && node_of(cx, inst).is_some())
}

/// Reductions that are one expression.
pub(super) struct Node {
    pub(super) of: SmallVec<[Inst; 2]>,
    pub(super) expr: ArrayExpr,
    pub(super) args: Vec<Value>,
    /// The values that its results are.
    results: Vec<Value>,
}

impl Node {
    /// The reduction, if it is along rows, or along one row that is all.
    pub(super) fn of(cx: &MatchCx<'_>, inst: Inst) -> Option<Node> {
        Node::along_any(cx, inst).filter(Node::is_rows)
    }

    /// True if the kernel's last loops are along a row, and each row comes to one result.
    pub(super) fn is_rows(&self) -> bool {
        let kept = self.expr.axes.iter().take_while(|axis| axis.kind == AxisKind::Parallel).count();
        self.expr.axes[kept..].iter().all(|axis| axis.kind == AxisKind::Reduce)
    }

    /// The reduction along any axes, from their beginnings and of all points.
    pub(super) fn along_any(cx: &MatchCx<'_>, inst: Inst) -> Option<Node> {
        let func = cx.func();
        let data = func.inst(inst);
        let expr: Cow<'_, ArrayExpr> = match data.attrs.expr() {
            Some(expr) => Cow::Borrowed(expr),
            None => {
                let reduced = Reduced::of(func, data)?;
                let (ty, result) = (func.ty(data.args[0]), func.ty(data.results[0]));
                if takes_in(cx, data.args[0]) || ty.style().is_some() || result.style().is_some() {
                    return None;
                }
                Cow::Owned(ArrayExpr { locs: vec![data.loc], ..reduced.expression(ty, result).ok()? })
            }
        };
        let reduces = expr.axes.iter().any(|axis| axis.kind == AxisKind::Reduce);
        let plain = expr.outs.iter().all(|out| out.fill.is_none() && out.write == Write::Unique);
        let zero = SymExpr::default();
        let from_zero = expr.axes.iter().all(|axis| axis.lo == zero);
        let simple = plain && from_zero && reduces && expr.guard.is_empty();
        (simple && !starts_from_operand(data)).then(|| Node {
            of: [inst].into_iter().collect(),
            args: data.args.to_vec(),
            results: data.results.to_vec(),
            expr: expr.into_owned(),
        })
    }

    /// True if it comes to one point.
    pub(super) fn is_total(&self) -> bool {
        self.expr.axes.iter().all(|axis| axis.kind == AxisKind::Reduce)
    }

    /// How many operations finish it.
    pub(super) fn finishes(&self) -> usize {
        self.expr.finish.as_ref().map_or(0, |finish| finish.insts.len())
    }

    /// The number of its accumulators.
    pub(super) fn accumulators(&self) -> usize {
        self.expr.accumulators().count()
    }

    /// True if another reads an array that this one reads at the same places.
    pub(super) fn reads_as(&self, other: &Node) -> bool {
        let places = |node: &Node| -> Vec<(Value, Vec<Index>)> {
            let array = |operand: &Operand| match operand.source {
                Source::Array(n) => Some((node.args[n as usize], operand.index.clone())),
                _ => None,
            };
            node.expr.operands.iter().filter_map(array).collect()
        };
        let own = places(self);
        places(other).iter().any(|place| own.contains(place))
    }

    /// One expression of two, if they go along the same axes and combine in one order; else the first one.
    pub(super) fn joined(mut self, other: Node) -> Node {
        let alike = self.expr.axes.len() == other.expr.axes.len()
            && self.expr.axes.iter().zip(&other.expr.axes).all(|(a, b)| (&a.hi, a.kind) == (&b.hi, b.kind))
            && self.expr.axes.iter().all(|axis| axis.hi.is_some());
        let both = [&self.expr.reductions[..], &other.expr.reductions[..]].concat();
        if !alike || Reduction::common_order(&both).is_none() {
            return self;
        }
        let (before, other_accumulators) = (self.accumulators() as u32, other.accumulators());
        let operands = self.take_operands(&other.expr, &other.args, |_| None);
        let Some(operands) = operands else { return self };
        let values: Vec<BodyRef> = operands.iter().map(|&n| BodyRef::Operand(n)).collect();
        let yields = append(&mut self.expr.body, &other.expr.body, &values, &|axis| BodyRef::Axis(axis), 0);
        self.expr.body.yields.extend(yields);
        let mut finish = self.finish();
        let yields = match &other.expr.finish {
            Some(body) => append(&mut finish, body, &values, &|axis| BodyRef::Axis(axis), before),
            None => (before..).map(BodyRef::Acc).take(other.expr.outs.len()).collect(),
        };
        finish.yields.extend(yields);
        self.expr.reductions.extend(other.expr.reductions);
        self.expr.outs.extend(other.expr.outs);
        self.expr.locs.extend(other.expr.locs);
        let in_order = (0..).map(BodyRef::Acc).take(finish.yields.len());
        let is_plain =
            before as usize + other_accumulators == finish.yields.len() && in_order.eq(finish.yields.iter().copied());
        self.expr.finish = (!is_plain).then_some(finish);
        self.of.extend(other.of);
        self.results.extend(other.results);
        self
    }

    /// The finisher, or one that yields the accumulators.
    fn finish(&self) -> Body {
        let accumulators = (0..).map(BodyRef::Acc).take(self.expr.outs.len()).collect();
        self.expr.finish.clone().unwrap_or(Body { insts: Vec::new(), yields: accumulators })
    }

    /// Makes the operands of another expression its own, but for those that `known` names; `at` says where they are read. Gives their numbers, any
    /// for those that are known.
    fn take_operands(
        &mut self,
        other: &ArrayExpr,
        args: &[Value],
        at: impl Fn(&Operand) -> Option<Vec<Index>>,
    ) -> Option<Vec<u32>> {
        let mut numbers = Vec::new();
        for operand in &other.operands {
            let (Source::Array(n) | Source::Scalar(n)) = operand.source else { return None };
            let arg = args[n as usize];
            if self.results.contains(&arg) {
                numbers.push(u32::MAX);
                continue;
            }
            let number = self.args.iter().position(|&known| known == arg).unwrap_or_else(|| {
                self.args.push(arg);
                self.args.len() - 1
            }) as u32;
            let source = match operand.source {
                Source::Array(_) => Source::Array(number),
                _ => Source::Scalar(number),
            };
            let index = at(operand).unwrap_or_else(|| operand.index.clone());
            let same = |own: &Operand| own.source == source && own.index == index;
            if let Some(known) = self.expr.operands.iter().position(same) {
                numbers.push(known as u32);
                continue;
            }
            let name = self.name(operand.name);
            self.expr.operands.push(Operand { name, source, dtype: operand.dtype, index });
            numbers.push(self.expr.operands.len() as u32 - 1);
        }
        Some(numbers)
    }

    /// A name that no operand or axis has, or symbol.
    fn name(&self, wanted: Name) -> Name {
        let expr = &self.expr;
        let symbols = |name: &Name| {
            let of = |hi: &SymExpr| hi.terms().iter().any(|(symbol, _)| symbol == name);
            expr.axes.iter().any(|axis| axis.name == *name || axis.hi.as_ref().is_some_and(of))
        };
        let free = |name: &Name| !expr.operands.iter().any(|own| own.name == *name) && !symbols(name);
        let others = (1..).map(|n| Name::from(format!("{wanted}{n}")));
        std::iter::once(wanted).chain(others).find(free).unwrap_or(wanted)
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

    fn dtype_of(&self, finish: &Body, value: BodyRef) -> Option<DType> {
        Some(match value {
            BodyRef::Operand(n) => self.expr.operands.get(n as usize)?.dtype,
            BodyRef::Axis(_) => DType::I64,
            BodyRef::Inst(n, result) => *finish.insts.get(n as usize)?.dtypes.get(result as usize)?,
            BodyRef::Const(scalar) => scalar.dtype(),
            BodyRef::Acc(n) => self.expr.accumulators().nth(n as usize)?,
        })
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

/// True if what the reduction starts from is in its operands: these are read where results are written, which are others then.
fn starts_from_operand(data: &rewright_ir::InstData) -> bool {
    let starts = |expr: &ArrayExpr| {
        expr.reductions.iter().any(|reduction| matches!(reduction.init, rewright_ir::expr::Init::Existing(_)))
    };
    data.attrs.expr().is_some_and(|expr| starts(expr))
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

/// Appends the instructions of another body, whose operands are these values. Gives what it yields.
fn append(
    body: &mut Body,
    other: &Body,
    operands: &[BodyRef],
    axes: &dyn Fn(u32) -> BodyRef,
    accumulators: u32,
) -> Vec<BodyRef> {
    let first = body.insts.len() as u32;
    let own = |value: &BodyRef| match *value {
        BodyRef::Operand(n) => operands[n as usize],
        BodyRef::Axis(axis) => axes(axis),
        BodyRef::Acc(n) => BodyRef::Acc(accumulators + n),
        BodyRef::Inst(n, result) => BodyRef::Inst(first + n, result),
        constant => constant,
    };
    for inst in &other.insts {
        body.insts.push(BodyInst { args: inst.args.iter().map(own).collect(), ..inst.clone() });
    }
    other.yields.iter().map(own).collect()
}
