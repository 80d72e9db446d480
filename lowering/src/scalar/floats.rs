//! Rounding, and the parts, neighbours and special values of floats.

use super::compare::any_nan;
use super::elem::{Elem, Elems, ScalarCx};
use super::lower;
use crate::kernel::{Binary, KOp, KValue, MathCall, MathPtr, Unary};
use rewright_ir::{DType, Kind, Scalar};

lower! {
    "rint" => |cx, args| round(cx, args[0], Unary::Rint).only();
    "floor" => |cx, args| round(cx, args[0], Unary::Floor).only();
    "ceil" => |cx, args| round(cx, args[0], Unary::Ceil).only();
    "trunc" => |cx, args| round(cx, args[0], Unary::Trunc).only();
    "modf" => modf;
    "frexp" => frexp;
    "ldexp" => ldexp;
    "copysign" => |cx, args| {
        let real = |x| Elem::real(args[0].dtype, x);
        let positive = real(cx.k.unary(Unary::Abs, args[0].re));
        let signed = real(cx.k.binary(Binary::CopySign, args[0].re, args[1].re));
        let nan = cx.is_nan(args[1].re);
        cx.select(nan, positive, signed).only()
    };
    "nextafter" => |cx, args| Elem::real(args[0].dtype, cx.math("nextafter", &[args[0].re, args[1].re])?).only();
    "spacing" => |cx, args| Elem::real(args[0].dtype, cx.math("spacing", &[args[0].re])?).only();
    "heaviside" => heaviside;
    "isnan" => |cx, args| classify(cx, args[0], false, any_nan);
    "isinf" => |cx, args| classify(cx, args[0], false, |cx, x| {
        let re = cx.is_infinite(x.re);
        let im = x.im.map(|im| cx.is_infinite(im));
        im.map_or(re, |im| cx.or(re, im))
    });
    "isfinite" => |cx, args| classify(cx, args[0], true, |cx, x| {
        let re = cx.is_finite(x.re);
        let im = x.im.map(|im| cx.is_finite(im));
        im.map_or(re, |im| cx.and(re, im))
    });
    "signbit" => |cx, args| {
        let bits = Bits::of(args[0].dtype);
        let (word, zero) = (cx.k.bitcast(args[0].re, bits.signed), cx.int(bits.signed, 0));
        let (negative, nan) = (cx.lt(word, zero), cx.is_nan(args[0].re));
        let number = cx.not(nan);
        Elem::real(DType::Bool, cx.and(negative, number)).only()
    };
}

/// Rounds the parts; what is no float is an integer already.
fn round(cx: &mut ScalarCx<'_>, x: Elem, how: Unary) -> Elem {
    if x.dtype.kind() <= Kind::Int {
        return x;
    }
    Elem { dtype: x.dtype, re: cx.k.unary(how, x.re), im: x.im.map(|im| cx.k.unary(how, im)) }
}

/// A question whose answer is known of everything that is neither a float nor a complex number.
fn classify(cx: &mut ScalarCx<'_>, x: Elem, known: bool, ask: fn(&mut ScalarCx<'_>, Elem) -> KValue) -> Option<Elems> {
    let answer = if x.dtype.kind() <= Kind::Int { cx.bool(known) } else { ask(cx, x) };
    Elem::real(DType::Bool, answer).only()
}

/// How a float's bits are laid out.
struct Bits {
    signed: DType,
    unsigned: DType,
    /// The number of bits of the mantissa.
    mantissa: u32,
    /// The greatest exponent field.
    exponents: u64,
}

impl Bits {
    fn of(dtype: DType) -> Bits {
        match dtype {
            DType::F32 => Bits { signed: DType::I32, unsigned: DType::U32, mantissa: 23, exponents: 0xff },
            _ => Bits { signed: DType::I64, unsigned: DType::U64, mantissa: 52, exponents: 0x7ff },
        }
    }
    fn word(&self, cx: &mut ScalarCx<'_>, bits: u64) -> KValue {
        cx.k.constant(Scalar::from_bits(self.unsigned, (bits, 0)))
    }
    /// The exponent field of a float, as `unsigned`.
    fn exponent(&self, cx: &mut ScalarCx<'_>, word: KValue) -> KValue {
        let (count, mask) = (self.word(cx, self.mantissa.into()), self.word(cx, self.exponents));
        let shifted = cx.k.binary(Binary::Shr, word, count);
        cx.and(shifted, mask)
    }
}

