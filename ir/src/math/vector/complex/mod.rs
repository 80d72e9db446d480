//! Functions of complex numbers, written as those of real ones are: their parts go in and come out.
//!
//! They are meant for `f64`; numbers of `c64` are computed at `c128` and rounded. Special values are those of C99, Annex G, and NumPy's
//! where that leaves a sign open: computed beside the others, and chosen.

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
        /// A function of one argument by the name of its op. `None` if it is not written in this way.
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

/// `-i f(iz)`: what a function of the hyperbola makes of one of the circle.
fn turned<F: Real>(f: fn(Parts<F>) -> Parts<F>, [x, y]: Parts<F>) -> Parts<F> {
    let [re, im] = f([-y, x]);
    [im, -re]
}

/// Neither infinite nor NaN.
/// A magnitude with the sign of a number, which of NaN is positive.
fn signed<F: Real>(magnitude: F, like: F) -> F {
    magnitude.copysign(like.or(like.equal(like), like.of(0.0)))
}

fn is_finite<F: Real>(x: F) -> F::Condition {
    x.abs().less(x.of(f64::INFINITY))
}

fn is_infinite<F: Real>(x: F) -> F::Condition {
    x.abs().equal(x.of(f64::INFINITY))
}

fn is_nan<F: Real>(x: F) -> F::Condition {
    !x.equal(x)
}

/// What numbers are multiplied by so that their squares neither overflow nor underflow, by the greater of their magnitudes.
struct Scaling<F> {
    by: F,
    /// The inverse.
    back: F,
    /// By how many doublings the logarithm of the square of what was scaled is less.
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
