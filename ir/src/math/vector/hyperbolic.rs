//! Hyperbolic functions and the logistic one: quotients and sums of exponentials that are known to more than one number can hold.

use super::Real;
use super::exp::{exp_of_negative, quarter_of_expm1};
use super::sums::{quick_sum, quotient, sum};

/// Hyperbolic tangent: `(e^2x - 1) / (e^2x + 1)`, of the magnitude.
pub fn tanh<F: Real>(x: F) -> F {
    let [tiny, most] = x.at([1e-8, 22.0], [1e-4, 10.0]).map(|c| x.of(c));
    let size = x.abs();
    // Beyond this the result is 1.
    let size = most.or(most.less(size), size);
    let quarter = quarter_of_expm1(size + size);
    let (below, rest) = sum(quarter.0, x.of(0.5));
    let value = quotient(quarter, (below, rest + quarter.1));
    x.or(size.less(tiny), value.copysign(x))
}

/// `1 / (1 + e^-x)`, or `e^x / (1 + e^x)` for negative x.
pub fn logistic<F: Real>(x: F) -> F {
    let one = x.of(1.0);
    let power = exp_of_negative(-x.abs());
    let (below, rest) = quick_sum(one, power.0);
    let negative = x.less(x.of(0.0));
    let above = (power.0.or(negative, one), power.1.or(negative, x.of(0.0)));
    quotient(above, (below, rest + power.1))
}
