//! Division of integers, by one of three methods.
//!
//! - Lanes of 1, 2 and 4 bytes are divided as floats whose mantissas have more bits than the integers, so
//!   that the truncated quotients are exact. Unsigned 4-byte lanes need the conversions of AVX-512.
//! - Lanes of 8 bytes are divided in two steps, each with a quotient that is never too great, where the
//!   processor converts such integers (AVX-512).
//! - Other lanes are divided by a function that is called for each lane, like all operations without vector
//!   instructions.

use super::{Selector, Val};
use crate::kernel::{Binary, KernelError};
use crate::x64::codes::{self, Form};
use crate::x64::machine::{Inst, Op, V};
use crate::x64::{helpers, unsupported};
use rewright_ir::DType;
use smallvec::SmallVec;

/// The dtype of floats in which integers are divided; `None` if a function divides them lane by lane.
pub fn dividing_dtype(dtype: DType, evex: bool) -> Option<DType> {
    match dtype.size() {
        1 | 2 => Some(DType::F32),
        // AVX2 has no conversions of unsigned lanes.
        4 if evex || dtype.is_signed() => Some(DType::F64),
        8 if evex => Some(DType::F64),
        _ => None,
    }
}

impl Selector<'_> {
    pub(super) fn divide(&mut self, op: Binary, dtype: DType, x: V, y: V) -> Result<V, KernelError> {
        match dividing_dtype(dtype, self.evex()) {
            Some(_) if dtype.size() == 8 => return self.divide_long(op, dtype, x, y),
            Some(float) => return self.divide_as_floats(op, dtype, float, x, y),
            None => {}
        }
        let helper = helpers::binary(op, dtype).ok_or_else(|| unsupported(format!("{op:?} of {dtype}")))?;
        self.call(helper, 0, SmallVec::from_slice(&[x, y]), dtype.size())
    }

    /// Divides as floats. The quotient of the least integer by -1 wraps; lanes that are divided by 0 are set
    /// to 0.
    fn divide_as_floats(&mut self, op: Binary, dtype: DType, float: DType, x: V, y: V) -> Result<V, KernelError> {
        let (size, signed) = (dtype.size(), dtype.is_signed());
        let (x, y) = (self.extend(x, size, 4, signed), self.extend(y, size, 4, signed));
        let int = if size < 4 || signed { DType::I32 } else { DType::U32 };
        let (dividend, divisor) = (self.int_to_float(int, float, x)?, self.int_to_float(int, float, y)?);
        let form: &Form = if float == DType::F32 { &codes::DIV_PS } else { &codes::DIV_PD };
        let quotient = self.op2(form, float.size(), dividend, divisor);
        let form: &Form = match (float, int) {
            (DType::F32, _) => &codes::CVTTPS2DQ,
            (_, DType::I32) => &codes::CVTTPD2DQ,
            _ => &codes::CVTTPD2UDQ,
        };
        let mut result = self.resized(form, float, int, quotient);
        if op == Binary::Rem {
            let product = self.op2(&codes::MUL_D, 4, result, y);
            result = self.op2(&codes::SUB_D, 4, x, product);
        }
        let divides = self.not_zero(int, y)?;
        let result = self.kept_where(divides, 4, result);
        Ok(self.cut(result, 4, size))
    }

    /// Keeps lanes of 4 or 8 bytes where `holds` is true, and sets the others to 0.
    fn kept_where(&mut self, holds: Val, size: usize, v: V) -> V {
        match holds {
            Val::Bits(mask) => {
                let dst = self.fresh(size);
                let form: &Form = if size == 4 { &codes::MOV_PS_LOAD } else { &codes::MOV_PD_LOAD };
                let plain = Self::plain_op(form, self.width(size), dst, &[v]);
                self.emit(Inst::Op(Op { mask: Some((mask, true)), ..plain }));
                dst
            }
            Val::Flags(flags, _) => self.op2(&codes::AND_D, size, v, flags),
            _ => v,
        }
    }

    /// Divides 8-byte lanes by their magnitudes, with AVX-512.
    ///
    /// The reciprocal of the divisor is made 8 parts in 2^53 too small. That exceeds the sum of the rounding
    /// errors of both conversions, the division and a multiplication. The truncated product is therefore
    /// never greater than the quotient, and is less by at most 12 parts in 2^53 of it plus 1. The exact
    /// remainder is then below 2^15 divisors, so that the second quotient is exact or 1 too small. A
    /// comparison of the last remainder with the divisor tells which.
    fn divide_long(&mut self, op: Binary, dtype: DType, x: V, y: V) -> Result<V, KernelError> {
        const SIZE: usize = 8;
        const LESS: u8 = 1;
        const NOT_LESS: u8 = 5;
        let below_one = 1.0 - 2f64.powi(-50);
        let signed = dtype.is_signed();
        let (dividend, divisor) = match signed {
            true => (self.op1(&codes::ABS_Q, SIZE, x), self.op1(&codes::ABS_Q, SIZE, y)),
            false => (x, y),
        };
        let numerator = self.constant(below_one.to_bits(), SIZE);
        let divisor_as_float = self.int_to_float(DType::U64, DType::F64, divisor)?;
        let reciprocal = self.op2(&codes::DIV_PD, SIZE, numerator, divisor_as_float);
        let step = |this: &mut Self, left: V| -> Result<(V, V), KernelError> {
            let float = this.int_to_float(DType::U64, DType::F64, left)?;
            let float = this.op2(&codes::MUL_PD, SIZE, float, reciprocal);
            let quotient = this.resized(&codes::CVTTPD2UQQ, DType::F64, DType::U64, float);
            let product = this.op2(&codes::MUL_Q, SIZE, quotient, divisor);
            Ok((quotient, this.op2(&codes::SUB_Q, SIZE, left, product)))
        };
        let (first, left) = step(self, dividend)?;
        let (second, left) = step(self, left)?;
        let once_more = self.compare_op(&codes::CMP_UQ, SIZE, &[left, divisor], None, NOT_LESS);
        let (magnitude, signs) = if op == Binary::Rem {
            let more = self.kept_where(once_more, SIZE, divisor);
            (self.op2(&codes::SUB_Q, SIZE, left, more), x)
        } else {
            let one = self.constant(1, SIZE);
            let more = self.kept_where(once_more, SIZE, one);
            let both = self.op2(&codes::ADD_Q, SIZE, first, second);
            let quotient = self.op2(&codes::ADD_Q, SIZE, both, more);
            (quotient, if signed { self.op2(&codes::XOR_Q, SIZE, x, y) } else { x })
        };
        let mut result = magnitude;
        if signed {
            let (zero, ones) = (self.constant(0, SIZE), self.constant(u64::MAX, SIZE));
            let negative = self.compare_op(&codes::CMP_Q, SIZE, &[signs, zero], None, LESS);
            let flip = self.kept_where(negative, SIZE, ones);
            let flipped = self.op2(&codes::XOR_Q, SIZE, magnitude, flip);
            result = self.op2(&codes::SUB_Q, SIZE, flipped, flip);
        }
        let divides = self.not_zero(dtype, y)?;
        Ok(self.kept_where(divides, SIZE, result))
    }

    pub(super) fn convert_by_call(&mut self, from: DType, to: DType, x: V) -> Result<V, KernelError> {
        let helper = helpers::convert(from, to).ok_or_else(|| unsupported(format!("{from} to {to}")))?;
        self.call(helper, 0, SmallVec::from_slice(&[x]), to.size())
    }
}
