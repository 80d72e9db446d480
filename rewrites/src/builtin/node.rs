//! The expression of instructions of a block that are being fused into one node.

use super::reduce_fusion::takes_in;
use crate::prelude::*;
use rewright_ir::expr::{
    AxisKind, Body, BodyInst, BodyOp, BodyRef, Index, IndexExpr, Operand, Order, Source, SymExpr, Write,
};
use rewright_ir::ops::reduced::Reduced;
use rewright_ir::{ArrayExpr, Name};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Nodes with more operations count as large.
pub(super) const LARGE: usize = 256;

/// One or several instructions as one expression.
#[derive(Clone)]
pub(super) struct Node {
    pub(super) of: SmallVec<[Inst; 2]>,
    pub(super) expr: ArrayExpr,
    pub(super) args: Vec<Value>,
    /// The values that the node's results replace.
    pub(super) results: Vec<Value>,
}

impl Node {
    /// The instruction as a node, if it computes each element of its results independently.
    pub(super) fn pointwise(cx: &MatchCx<'_>, inst: Inst) -> Option<Node> {
        let data = cx.func().inst(inst);
        let expr = data.attrs.expr().filter(|expr| is_pointwise(expr) && !is_scheduled(data))?;
        Some(Node {
            of: [inst].into_iter().collect(),
            args: data.args.to_vec(),
            results: data.results.to_vec(),
            expr: (**expr).clone(),
        })
    }

