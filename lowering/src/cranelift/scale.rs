//! Products with powers of 2, for scalars and vectors.

use super::emit::Emitter;
use super::parts::bits_of;
use crate::kernel::KernelError;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use rewright_ir::math::vector::{FRACTION, scale_numbers};

impl Emitter<'_> {
    /// `x 2^floor(k)`, with the operations of [`Real::scale`](rewright_ir::math::vector::Real::scale).
    pub fn scale(&mut self, x: Value, k: Value) -> Result<Value, KernelError> {
        let float = self.b.func.dfg.value_type(x);
        let (int, flags) = bits_of(float);
        let (shifter, mantissa) = scale_numbers(float.lane_type() == types::F32);
        let [fraction, fraction_and_bit, mantissa] =
            [FRACTION, FRACTION + 1, mantissa].map(|places| self.int(int.lane_type(), places.into()));
        let shifter = self.number(float, shifter)?;
        let sum = self.b.ins().fadd(k, shifter);
        let bits = self.b.ins().bitcast(int, flags, sum);
        let half = self.b.ins().ushr(bits, fraction_and_bit);
        let whole = self.b.ins().ushr(bits, fraction);
        let rest = self.b.ins().isub(whole, half);
        Ok([half, rest].into_iter().fold(x, |x, power| {
            let factor = self.b.ins().ishl(power, mantissa);
            let factor = self.b.ins().bitcast(float, flags, factor);
            self.b.ins().fmul(x, factor)
        }))
    }
}
