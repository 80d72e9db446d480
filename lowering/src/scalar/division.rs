//! Quotients and remainders.

use super::elem::{Elem, Elems, ScalarCx};
use super::lower;
use crate::kernel::{Binary, KValue};
use rewright_ir::Kind;

lower! {
    "div" => |cx, args| quotient(cx, args[0], args[1]).only();
    "reciprocal" => |cx, args| reciprocal(cx, args[0]).only();
    "floordiv" => |cx, args| Elem::real(args[0].dtype, floor_quotient(cx, args[0], args[1])?).only();
    "mod" => |cx, args| Elem::real(args[0].dtype, floor_remainder(cx, args[0], args[1])?).only();
    "divmod" => both;
    "fmod" => remainder;
}

/// The true quotient, for complex numbers by Smith's method. A division by zero divides each part by +0.
fn quotient(cx: &mut ScalarCx<'_>, a: Elem, b: Elem) -> Elem {
    let (Some(a_im), Some(b_im)) = (a.im, b.im) else {
        return Elem::real(a.dtype, cx.div(a.re, b.re));
    };
    let dtype = a.dtype.real();
    let (zero, one) = (cx.float(dtype, 0.0), cx.float(dtype, 1.0));
    let Smith { re_first, greater, ratio } = Smith::new(cx, b.re, b_im);
    let other = cx.k.select(re_first, b_im, b.re);
    let scaled = cx.mul(other, ratio);
    let divisor = cx.add(greater, scaled);
    let scale = cx.div(one, divisor);
    // Let x be the part of a that belongs to the greater part of b, and y the other one. The result is (x +
    // y r) s, and (y - x r) s or its opposite, which is subtracted in reverse so that zeros have the right
    // sign.
    let (x, y) = (cx.k.select(re_first, a.re, a_im), cx.k.select(re_first, a_im, a.re));
    let (xr, yr) = (cx.mul(x, ratio), cx.mul(y, ratio));
    let sum = cx.add(x, yr);
    let (left, right) = (cx.k.select(re_first, y, xr), cx.k.select(re_first, xr, y));
    let difference = cx.sub(left, right);
    let (re, im) = (cx.mul(sum, scale), cx.mul(difference, scale));
    let (re_is_zero, im_is_zero) = (cx.eq(b.re, zero), cx.eq(b_im, zero));
    let by_zero = cx.and(re_is_zero, im_is_zero);
    let (re_by_zero, im_by_zero) = (cx.div(a.re, zero), cx.div(a_im, zero));
    Elem::complex(a.dtype, cx.k.select(by_zero, re_by_zero, re), cx.k.select(by_zero, im_by_zero, im))
}

/// The reciprocal: for integers rounded toward zero, for complex numbers by Smith's method.
pub(super) fn reciprocal(cx: &mut ScalarCx<'_>, z: Elem) -> Elem {
    let one = cx.int(z.dtype.real(), 1);
    let Some(im) = z.im else {
        let op = if z.dtype.is_float() { Binary::Div } else { Binary::Quot };
        return Elem::real(z.dtype, cx.k.binary(op, one, z.re));
    };
    let Smith { re_first, greater, ratio } = Smith::new(cx, z.re, im);
    let other = cx.k.select(re_first, im, z.re);
    let scaled = cx.mul(other, ratio);
    let divisor = cx.add(greater, scaled);
    let (x, y) = (cx.k.select(re_first, one, ratio), cx.k.select(re_first, ratio, one));
    let y = cx.neg(y);
    Elem::complex(z.dtype, cx.div(x, divisor), cx.div(y, divisor))
}

/// The common values of Smith's method.
struct Smith {
    /// Whether the real part has at least the magnitude of the imaginary one. False if one is NaN.
    re_first: KValue,
    /// The part with the greater magnitude.
    greater: KValue,
    /// The other part divided by it.
    ratio: KValue,
}

