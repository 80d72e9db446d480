//! Correctly rounded functions at `f64` and at `f32`, most of them from the crate `pxfm`. They implement the
//! real functions that [`vector`](super::vector) lacks, and are the reference in tests of its functions.
//!
//! The crate selects code with or without fused multiply-add at compile time and at run time. For correctly
//! rounded functions both agree, since there is only one nearest number. Functions that the crate does not
//! round correctly on some machine are computed here. At `f32` there are only those that real ops need.
//!
//! | functions | `f64` | `f32` |
//! |---|---|---|
//! | sin, cos, tan | pxfm | pxfm |
//! | exp2, expm1, log, log1p, acos, atanh, cosh, tanh | pxfm | |
//! | exp | pxfm; here where the result is subnormal | |
//! | asin, sinh, atan2 | pxfm, and the sign here | |
//! | hypot | here | |
//!
//! The only function with an error above half a unit in the last place is `hypot`: by less than a millionth
//! of a unit, if the exact value is that close to a midpoint of two numbers.

/// At `f64`.
pub(super) mod double {
    use crate::math::double_double::Dd;
    use crate::math::extended;

    #[cfg(test)]
    pub use pxfm::{f_acos as acos, f_atanh as atanh, f_cosh as cosh, f_expm1 as expm1, f_log as log, f_tanh as tanh};
    pub use pxfm::{f_cos as cos, f_exp2 as exp2, f_log1p as log1p, f_sin as sin, f_tan as tan};

    /// e to the power x; `f_exp` is wrong for about one in 40000 subnormal results.
    pub fn exp(x: f64) -> f64 {
        if x < -708.0 && x > -746.0 {
            return extended::exp_of_hundred_bits(Dd::new(x));
        }
        pxfm::f_exp(x)
    }

    /// Inverse sine. `f_asin` is several times slower for negative numbers.
    #[cfg(test)]
    pub fn asin(x: f64) -> f64 {
        pxfm::f_asin(x.abs()).copysign(x)
    }

    /// Hyperbolic sine; `f_sinh` loses the sign of zero.
    #[cfg(test)]
    pub fn sinh(x: f64) -> f64 {
        pxfm::f_sinh(x).copysign(x)
    }

    /// The angle of the point (x, y); `f_atan2` loses the sign of angles that underflow.
    #[cfg(test)]
    pub fn atan2(y: f64, x: f64) -> f64 {
        pxfm::f_atan2(y, x).copysign(y)
    }

    /// Square root of the sum of squares.
    #[cfg(test)]
    pub fn hypot(x: f64, y: f64) -> f64 {
        if x.is_infinite() || y.is_infinite() {
            return f64::INFINITY;
        }
        let greatest = x.abs().max(y.abs());
        if (1e-100..1e150).contains(&greatest) {
            return Dd::sum_of_squares(x, y).sqrt().value();
        }
        if greatest == 0.0 || x.is_nan() || y.is_nan() {
            return x.abs() + y.abs();
        }
        let k = libm::frexp(greatest).1;
        extended::round_scaled(Dd::sum_of_squares(libm::ldexp(x, -k), libm::ldexp(y, -k)).sqrt(), k)
    }
}

/// At `f32`.
pub(super) mod single {
    pub use pxfm::{f_cosf as cos, f_sinf as sin, f_tanf as tan};
}
