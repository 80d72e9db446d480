//! Selection for conversions.

use super::float::by_size;
use super::{Selector, Val};
use crate::kernel::{KValue, KernelError};
use crate::x64::codes::{self, Form};
use crate::x64::machine::{Inst, Op, V, Width};
use rewright_ir::{DType, Scalar};

/// Immediate of VCMP: neither operand is NaN.
const ORDERED: u8 = 7;
/// Immediate of VCMP: greater or equal.
const AT_LEAST: u8 = 0x1D;

impl Selector<'_> {
    /// Converts with the semantics of `Scalar::cast`.
    pub(super) fn convert(&mut self, from: DType, to: DType, a: KValue) -> Result<Val, KernelError> {
        if from == to {
            return self.val(a);
        }
        if from.is_bool() {
            return Ok(Val::Lanes(self.bool_to(to, a)?));
        }
        let v = self.lanes(a)?;
        if to.is_bool() {
            return self.not_zero(from, v);
        }
        Ok(Val::Lanes(match (from.is_float(), to.is_float()) {
            (false, false) => self.int_to_int(from, to, v),
            (false, true) => self.int_to_float(from, to, v)?,
            (true, false) => self.float_to_int(from, to, v)?,
            (true, true) => {
                self.resized(if to == DType::F64 { &codes::CVTPS2PD } else { &codes::CVTPD2PS }, from, to, v)
            }
        }))
    }

    /// Sums each eight bytes, or counts each eight bools: see [`ByteSums`](crate::x64::bytes::ByteSums).
    pub(super) fn sum_bytes(&mut self, a: KValue) -> Result<Val, KernelError> {
        let bytes = match self.kernel.dtype(a).is_bool() {
            true => self.bool_to(DType::U8, a)?,
            false => self.lanes(a)?,
        };
        let (zero, dst) = (self.constant(0, 8), self.fresh(8));
        self.emit(Inst::SumBytes { src: bytes, zero, dst });
        Ok(Val::Lanes(dst))
    }

    /// Reinterprets the bits; a bool is the lowest bit of a byte.
    pub(super) fn bitcast(&mut self, from: DType, to: DType, a: KValue) -> Result<Val, KernelError> {
        match (from.is_bool(), to.is_bool()) {
            (true, false) => Ok(Val::Lanes(self.bool_to(to, a)?)),
            (false, true) => {
                let v = self.lanes(a)?;
                let one = self.constant(1, 1);
                let lowest = self.op2(&codes::AND_D, 1, v, one);
                self.not_zero(DType::U8, lowest)
            }
            _ => self.val(a),
        }
    }

    fn int_to_int(&mut self, from: DType, to: DType, v: V) -> V {
        if from.size() < to.size() {
            self.extend(v, from.size(), to.size(), from.is_signed())
        } else {
            self.cut(v, from.size(), to.size())
        }
    }

    /// Emits a conversion; source and destination lanes may have different sizes.
    pub(super) fn resized(&mut self, form: &'static Form, from: DType, to: DType, v: V) -> V {
        self.resized_in(form, from, to, v, None)
    }

    /// As [`resized`](Self::resized), with zeros in the lanes outside of `mask`.
    fn resized_in(&mut self, form: &'static Form, from: DType, to: DType, v: V, mask: Option<V>) -> V {
        let width: Width = self.width(from.size().max(to.size()));
        let dst = self.fresh(to.size());
        let folds = from.size() >= to.size();
        let op = Op { folds, mask: mask.map(|m| (m, true)), ..Self::plain_op(form, width, dst, &[v]) };
        self.emit(Inst::Op(op));
        dst
    }

    pub(super) fn int_to_float(&mut self, from: DType, to: DType, v: V) -> Result<V, KernelError> {
        if from.size() < 4 {
            let wide = self.extend(v, from.size(), 4, from.is_signed());
            return self.int_to_float(DType::I32, to, wide);
        }
        let evex = self.evex();
        let form: &Form = match (from, to) {
            (DType::I32, DType::F32) => &codes::CVTDQ2PS,
            (DType::I32, _) => &codes::CVTDQ2PD,
            _ if !evex => return self.convert_by_call(from, to, v),
            (DType::U32, DType::F32) => &codes::CVTUDQ2PS,
            (DType::U32, _) => &codes::CVTUDQ2PD,
            (DType::I64, DType::F32) => &codes::CVTQQ2PS,
            (DType::I64, _) => &codes::CVTQQ2PD,
            (_, DType::F32) => &codes::CVTUQQ2PS,
            _ => &codes::CVTUQQ2PD,
        };
        Ok(self.resized(form, from, to, v))
    }

    /// Truncates toward zero and saturates to the range of `to`; NaN becomes 0.
    fn float_to_int(&mut self, from: DType, to: DType, v: V) -> Result<V, KernelError> {
        if to.size() < 4 {
            // The bounds of narrow integers are exact in floats.
            let clamped = self.clamp(from, to, v);
            let wide = self.truncate(from, clamped);
            return Ok(self.cut(wide, 4, to.size()));
        }
        if from == DType::F64 && to == DType::I32 {
            let clamped = self.clamp(from, to, v);
            return Ok(self.truncate(from, clamped));
        }
        if !self.evex() {
            return if to == DType::I32 { Ok(self.single_to_int(v)) } else { self.convert_by_call(from, to, v) };
        }
        if to.is_signed() {
            return Ok(self.float_to_signed(from, to, v));
        }
        // These instructions return the greatest integer for all out-of-range inputs. VMAX returns its
        // second operand, here 0, if the first one is NaN.
        let zero = self.constant(0, from.size());
        let v = self.op2(by_size!(from.size(), MAX_PS, MAX_PD), from.size(), v, zero);
        let form: &Form = match (from, to) {
            (DType::F32, DType::U32) => &codes::CVTTPS2UDQ,
            (DType::F32, _) => &codes::CVTTPS2UQQ,
            (_, DType::U32) => &codes::CVTTPD2UDQ,
            _ => &codes::CVTTPD2UQQ,
        };
        Ok(self.resized(form, from, to, v))
    }

    /// Clamps to the range of an integer dtype whose bounds are exact in floats; NaN becomes 0.
    fn clamp(&mut self, from: DType, to: DType, v: V) -> V {
        let size = from.size();
        let bits = 8 * to.size() as u32;
        let (least, most) =
            if to.is_signed() { (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1) } else { (0, (1i64 << bits) - 1) };
        let constant = |s: &mut Self, x: i64| {
            let (bits, _) = Scalar::I64(x).cast(from).bits();
            s.constant(bits, size)
        };
        let v = if to.is_signed() { self.nan_to_zero(size, v) } else { v };
        let (least, most) = (constant(self, least), constant(self, most));
        let v = self.op2(by_size!(size, MAX_PS, MAX_PD), size, v, least);
        self.op2(by_size!(size, MIN_PS, MIN_PD), size, v, most)
    }

    fn nan_to_zero(&mut self, size: usize, v: V) -> V {
        match self.float_compare_lanes(size, v, v, ORDERED) {
            Val::Bits(mask) => {
                let dst = self.fresh(size);
                let plain = Self::plain_op(codes::masked_move(size), self.width(size), dst, &[v]);
                let op = Op { mask: Some((mask, true)), ..plain };
                self.emit(Inst::Op(op));
                dst
            }
            Val::Flags(flags, _) => self.op2(by_size!(size, AND_PS, AND_PD), size, v, flags),
            _ => v,
        }
    }

    /// Truncates floats that are in the range of `i32`.
    fn truncate(&mut self, from: DType, v: V) -> V {
        let form = if from == DType::F32 { &codes::CVTTPS2DQ } else { &codes::CVTTPD2DQ };
        self.resized(form, from, DType::I32, v)
    }

    /// The upper bound, exclusive, of a signed dtype as a float.
    fn limit(&mut self, from: DType, to: DType) -> V {
        let limit = 2f64.powi(8 * to.size() as i32 - 1);
        let (bits, _) = Scalar::F64(limit).cast(from).bits();
        self.constant(bits, from.size())
    }

    /// Converts `f32` to `i32` with AVX2. The instruction returns the least integer for all out-of-range
    /// inputs; its complement is the greatest integer.
    fn single_to_int(&mut self, v: V) -> V {
        let limit = self.limit(DType::F32, DType::I32);
        let too_big = match self.float_compare_lanes(4, v, limit, AT_LEAST) {
            Val::Flags(flags, _) => flags,
            _ => v,
        };
        let v = self.nan_to_zero(4, v);
        let whole = self.truncate(DType::F32, v);
        self.op2(&codes::XOR_D, 4, whole, too_big)
    }

    /// Converts floats to signed integers with AVX-512: as above, but a zeroing mask sets the lanes of NaN
    /// to 0, and a blend sets the lanes above the range to the greatest integer.
    fn float_to_signed(&mut self, from: DType, to: DType, v: V) -> V {
        let form: &Form = match (from, to) {
            (DType::F32, DType::I32) => &codes::CVTTPS2DQ,
            (DType::F32, _) => &codes::CVTTPS2QQ,
            _ => &codes::CVTTPD2QQ,
        };
        let limit = self.limit(from, to);
        let (Val::Bits(ordered), Val::Bits(too_big)) = (
            self.float_compare_lanes(from.size(), v, v, ORDERED),
            self.float_compare_lanes(from.size(), v, limit, AT_LEAST),
        ) else {
            return v;
        };
        let whole = self.resized_in(form, from, to, v, Some(ordered));
        let most = self.constant((1 << (8 * to.size() - 1)) - 1, to.size());
        let dst = self.fresh(to.size());
        let form = if to.size() == 4 { &codes::BLENDM_D } else { &codes::BLENDM_Q };
        let op =
            Op { mask: Some((too_big, false)), ..Self::plain_op(form, self.width(to.size()), dst, &[whole, most]) };
        self.emit(Inst::Op(op));
        dst
    }
}
