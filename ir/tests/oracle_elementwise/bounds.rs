//! The accepted errors of elementwise results.

use rewright_ir::math::vector::ERRORS;
use rewright_ir::{DType, Op, Scalar};

/// The unit of differences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Units in the last place of each part.
    Part,
    /// Units in the last place, or those of the greatest operand if all operands are negative and these are
    /// larger: the result is a sum that may cancel.
    Operand,
    /// Units in the last place of the greater part of a complex number: the smaller part may cancel.
    Modulus,
}

/// The maximum accepted difference from the correctly rounded value, by op. Integers, bools, infinities, NaN
/// and the signs of zeros must be equal. Ops that neither this list nor [`ERRORS`] names are exact or
/// correctly rounded. The numbers are worst cases over the tables, for real and complex operands, plus one
/// unit where the tables may miss the worst case.
pub const BOUNDS: &[(&str, u64, u64, Unit)] = &[
    ("abs", 0, 1, Unit::Part),
    ("acos", 0, 2, Unit::Part),
    ("acosh", 0, 2, Unit::Part),
    ("angle", 0, 1, Unit::Part),
    ("asin", 0, 2, Unit::Part),
    ("asinh", 0, 2, Unit::Part),
    ("atan", 0, 2, Unit::Part),
    ("atanh", 0, 2, Unit::Part),
    ("cos", 0, 4, Unit::Part),
    ("cosh", 0, 4, Unit::Part),
    ("exp", 0, 4, Unit::Part),
    ("exp2", 0, 4, Unit::Part),
    ("expm1", 0, 4, Unit::Part),
    ("float_power", 0, 4, Unit::Modulus),
    ("lgamma", 0, 0, Unit::Operand),
    ("log", 0, 2, Unit::Part),
    ("log10", 0, 2, Unit::Part),
    ("log1p", 0, 2, Unit::Part),
    ("log2", 0, 2, Unit::Part),
    ("logaddexp", 2, 0, Unit::Operand),
    ("logaddexp2", 2, 0, Unit::Operand),
    ("power", 0, 4, Unit::Modulus),
    ("sqrt", 0, 1, Unit::Part),
    ("sign", 0, 2, Unit::Part),
    ("sin", 0, 4, Unit::Part),
    ("sinh", 0, 4, Unit::Part),
    ("tan", 0, 4, Unit::Part),
    ("tanh", 0, 4, Unit::Part),
];

/// The bound of an op on real operands, or on complex ones.
pub fn bound(op: Op, complex: bool) -> (u64, Unit) {
    // A result with an error below one and a half units is at most one unit from the nearest number.
    let expanded = ERRORS.iter().find(|(name, ..)| *name == op.name).map(|(_, f64, f32)| f64.max(*f32).round() as u64);
    let Some(&(_, of_reals, of_complex, unit)) = BOUNDS.iter().find(|(name, ..)| *name == op.name) else {
        return (expanded.unwrap_or(0), Unit::Part);
    };
    let of_reals = expanded.unwrap_or(of_reals);
    match (complex, unit) {
        (true, _) => (of_complex, unit),
        (false, Unit::Modulus) => (of_reals, Unit::Part),
        (false, _) => (of_reals, unit),
    }
}

/// Units between two results; `u64::MAX` if one is special and the other differs.
pub fn distance(args: &[Scalar], got: Scalar, expected: Scalar, unit: Unit) -> u64 {
    if got.dtype() != expected.dtype() {
        return u64::MAX;
    }
    if !got.dtype().is_complex() && !got.dtype().is_float() {
        return if got == expected { 0 } else { u64::MAX };
    }
    let single = got.dtype().real() == DType::F32;
    let (a, b) = (got.to_c128(), expected.to_c128());
    let least = match unit {
        Unit::Part => 0.0,
        Unit::Operand => args.iter().map(|x| x.to_f64()).fold(f64::NEG_INFINITY, f64::max).min(0.0).abs(),
        Unit::Modulus => b.re.abs().max(b.im.abs()),
    };
    let least = if least.is_finite() { least } else { 0.0 };
    part(a.re, b.re, least, single).max(part(a.im, b.im, least, single))
}

fn part(a: f64, b: f64, least: f64, single: bool) -> u64 {
    if a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()) {
        0
    } else if !a.is_finite() || !b.is_finite() || (a == 0.0 && b == 0.0 && least == 0.0) {
        u64::MAX
    } else {
        ((a - b).abs() / ulp(b.abs().max(least), single)).ceil() as u64
    }
}

/// A unit in the last place.
fn ulp(x: f64, single: bool) -> f64 {
    if single {
        let x = x as f32;
        (f32::from_bits(x.to_bits() + 1) - x) as f64
    } else {
        f64::from_bits(x.to_bits() + 1) - x
    }
}
