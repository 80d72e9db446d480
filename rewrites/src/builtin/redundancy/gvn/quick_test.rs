//! A quick test that runs before values are numbered.

use super::super::cse::may_have_twin;
use crate::builtin::cfg::incoming::incoming;
use crate::prelude::*;
use rewright_ir::ValueDef;
use rewright_ir::op::Traits;

/// True for at least one block of a function that computes anything twice. Values of one number are results
/// of one op, or parameters of one block. If no two parameters are equal, the first two equal instructions
/// have identical operands.
pub fn may_repeat(cx: &MatchCx<'_>, block: Block) -> bool {
    cx.func().insts(block).any(|inst| may_have_twin(cx, inst)) || may_have_equal_params(cx, block)
}

/// Whether two parameters of a block may always be equal.
fn may_have_equal_params(cx: &MatchCx<'_>, block: Block) -> bool {
    const MANY: usize = 8;
    let count = cx.func().block_params(block).len();
    let same = |a: usize, b: usize| match (incoming(cx, block, a), incoming(cx, block, b)) {
        (Some(all), Some(others)) => all.zip(others).all(|(a, b)| may_be_same(cx.func(), a, b, 2)),
        _ => true,
    };
    cx.func().entry() != Some(block) && (count > MANY || (0..count).any(|a| (0..a).any(|b| same(a, b))))
}

/// Whether two values may have one number; follows at most `depth` definitions.
fn may_be_same(func: &Function, a: Value, b: Value, depth: u32) -> bool {
    match (func.def(a), func.def(b)) {
        _ if a == b => true,
        (ValueDef::Param(one, _), ValueDef::Param(other, _)) => one == other && func.entry() != Some(one),
        (ValueDef::Result(a, at), ValueDef::Result(b, same)) => {
            let (a, b) = (func.inst(a), func.inst(b));
            let operands = || a.args.iter().zip(&b.args).all(|(&a, &b)| may_be_same(func, a, b, depth - 1));
            let alike = at == same && a.op == b.op && a.args.len() == b.args.len() && a.attrs == b.attrs;
            alike && (depth == 0 || a.op.traits.contains(Traits::COMMUTATIVE) || operands())
        }
        _ => false,
    }
}
