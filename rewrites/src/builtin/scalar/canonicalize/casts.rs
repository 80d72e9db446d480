//! Casts without effect, and casts of casts.

use super::{Replacement, Root};
use crate::prelude::*;
use rewright_ir::Kind;
use smallvec::smallvec;

impl Root<'_> {
    pub(super) fn cast(&self) -> Option<Replacement> {
        if self.arg_ty(0) == self.ty() {
            return Some(Replacement::Value(self.arg(0)));
        }
        let first = self.inner(0, "cast")?;
        let x = first.args[0];
        let (from, through, to) = (self.cx.func().ty(x).dtype(), self.arg_ty(0).dtype(), self.ty().dtype());
        if !loses_nothing(from, through) {
            return None;
        }
        if from == to {
            return Some(Replacement::Value(x));
        }
        // A cast from integer to float and back to integer saturates; a cast from integer to integer wraps.
        let same_conversion = from.kind() == through.kind() || from.is_bool();
        let x = self.later(x).filter(|_| same_conversion)?;
        Some(Replacement::Op(self.data.op, smallvec![x.into()], self.data.attrs.clone()))
    }
}

/// True if every value of `from` survives a cast to `to` and back.
fn loses_nothing(from: DType, to: DType) -> bool {
    let bits = |dtype: DType| dtype.size() * 8;
    match (from.kind(), to.kind()) {
        (Kind::Bool, _) => true,
        (Kind::Int, Kind::Int) => {
            let holds = if from.is_signed() == to.is_signed() { bits(from) <= bits(to) } else { bits(from) < bits(to) };
            holds && (to.is_signed() || from.is_unsigned())
        }
        // A float represents the integers that fit its significand.
        (Kind::Int, Kind::Float | Kind::Complex) => bits(from) <= if to.real() == DType::F32 { 16 } else { 32 },
        (Kind::Float, Kind::Float | Kind::Complex) => bits(from) <= bits(to.real()),
        (Kind::Complex, Kind::Complex) => bits(from) <= bits(to),
        _ => false,
    }
}
