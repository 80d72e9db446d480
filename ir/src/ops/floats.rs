//! Rounding, and the parts, neighbours and special values of floats.

use super::loops;
use crate::dtype::{DType, Kind};
use crate::math::{double, single};
use crate::op::LiteralCx;
use num_complex::Complex;

/// The literal rule of `ldexp`: a float, and `i64` for the exponent.
pub fn ldexp_literal(cx: &LiteralCx<'_>) -> DType {
    if cx.operand == 1 {
        return cx.literal.dtype_beside(Some(DType::I64));
    }
    let dtype = cx.literal.dtype_beside(None);
    if dtype.kind() == Kind::Int { DType::F32 } else { dtype }
}

/// Clamps an exponent to a range beyond which every product with a power of two is 0 or infinite.
fn clamp_exponent(n: i64) -> i32 {
    n.clamp(-5000, 5000) as i32
}

elementwise! {
    /// The nearest integer, ties to even; a float.
    RINT = "rint"(1), loops::inexact, is IDEMPOTENT {
        float(x) => x.round_ties_even();
        complex(z) => Complex::new(z.re.round_ties_even(), z.im.round_ties_even());
    }
    /// The greatest integer that is not greater; of integers themselves.
    FLOOR = "floor"(1), loops::bool_or_reals, is IDEMPOTENT {
        bool(x) => x;
        int(x) => x;
        float(x) => x.floor();
    }
    /// The least integer that is not less; of integers themselves.
    CEIL = "ceil"(1), loops::bool_or_reals, is IDEMPOTENT {
        bool(x) => x;
        int(x) => x;
        float(x) => x.ceil();
    }
    /// The integer part; of integers themselves.
    TRUNC = "trunc"(1), loops::bool_or_reals, is IDEMPOTENT {
        bool(x) => x;
        int(x) => x;
        float(x) => x.trunc();
    }
    /// Fraction and integer part, both with the operand's sign.
    MODF = "modf"(1), loops::floats_twice, cycles 2 {
        float(x) => {
            let whole = x.trunc();
            let fraction = if x.is_infinite() { 0.0 } else { x - whole };
            (fraction.copysign(x), whole)
        };
    }
    /// Mantissa in [0.5, 1) with the operand's sign, and exponent as `i32`, 0 for 0, infinities and NaN.
    FREXP = "frexp"(1), loops::float_and_exponent, cycles 4 {
        f32(x) => if x.is_finite() { libm::frexpf(x) } else { (x, 0) };
        f64(x) => if x.is_finite() { libm::frexp(x) } else { (x, 0) };
    }
    /// The first operand times 2 to the power of the second, an integer, with one rounding.
    LDEXP = "ldexp"(2), loops::float_by_exponent, literals ldexp_literal, cycles 4 {
        any([x, n]) => {
            let n = clamp_exponent(n.to_i128().unwrap_or_default() as i64);
            match *x {
                crate::scalar::Scalar::F32(x) => libm::ldexpf(x, n).into(),
                x => crate::scalar::Scalar::F64(libm::ldexp(x.to_f64(), n)),
            }
        };
    }
    /// The magnitude of the first operand with the sign of the second; NaN counts as positive.
    COPYSIGN = "copysign"(2), loops::floats {
        float(x, y) => if y.is_nan() { x.abs() } else { x.copysign(y) };
    }
    /// The next float from the first operand toward the second.
    NEXTAFTER = "nextafter"(2), loops::floats, cycles 4 {
        f32(x, y) => single::nextafter(x, y);
        f64(x, y) => double::nextafter(x, y);
    }
    /// The distance to the next float away from zero, with the operand's sign; NaN of infinities.
    SPACING = "spacing"(1), loops::floats, cycles 4 {
        f32(x) => single::spacing(x);
        f64(x) => double::spacing(x);
    }
    /// `heaviside(x, h)` is 0 below zero, h at zero, 1 above; NaN of NaN.
    HEAVISIDE = "heaviside"(2), loops::floats, cycles 2 {
        f32(x, h) => single::heaviside(x, h);
        f64(x, h) => double::heaviside(x, h);
    }
    /// True for NaN; of complex numbers, where a part is.
    ISNAN = "isnan"(1), loops::all_to_bool {
        float(x) => x.is_nan();
        complex(z) => z.re.is_nan() || z.im.is_nan();
        any([_x]) => false;
    }
    /// True for the infinities; of complex numbers, where a part is.
    ISINF = "isinf"(1), loops::all_to_bool {
        float(x) => x.is_infinite();
        complex(z) => z.re.is_infinite() || z.im.is_infinite();
        any([_x]) => false;
    }
    /// True for finite numbers; for complex numbers, where both parts are finite.
    ISFINITE = "isfinite"(1), loops::all_to_bool {
        float(x) => x.is_finite();
        complex(z) => z.re.is_finite() && z.im.is_finite();
        any([_x]) => true;
    }
    /// True where the sign bit is set, as in -0.0; false for NaN, whose sign depends on the machine.
    SIGNBIT = "signbit"(1), loops::floats_to_bool {
        float(x) => x.is_sign_negative() && !x.is_nan();
    }
}