    /// The instruction as a node, if it is a reduction along any axes that covers all points, with axes that
    /// start at 0.
    pub(super) fn along_any(cx: &MatchCx<'_>, inst: Inst) -> Option<Node> {
        let func = cx.func();
        let data = func.inst(inst);
        let expr: Cow<'_, ArrayExpr> = match data.attrs.expr() {
            Some(expr) => Cow::Borrowed(expr),
            None => {
                let reduced = Reduced::of(func, data)?;
                let (ty, result) = (func.ty(data.args[0]), func.ty(data.results[0]));
                if waits_for_fusion(cx, data.args[0]) || ty.style().is_some() || result.style().is_some() {
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
        (simple && !is_scheduled(data) && !starts_from_operand(data)).then(|| Node {
            of: [inst].into_iter().collect(),
            args: data.args.to_vec(),
            results: data.results.to_vec(),
            expr: expr.into_owned(),
        })
    }

    /// True if the reduced axes are the last ones, so that the kernel's innermost loops traverse a row and
    /// each row has one result.
    pub(super) fn is_rows(&self) -> bool {
        let kept = self.expr.axes.iter().take_while(|axis| axis.kind == AxisKind::Parallel).count();
        self.expr.axes[kept..].iter().all(|axis| axis.kind == AxisKind::Reduce)
    }

    /// The number of accumulators.
    pub(super) fn accumulators(&self) -> usize {
        self.expr.accumulators().count()
    }

    /// The arrays that the node reads, and their index maps.
    pub(super) fn arrays(&self) -> impl Iterator<Item = (Value, &[Index])> {
        self.expr.operands.iter().filter_map(|operand| match operand.source {
            Source::Array(n) => Some((self.args[n as usize], &operand.index[..])),
            _ => None,
        })
    }

    /// True if both nodes read an array at the same positions.
    pub(super) fn reads_as(&self, other: &Node) -> bool {
        self.arrays().any(|place| other.arrays().any(|known| known == place))
    }

    /// Fuses two nodes if they have the same axes and combine in a common order; returns the first one
    /// unchanged otherwise.
    pub(super) fn joined(mut self, other: Node) -> Node {
        let alike = self.expr.axes.len() == other.expr.axes.len()
            && self.expr.axes.iter().zip(&other.expr.axes).all(|(a, b)| (&a.hi, a.kind) == (&b.hi, b.kind))
            && self.expr.axes.iter().all(|axis| axis.hi.is_some());
        let reduces = !self.expr.reductions.is_empty() || !other.expr.reductions.is_empty();
        if !alike || Order::common(self.expr.orders().chain(other.expr.orders())).is_none() {
            return self;
        }
        let before = self.accumulators() as u32;
        let operands = self.take_operands(&other.expr, &other.args, |_| None);
        let Some(operands) = operands else { return self };
        let values: Vec<BodyRef> = operands.iter().map(|&n| BodyRef::Operand(n)).collect();
        let yields = append(&mut self.expr.body, &other.expr.body, &values, &|axis| BodyRef::Axis(axis), 0);
        self.expr.body.yields.extend(yields);
        if reduces {
            self.expr.finish = self.finish_with(&other.expr, &values, before);
        }
        self.expr.reductions.extend(other.expr.reductions);
        self.expr.outs.extend(other.expr.outs);
        self.expr.locs.extend(other.expr.locs);
        self.of.extend(other.of);
        self.results.extend(other.results);
        self
    }

    /// The finisher of both nodes, with the other's accumulators numbered from `before`; `None` if it yields
    /// all accumulators unchanged.
    fn finish_with(&self, other: &ArrayExpr, values: &[BodyRef], before: u32) -> Option<Body> {
        let mut finish = self.finish();
        let yields = match &other.finish {
            Some(body) => append(&mut finish, body, values, &|axis| BodyRef::Axis(axis), before),
            None => (before..).map(BodyRef::Acc).take(other.outs.len()).collect(),
        };
        finish.yields.extend(yields);
        let all = before as usize + other.accumulators().count();
        let in_order = (0..).map(BodyRef::Acc).take(all);
        (!in_order.eq(finish.yields.iter().copied())).then_some(finish)
    }

    /// The finisher, or one that yields the accumulators.
    pub(super) fn finish(&self) -> Body {
        let accumulators = (0..).map(BodyRef::Acc).take(self.expr.outs.len()).collect();
        self.expr.finish.clone().unwrap_or(Body { insts: Vec::new(), yields: accumulators })
    }

    /// Adds the operands of another expression to this one and returns their new numbers. Operands that are
    /// results of this node are not added, and get a number without meaning. `at` gives the index map of an
    /// operand, where it differs.
    pub(super) fn take_operands(
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

    /// A name that no operand, axis or symbol has.
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

    pub(super) fn dtype_of(&self, finish: &Body, value: BodyRef) -> Option<DType> {
        Some(match value {
            BodyRef::Operand(n) => self.expr.operands.get(n as usize)?.dtype,
            BodyRef::Axis(_) => DType::I64,
            BodyRef::Inst(n, result) => *finish.insts.get(n as usize)?.dtypes.get(result as usize)?,
            BodyRef::Const(scalar) => scalar.dtype(),
            BodyRef::Acc(n) => self.expr.accumulators().nth(n as usize)?,
        })
    }
}

/// True if an expression computes each element of its results independently.
pub(super) fn is_pointwise(expr: &ArrayExpr) -> bool {
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

/// True if `reduce-fusion` fuses the reduced value's producer with its reductions, which has to happen
/// first. Also true for large producers: looking at them for each of their results would take too long.
fn waits_for_fusion(cx: &MatchCx<'_>, reduced: Value) -> bool {
    cx.func().def_inst(reduced).is_some_and(|inst| is_large(cx.func(), inst) || takes_in(cx, inst))
}

pub(super) fn is_large(func: &Function, inst: Inst) -> bool {
    func.inst(inst).attrs.expr().is_some_and(|expr| expr.body.insts.len() > LARGE)
}

/// True if the node has a `schedule` attribute, which holds for this node only.
fn is_scheduled(data: &rewright_ir::InstData) -> bool {
    data.attrs.str("schedule").is_some()
}

/// True if a reduction starts from an operand's elements. Such an operand is read where the result is
/// written, and fusion changes the results.
fn starts_from_operand(data: &rewright_ir::InstData) -> bool {
    let starts = |expr: &ArrayExpr| {
        expr.reductions.iter().any(|reduction| matches!(reduction.init, rewright_ir::expr::Init::Existing(_)))
    };
    data.attrs.expr().is_some_and(|expr| starts(expr))
}

/// Appends the instructions of another body, with its operands replaced by `operands`. Returns the values
/// that it yields.
pub(super) fn append(
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
