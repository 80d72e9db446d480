//! Exponentials of complex numbers, and the trigonometric and hyperbolic functions that are made of them: the operations of
//! [`complex`](rewright_ir::math::complex), with choices in the place of branches.

use super::elem::{Elem, Elems, ScalarCx};
use crate::kernel::{Binary, KValue};
use rewright_ir::DType;

/// Beyond this `exp` overflows.
const EXP_MAX: f64 = 709.0;

/// A function of both parts, at `f64`.
type OfParts = fn(&mut ScalarCx<'_>, [KValue; 2]) -> Option<[KValue; 2]>;

/// A function at either precision: that of `c64` is computed at `c128`, and rounded.
fn at_double(cx: &mut ScalarCx<'_>, z: Elem, of: OfParts) -> Option<Elems> {
    let parts = [z.re, z.im?];
    let wide = parts.map(|part| cx.k.convert(part, DType::F64));
    let [re, im] = of(cx, wide)?.map(|part| cx.k.convert(part, z.dtype.real()));
    Elem::complex(z.dtype, re, im).only()
}

/// The function of this name, if it is one of these.
pub(super) fn call(cx: &mut ScalarCx<'_>, z: Elem, name: &str) -> Option<Elems> {
    let of: OfParts = match name {
        "exp" => exp,
        "cosh" => cosh,
        "sinh" => sinh,
        "cos" => |cx, [re, im]| {
            let turned = cx.neg(im);
            cosh(cx, [turned, re])
        },
        "sin" => sin,
        _ => return None,
    };
    at_double(cx, z, of)
}

/// `exp(x) * f` for each of these, at most 1 in magnitude: in two halves where `exp(x)` alone would overflow.
fn exp_times(cx: &mut ScalarCx<'_>, x: KValue, of: [KValue; 2]) -> Option<([KValue; 2], KValue)> {
    let (limit, half) = (cx.float(DType::F64, EXP_MAX), cx.float(DType::F64, 0.5));
    let (beyond, finite) = (cx.lt(limit, x), cx.is_finite(x));
    let (great, halved) = (cx.and(beyond, finite), cx.mul(x, half));
    let argument = cx.k.select(great, halved, x);
    let exp = cx.math("exp", &[argument])?;
    let products = of.map(|f| {
        let once = cx.mul(exp, f);
        let twice = cx.mul(once, exp);
        cx.k.select(great, twice, once)
    });
    Some((products, exp))
}

fn exp(cx: &mut ScalarCx<'_>, [x, y]: [KValue; 2]) -> Option<[KValue; 2]> {
    let (cosine, sine) = (cx.math("cos", &[y])?, cx.math("sin", &[y])?);
    let ([re, im], power) = exp_times(cx, x, [cosine, sine])?;
    let (finite, infinite) = (cx.is_finite(y), cx.is_infinite(x));
    let aimless = cx.not(finite);
    let limit = cx.and(aimless, infinite);
    let (zero, least) = (cx.float(DType::F64, 0.0), cx.float(DType::F64, f64::NEG_INFINITY));
    let (vanishes, below) = (cx.eq(x, least), cx.lt(y, zero));
    let vanishes = cx.and(aimless, vanishes);
    let (negative, real) = (cx.float(DType::F64, -0.0), cx.eq(y, zero));
    let zero = cx.k.select(below, negative, zero);
    let im = cx.k.select(vanishes, zero, im);
    Some([cx.k.select(limit, power, re), cx.k.select(real, y, im)])
}

/// The parts of `cosh` where nothing is special, and those of `sinh`: products of hyperbolic with trigonometric functions.
fn products(cx: &mut ScalarCx<'_>, [x, y]: [KValue; 2]) -> Option<[[KValue; 2]; 2]> {
    let (cosine, sine) = (cx.math("cos", &[y])?, cx.math("sin", &[y])?);
    let (magnitude, limit, half) = (cx.abs(x), cx.float(DType::F64, EXP_MAX), cx.float(DType::F64, 0.5));
    let great = cx.lt(limit, magnitude);
    let (half_cosine, half_sine) = (cx.mul(half, cosine), cx.mul(half, sine));
    let ([along, across], _) = exp_times(cx, magnitude, [half_cosine, half_sine])?;
    let one = cx.float(DType::F64, 1.0);
    let sign = cx.k.binary(Binary::CopySign, one, x);
    let (cosh, sinh) = (cx.math("cosh", &[x])?, cx.math("sinh", &[x])?);
    let mut choose = |great_one: KValue, signed: bool, hyperbolic: KValue, other: KValue| {
        let great_one = if signed { cx.mul(great_one, sign) } else { great_one };
        let product = cx.mul(hyperbolic, other);
        cx.k.select(great, great_one, product)
    };
    Some([
        [choose(along, false, cosh, cosine), choose(across, true, sinh, sine)],
        [choose(along, true, sinh, cosine), choose(across, false, cosh, sine)],
    ])
}

fn cosh(cx: &mut ScalarCx<'_>, [x, y]: [KValue; 2]) -> Option<[KValue; 2]> {
    let [[re, im], _] = products(cx, [x, y])?;
    let (zero, one, infinity) =
        (cx.float(DType::F64, 0.0), cx.float(DType::F64, 1.0), cx.float(DType::F64, f64::INFINITY));
    let (finite, infinite, nan) = (cx.is_finite(y), cx.is_infinite(x), cx.is_nan(x));
    let aimless = cx.not(finite);
    let (limit, flat, real) = (cx.and(aimless, infinite), cx.eq(x, zero), cx.eq(y, zero));
    let flat = cx.and(aimless, flat);
    let (re, im) = (cx.k.select(limit, infinity, re), cx.k.select(flat, zero, im));
    let sign = cx.k.binary(Binary::CopySign, one, x);
    let signed = cx.mul(y, sign);
    let on_axis = cx.k.select(nan, y, signed);
    let whole = cx.math("cosh", &[x])?;
    Some([cx.k.select(real, whole, re), cx.k.select(real, on_axis, im)])
}

fn sinh(cx: &mut ScalarCx<'_>, [x, y]: [KValue; 2]) -> Option<[KValue; 2]> {
    let [_, [re, im]] = products(cx, [x, y])?;
    let (zero, infinity) = (cx.float(DType::F64, 0.0), cx.float(DType::F64, f64::INFINITY));
    let (finite, infinite) = (cx.is_finite(y), cx.is_infinite(x));
    let aimless = cx.not(finite);
    let (limit, flat, real) = (cx.and(aimless, infinite), cx.eq(x, zero), cx.eq(y, zero));
    let flat = cx.and(aimless, flat);
    let re = cx.k.select(limit, infinity, re);
    let re = cx.k.select(flat, x, re);
    let whole = cx.math("sinh", &[x])?;
    let nan = cx.float(DType::F64, f64::NAN);
    let im = cx.k.select(aimless, nan, im);
    Some([cx.k.select(real, whole, re), cx.k.select(real, y, im)])
}

/// `-i sinh(iz)`.
fn sin(cx: &mut ScalarCx<'_>, [x, y]: [KValue; 2]) -> Option<[KValue; 2]> {
    let turned = cx.neg(y);
    let [re, im] = sinh(cx, [turned, x])?;
    let (infinity, nan) = (cx.float(DType::F64, f64::INFINITY), cx.float(DType::F64, f64::NAN));
    let (far, finite, opposite) = (cx.is_infinite(y), cx.is_finite(x), cx.neg(re));
    let aimless = cx.not(finite);
    let special = cx.and(far, aimless);
    Some([cx.k.select(special, nan, im), cx.k.select(special, infinity, opposite)])
}
