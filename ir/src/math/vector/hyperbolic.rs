//! Hyperbolic functions and the logistic function: quotients and sums of exponentials known to more than one
//! number holds.

use super::Real;
use super::exp::{Growth, PART, exp_of_negative, growth, growth_by_quarters, part_of_expm1};
use super::log::log_of_sum;
use super::sums::{quick_sum, quotient, quotient_parts, root_parts, sum};

/// Hyperbolic tangent: `(e^2x - 1) / (e^2x + 1)`, of the magnitude.
pub fn tanh<F: Real>(x: F) -> F {
    // Beyond this the result is 1.
    let most = x.of(x.at(22.0, 10.0));
    let size = most.min(x.abs());
    let twice = size + size;
    // At `f32` the polynomial is short, and tables cost more than they gain.
    let Growth { scale, r, more } = if x.is_single() { growth(twice, 0.0) } else { growth_by_quarters(twice) };
    let power = scale.fma(r, scale);
    let (power, rest) = quick_sum(power, scale.fma(more, scale.fma(r, scale - power)));
    let plus = |c: F| {
        let sum = power + c;
        (sum, ((power - sum) + c) + rest)
    };
    let one = x.of(1.0);
    quotient(plus(-one), plus(one)).copysign(x)
}

/// A number's magnitude, clamped to a bound at which hyperbolic sine and cosine are infinite but
/// [`part_of_expm1`] is not.
fn to_the_end<F: Real>(x: F) -> F {
    x.of(x.at(710.5, 89.5)).min(x.abs())
}

/// Hyperbolic sine: half of `E + E / (E + 1)` for `E = e^x - 1`.
pub fn sinh<F: Real>(x: F) -> F {
    let size = to_the_end(x);
    // A part small enough that the inverse of `E + 1` is normal up to the bound.
    let part = part_of_expm1(size);
    let unit = x.of(PART);
    let (below, rest) = sum(part.0, unit);
    let (near, lack) = quotient_parts((part.0 * unit, part.1 * unit), (below, rest + part.1));
    let (half, lost) = quick_sum(part.0, near);
    let half = half + (lost + (part.1 + lack));
    let value = (half * x.of(0.5 / PART)).copysign(x);
    let tiny = x.of(x.at(1e-9, 1e-5));
    x.or(size.less(tiny), value)
}

/// Hyperbolic cosine: half of the sum of `e^x` and its inverse.
pub fn cosh<F: Real>(x: F) -> F {
    let part = part_of_expm1(to_the_end(x));
    let (near, rest) = sum(part.0, x.of(PART));
    // The inverse of a greater number is negligible beside it, and must not underflow.
    let most = x.of(x.at(2f64.powi(500), 2f64.powi(60)));
    let half = near + ((rest + part.1) + x.of(PART * PART) / most.min(near));
    half * x.of(0.5 / PART)
}

/// The hyperbolic sine and cosine of a magnitude up to 300, each as a sum of two numbers.
pub(super) fn of_magnitude<F: Real>(size: F) -> [(F, F); 2] {
    let (part, unit) = (part_of_expm1(size), size.of(PART));
    let (whole, rest) = sum(part.0, unit);
    let whole = (whole, rest + part.1);
    // `E / (E + 1)` and `1 / (E + 1)`, both times the unit.
    let sinking = quotient_parts((part.0 * unit, part.1 * unit), whole);
    let inverse = quotient_parts((unit * unit, size.of(0.0)), whole);
    let [(sinh, sinh_rest), cosh] = [(part, sinking), (whole, inverse)].map(|(a, b)| {
        let (near, lost) = quick_sum(a.0, b.0);
        let (near, rest) = quick_sum(near, lost + (a.1 + b.1));
        let half = size.of(0.5 / PART);
        (near * half, rest * half)
    });
    let tiny = size.less(size.of(size.at(1e-9, 1e-5)));
    [(size.or(tiny, sinh), size.of(0.0).or(tiny, sinh_rest)), cosh]
}

