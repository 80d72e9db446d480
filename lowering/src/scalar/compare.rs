//! Comparisons, and extrema.

use super::elem::{Elem, Elems, ScalarCx};
use super::lower;
use crate::kernel::{Binary, Compare, KValue};
use rewright_ir::{DType, Kind};

lower! {
    "eq" => |cx, args| Elem::real(DType::Bool, compare(cx, Compare::Eq, args[0], args[1])).only();
    "ne" => |cx, args| Elem::real(DType::Bool, compare(cx, Compare::Ne, args[0], args[1])).only();
    "lt" => |cx, args| Elem::real(DType::Bool, compare(cx, Compare::Lt, args[0], args[1])).only();
    "le" => |cx, args| Elem::real(DType::Bool, compare(cx, Compare::Le, args[0], args[1])).only();
    "gt" => |cx, args| Elem::real(DType::Bool, compare(cx, Compare::Lt, args[1], args[0])).only();
    "ge" => |cx, args| Elem::real(DType::Bool, compare(cx, Compare::Le, args[1], args[0])).only();
    "minimum" => |cx, args| extremum(cx, args[0], args[1], Side::Least, Nan::Kept).only();
    "maximum" => |cx, args| extremum(cx, args[0], args[1], Side::Greatest, Nan::Kept).only();
    "fmin" => |cx, args| extremum(cx, args[0], args[1], Side::Least, Nan::Dropped).only();
    "fmax" => |cx, args| extremum(cx, args[0], args[1], Side::Greatest, Nan::Dropped).only();
    "clip" => clip;
    "where" => |cx, args| cx.select(args[0].re, args[1], args[2]).only();
}

/// A comparison. Complex numbers compare lexicographically; a signed and an unsigned integer compare as
/// numbers.
pub(crate) fn compare(cx: &mut ScalarCx<'_>, op: Compare, a: Elem, b: Elem) -> KValue {
    let (Some(a_im), Some(b_im)) = (a.im, b.im) else {
        return match (a.dtype.is_unsigned(), b.dtype.is_unsigned()) {
            _ if a.dtype == b.dtype => cx.k.compare(op, a.re, b.re),
            (false, true) => signed_first(cx, op, a.re, b),
            _ => unsigned_first(cx, op, a, b.re),
        };
    };
    match op {
        Compare::Eq | Compare::Ne => {
            let (re, im) = (cx.k.compare(op, a.re, b.re), cx.k.compare(op, a_im, b_im));
            if op == Compare::Eq { cx.and(re, im) } else { cx.or(re, im) }
        }
        Compare::Lt | Compare::Le => {
            let (less, equal) = (cx.lt(a.re, b.re), cx.eq(a.re, b.re));
            let (a_nan, b_nan) = (cx.is_nan(a_im), cx.is_nan(b_im));
            let nan = cx.or(a_nan, b_nan);
            let numbers = cx.not(nan);
            let by_re = cx.and(less, numbers);
            let then = cx.k.compare(op, a_im, b_im);
            let by_im = cx.and(equal, then);
            cx.or(by_re, by_im)
        }
    }
}

/// Compares a signed integer with an unsigned one of its size.
fn signed_first(cx: &mut ScalarCx<'_>, op: Compare, a: KValue, b: Elem) -> KValue {
    let zero = cx.int(cx.k.dtype(a), 0);
    let negative = cx.lt(a, zero);
    let a = cx.k.convert(a, b.dtype);
    let relation = cx.k.compare(op, a, b.re);
    if op == Compare::Eq {
        let positive = cx.not(negative);
        return cx.and(positive, relation);
    }
    cx.or(negative, relation)
}

/// Compares an unsigned integer with a signed one of its size.
fn unsigned_first(cx: &mut ScalarCx<'_>, op: Compare, a: Elem, b: KValue) -> KValue {
    let zero = cx.int(cx.k.dtype(b), 0);
    let negative = cx.lt(b, zero);
    let b = cx.k.convert(b, a.dtype);
    let relation = cx.k.compare(op, a.re, b);
    if op == Compare::Ne {
        return cx.or(negative, relation);
    }
    let positive = cx.not(negative);
    cx.and(positive, relation)
}

/// The choice between the smaller and the greater of two numbers.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Least,
    Greatest,
}

/// The treatment of NaN: kept as the result, or dropped if the other operand is a number.
#[derive(Clone, Copy, PartialEq)]
enum Nan {
    Kept,
    Dropped,
}

/// The smaller or greater of two numbers, and the first one of equal numbers.
fn extremum(cx: &mut ScalarCx<'_>, a: Elem, b: Elem, side: Side, nan: Nan) -> Elem {
    let least = side == Side::Least;
    match a.dtype.kind() {
        Kind::Bool => Elem::real(a.dtype, if least { cx.and(a.re, b.re) } else { cx.or(a.re, b.re) }),
        Kind::Int => Elem::real(a.dtype, cx.k.binary(if least { Binary::Min } else { Binary::Max }, a.re, b.re)),
        Kind::Float => {
            // `a` if they are equal, and if one is NaN.
            let value = cx.k.binary(if least { Binary::Min } else { Binary::Max }, b.re, a.re);
            let doubtful = if nan == Nan::Kept { b.re } else { a.re };
            if cx.k.as_constant(doubtful).is_some_and(|c| !c.to_f64().is_nan()) {
                return Elem::real(a.dtype, value);
            }
            let is_nan = cx.is_nan(doubtful);
            Elem::real(a.dtype, cx.k.select(is_nan, b.re, value))
        }
        Kind::Complex => {
            let (x, y) = if least { (a, b) } else { (b, a) };
            let in_order = compare(cx, Compare::Le, x, y);
            let doubtful = if nan == Nan::Kept { a } else { b };
            let is_nan = any_nan(cx, doubtful);
            let first = cx.or(in_order, is_nan);
            cx.select(first, a, b)
        }
    }
}

/// Whether a part is NaN.
pub(crate) fn any_nan(cx: &mut ScalarCx<'_>, x: Elem) -> KValue {
    let re = cx.is_nan(x.re);
    match x.im {
        Some(im) => {
            let im = cx.is_nan(im);
            cx.or(re, im)
        }
        None => re,
    }
}

fn clip(cx: &mut ScalarCx<'_>, args: &[Elem]) -> Option<Elems> {
    let &[x, lo, hi] = args else { return None };
    let raised = extremum(cx, x, lo, Side::Greatest, Nan::Kept);
    extremum(cx, raised, hi, Side::Least, Nan::Kept).only()
}
