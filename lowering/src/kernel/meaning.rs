//! What tells instructions apart.

use super::KOp;
use std::mem::{Discriminant, discriminant};

/// What an instruction does, to be looked up: two that are equal do the same to the same operands, with a result of the same dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Meaning {
    kind: Discriminant<KOp>,
    /// A constant's bits, or what else the instruction has that is a number.
    detail: u64,
    /// The function that it calls.
    name: Option<&'static str>,
}

impl KOp {
    /// What it does; none of an op by its reference meaning, whose attributes may be anything.
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
