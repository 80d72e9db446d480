//! Division of integers: narrow ones as floats of more than twice as many bits, whose truncated quotients are exact, and the others, like all else
//! that there are no vector instructions for, by functions called for each lane.

use super::{Selector, Val};
use crate::kernel::{Binary, KernelError, Unary};
use crate::x64::codes::{self, Form};
use crate::x64::machine::{Inst, Op, V};
use crate::x64::{helpers, unsupported};
use rewright_ir::DType;
use smallvec::SmallVec;

/// The floats that integers are divided as; none for those that only single ones are divided.
pub fn dividing_dtype(dtype: DType, evex: bool) -> Option<DType> {
    match dtype.size() {
        1 | 2 => Some(DType::F32),
        // Without AVX-512 there is no conversion of unsigned lanes.
        4 if evex || dtype.is_signed() => Some(DType::F64),
        _ => None,
    }
}

impl Selector<'_> {
    pub(super) fn divide(&mut self, op: Binary, dtype: DType, x: V, y: V) -> Result<V, KernelError> {
        if let Some(float) = dividing_dtype(dtype, self.evex()) {
            return self.divide_as_floats(op, dtype, float, x, y);
        }
        let helper = helpers::binary(op, dtype).ok_or_else(|| unsupported(format!("{op:?} of {dtype}")))?;
        self.call(helper, 0, SmallVec::from_slice(&[x, y]), dtype.size())
    }

    /// As floats, where the quotient of the least number by -1 wraps, and what is divided by 0 is set to 0.
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
        let result = match self.not_zero(int, y)? {
            Val::Bits(mask) => {
                let dst = self.fresh(4);
                let plain = Self::plain_op(&codes::MOV_PS_LOAD, self.width(4), dst, &[result]);
                self.emit(Inst::Op(Op { mask: Some((mask, true)), ..plain }));
                dst
            }
            Val::Flags(flags, _) => self.op2(&codes::AND_D, 4, result, flags),
            _ => result,
        };
        Ok(self.cut(result, 4, size))
    }

    pub(super) fn count_bits(&mut self, op: Unary, dtype: DType, x: V) -> Result<V, KernelError> {
        let helper = helpers::unary(op, dtype).ok_or_else(|| unsupported(format!("{op:?} of {dtype}")))?;
        self.call(helper, 0, SmallVec::from_slice(&[x]), dtype.size())
    }

    pub(super) fn convert_by_call(&mut self, from: DType, to: DType, x: V) -> Result<V, KernelError> {
        let helper = helpers::convert(from, to).ok_or_else(|| unsupported(format!("{from} to {to}")))?;
        self.call(helper, 0, SmallVec::from_slice(&[x]), to.size())
    }
}
