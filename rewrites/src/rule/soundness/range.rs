//! Whether an op of finite operands left the range of its floats: it overflowed, or underflowed to zero.
//!
//! Not every infinity is an overflow: a quotient by zero and a logarithm of zero are infinite in real
//! arithmetic too, and say that a rule is wrong where its other side is finite. Such poles are at zero and
//! at plus and minus one, and of functions of one operand at small integers; overflow is at large operands,
//! or tiny ones.

use super::trial::parts;
use rewright_ir::{Array, Datum, Op, Scalar};

/// Ops whose result is a zero only where an operand is one, or the result underflowed.
const NEVER_ZERO: [&str; 11] =
    ["mul", "div", "square", "reciprocal", "exp", "exp2", "power", "float_power", "integer_power", "erfc", "logistic"];

/// The magnitude up to which a function of one operand has poles.
const SMALL: f64 = 64.0;

/// True if a result is an infinity or a zero that it would not be if floats had a wider range, or a NaN of
/// an operation on arrays that comes of such an infinity.
pub(super) fn is_left(op: Op, args: &[Datum], results: &[Datum]) -> bool {
    let infinite = |value: &Datum| parts(value).any(f64::is_infinite);
    let nan = |value: &Datum| parts(value).any(f64::is_nan);
    let zero = |value: &Datum| parts(value).any(|x| x == 0.0);
    if !op.is_elementwise() {
        let special = results.iter().any(|value| infinite(value) || nan(value));
        return special && !args.iter().any(|arg| infinite(arg) || nan(arg) || is_empty(arg));
    }
    let zeros = NEVER_ZERO.contains(&op.name) && results.iter().any(zero);
    (zeros || results.iter().any(infinite)) && results.iter().any(|result| left_range(op, args, result))
}

fn is_empty(value: &Datum) -> bool {
    value.shape().contains(&0)
}

/// True if an element is infinite, its operands are finite, and none of these is where functions have
/// poles; or if an element is a zero that underflowed.
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
