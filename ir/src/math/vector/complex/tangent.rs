//! Hyperbolic and trigonometric tangents.

use super::super::pair::Pair;
use super::super::{exp, hyperbolic, trig};
use super::{Parts, Real, copysign_or_positive, is_finite, is_infinite, is_nan, rotated_by_i};

/// The bound from which the hyperbolic tangent of real numbers is 1.
const FAR: f64 = 20.0;

/// Hyperbolic tangent: `(sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y)`.
pub fn tanh<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    let (zero, one, nan) = (x.of(0.0), x.of(1.0), x.of(f64::NAN));
    let size = x.abs();
    let [sine, cosine] = trig::of_magnitude(y);
    let [sinh, cosh] = hyperbolic::of_magnitude(size.min(x.of(FAR))).map(Pair::from);
    let below = (sinh * sinh).plus(cosine * cosine);
    let circle = sine * cosine;
    let (re, im) = ((sinh * cosh / below).value(), (circle / below).value());
    // Far from 0 the imaginary part is `4 e^-2x sin y cos y`.
    let far = x.of(FAR).less(size);
    let of_far = x.of(4.0) * circle.value() * exp::exp(x.of(-2.0) * size);
    let (re, im) = (one.or(far, re), of_far.or(far, im));
    // Sets the signs of the parts, also those of zeros.
    let (re, im) = (re.copysign(x), (im.abs().copysign(im * one.copysign(y))));
    let im = y.or(y.equal(zero), im);
    // Arguments with an infinite or NaN part.
    let unknown = is_nan(x) | !is_finite(y);
    let re = x.or(x.equal(zero), nan).or(unknown, re);
    let im = y.or(y.equal(zero), nan).or(unknown, im);
    let endless = is_infinite(x);
    let aim = circle.value() * one.copysign(y);
    let aim = aim.or(is_finite(y), y);
    [one.copysign(x).or(endless, re), copysign_or_positive(zero, aim).or(endless, im)]
}

/// Tangent.
pub fn tan<F: Real>(z: Parts<F>) -> Parts<F> {
    rotated_by_i(tanh, z)
}