impl Smith {
    fn new(cx: &mut ScalarCx<'_>, re: KValue, im: KValue) -> Self {
        let (re_magnitude, im_magnitude) = (cx.abs(re), cx.abs(im));
        let re_first = cx.le(im_magnitude, re_magnitude);
        let (greater, other) = (cx.k.select(re_first, re, im), cx.k.select(re_first, im, re));
        Smith { re_first, greater, ratio: cx.div(other, greater) }
    }
}

/// Whether an integer remainder and its divisor have different signs: the floor is then the quotient minus
/// one.
fn wrong_sign(cx: &mut ScalarCx<'_>, remainder: KValue, divisor: KValue) -> KValue {
    let zero = cx.int(cx.k.dtype(divisor), 0);
    let signs = cx.xor(remainder, divisor);
    let (differ, uneven) = (cx.lt(signs, zero), cx.ne(remainder, zero));
    cx.and(differ, uneven)
}

/// The remainder for a quotient that is rounded toward zero; 0 for a division by zero.
fn remainder_of(cx: &mut ScalarCx<'_>, a: KValue, b: KValue, quotient: KValue) -> KValue {
    let zero = cx.int(cx.k.dtype(b), 0);
    let product = cx.mul(quotient, b);
    let rest = cx.sub(a, product);
    let by_zero = cx.eq(b, zero);
    cx.k.select(by_zero, zero, rest)
}

/// The remainder of a division that rounds toward zero, computed from the quotient if that is computed
/// already.
fn truncated_remainder(cx: &mut ScalarCx<'_>, a: KValue, b: KValue) -> KValue {
    match cx.k.known_binary(Binary::Quot, a, b) {
        Some(quotient) => remainder_of(cx, a, b, quotient),
        None => cx.k.binary(Binary::Rem, a, b),
    }
}

fn floor_quotient(cx: &mut ScalarCx<'_>, a: Elem, b: Elem) -> Option<KValue> {
    if a.dtype.kind() == Kind::Float {
        return cx.math("floordiv", &[a.re, b.re]);
    }
    let quotient = cx.k.binary(Binary::Quot, a.re, b.re);
    if a.dtype.is_unsigned() {
        return Some(quotient);
    }
    let rest = remainder_of(cx, a.re, b.re, quotient);
    Some(floor_from(cx, quotient, rest, b))
}

fn floor_from(cx: &mut ScalarCx<'_>, quotient: KValue, rest: KValue, b: Elem) -> KValue {
    let wrong = wrong_sign(cx, rest, b.re);
    let wrong = cx.k.convert(wrong, b.dtype);
    cx.sub(quotient, wrong)
}

fn floor_remainder(cx: &mut ScalarCx<'_>, a: Elem, b: Elem) -> Option<KValue> {
    if a.dtype.kind() == Kind::Float {
        return cx.math("mod", &[a.re, b.re]);
    }
    let rest = truncated_remainder(cx, a.re, b.re);
    Some(if a.dtype.is_unsigned() { rest } else { remainder_from(cx, rest, b) })
}

fn remainder_from(cx: &mut ScalarCx<'_>, rest: KValue, b: Elem) -> KValue {
    let wrong = wrong_sign(cx, rest, b.re);
    let moved = cx.add(rest, b.re);
    cx.k.select(wrong, moved, rest)
}

/// The floor quotient and its remainder, for integers with one division.
fn both(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let &[a, b] = args else { return None };
    let (floor, rest) = if a.dtype.kind() == Kind::Float {
        (floor_quotient(cx, a, b)?, floor_remainder(cx, a, b)?)
    } else {
        let quotient = cx.k.binary(Binary::Quot, a.re, b.re);
        let rest = remainder_of(cx, a.re, b.re, quotient);
        if a.dtype.is_unsigned() {
            (quotient, rest)
        } else {
            (floor_from(cx, quotient, rest, b), remainder_from(cx, rest, b))
        }
    };
    Some(Elems::from_iter([Elem::real(a.dtype, floor), Elem::real(a.dtype, rest)]))
}

fn remainder(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let &[a, b] = args else { return None };
    let value = match a.dtype.kind() {
        Kind::Float => cx.math("fmod", &[a.re, b.re])?,
        _ => truncated_remainder(cx, a.re, b.re),
    };
    Elem::real(a.dtype, value).only()
}
