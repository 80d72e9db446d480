//! Estimates of the work at each point, in additions.

use super::node::Node;
use rewright_ir::ArrayExpr;
use rewright_ir::expr::{BodyInst, BodyOp, BodyRef, Index, Source};

/// The points that a nested expression counts as.
const NESTED: u32 = 16;

/// The cycles of an expression at each point.
pub(super) fn cycles(expr: &ArrayExpr) -> u32 {
    expr.body.insts.iter().map(|inst| cycles_of(&inst.op)).fold(0, u32::saturating_add)
}

/// The cycles that fusion of two nodes saves: those of equal instructions, and half of a sine beside its
/// cosine.
pub(super) fn cycles_in_common(node: &Node, other: &Node) -> u32 {
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
fn is_same((node, a): (&Node, BodyRef), (other, b): (&Node, BodyRef), known: &[Option<u32>]) -> bool {
    match (a, b) {
        (BodyRef::Operand(a), BodyRef::Operand(b)) => place(node, a).is_some_and(|own| place(other, b) == Some(own)),
        (BodyRef::Inst(a, own), BodyRef::Inst(b, result)) => own == result && known[b as usize] == Some(a),
        _ => a == b,
    }
}

/// The array or scalar of an operand, and its index map.
fn place(node: &Node, operand: u32) -> Option<(rewright_ir::Value, &[Index])> {
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