/// Fraction and integer part, both with the operand's sign.
fn modf(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let x = args[0];
    let zero = cx.float(x.dtype, 0.0);
    let whole = cx.k.unary(Unary::Trunc, x.re);
    let rest = cx.sub(x.re, whole);
    let infinite = cx.is_infinite(x.re);
    let fraction = cx.k.select(infinite, zero, rest);
    let fraction = cx.k.binary(Binary::CopySign, fraction, x.re);
    Some(Elems::from_iter([Elem::real(x.dtype, fraction), Elem::real(x.dtype, whole)]))
}

/// Mantissa and exponent. Subnormal numbers are scaled up by 2^64 first.
fn frexp(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let x = args[0];
    let bits = Bits::of(x.dtype);
    let word = cx.k.bitcast(x.re, bits.unsigned);
    let (none, exponent) = (bits.word(cx, 0), bits.exponent(cx, word));
    let subnormal = cx.eq(exponent, none);
    let scale = cx.float(x.dtype, 2f64.powi(64));
    let scaled = cx.mul(x.re, scale);
    let normal = cx.k.select(subnormal, scaled, x.re);
    let word = cx.k.bitcast(normal, bits.unsigned);
    let exponent = bits.exponent(cx, word);
    // The exponent field of numbers in [0.5, 1).
    let half = bits.exponents / 2 - 1;
    let keep = bits.word(cx, !(bits.exponents << bits.mantissa));
    let field = bits.word(cx, half << bits.mantissa);
    let mantissa = cx.and(word, keep);
    let mantissa = cx.or(mantissa, field);
    let mantissa = cx.k.bitcast(mantissa, x.dtype);
    let exponent = cx.k.convert(exponent, DType::I32);
    let (zero, low, lower) =
        (cx.int(DType::I32, 0), cx.int(DType::I32, half as i64), cx.int(DType::I32, half as i64 + 64));
    let bias = cx.k.select(subnormal, lower, low);
    let exponent = cx.sub(exponent, bias);
    let (float_zero, finite) = (cx.float(x.dtype, 0.0), cx.is_finite(x.re));
    let not_zero = cx.ne(x.re, float_zero);
    let usual = cx.and(finite, not_zero);
    let (mantissa, exponent) = (cx.k.select(usual, mantissa, x.re), cx.k.select(usual, exponent, zero));
    Some(Elems::from_iter([Elem::real(x.dtype, mantissa), Elem::real(DType::I32, exponent)]))
}

extern "C" fn ldexp_f64(x: f64, n: f64) -> f64 {
    libm::ldexp(x, n.clamp(-5000.0, 5000.0) as i32)
}
extern "C" fn ldexp_f32(x: f32, n: f32) -> f32 {
    libm::ldexpf(x, n.clamp(-5000.0, 5000.0) as i32)
}

/// The exponent goes to the function as a float: where that rounds it, the result is 0 or infinite anyway.
fn ldexp(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let &[x, n] = args else { return None };
    let exponent = cx.k.convert(n.re, x.dtype);
    let ptr = if x.dtype == DType::F32 { MathPtr::F32x2(ldexp_f32) } else { MathPtr::F64x2(ldexp_f64) };
    let call = KOp::Math(MathCall { name: "ldexp", ptr });
    Elem::real(x.dtype, cx.k.push(call, &[x.re, exponent], x.dtype)).only()
}

fn heaviside(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let &[x, at_zero] = args else { return None };
    let (zero, one) = (cx.float(x.dtype, 0.0), cx.float(x.dtype, 1.0));
    let (at, below, above) = (cx.eq(x.re, zero), cx.lt(x.re, zero), cx.lt(zero, x.re));
    let value = cx.k.select(above, one, x.re);
    let value = cx.k.select(below, zero, value);
    Elem::real(x.dtype, cx.k.select(at, at_zero.re, value)).only()
}
