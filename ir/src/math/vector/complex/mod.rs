//! Elementary functions of complex numbers, generic over [`Real`] like those of real numbers. A complex
//! number is a pair of its parts.
//!
//! They are meant for `f64`; `c64` numbers are computed at `c128` and rounded. Special values follow C99,
//! Annex G, and NumPy if the annex leaves a sign open. The code has no branches: it computes special values
//! for all arguments, and selects.

mod exponential;
mod inverse;
mod logarithm;
mod power;
mod roots;
mod tangent;

pub use power::{MOST_FACTORS, constant_power, power};

use super::Real;

/// A complex number's real and imaginary part.
pub type Parts<F> = [F; 2];

macro_rules! functions {
    ($($module:ident: $($name:ident)*;)*) => {
        /// The function of one argument that implements the op `name`; `None` if there is none here.
        pub fn unary<F: Real>(name: &str) -> Option<fn(Parts<F>) -> Parts<F>> {
            match name {
                $($(stringify!($name) => Some($module::$name),)*)*
                _ => None,
            }
        }

        $($(pub(in crate::math) use $module::$name;)*)*
    };
}

functions! {
    exponential: exp exp2 expm1 cosh sinh cos sin;
    tangent: tanh tan;
    logarithm: log log2 log10 log1p;
    inverse: acos acosh asin asinh atan atanh;
    roots: sqrt;
}

/// `-i f(iz)`: turns a hyperbolic function into a trigonometric one.
fn rotated_by_i<F: Real>(f: fn(Parts<F>) -> Parts<F>, [x, y]: Parts<F>) -> Parts<F> {
    let [re, im] = f([-y, x]);
    [im, -re]
}

/// A magnitude with the sign of a number; positive for NaN.
fn copysign_or_positive<F: Real>(magnitude: F, like: F) -> F {
    magnitude.copysign(like.or(like.equal(like), like.of(0.0)))
}

/// Neither infinite nor NaN.
fn is_finite<F: Real>(x: F) -> F::Condition {
    x.abs().less(x.of(f64::INFINITY))
}

fn is_infinite<F: Real>(x: F) -> F::Condition {
    x.abs().equal(x.of(f64::INFINITY))
}

fn is_nan<F: Real>(x: F) -> F::Condition {
    !x.equal(x)
}

/// A power of 2 that scales numbers so that their squares neither overflow nor underflow, chosen by the
/// greater magnitude.
struct Scaling<F> {
    scale: F,
    /// `1 / scale`.
    inverse: F,
    /// `log2 (inverse^2)`: the number of doublings from the square of a scaled number to that of the number.
    log2_inverse_squared: F,
}

impl<F: Real> Scaling<F> {
    fn for_magnitude(size: F) -> Self {
        let power = |k: i32| size.of(2f64.powi(k));
        let (large, small) = (power(500).less(size), size.less(power(-500)));
        let pick = |of_large: F, of_small: F, usual: f64| of_large.or(large, of_small.or(small, size.of(usual)));
        Scaling {
            scale: pick(power(-600), power(700), 1.0),
            inverse: pick(power(600), power(-700), 1.0),
            log2_inverse_squared: pick(size.of(1200.0), size.of(-1400.0), 0.0),
        }
    }
}
