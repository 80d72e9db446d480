//! The logarithm of the magnitude of the gamma function.
//!
//! For 2 + e with |e| up to 1/2, it is e times a polynomial. For 1 + e it is the value for 2 + e minus `log
//! (1 + e)`. For x below 1/2 it is the value for x + 2 minus `log (x (x + 1))`. From 2.5 on it is `(x - 1/2)
//! (log x - 1)` plus J. Stirling's series in 1 / x. For a negative number x it is `log (pi / (|x| |sin (pi
//! x)|))` minus the value for |x|.
//!
//! All terms that may cancel are sums of two numbers, so that the value is accurate near the zeros at 1 and
//! 2. Near the zeros at negative numbers the absolute error is up to about 2^-55 at `f64`, and 2^-26 at
//! `f32`.

use super::log::{log_parts, long_log};
use super::polynomials::{GAMMA_DOUBLE, GAMMA_SINGLE, SIN_PI_DOUBLE, SIN_PI_SINGLE, STIRLING_DOUBLE, STIRLING_SINGLE};
use super::sums::{quick_sum, series, sum};
use super::{Real, polynomial};

/// Constants that depend on the precision.
struct GammaConstants {
    /// 1 minus Euler's constant, in two parts: the slope at 2.
    slope: [f64; 2],
    near: &'static [f64],
    /// Half of `log (2 pi) - 1`, in two parts.
    constant: [f64; 2],
    far: &'static [f64],
    sine: &'static [f64],
    /// From here on all numbers are integers; up to twice this number, every integer is representable.
    whole: f64,
    /// Below this magnitude the value depends on the magnitude only.
    tiny: f64,
    /// Above this magnitude the value is infinite.
    most: f64,
}

const DOUBLE: GammaConstants = GammaConstants {
    slope: [0.42278433509846713, 4.942915152430645e-18],
    near: &GAMMA_DOUBLE,
    constant: [0.4189385332046727, 1.6728209650585413e-17],
    far: &STIRLING_DOUBLE,
    sine: &SIN_PI_DOUBLE,
    whole: 4503599627370496.0,
    tiny: 8.673617379884035e-19,
    most: 2.5599833278516383e305,
};

const SINGLE: GammaConstants = GammaConstants {
    slope: [0.42278432846069336, 6.637773886097875e-09],
    near: &GAMMA_SINGLE,
    constant: [0.418938547372818, -1.4168144879533884e-08],
    far: &STIRLING_SINGLE,
    sine: &SIN_PI_SINGLE,
    whole: 8388608.0,
    tiny: 9.313225746154785e-10,
    most: 4.085003108497519e36,
};

/// The value for 2 + e as a sum of two numbers, for |e| up to 1/2.
fn near_two<F: Real>(e: F, n: &GammaConstants) -> (F, F) {
    let [slope, slope_rest] = n.slope.map(|c| e.of(c));
    let head = e * slope;
    let rest = e.fma(slope_rest, e.fma(slope, -head));
    let (term, more) = series(e, e, n.near);
    let (near, lost) = quick_sum(head, term);
    (near, lost + (more + rest))
}

/// The value for a non-negative number, as a sum of two numbers.
fn positive<F: Real>(x: F, n: &GammaConstants) -> (F, F) {
    let [zero, half, one, two] = [0.0, 0.5, 1.0, 2.0].map(|c| x.of(c));
    let (first, second, near) = (x.less(half), x.less(x.of(1.5)), x.less(x.of(2.5)));
    // Below 2.5 these differences are exact.
    let base = near_two(x - zero.or(first, one.or(second, two)), n);
    // The argument of the logarithm: x, or x (x + 1).
    let product = x.fma(x, x).or(first, x);
    let product_rest = x.fma(x, x - product).or(first, zero);
    // Tiny numbers, whose inverse may be infinite, have no rounding error to correct. For huge numbers the
    // series is negligible, and its terms must not underflow.
    let inverse = one / x.of(x.at(1e60, 1e8)).min(product.max(x.of(x.at(1e-300, 1e-37))));
    let (log, log_rest) = long_log(product);
    let (log, lost) = quick_sum(log, zero.or(near, -one));
    let log_rest = product_rest.fma(inverse, log_rest + lost);
    // x - 1/2 in two parts, since the difference is rounded for large numbers.
    let less = x - half;
    let less_rest = (x - less) - half;
    let factor = (-one).or(second, zero.or(near, less));
    let term = factor * log;
    let term_rest = factor.fma(log_rest, factor.fma(log, -term));
    let [constant, constant_rest] = n.constant.map(|c| x.of(c));
    let (far, far_rest) = quick_sum(constant, inverse * polynomial(inverse * inverse, n.far));
    let far_rest = log.fma(less_rest, far_rest + constant_rest);
    let (base, base_rest) = (base.0.or(near, far), base.1.or(near, far_rest));
    let (value, lost) = sum(term, base);
    (value, lost + (term_rest + base_rest))
}

/// `log (pi / (x sin (pi d)))` as a sum of two numbers, where d is the distance from x to the nearest
/// integer.
fn reflection<F: Real>(x: F, d: F, n: &GammaConstants) -> (F, F) {
    // sin (pi d) / pi = d + d^3 S(d^2)
    let square = d * d;
    let lost_square = d.fma(d, -square);
    let (cube, more) = series(d, square, n.sine);
    let more = (lost_square * d).fma(d.of(n.sine[0]), more);
    let (sine, lost) = quick_sum(d, cube);
    let (sine, lost) = quick_sum(sine, lost + more);
    let product = x * sine;
    let rest = x.fma(lost, x.fma(sine, -product));
    let (log, log_rest) = log_parts(product, rest, None);
    (-log, -log_rest)
}

/// Logarithm of the magnitude of the gamma function. Infinite at its poles (0 and the negative integers) and
/// at both infinities.
pub fn lgamma<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let size = x.abs();
    let (value, rest) = positive(size, n);
    let (whole, limited) = (x.of(n.whole), size.min(x.of(n.whole)));
    let d = (limited - ((limited + whole) - whole)).abs();
    let (mirror, mirror_rest) = reflection(size, d, n);
    let (mirrored, lost) = sum(mirror, -value);
    let mirrored = mirrored + (lost + (mirror_rest - rest));
    let negative = x.less(x.of(-n.tiny));
    let value = mirrored.or(negative, value + rest);
    let pole = !x.of(0.0).less(x) & d.equal(x.of(0.0));
    let value = x.of(f64::INFINITY).or(pole | x.of(n.most).less(size), value);
    value.or(x.equal(x), x)
}
