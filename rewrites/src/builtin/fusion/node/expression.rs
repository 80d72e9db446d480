//! The expression of instructions of a block that are being fused into one node.

use crate::builtin::fusion::legality::{is_pointwise, is_scheduled};
use crate::prelude::*;
use rewright_ir::expr::{AxisKind, Body, BodyInst, BodyRef, Index, Operand, Order, Source, SymExpr};
use rewright_ir::{ArrayExpr, Name};
use smallvec::SmallVec;

/// One or several instructions as one expression.
#[derive(Clone)]
pub(crate) struct FusedExpr {
    pub(crate) of: SmallVec<[Inst; 2]>,
    pub(crate) expr: ArrayExpr,
    pub(crate) args: Vec<Value>,
    /// The values that the node's results replace.
    pub(crate) results: Vec<Value>,
}

impl FusedExpr {
    /// The instruction as a node, if it computes each element of its results independently.
    pub(crate) fn pointwise(cx: &MatchCx<'_>, inst: Inst) -> Option<FusedExpr> {
        let data = cx.func().inst(inst);
        let expr = data.attrs.expr().filter(|expr| is_pointwise(expr) && !is_scheduled(data))?;
        Some(FusedExpr {
            of: [inst].into_iter().collect(),
            args: data.args.to_vec(),
            results: data.results.to_vec(),
            expr: (**expr).clone(),
        })
    }

    /// True if the reduced axes are the last ones, so that the kernel's innermost loops traverse a row and
    /// each row has one result.
    pub(crate) fn is_rows(&self) -> bool {
        let kept = self.expr.axes.iter().take_while(|axis| axis.kind == AxisKind::Parallel).count();
        self.expr.axes[kept..].iter().all(|axis| axis.kind == AxisKind::Reduce)
    }

    /// True if the innermost axis is parallel, so that the kernel computes vectors of results.
    pub(crate) fn has_columns(&self) -> bool {
        self.expr.axes.last().is_some_and(|axis| axis.kind == AxisKind::Parallel)
    }

    /// The number of accumulators.
    pub(crate) fn accumulators(&self) -> usize {
        self.expr.accumulators().count()
    }

    /// The arrays that the node reads, and their index maps.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = (Value, &[Index])> {
        self.expr.operands.iter().filter_map(|operand| match operand.source {
            Source::Array(n) => Some((self.args[n as usize], &operand.index[..])),
            _ => None,
        })
    }

    /// True if both nodes read an array at the same positions.
    pub(crate) fn reads_as(&self, other: &FusedExpr) -> bool {
        self.arrays().any(|place| other.arrays().any(|known| known == place))
    }

    /// Fuses two nodes if they have the same axes and combine in a common order; returns the first one
    /// unchanged otherwise.
    pub(crate) fn joined(mut self, other: FusedExpr) -> FusedExpr {
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
    pub(crate) fn finish(&self) -> Body {
        let accumulators = (0..).map(BodyRef::Acc).take(self.expr.outs.len()).collect();
        self.expr.finish.clone().unwrap_or(Body { insts: Vec::new(), yields: accumulators })
    }

    /// Adds the operands of another expression to this one and returns their new numbers. Operands that are
    /// results of this node are not added, and get a number without meaning. `at` gives the index map of an
    /// operand, where it differs.
    pub(crate) fn take_operands(
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

    pub(crate) fn dtype_of(&self, finish: &Body, value: BodyRef) -> Option<DType> {
        Some(match value {
            BodyRef::Operand(n) => self.expr.operands.get(n as usize)?.dtype,
            BodyRef::Axis(_) => DType::I64,
            BodyRef::Inst(n, result) => *finish.insts.get(n as usize)?.dtypes.get(result as usize)?,
            BodyRef::Const(scalar) => scalar.dtype(),
            BodyRef::Acc(n) => self.expr.accumulators().nth(n as usize)?,
        })
    }
}

/// Appends the instructions of another body, with its operands replaced by `operands`. Returns the values
/// that it yields.
pub(crate) fn append(
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

/// The dtype of a value of an expression's body.
pub(crate) fn dtype_of(expr: &ArrayExpr, value: BodyRef) -> Option<DType> {
    Some(match value {
        BodyRef::Operand(n) => expr.operands.get(n as usize)?.dtype,
        BodyRef::Axis(_) => DType::I64,
        BodyRef::Inst(n, result) => *expr.body.insts.get(n as usize)?.dtypes.get(result as usize)?,
        BodyRef::Const(scalar) => scalar.dtype(),
        BodyRef::Acc(_) => return None,
    })
}
