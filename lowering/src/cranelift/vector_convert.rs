//! Conversions of vectors to another dtype.

use super::emit::{Emitter, clif};
use super::lanes::{Vector, int_lane};
use super::unsupported;
use super::widths::Narrowing;
use crate::kernel::{KValue, KernelError};
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use rewright_ir::DType;

impl Emitter<'_> {
    /// Converts with the semantics of `Scalar::cast`, except between floats and 64-bit integers where the
    /// plan converts lane by lane.
    pub fn vector_convert(&mut self, from: DType, to: DType, a: KValue) -> Result<Vector, KernelError> {
        if from.is_bool() {
            return self.bool_to(to, a);
        }
        let a = self.vector(a)?;
        match (from.is_float(), to.is_float()) {
            _ if to.is_bool() => self.vector_not_zero(from, &a),
            (false, false) => self.resize(a, clif(to), from.is_signed()),
            (false, true) => self.vector_int_to_float(from, to, a),
            (true, false) => self.vector_float_to_int(from, to, &a),
            (true, true) => self.vector_float_to_float(to, &a),
        }
    }

    fn bool_to(&mut self, to: DType, a: KValue) -> Result<Vector, KernelError> {
        let elem = clif(to);
        let mask = self.mask(a, int_lane(elem))?;
        let one = match to {
            DType::F32 => 1f32.to_bits() as u64,
            DType::F64 => 1f64.to_bits(),
            _ => 1,
        };
        let one = self.vector_constant(mask.elem, one)?;
        Ok(self.each(&mask, elem, |e, x| {
            let set = e.b.ins().band(x, one);
            e.recast(set, elem)
        }))
    }

    fn vector_not_zero(&mut self, from: DType, a: &Vector) -> Result<Vector, KernelError> {
        let zero = self.vector_constant(a.elem, 0)?;
        let mask = int_lane(a.elem);
        Ok(if from.is_float() {
            self.each(a, mask, |e, x| e.b.ins().fcmp(FloatCC::NotEqual, x, zero))
        } else {
            self.each(a, mask, |e, x| e.b.ins().icmp(IntCC::NotEqual, x, zero))
        })
    }

    /// Converts integers to floats, except 64-bit ones to `f32`.
    pub fn vector_int_to_float(&mut self, from: DType, to: DType, a: Vector) -> Result<Vector, KernelError> {
        match (from, to) {
            (DType::U64, DType::F64) => {
                return Ok(self.each(&a, types::F64, |e, x| e.b.ins().fcvt_from_uint(types::F64X2, x)));
            }
            (DType::I64, DType::F64) => return self.long_to_double(&a),
            (DType::I64 | DType::U64, _) => return Err(unsupported("64-bit integers to f32 on vectors")),
            _ => {}
        }
        let ints = self.resize(a, types::I32, from.is_signed())?;
        let unsigned = from == DType::U32;
        if to == DType::F32 {
            return Ok(self.each(&ints, types::F32, |e, x| {
                if unsigned {
                    e.b.ins().fcvt_from_uint(types::F32X4, x)
                } else {
                    e.b.ins().fcvt_from_sint(types::F32X4, x)
                }
            }));
        }
        self.widen_halves(&ints, types::F64, |e, x| {
            if unsigned {
                let wide = e.b.ins().uwiden_low(x);
                e.b.ins().fcvt_from_uint(types::F64X2, wide)
            } else {
                let wide = e.b.ins().swiden_low(x);
                e.b.ins().fcvt_from_sint(types::F64X2, wide)
            }
        })
    }

    /// Converts signed 64-bit integers to doubles with one rounding. The high half plus 2^31 and the low
    /// half each become the low bits of a double, with leading bits 2^84 and 2^52. Both magnitudes and 2^63
    /// are subtracted from the first double, which is exact. The sum of both doubles rounds.
    fn long_to_double(&mut self, a: &Vector) -> Result<Vector, KernelError> {
        let low_bits = self.vector_constant(types::I64, 0xFFFF_FFFF)?;
        let low_one = self.vector_constant(types::I64, 0x4330_0000_0000_0000)?;
        let high_one = self.vector_constant(types::I64, 0x4530_0000_8000_0000)?;
        let ones = self.vector_constant(types::F64, 0x4530_0000_8010_0000)?;
        let count = self.int(types::I32, 32);
        Ok(self.each(a, types::F64, |e, x| {
            let low = e.b.ins().band(x, low_bits);
            let low = e.b.ins().bor(low, low_one);
            let high = e.b.ins().ushr(x, count);
            let high = e.b.ins().bxor(high, high_one);
            let (low, high) = (e.recast(low, types::F64), e.recast(high, types::F64));
            let high = e.b.ins().fsub(high, ones);
            e.b.ins().fadd(high, low)
        }))
    }

    fn vector_float_to_float(&mut self, to: DType, a: &Vector) -> Result<Vector, KernelError> {
        if to == DType::F64 {
            return self.widen_halves(a, types::F64, |e, x| e.b.ins().fvpromote_low(x));
        }
        let halves = self.each(a, types::F32, |e, x| e.b.ins().fvdemote(x));
        self.join_halves(&halves)
    }

    fn vector_float_to_int(&mut self, from: DType, to: DType, a: &Vector) -> Result<Vector, KernelError> {
        if to.size() == 8 {
            return Err(unsupported("floats to 64-bit integers on vectors"));
        }
        if from == DType::F32 && to.size() == 4 {
            return Ok(self.each(a, types::I32, |e, x| {
                if to == DType::I32 {
                    e.b.ins().fcvt_to_sint_sat(types::I32X4, x)
                } else {
                    e.b.ins().fcvt_to_uint_sat(types::I32X4, x)
                }
            }));
        }
        let clamped = self.clamp_to(to, a)?;
        let ints = if from == DType::F32 { self.truncate_floats(&clamped) } else { self.truncate_doubles(&clamped)? };
        match to {
            DType::I32 | DType::U32 => Ok(ints),
            DType::U16 => self.narrow(&ints, Narrowing::ToUnsigned),
            DType::I16 => self.narrow(&ints, Narrowing::ToSigned),
            _ => {
                // The values are in range: narrowing changes only the width.
                let words = self.narrow(&ints, Narrowing::ToSigned)?;
                let how = if to == DType::I8 { Narrowing::ToSigned } else { Narrowing::ToUnsigned };
                self.narrow(&words, how)
            }
        }
    }

    /// Clamps floats to the range of an integer dtype of at most 32 bits; NaN becomes 0.
    fn clamp_to(&mut self, to: DType, a: &Vector) -> Result<Vector, KernelError> {
        let elem = a.elem;
        let bits = to.size() as i32 * 8;
        let (least, most) = if to.is_signed() {
            (-(2f64.powi(bits - 1)), 2f64.powi(bits - 1) - 1.0)
        } else {
            (0.0, 2f64.powi(bits) - 1.0)
        };
        let bits_of = |x: f64| if elem == types::F32 { (x as f32).to_bits() as u64 } else { x.to_bits() };
        let (least, most) = (self.vector_constant(elem, bits_of(least))?, self.vector_constant(elem, bits_of(most))?);
        let signed = to.is_signed();
        Ok(self.each(a, elem, |e, x| {
            let x = if signed {
                let number = e.b.ins().fcmp(FloatCC::Equal, x, x);
                let number = e.recast(number, elem);
                e.b.ins().band(x, number)
            } else {
                x
            };
            // The comparison is false for NaN, so that the blend takes the bound.
            let over = e.b.ins().fcmp(FloatCC::LessThan, least, x);
            let x = e.blend(over, x, least, elem);
            let under = e.b.ins().fcmp(FloatCC::LessThan, x, most);
            e.blend(under, x, most, elem)
        }))
    }

    /// Truncates floats in the range of `i32` toward zero.
    pub fn truncate_floats(&mut self, a: &Vector) -> Vector {
        let x64 = self.isa.name() == "x64";
        self.each(a, types::I32, |e, x| {
            if x64 { e.b.ins().x86_cvtt2dq(types::I32X4, x) } else { e.b.ins().fcvt_to_sint_sat(types::I32X4, x) }
        })
    }

    /// Truncates doubles in the range of `i32` or of `u32` toward zero: the low bits of the sum with 1.5 *
    /// 2^52 are those of the integer.
    pub fn truncate_doubles(&mut self, a: &Vector) -> Result<Vector, KernelError> {
        let magic = self.vector_constant(types::F64, 0x4338_0000_0000_0000)?;
        let longs = self.each(a, types::I64, |e, x| {
            let whole = e.b.ins().trunc(x);
            let sum = e.b.ins().fadd(whole, magic);
            e.recast(sum, types::I64)
        });
        self.narrow(&longs, Narrowing::Wrap)
    }

    /// Widens lanes to twice the width, by an operation on the lower half of a vector.
    fn widen_halves(
        &mut self,
        a: &Vector,
        elem: Type,
        mut f: impl FnMut(&mut Self, Value) -> Value,
    ) -> Result<Vector, KernelError> {
        let count = self.chunk_count(elem)?;
        let chunks = (0..count).map(|n| {
            let from = a.chunks[n / 2];
            let from = if n % 2 == 0 { from } else { self.upper_half(from, a.elem) };
            f(self, from)
        });
        Ok(Vector { elem, chunks: chunks.collect() })
    }

    /// Joins the lower halves of each two vectors.
    fn join_halves(&mut self, halves: &Vector) -> Result<Vector, KernelError> {
        let count = self.chunk_count(halves.elem)?;
        let chunks = (0..count).map(|n| match halves.chunks[2 * n..] {
            [a, b, ..] => self.lower_halves(a, b, halves.elem),
            [a] => a,
            [] => halves.chunks[0],
        });
        Ok(Vector { elem: halves.elem, chunks: chunks.collect() })
    }
}
