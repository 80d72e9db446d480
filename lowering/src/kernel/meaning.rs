//! Keys for value numbering.

use super::KOp;
use std::mem::{Discriminant, discriminant};

/// The key of an instruction: equal keys with equal operands and a result of the same dtype compute the same
/// value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Meaning {
    kind: Discriminant<KOp>,
    /// The bits of a constant, or another number of the instruction.
    detail: u64,
    /// The name of the function or table.
    name: Option<&'static str>,
}

impl KOp {
    /// The key of an instruction; none for ops by their reference meaning, which may have any attributes.
    pub fn meaning(&self) -> Option<Meaning> {
        let (detail, name) = match *self {
            KOp::Const(bits) => (bits, None),
            KOp::Param(n) | KOp::Index(n) => (n.into(), None),
            KOp::Load(buffer, part) | KOp::Store(buffer, part) => (u64::from(buffer) << 8 | part as u64, None),
            KOp::Unary(op) => (op as u64, None),
            KOp::Binary(op) => (op as u64, None),
            KOp::Compare(op) => (op as u64, None),
            KOp::Select | KOp::Convert | KOp::Bitcast | KOp::Fma => (0, None),
            KOp::Choose(table) => (0, Some(table.name)),
            KOp::Math(call) | KOp::MathWhere(call) => (0, Some(call.name)),
            KOp::Reference(_) => return None,
        };
        Some(Meaning { kind: discriminant(self), detail, name })
    }
}
