//! Real functions of `f64` and of `f32`: the same definitions, instantiated for each.

use super::double_double::Dd;
use super::rounded::double as nearest;

macro_rules! functions {
    ($float:ident: $($(#[$doc:meta])* $name:ident($($x:ident),*) = $of:path;)*) => {$(
        $(#[$doc])*
        pub extern "C" fn $name($($x: $float),*) -> $float {
            $of($($x),*)
        }
    )*};
}

macro_rules! of_float {
    ($(#[$doc:meta])* $module:ident, $float:ident) => {
        $(#[$doc])*
        pub mod $module {
            use crate::math::vector::$module as vector;

            functions! { $float:
                /// e to the power x.
                exp(x) = vector::exp;
                /// 2 to the power x.
                exp2(x) = vector::exp2;
                /// e to the power x, minus 1.
                expm1(x) = vector::expm1;
                /// Natural logarithm.
                log(x) = vector::log;
                /// Logarithm to base 2.
                log2(x) = vector::log2;
                /// Logarithm to base 10.
                log10(x) = vector::log10;
                /// Logarithm of 1 plus x.
                log1p(x) = vector::log1p;
                /// Cube root.
                cbrt(x) = vector::cbrt;
                /// Sine.
                sin(x) = vector::sin;
                /// Cosine.
                cos(x) = vector::cos;
                /// Tangent.
                tan(x) = vector::tan;
                /// Inverse sine.
                asin(x) = vector::asin;
                /// Inverse cosine.
                acos(x) = vector::acos;
                /// Inverse tangent.
                atan(x) = vector::atan;
                /// Hyperbolic sine.
                sinh(x) = vector::sinh;
                /// Hyperbolic cosine.
                cosh(x) = vector::cosh;
                /// Hyperbolic tangent.
                tanh(x) = vector::tanh;
                /// Inverse hyperbolic sine.
                asinh(x) = vector::asinh;
                /// Inverse hyperbolic cosine; NaN below 1.
                acosh(x) = vector::acosh;
                /// Inverse hyperbolic tangent.
                atanh(x) = vector::atanh;
                /// Error function.
                erf(x) = vector::erf;
                /// 1 minus the error function.
                erfc(x) = vector::erfc;
                /// Logarithm of the magnitude of the gamma function.
                lgamma(x) = vector::lgamma;
                /// `1 / (1 + exp(-x))`, accurate in the tail where `exp(-x)` overflows.
                logistic(x) = vector::logistic;
                /// x to the power y, C99's special cases.
                power(x, y) = vector::power;
                /// Like [`power`] on floats.
                float_power(x, y) = vector::float_power;
                /// The angle of the point (x, y), `y` being the first argument.
                atan2(y, x) = vector::atan2;
                /// Square root of the sum of squares, without undue overflow.
                hypot(x, y) = vector::hypot;
                /// The remainder of division rounded toward zero, with the dividend's sign; exact.
                fmod(x, y) = libm::Libm::<$float>::fmod;
                /// The next number from x toward y.
                nextafter(x, y) = libm::Libm::<$float>::nextafter;
            }

            /// Square root, correctly rounded.
            pub extern "C" fn sqrt(x: $float) -> $float {
                x.sqrt()
            }

            /// 1 divided by the square root, each rounded.
            pub extern "C" fn rsqrt(x: $float) -> $float {
                1.0 / x.sqrt()
            }

            /// 1 divided by x.
            pub extern "C" fn reciprocal(x: $float) -> $float {
                1.0 / x
            }

            /// x times x.
            pub extern "C" fn square(x: $float) -> $float {
                x * x
            }

            /// -1, 0 or 1; NaN for NaN. Zeros of both signs give +0.
            pub extern "C" fn sign(x: $float) -> $float {
                if x > 0.0 {
                    1.0
                } else if x < 0.0 {
                    -1.0
                } else if x == 0.0 {
                    0.0
                } else {
                    x
                }
            }

            /// Degrees to radians: one product with pi / 180.
            pub extern "C" fn deg2rad(x: $float) -> $float {
                x * (std::$float::consts::PI / 180.0)
            }

            /// Radians to degrees: one product with 180 / pi.
            pub extern "C" fn rad2deg(x: $float) -> $float {
                x * (180.0 / std::$float::consts::PI)
            }

            /// The distance to the next number away from zero, with x's sign; NaN for infinities.
            pub extern "C" fn spacing(x: $float) -> $float {
                if x == 0.0 {
                    $float::from_bits(1)
                } else if x.is_finite() {
                    nextafter(x, $float::INFINITY.copysign(x)) - x
                } else {
                    $float::NAN
                }
            }

            /// `log(exp(x) + exp(y))`, without overflow.
            pub extern "C" fn logaddexp(x: $float, y: $float) -> $float {
                super::logaddexp(x as f64, y as f64) as $float
            }

            /// `log2(exp2(x) + exp2(y))`, without overflow.
            pub extern "C" fn logaddexp2(x: $float, y: $float) -> $float {
                super::logaddexp2(x as f64, y as f64) as $float
            }

            /// 0 below zero, 1 above, `at_zero` at zero; NaN for NaN.
            pub extern "C" fn heaviside(x: $float, at_zero: $float) -> $float {
                if x == 0.0 {
                    at_zero
                } else if x < 0.0 {
                    0.0
                } else if x > 0.0 {
                    1.0
                } else {
                    x
                }
            }

            /// The floor of the quotient, and the remainder with the divisor's sign, as in Python. The
            /// quotient is that of the exact remainder, so `1.0 // 0.1` is 9. Division by zero gives the
            /// IEEE quotient, and NaN.
            pub fn divmod(a: $float, b: $float) -> ($float, $float) {
                let mut rem = fmod(a, b);
                if b == 0.0 {
                    return (a / b, rem);
                }
                let mut quotient = (a - rem) / b;
                if rem == 0.0 {
                    rem = $float::copysign(0.0, b);
                } else if (b < 0.0) != (rem < 0.0) {
                    rem += b;
                    quotient -= 1.0;
                }
                let floor = if quotient == 0.0 {
                    $float::copysign(0.0, a / b)
                } else {
                    let down = quotient.floor();
                    if quotient - down > 0.5 { down + 1.0 } else { down }
                };
                (floor, rem)
            }

            /// The quotient of [`divmod`].
            pub extern "C" fn floordiv(a: $float, b: $float) -> $float {
                divmod(a, b).0
            }

            /// The remainder of [`divmod`].
            pub extern "C" fn mod_(a: $float, b: $float) -> $float {
                divmod(a, b).1
            }
        }
    };
}

of_float! {
    /// Real functions of `f64`.
    double, f64
}

of_float! {
    /// Real functions of `f32`.
    single, f32
}

/// The greater of two numbers minus the smaller, and the rounding error of that difference.
fn gap(x: f64, y: f64) -> (f64, f64) {
    let (greater, lesser) = if x > y { (x, y) } else { (y, x) };
    let gap = Dd::sum(greater, -lesser);
    (gap.hi, gap.lo)
}

/// `log(exp(x) + exp(y))` at both dtypes: at `f32`, rounded once.
fn logaddexp(x: f64, y: f64) -> f64 {
    if x == y {
        return x + std::f64::consts::LN_2;
    }
    if x.is_nan() || y.is_nan() {
        return x + y;
    }
    let (gap, rest) = gap(x, y);
    let ratio = nearest::exp(-gap);
    x.max(y) + if ratio > 0.0 { nearest::log1p(ratio - ratio * rest) } else { 0.0 }
}

/// `log2(exp2(x) + exp2(y))` at both dtypes: at `f32`, rounded once.
fn logaddexp2(x: f64, y: f64) -> f64 {
    if x == y {
        return x + 1.0;
    }
    if x.is_nan() || y.is_nan() {
        return x + y;
    }
    let (gap, rest) = gap(x, y);
    let ratio = nearest::exp2(-gap);
    x.max(y) + if ratio > 0.0 { pxfm::f_log2p1(ratio - ratio * rest * std::f64::consts::LN_2) } else { 0.0 }
}