/// `1 / (1 + e^-x)`, or `e^x / (1 + e^x)` for negative x.
pub fn logistic<F: Real>(x: F) -> F {
    let (zero, one) = (x.of(0.0), x.of(1.0));
    let (power, k) = exp_of_negative(-x.abs());
    // The clamp keeps the power from underflow; it is negligible beside 1 in any case. The quotient is
    // scaled by all of k.
    let scale = one.scale(x.of(x.at(-500.0, -60.0)).max(k));
    let below = power.0.fma(scale, one);
    let rest = power.1.fma(scale, power.0.fma(scale, one - below));
    let negative = x.less(zero);
    let above = (power.0.or(negative, one), power.1.or(negative, zero));
    let value = quotient(above, (below, rest));
    // Far below 0 the result is 0, which is selected.
    let inside = !x.less(x.of(x.at(-746.0, -104.0)));
    value.scale(k.or(negative, zero)).or(inside, zero)
}

/// Inverse hyperbolic sine: the logarithm of `1 + x + x^2 / (1 + root)`, where root is that of `1 + x^2`.
/// Above `large` it is the logarithm of 2 x.
pub fn asinh<F: Real>(x: F) -> F {
    let (size, zero, one) = (x.abs(), x.of(0.0), x.of(1.0));
    let [tiny, large] = x.at([1e-9, 1e9], [1e-5, 1e5]).map(|c| x.of(c));
    let far = large.less(size);
    let square = size * size;
    let square_rest = size.fma(size, -square);
    let (below, rest) = sum(one, square);
    let (root, root_rest) = root_parts((below, rest + square_rest));
    let (below, rest) = sum(one, root);
    let (quotient, lack) = quotient_parts((square, square_rest), (below, rest + root_rest));
    let (more, rest) = quick_sum(size, quotient);
    let (u, lost) = sum(one, more);
    let (u, lost) = (size.or(far, u), zero.or(far, lost + (rest + lack)));
    let value = finite(size, log_of_sum(u, lost, Some(one.or(far, zero)))).copysign(x);
    x.or(size.less(tiny), value)
}

/// Inverse hyperbolic cosine: the logarithm of `1 + t + root` for t = x - 1, where root is that of `2 t +
/// t^2`. If `far`, it is the logarithm of 2 x.
pub fn acosh<F: Real>(x: F) -> F {
    let (zero, one) = (x.of(0.0), x.of(1.0));
    let far = x.of(x.at(1e9, 1e5)).less(x);
    let t = sum(x, -one);
    let square = t.0 * t.0;
    let twice = t.0 + t.0;
    let (below, rest) = sum(square, twice);
    let square_rest = t.0.fma(t.0, -square) + (twice + x.of(2.0)) * t.1;
    let (root, root_rest) = root_parts((below, rest + square_rest));
    let (more, rest) = sum(t.0, root);
    let (u, lost) = sum(one, more);
    let (u, lost) = (x.or(far, u), zero.or(far, lost + (rest + (root_rest + t.1))));
    let value = finite(x, log_of_sum(u, lost, Some(one.or(far, zero))));
    x.of(f64::NAN).or(x.less(one), value)
}

/// `value` for finite x; infinities and NaN stay.
fn finite<F: Real>(x: F, value: F) -> F {
    value.or(x.less(x.of(f64::INFINITY)), x)
}

/// Inverse hyperbolic tangent: half of the logarithm of `1 + 2 x / (1 - x)`.
pub fn atanh<F: Real>(x: F) -> F {
    let (size, zero, one) = (x.abs(), x.of(0.0), x.of(1.0));
    let (near, rest) = quotient_parts((size + size, zero), sum(one, -size));
    let (u, lost) = sum(one, near);
    let value = x.of(0.5) * log_of_sum(u, lost + rest, None);
    let value = x.of(f64::INFINITY).or(size.equal(one), value);
    let value = x.of(f64::NAN).or(one.less(size), value).copysign(x);
    let tiny = x.of(x.at(1e-9, 1e-5));
    x.or(size.less(tiny), value)
}
