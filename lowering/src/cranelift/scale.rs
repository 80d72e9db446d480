//! Products with powers of 2, of one number or of a vector.

use super::emit::Emitter;
use super::lanes::{int_lane, lane_order, vector_of};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value};
use rewright_ir::math::vector::scale_numbers;
use rewright_ir::{DType, Scalar};

/// The bits of what is added to the power.
pub fn scale_shifter(dtype: DType) -> u64 {
    Scalar::F64(scale_numbers(dtype == DType::F32).0).cast(dtype).bits().0
}

impl Emitter<'_> {
    /// `x 2^k`, as [`Real::scale`](rewright_ir::math::vector::Real::scale) computes it.
    pub fn scale(&mut self, dtype: DType, shifter: Value, x: Value, k: Value) -> Value {
        let float = self.b.func.dfg.value_type(x);
        let lane = int_lane(float.lane_type());
        let (int, flags) =
            if float.is_vector() { (vector_of(lane), lane_order()) } else { (lane, MemFlagsData::new()) };
        let (one, mantissa) = (self.int(lane, 1), self.int(lane, i64::from(scale_numbers(dtype == DType::F32).1)));
        let sum = self.b.ins().fadd(k, shifter);
        let bits = self.b.ins().bitcast(int, flags, sum);
        let half = self.b.ins().ushr(bits, one);
        let rest = self.b.ins().isub(bits, half);
        [half, rest].into_iter().fold(x, |x, power| {
            let factor = self.b.ins().ishl(power, mantissa);
            let factor = self.b.ins().bitcast(float, flags, factor);
            self.b.ins().fmul(x, factor)
        })
    }
}
