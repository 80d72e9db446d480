//! Square root.

use super::super::pair::Pair;
use super::{Parts, Real, Scaling, copysign_or_positive, is_infinite, is_nan};

/// Square root, in the right half plane. One part is the root of half of the sum of the length and the real
/// part's magnitude; the imaginary part, divided by twice that, gives the other.
pub fn sqrt<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    let (zero, infinity, nan) = (x.of(0.0), x.of(f64::INFINITY), x.of(f64::NAN));
    let (a, b) = (x.abs(), y.abs());
    // The root of a scale of 2^600 is one of 2^300.
    let scaling = Scaling::for_magnitude(a.max(b));
    let power = |k: i32| x.of(2f64.powi(k));
    let back =
        power(300).or(x.of(1.0).less(scaling.inverse), power(-350).or(scaling.inverse.less(x.of(1.0)), x.of(1.0)));
    let (near, far) = (a * scaling.scale, b * scaling.scale);
    let length = Pair::square(near).plus(Pair::square(far)).sqrt();
    let root = length.plus(Pair::new(near)).scale(x.of(0.5)).sqrt().scale(back);
    // Uses the original part: beside a large one it may underflow when it is scaled.
    let tiny = b.less(power(-700));
    let (up, down) = (power(300).or(tiny, x.of(1.0)), power(-300).or(tiny, x.of(1.0)));
    let other = (Pair::new(b * up) / root.scale(x.of(2.0))).value() * down;
    let right = !x.less(zero);
    let (re, im) = (root.value().or(right, other), other.or(right, root.value()));
    // Zero, infinities and NaN.
    let origin = a.equal(zero) & b.equal(zero);
    let (re, im) = (zero.or(origin, re), zero.or(origin, im));
    let (endless, unknown) = (is_infinite(x), is_nan(y));
    let (re, im) = (infinity.or(right, zero).or(endless, re), zero.or(right, infinity).or(endless, im));
    let (re, im) = (nan.or(is_nan(x) | (unknown & !(endless & right)), re), nan.or(is_nan(x) | unknown, im));
    // An infinite imaginary part for a real part of minus infinity stays infinite beside NaN.
    let im = infinity.or(unknown & endless & !right, im);
    let beyond = is_infinite(y);
    [infinity.or(beyond, re), copysign_or_positive(infinity.or(beyond, im), y)]
}
