//! Functions of complex numbers, written like those of real ones; their parts are arguments and results.
//!
//! They are meant for `f64`; `c64` numbers are computed at `c128` and rounded. Special values follow C99,
//! Annex G, and NumPy if the annex leaves a sign open. They are computed unconditionally and selected.

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
        /// The function of one argument with the name of an op. `None` if it is not defined in this way.
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
fn turned<F: Real>(f: fn(Parts<F>) -> Parts<F>, [x, y]: Parts<F>) -> Parts<F> {
    let [re, im] = f([-y, x]);
    [im, -re]
}

/// A magnitude with the sign of a number; positive for NaN.
fn signed<F: Real>(magnitude: F, like: F) -> F {
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
    by: F,
    /// The inverse.
    back: F,
    /// The number of doublings from the square of a scaled number to that of the number.
    doublings: F,
}

impl<F: Real> Scaling<F> {
    fn of(size: F) -> Self {
        let power = |k: i32| size.of(2f64.powi(k));
        let (large, small) = (power(500).less(size), size.less(power(-500)));
        let pick = |of_large: F, of_small: F, usual: f64| of_large.or(large, of_small.or(small, size.of(usual)));
        Scaling {
            by: pick(power(-600), power(700), 1.0),
            back: pick(power(600), power(-700), 1.0),
            doublings: pick(size.of(1200.0), size.of(-1400.0), 0.0),
        }
    }
}
