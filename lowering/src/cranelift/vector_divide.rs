//! Division of integers of up to 32 bits on vectors, which processors have no instruction for: by floats
//! that hold every operand exactly.
//!
//! The float quotient, truncated to an integer, is exact. If `a / b` is not an integer, it is at least
//! `1 / b` away from the next one. Rounding moves it by at most `a / b` times 2^-24 (2^-53), which is less
//! if `a` has up to 23 (52) bits.

use super::emit::{Emitter, clif};
use super::lanes::Vector;
use crate::kernel::{Binary, KOp, KValue, KernelError};
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use rewright_ir::DType;

impl Emitter<'_> {
    /// The quotient toward zero, or its remainder; 0 for divisors that are 0.
    pub fn vector_divide(&mut self, op: Binary, dtype: DType, a: KValue, b: KValue) -> Result<Vector, KernelError> {
        let may_be_zero = self.constant_bits(b).is_none_or(|bits| bits == 0);
        let (a, b) = (self.vector(a)?, self.vector(b)?);
        let float = dividing_dtype(dtype);
        let dividend = self.vector_int_to_float(dtype, float, a.clone())?;
        let divisor = self.vector_int_to_float(dtype, float, b.clone())?;
        let quotient = self.pairwise(&dividend, &divisor, clif(float), |e, x, y| e.b.ins().fdiv(x, y));
        // The minimum by -1 is one more than the maximum, and has the low bits of the minimum.
        let quotient = match float {
            DType::F32 => self.truncate_floats(&quotient),
            _ => self.truncate_doubles(&quotient)?,
        };
        let mut result = self.resize(quotient, clif(dtype), false)?;
        if matches!(op, Binary::Rem) {
            let product = self.vector_binary(Binary::Mul, dtype, &result, &b)?;
            result = self.vector_binary(Binary::Sub, dtype, &a, &product)?;
        }
        if !may_be_zero {
            return Ok(result);
        }
        let zero = self.vector_constant(b.elem, 0)?;
        Ok(self.pairwise(&result, &b, b.elem, |e, x, y| {
            let divides = e.b.ins().icmp(IntCC::NotEqual, y, zero);
            e.b.ins().band(x, divides)
        }))
    }

    /// The bits of a value that is a constant.
    pub fn constant_bits(&self, value: KValue) -> Option<u64> {
        // Instructions are in the order of their results; a store precedes the instruction with the same
        // first result.
        let after = self.kernel.insts.partition_point(|inst| inst.first <= value);
        let inst = after.checked_sub(1).and_then(|n| self.kernel.insts.get(n))?;
        if let KOp::Const(bits) = inst.op { (inst.first == value).then_some(bits) } else { None }
    }
}

/// The float dtype that holds all integers of a dtype with bits to spare.
pub fn dividing_dtype(dtype: DType) -> DType {
    if dtype.size() <= 2 { DType::F32 } else { DType::F64 }
}
