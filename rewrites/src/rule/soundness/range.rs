//! Detects overflow, and underflow to zero, of an op with finite operands.
//!
//! Not every infinity is an overflow. Poles, such as division by zero and the logarithm of zero, are infinite
//! in real arithmetic too, so they do count as a difference. Heuristic: poles lie at 0, 1 and -1, and for
//! functions of one operand at small integers. Overflow happens at large or tiny operands.

use super::trial::parts;
use rewright_ir::{Array, Datum, Op, Scalar};

/// Ops whose result is zero only if an operand is zero, or by underflow.
const NEVER_ZERO: [&str; 11] =
    ["mul", "div", "square", "reciprocal", "exp", "exp2", "power", "float_power", "integer_power", "erfc", "logistic"];

/// The magnitude up to which functions of one operand have poles at integers.
const SMALL: f64 = 64.0;

/// Whether a result overflowed or underflowed to zero. For ops on arrays, a NaN counts as the difference of
/// two overflows.
pub(super) fn is_left(op: Op, args: &[Datum], results: &[Datum]) -> bool {
    let infinite = |value: &Datum| parts(value).any(f64::is_infinite);
    let zero = |value: &Datum| parts(value).any(|x| x == 0.0);
    if !op.is_elementwise() {
        return !results.iter().all(is_finite) && args.iter().all(|arg| is_finite(arg) && !is_empty(arg));
    }
    let zeros = NEVER_ZERO.contains(&op.name) && results.iter().any(zero);
    (zeros || results.iter().any(infinite)) && results.iter().any(|result| left_range(op, args, result))
}

/// Whether no element is infinite or NaN.
fn is_finite(value: &Datum) -> bool {
    match value {
        Datum::Array(Array::F32(array)) => array.iter().all(|x| x.is_finite()),
        Datum::Array(Array::F64(array)) => array.iter().all(|x| x.is_finite()),
        Datum::Array(Array::C64(array)) => array.iter().all(|z| z.is_finite()),
        Datum::Array(Array::C128(array)) => array.iter().all(|z| z.is_finite()),
        other => parts(other).all(f64::is_finite),
    }
}

fn is_empty(value: &Datum) -> bool {
    value.shape().contains(&0)
}

/// Whether an element is infinite although its operands are finite and at no pole, or is zero by underflow.
fn left_range(op: Op, args: &[Datum], result: &Datum) -> bool {
    let beside = |arg: &Datum| {
        let array = arg.to_array();
        array.broadcast(result.shape()).unwrap_or(array)
    };
    let args: Vec<Array> = args.iter().map(beside).collect();
    let mut operands: Vec<_> = args.iter().map(Array::iter).collect();
    let floats = |scalar: Scalar| {
        let z = scalar.to_c128();
        [z.re, if scalar.dtype().is_complex() { z.im } else { z.re }]
    };
    let only = operands.len() == 1;
    let never_zero = NEVER_ZERO.contains(&op.name);
    let is_pole = |x: f64| x == 0.0 || x.abs() == 1.0 || only && x.abs() <= SMALL && x.fract() == 0.0;
    result.to_array().iter().any(|made| {
        let element: Vec<[f64; 2]> = operands.iter_mut().filter_map(Iterator::next).map(floats).collect();
        let parts = || element.iter().flatten().copied();
        let made = floats(made);
        let overflowed = made.iter().any(|x| x.is_infinite()) && parts().all(f64::is_finite) && !parts().any(is_pole);
        overflowed || never_zero && made.contains(&0.0) && parts().all(|x| x != 0.0 && x.is_finite())
    })
}
