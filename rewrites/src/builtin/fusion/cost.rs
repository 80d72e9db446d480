//! Estimates of the cost of fused nodes: cycles at each point, in additions, and the widths of values, which
//! decide how many points a register holds.

use super::node::{FusedExpr, dtype_of};
use crate::prelude::*;
use rewright_ir::ArrayExpr;
use rewright_ir::expr::{BodyInst, BodyOp, BodyRef, Combine, Index, Monoid, Source};
use smallvec::SmallVec;

/// Nodes with more operations count as large.
pub(crate) const LARGE: usize = 256;

/// The points that a nested expression counts as.
const NESTED: u32 = 16;

/// The cycles of an expression at each point.
pub(crate) fn cycles(expr: &ArrayExpr) -> u32 {
    expr.body.insts.iter().map(|inst| cycles_of(&inst.op)).fold(0, u32::saturating_add)
}

/// The cycles that fusion of two nodes saves: those of equal instructions, and half of a sine beside its
/// cosine.
pub(crate) fn cycles_in_common(node: &FusedExpr, other: &FusedExpr) -> u32 {
    // For each instruction of `other` the equal instruction of `node`.
    let mut known: Vec<Option<u32>> = Vec::new();
    let mut common = 0u32;
    for inst in &other.expr.body.insts {
        let same_args = |own: &&BodyInst| {
            let mut both = own.args.iter().zip(&inst.args);
            own.args.len() == inst.args.len() && both.all(|(&a, &b)| is_same((node, a), (other, b), &known))
        };
        let insts = || (0..).zip(&node.expr.body.insts);
        let same = insts().find(|(_, own)| own.op == inst.op && own.dtypes == inst.dtypes && same_args(own));
        common = common.saturating_add(match same {
            Some(_) => cycles_of(&inst.op),
            None if insts().any(|(_, own)| are_sine_and_cosine(&own.op, &inst.op) && same_args(&own)) => {
                cycles_of(&inst.op) / 2
            }
            None => 0,
        });
        known.push(same.map(|(n, _)| n));
    }
    common
}

/// True if two values are equal, given the equal instructions.
fn is_same((node, a): (&FusedExpr, BodyRef), (other, b): (&FusedExpr, BodyRef), known: &[Option<u32>]) -> bool {
    match (a, b) {
        (BodyRef::Operand(a), BodyRef::Operand(b)) => place(node, a).is_some_and(|own| place(other, b) == Some(own)),
        (BodyRef::Inst(a, own), BodyRef::Inst(b, result)) => own == result && known[b as usize] == Some(a),
        _ => a == b,
    }
}

/// The array or scalar of an operand, and its index map.
fn place(node: &FusedExpr, operand: u32) -> Option<(Value, &[Index])> {
    let operand = &node.expr.operands[operand as usize];
    match operand.source {
        Source::Array(n) | Source::Scalar(n) => Some((node.args[n as usize], &operand.index)),
        _ => None,
    }
}

fn are_sine_and_cosine(a: &BodyOp, b: &BodyOp) -> bool {
    let name = |op: &BodyOp| if let BodyOp::Op(op, _) = op { op.name } else { "" };
    matches!((name(a), name(b)), ("sin", "cos") | ("cos", "sin"))
}

fn cycles_of(op: &BodyOp) -> u32 {
    match op {
        BodyOp::Op(op, _) => op.cycles(),
        BodyOp::Nested(expr) => cycles(expr).saturating_mul(NESTED),
    }
}

/// True for a node with more operations than [`LARGE`].
pub(crate) fn is_large(func: &Function, inst: Inst) -> bool {
    func.inst(inst).attrs.expr().is_some_and(|expr| expr.body.insts.len() > LARGE)
}

/// The bytes of a point's widest value. A vector iteration computes as many points as a register holds of
/// these, so narrower values in the same pass use registers partly. Bytes and bools are an exception: they
/// are summed eight at a time.
pub(crate) fn width(expr: &ArrayExpr) -> usize {
    widths(expr).into_iter().max().unwrap_or_else(|| computed_width(expr))
}

/// The same for each reduction separately.
pub(crate) fn widths(expr: &ArrayExpr) -> SmallVec<[usize; 4]> {
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

/// The bytes of the widest value that a point computes or reads.
fn computed_width(expr: &ArrayExpr) -> usize {
    let computed = expr.body.insts.iter().flat_map(|inst| &inst.dtypes).map(|dtype| dtype.size());
    let read = expr.operands.iter().filter(|operand| !operand.index.is_empty()).map(|operand| operand.dtype.size());
    computed.chain(read).max().unwrap_or(1)
}
