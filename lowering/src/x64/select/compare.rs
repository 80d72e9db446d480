//! Selection for comparisons.

use super::float::{by_size, sign_bit};
use super::integer::by_lane;
use super::{Selector, Val};
use crate::kernel::{Compare, KValue, KernelError};
use crate::x64::codes::{self, Form};
use crate::x64::machine::{Inst, Op, V};
use rewright_ir::DType;

/// Immediate of VCMP: not equal, or unordered.
pub(super) const NOT_EQUAL: u8 = 4;

/// Immediate of VCMP for floats: ordered and quiet, except "not equal", which is true for NaN.
pub(super) fn predicate(op: Compare) -> u8 {
    match op {
        Compare::Eq => 0,
        Compare::Ne => NOT_EQUAL,
        Compare::Lt => 0x11,
        Compare::Le => 0x12,
    }
}

/// Immediate of VCMP for the exact negation of the comparison, NaN included.
pub(super) fn not_predicate(op: Compare) -> u8 {
    // Bit 2 of the immediate negates the predicate.
    predicate(op) ^ 4
}

/// The comparison of lanes for equality. AVX2 only.
pub(super) fn equal(size: usize) -> &'static Form {
    match size {
        1 => &codes::CMPEQ_B,
        2 => &codes::CMPEQ_W,
        4 => &codes::CMPEQ_D,
        _ => &codes::CMPEQ_Q,
    }
}

/// The signed "greater than" of lanes. AVX2 only.
pub(super) fn greater(size: usize) -> &'static Form {
    match size {
        1 => &codes::CMPGT_B,
        2 => &codes::CMPGT_W,
        4 => &codes::CMPGT_D,
        _ => &codes::CMPGT_Q,
    }
}

impl Selector<'_> {
    pub(super) fn compare(&mut self, op: Compare, dtype: DType, a: KValue, b: KValue) -> Result<Val, KernelError> {
        let size = dtype.size();
        if dtype.is_bool() {
            return self.bool_compare(op, a, b);
        }
        if dtype.is_float() {
            let predicate = predicate(op);
            if let Some(row) = self.fold_row(b, size, a != b)? {
                let a = self.lanes(a)?;
                return Ok(self.compare_op(by_size!(size, CMP_PS, CMP_PD), size, &[a], Some(row), predicate));
            }
            let (a, b) = (self.lanes(a)?, self.lanes(b)?);
            return Ok(self.float_compare_lanes(size, a, b, predicate));
        }
        if let Some([x, y]) = self.bits_compared_with_zero(a, b).filter(|_| op == Compare::Eq) {
            let (x, y) = (self.lanes(x)?, self.lanes(y)?);
            let dst = self.fresh_mask();
            self.push(by_lane!(size, TESTN_B TESTN_W TESTN_D TESTN_Q), self.width(size), dst, &[x, y]);
            return Ok(Val::Bits(dst));
        }
        if self.evex() {
            return self.int_compare_bits(op, dtype, a, b);
        }
        self.int_compare_flags(op, dtype, a, b)
    }

    /// Compares by predicate, into a mask register (AVX-512) or flags (AVX2).
    pub(super) fn float_compare_lanes(&mut self, size: usize, a: V, b: V, predicate: u8) -> Val {
        self.compare_op(by_size!(size, CMP_PS, CMP_PD), size, &[a, b], None, predicate)
    }

    pub(super) fn compare_op(
        &mut self,
        form: &'static Form,
        size: usize,
        srcs: &[V],
        row: Option<u32>,
        predicate: u8,
    ) -> Val {
        let evex = self.evex();
        let dst = if evex { self.fresh_mask() } else { self.fresh(size) };
        let op = Op { row, imm: Some(predicate), ..Self::plain_op(form, self.width(size), dst, srcs) };
        self.emit(Inst::Op(op));
        if evex { Val::Bits(dst) } else { Val::Flags(dst, size) }
    }

    fn int_compare_bits(&mut self, op: Compare, dtype: DType, a: KValue, b: KValue) -> Result<Val, KernelError> {
        let size = dtype.size();
        let form: &Form = match (size, dtype.is_signed()) {
            (1, true) => &codes::CMP_B,
            (2, true) => &codes::CMP_W,
            (4, true) => &codes::CMP_D,
            (_, true) => &codes::CMP_Q,
            (1, false) => &codes::CMP_UB,
            (2, false) => &codes::CMP_UW,
            (4, false) => &codes::CMP_UD,
            (_, false) => &codes::CMP_UQ,
        };
        let predicate = match op {
            Compare::Eq => 0,
            Compare::Lt => 1,
            Compare::Le => 2,
            Compare::Ne => 4,
        };
        let row = self.fold_row(b, size, a != b)?;
        let mut srcs = vec![self.lanes(a)?];
        if row.is_none() {
            srcs.push(self.lanes(b)?);
        }
        Ok(self.compare_op(form, size, &srcs, row, predicate))
    }

    fn int_compare_flags(&mut self, op: Compare, dtype: DType, a: KValue, b: KValue) -> Result<Val, KernelError> {
        let size = dtype.size();
        let (a, b) = (self.lanes(a)?, self.lanes(b)?);
        Ok(match op {
            Compare::Eq => Val::Flags(self.op2(equal(size), size, a, b), size),
            Compare::Ne => {
                let same = self.op2(equal(size), size, a, b);
                Val::Flags(self.not_flags(same, size), size)
            }
            Compare::Lt => Val::Flags(self.greater(dtype, b, a), size),
            Compare::Le => {
                let greater = self.greater(dtype, a, b);
                Val::Flags(self.not_flags(greater, size), size)
            }
        })
    }

    /// `a > b`. Flips the top bits of unsigned lanes, so that a signed comparison orders them. AVX2 only.
    pub(super) fn greater(&mut self, dtype: DType, a: V, b: V) -> V {
        let size = dtype.size();
        let (a, b) = if dtype.is_signed() {
            (a, b)
        } else {
            let top = self.constant(sign_bit(size), size);
            (self.op2(&codes::XOR_D, size, a, top), self.op2(&codes::XOR_D, size, b, top))
        };
        self.op2(greater(size), size, a, b)
    }
}
