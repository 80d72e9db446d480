//! Sums, products, signs and magnitudes; quotients are in `division.rs`.

use super::elem::{Elem, Elems, ScalarCx};
use super::lower;
use crate::kernel::{Binary, KOp, KValue};
use rewright_ir::{DType, Kind};

lower! {
    "add" => |cx, args| sum(cx, args, Binary::Add);
    "sub" => |cx, args| sum(cx, args, Binary::Sub);
    "mul" => |cx, args| product(cx, args[0], args[1]).only();
    "square" => |cx, args| product(cx, args[0], args[0]).only();
    "fma" => |cx, args| {
        let values = [args[0].re, args[1].re, args[2].re];
        Elem::real(args[0].dtype, cx.k.push(KOp::Fma, &values, args[0].dtype)).only()
    };
    "neg" => neg;
    "pos" => |_, args| args[0].only();
    "abs" => magnitude;
    "fabs" => magnitude;
    "sign" => sign;
}

/// The sum or difference, part by part; for bools "or".
fn sum(cx: &mut ScalarCx<'_>, args: &[Elem], op: Binary) -> Option<Elems> {
    let &[a, b] = args else { return None };
    let op = if a.dtype.is_bool() { Binary::Or } else { op };
    let im = a.im.zip(b.im).map(|(x, y)| cx.k.binary(op, x, y));
    Elem { dtype: a.dtype, re: cx.k.binary(op, a.re, b.re), im }.only()
}

/// The product, for complex numbers by the textbook formula; for bools "and".
pub(super) fn product(cx: &mut ScalarCx<'_>, a: Elem, b: Elem) -> Elem {
    let (Some(a_im), Some(b_im)) = (a.im, b.im) else {
        let op = if a.dtype.is_bool() { Binary::And } else { Binary::Mul };
        return Elem::real(a.dtype, cx.k.binary(op, a.re, b.re));
    };
    let (rr, ii) = (cx.mul(a.re, b.re), cx.mul(a_im, b_im));
    let (ri, ir) = (cx.mul(a.re, b_im), cx.mul(a_im, b.re));
    Elem::complex(a.dtype, cx.sub(rr, ii), cx.add(ri, ir))
}

fn neg(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let a = args[0];
    Elem { dtype: a.dtype, re: cx.neg(a.re), im: a.im.map(|im| cx.neg(im)) }.only()
}

fn magnitude(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let a = args[0];
    let value = match a.im {
        Some(im) => cx.math("hypot", &[a.re, im])?,
        None if a.dtype.is_bool() => a.re,
        None => cx.abs(a.re),
    };
    Elem::real(a.dtype.real(), value).only()
}

fn sign(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let a = args[0];
    match a.dtype.kind() {
        Kind::Bool => None,
        Kind::Int => {
            let one = cx.int(a.dtype, 1);
            let mut value = cx.k.binary(Binary::Min, a.re, one);
            if a.dtype.is_signed() {
                let minus_one = cx.int(a.dtype, -1);
                value = cx.k.binary(Binary::Max, value, minus_one);
            }
            Elem::real(a.dtype, value).only()
        }
        Kind::Float => Elem::real(a.dtype, float_sign(cx, a.re)).only(),
        Kind::Complex => direction(cx, a),
    }
}

/// The sign: -1, 0 or 1, and NaN for NaN. Zeros of both signs give +0.
fn float_sign(cx: &mut ScalarCx<'_>, x: KValue) -> KValue {
    let dtype = cx.k.dtype(x);
    let [zero, one, minus_one] = [0.0, 1.0, -1.0].map(|c| cx.float(dtype, c));
    let (above, below, at) = (cx.lt(zero, x), cx.lt(x, zero), cx.eq(x, zero));
    let rest = cx.k.select(at, zero, x);
    let rest = cx.k.select(below, minus_one, rest);
    cx.k.select(above, one, rest)
}

/// `z / |z|`. It is 0 for 0, along the axis of an infinite part, and NaN if the direction is unknown.
fn direction(cx: &mut ScalarCx<'_>, z: Elem) -> Option<Elems> {
    let (re, im) = (z.re, z.im?);
    let dtype = z.dtype.real();
    let (zero, nan) = (cx.float(dtype, 0.0), cx.float(dtype, f64::NAN));
    // Scale down by 4 if the length could overflow, and scale up if it could be subnormal.
    let (most, least, more) = match dtype {
        DType::F32 => [f32::MAX / 4.0, f32::MIN_POSITIVE / f32::EPSILON, 1.0 / f32::EPSILON].map(f64::from).into(),
        _ => (f64::MAX / 4.0, f64::MIN_POSITIVE / f64::EPSILON, 1.0 / f64::EPSILON),
    };
    let (most, least, more) = (cx.float(dtype, most), cx.float(dtype, least), cx.float(dtype, more));
    let (quarter, one) = (cx.float(dtype, 0.25), cx.float(dtype, 1.0));
    let (width, height) = (cx.abs(re), cx.abs(im));
    let (wide, high) = (cx.lt(most, width), cx.lt(most, height));
    let long = cx.or(wide, high);
    let (narrow, low) = (cx.lt(width, least), cx.lt(height, least));
    let short = cx.and(narrow, low);
    let factor = cx.k.select(short, more, one);
    let factor = cx.k.select(long, quarter, factor);
    let (re, im) = (cx.mul(re, factor), cx.mul(im, factor));
    let length = cx.math("hypot", &[re, im])?;
    let (re_infinite, im_infinite) = (cx.is_infinite(re), cx.is_infinite(im));
    let both = cx.and(re_infinite, im_infinite);
    let no_length = cx.is_nan(length);
    let unknown = cx.or(no_length, both);
    let endless = cx.is_infinite(length);
    let along_re = cx.and(endless, re_infinite);
    let at_zero = cx.eq(length, zero);
    let (re_sign, im_sign) = (float_sign(cx, re), float_sign(cx, im));
    // The cases are in order of increasing priority: each selection overrides the ones before it.
    let mut part = |x: KValue, if_im_infinite: KValue, if_re_infinite: KValue| {
        let value = cx.div(x, length);
        let value = cx.k.select(at_zero, zero, value);
        let value = cx.k.select(im_infinite, if_im_infinite, value);
        let value = cx.k.select(along_re, if_re_infinite, value);
        cx.k.select(unknown, nan, value)
    };
    let (re, im) = (part(re, zero, re_sign), part(im, im_sign, zero));
    Elem::complex(z.dtype, re, im).only()
}
