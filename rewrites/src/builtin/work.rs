//! How much is computed of each point, in additions.

use super::node::Node;
use rewright_ir::ArrayExpr;
use rewright_ir::expr::{BodyInst, BodyOp, BodyRef, Index, Source};

/// So many points is a nested expression counted as.
const NESTED: u32 = 16;

/// What an expression computes of each point.
pub(super) fn cycles(expr: &ArrayExpr) -> u32 {
    expr.body.insts.iter().map(|inst| cycles_of(&inst.op)).fold(0, u32::saturating_add)
}

/// What one pass computes once and two passes compute twice: the same of the same numbers, and half of the sine beside the cosine.
pub(super) fn cycles_in_common(node: &Node, other: &Node) -> u32 {
    // For each instruction of the other the one that gives the same.
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

/// True if two values are the same, where it is known which instructions of the other one are.
fn is_same((node, a): (&Node, BodyRef), (other, b): (&Node, BodyRef), known: &[Option<u32>]) -> bool {
    match (a, b) {
        (BodyRef::Operand(a), BodyRef::Operand(b)) => place(node, a).is_some_and(|own| place(other, b) == Some(own)),
        (BodyRef::Inst(a, own), BodyRef::Inst(b, result)) => own == result && known[b as usize] == Some(a),
        _ => a == b,
    }
}

/// What an operand is, and where it is read.
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
