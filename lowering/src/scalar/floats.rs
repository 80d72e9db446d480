//! Rounding, and the parts, neighbours and special values of floats.

use super::compare::any_nan;
use super::elem::{Elem, Elems, ScalarCx};
use super::lower;
use crate::kernel::{Binary, KValue, Unary};
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
    "nextafter" => next_after;
    "spacing" => spacing;
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

/// Rounds the parts; values that are no floats are integers already.
fn round(cx: &mut ScalarCx<'_>, x: Elem, how: Unary) -> Elem {
    if x.dtype.kind() <= Kind::Int {
        return x;
    }
    Elem { dtype: x.dtype, re: cx.k.unary(how, x.re), im: x.im.map(|im| cx.k.unary(how, im)) }
}

/// A predicate on floats and complex numbers; the answer for other dtypes is known.
fn classify(cx: &mut ScalarCx<'_>, x: Elem, known: bool, ask: fn(&mut ScalarCx<'_>, Elem) -> KValue) -> Option<Elems> {
    let answer = if x.dtype.kind() <= Kind::Int { cx.bool(known) } else { ask(cx, x) };
    Elem::real(DType::Bool, answer).only()
}

/// The bit layout of a float.
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

/// The fraction and the integer part, both with the operand's sign.
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

/// The mantissa and the exponent. Subnormal numbers are first scaled up by 2^64.
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

/// The next number from x toward y: the bits plus or minus one.
fn next_after(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let &[x, y] = args else { return None };
    let bits = Bits::of(x.dtype);
    let (zero, one, less) = (cx.float(x.dtype, 0.0), bits.word(cx, 1), bits.word(cx, u64::MAX));
    let word = cx.k.bitcast(x.re, bits.unsigned);
    let (up, negative) = (cx.lt(x.re, y.re), cx.lt(x.re, zero));
    // Away from zero, the bits increase.
    let away = cx.xor(up, negative);
    let step = cx.k.select(away, one, less);
    let moved = cx.add(word, step);
    let moved = cx.k.bitcast(moved, x.dtype);
    let least = cx.k.bitcast(one, x.dtype);
    let from_zero = cx.k.binary(Binary::CopySign, least, y.re);
    let (at_zero, at_end) = (cx.eq(x.re, zero), cx.eq(x.re, y.re));
    let moved = cx.k.select(at_zero, from_zero, moved);
    let moved = cx.k.select(at_end, y.re, moved);
    let (x_nan, y_nan) = (cx.is_nan(x.re), cx.is_nan(y.re));
    let (nan, sum) = (cx.or(x_nan, y_nan), cx.add(x.re, y.re));
    Elem::real(x.dtype, cx.k.select(nan, sum, moved)).only()
}

/// The distance to the next number away from zero.
fn spacing(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let &[x] = args else { return None };
    let bits = Bits::of(x.dtype);
    let (zero, one) = (cx.float(x.dtype, 0.0), bits.word(cx, 1));
    let word = cx.k.bitcast(x.re, bits.unsigned);
    let next = cx.add(word, one);
    let (next, least) = (cx.k.bitcast(next, x.dtype), cx.k.bitcast(one, x.dtype));
    let gap = cx.sub(next, x.re);
    let (at_zero, finite, nan) = (cx.eq(x.re, zero), cx.is_finite(x.re), cx.float(x.dtype, f64::NAN));
    let gap = cx.k.select(at_zero, least, gap);
    Elem::real(x.dtype, cx.k.select(finite, gap, nan)).only()
}

/// A product with up to three powers of two, of which only the last one rounds. If the result is subnormal,
/// the products before it leave as many bits above the least exponent as a mantissa has.
///
/// The exponent is converted to a float first: where that rounds, the result is 0 or infinite in any case.
fn ldexp(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let &[x, n] = args else { return None };
    let bits = Bits::of(x.dtype);
    let bias = (bits.exponents / 2) as f64;
    let (least, greatest) = (cx.float(x.dtype, 1.0 - bias), cx.float(x.dtype, bias));
    let down = cx.float(x.dtype, 2.0 - bias + f64::from(bits.mantissa));
    let (most, fewest) = (cx.float(x.dtype, 3.0 * bias), cx.float(x.dtype, -3.0 * bias));
    let count = bits.word(cx, bits.mantissa.into());
    // An integer that is added to this number is in the last bits of the sum.
    let integers = cx.float(x.dtype, 2f64.powi(bits.mantissa as i32) + bias);
    let given = cx.k.convert(n.re, x.dtype);
    let given = cx.k.binary(Binary::Min, given, most);
    let mut left = cx.k.binary(Binary::Max, given, fewest);
    let mut product = x.re;
    for last in [false, false, true] {
        let far = cx.lt(left, least);
        let far = cx.k.select(far, if last { least } else { down }, left);
        let power = cx.k.binary(Binary::Min, far, greatest);
        left = cx.sub(left, power);
        let word = cx.add(power, integers);
        let word = cx.k.bitcast(word, bits.unsigned);
        let word = cx.k.binary(Binary::Shl, word, count);
        let factor = cx.k.bitcast(word, x.dtype);
        product = cx.mul(product, factor);
    }
    Elem::real(x.dtype, product).only()
}

fn heaviside(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let &[x, at_zero] = args else { return None };
    let (zero, one) = (cx.float(x.dtype, 0.0), cx.float(x.dtype, 1.0));
    let (at, below, above) = (cx.eq(x.re, zero), cx.lt(x.re, zero), cx.lt(zero, x.re));
    let value = cx.k.select(above, one, x.re);
    let value = cx.k.select(below, zero, value);
    Elem::real(x.dtype, cx.k.select(at, at_zero.re, value)).only()
}
