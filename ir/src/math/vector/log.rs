//! Logarithms.
//!
//! [`log`] uses a table and no division. The other functions split x = 2^k (1 + f), with 1 + f between the
//! roots of 1/2 and 2. With `s = f / (2 + f)`, `log (1 + f)` is `2 artanh s`, that is `f - f^2 / 2 + s (f^2
//! / 2 + R(s^2))`. The large terms, `k log 2` and `f - f^2 / 2`, are summed exactly. Source: P. Tang,
//! "Table-driven implementation of the logarithm function in IEEE floating-point arithmetic", ACM TOMS
//! 16(4), 1990.

use super::operations::{exponent_field, lifted};
use super::polynomials::{
    LOG_DOUBLE, LOG_INVERSES, LOG_NEAR_1_DOUBLE, LOG_NEAR_1_SINGLE, LOG_SINGLE, LOG_TABLE, LONG_LOG_DOUBLE,
    LONG_LOG_SINGLE,
};
use super::sums::{quick_sum, quotient_parts, sum};
use super::{Bits, Layout, Real, polynomial};

/// Constants that depend on the precision.
struct LogConstants {
    series: &'static [f64],
    /// The coefficients of a longer series, from the second on.
    long_series: &'static [f64],
    /// The bits of the root of 1/2.
    root_half: u64,
}

const DOUBLE: LogConstants =
    LogConstants { series: &LOG_DOUBLE, long_series: &LONG_LOG_DOUBLE, root_half: 0x3fe6_a09e_667f_3bcd };

const SINGLE: LogConstants =
    LogConstants { series: &LOG_SINGLE, long_series: &LONG_LOG_SINGLE, root_half: 0x3f35_04f3 };

/// log 2 as a sum: the first part is short enough that its product with k is exact.
pub(super) const LN_2: [[f64; 2]; 2] =
    [[0.6931471805598903, 5.497923018708371e-14], [0.693145751953125, 1.428606765330187e-06]];

/// A base: the logarithm of 2 to this base, in two parts as above, and the factor of natural logarithms, in
/// two parts.
pub(super) struct Base {
    of_two: [[f64; 2]; 2],
    pub factor: [[f64; 2]; 2],
}

pub(super) const TWO: Base = Base {
    of_two: [[1.0, 0.0]; 2],
    factor: [[std::f64::consts::LOG2_E, 2.0355273740931033e-17], [1.4426950216293335, 1.925963033500011e-08]],
};

pub(super) const TEN: Base = Base {
    of_two: [[0.30102999566395283, 2.8363394551044964e-14], [0.301025390625, 4.605039066518657e-06]],
    factor: [[std::f64::consts::LOG10_E, 1.098319650216765e-17], [0.4342944920063019, -1.0103049952192578e-08]],
};

/// A positive number as 2^k (1 + f).
struct Split<F> {
    k: F,
    f: F,
}

fn split<F: Real>(x: F, n: &LogConstants) -> Split<F> {
    let layout = Layout::of(x.is_single());
    let (bits, subnormal) = lifted(x, layout);
    let Split { k, f } = split_normal(bits.real(), n);
    Split { k: k - x.of(layout.lift.into()).or(subnormal, x.of(0.0)), f }
}

fn split_normal<F: Real>(x: F, n: &LogConstants) -> Split<F> {
    let (bits, layout) = (x.bits(), Layout::of(x.is_single()));
    let turned = bits + bits.of((layout.bias << layout.mantissa) - n.root_half);
    let k = exponent_field(x, turned, layout);
    let m = (turned & bits.of((1 << layout.mantissa) - 1)) + bits.of(n.root_half);
    Split { k, f: m.real() - x.of(1.0) }
}

/// `log (1 + f)` as a sum of two numbers.
fn log_of_one_plus<F: Real>(f: F, n: &LogConstants) -> (F, F) {
    let s = f / (f.of(2.0) + f);
    let square = s * s;
    let half = f.of(-0.5) * f;
    let head = half.fma(f, f);
    let rest = half.fma(f, f - head);
    (head, s.fma(square.fma(polynomial(square, n.series), -(half * f)), rest))
}

/// `value` for positive, finite x, and the limits and NaN elsewhere.
fn anywhere<F: Real>(x: F, pole: F, value: F) -> F {
    let finite = value.or(x.less(x.of(f64::INFINITY)), x);
    let not_pole = x.of(f64::NEG_INFINITY).or(x.equal(pole), finite);
    x.of(f64::NAN).or(x.less(pole), not_pole)
}

/// Natural logarithm. With x = 2^k m, m from 3/4 to 3/2, and r close to the inverse of m, `log x = k log 2 -
/// log r + log (1 + f)` for `f = m r - 1`. r is chosen so that few bits represent its logarithm precisely.
/// The first two terms and the high bits of f are summed exactly. Near 1, where results are small, r is 1.
/// For zeros and infinity k is the result, and the other terms are finite.
pub fn log<F: Real>(x: F) -> F {
    let m = x.significand();
    let k = x.exponent(m);
    let part = m.bits().shr(Layout::of(x.is_single()).mantissa - 4);
    let (inverse, log) = (part.choose(&LOG_INVERSES), part.choose(&LOG_TABLE));
    let f = m.fma(inverse, x.of(-1.0));
    // Rounds f to a multiple at which its sums with `log` and with multiples of `ln2` are exact.
    let coarse = x.of(x.at(1536.0, 96.0));
    let head = (f + coarse) - coarse;
    let [ln2, ln2_rest] = x.at(LN_2[0], LN_2[1]).map(|c| x.of(c));
    let near = k.fma(ln2, log) + head;
    let series = polynomial(f, x.at(&LOG_NEAR_1_DOUBLE[..], &LOG_NEAR_1_SINGLE[..]));
    near + (f * f).fma(series, k.fma(ln2_rest, f - head))
}

/// Logarithm of a sum of two numbers, at least the smallest normal number, times 2 to the power of
/// `doublings`.
pub(super) fn log_of_sum<F: Real>(u: F, lack: F, doublings: Option<F>) -> F {
    let (near, rest) = log_parts(u, lack, doublings);
    near + rest
}

/// That logarithm as a sum of two numbers.
pub(super) fn log_parts<F: Real>(u: F, lack: F, doublings: Option<F>) -> (F, F) {
    let n = u.at(&DOUBLE, &SINGLE);
    let Split { k, f } = split_normal(u, n);
    let k = doublings.map_or(k, |more| k + more);
    let (head, tail) = log_of_one_plus(f, n);
    let [ln2, ln2_rest] = u.at(LN_2[0], LN_2[1]).map(|c| u.of(c));
    let (near, lost) = quick_sum(k * ln2, head);
    (near, lost + (k.fma(ln2_rest, tail) + lack / u))
}

/// Natural logarithm of a positive number as a sum of two numbers, with a relative error of about 2^-65 at
/// `f64`, 2^-36 at `f32`.
pub(super) fn long_log<F: Real>(x: F) -> (F, F) {
    let n = x.at(&DOUBLE, &SINGLE);
    let Split { k, f } = split(x, n);
    let two = x.of(2.0);
    let s = quotient_parts((f, x.of(0.0)), quick_sum(two, f));
    // The square and the cube of s.
    let square = s.0 * s.0;
    let square_rest = s.0.fma(s.0, -square) + two * s.0 * s.1;
    let cube = square * s.0;
    let cube_rest = square.fma(s.0, -cube) + square_rest.fma(s.0, square * s.1);
    // log (1 + f) = 2 s + s^3 (2/3 + s^2 M(s^2)), with M(0) = 2/5
    let [two_thirds, two_thirds_rest] = x.at(TWO_THIRDS[0], TWO_THIRDS[1]).map(|c| x.of(c));
    let (factor, lost) = quick_sum(two_thirds, square * polynomial(square, n.long_series));
    let factor_rest = square_rest.fma(x.of(0.4), lost + two_thirds_rest);
    let third = cube * factor;
    let third_rest = cube.fma(factor, -third) + cube.fma(factor_rest, cube_rest * factor);
    let (head, lost) = quick_sum(two * s.0, third);
    let rest = lost + two.fma(s.1, third_rest);
    let [ln2, ln2_rest] = x.at(LN_2[0], LN_2[1]).map(|c| x.of(c));
    let (near, lost) = quick_sum(k * ln2, head);
    quick_sum(near, lost + k.fma(ln2_rest, rest))
}

const TWO_THIRDS: [[f64; 2]; 2] =
    [[0.6666666666666666, 3.700743415417188e-17], [0.6666666865348816, -1.986821492305628e-08]];

/// Logarithm of 1 plus x: that of the rounded sum, plus the rounding error divided by the sum.
pub fn log1p<F: Real>(x: F) -> F {
    let (u, lack) = sum(x.of(1.0), x);
    let value = log_of_sum(u, lack, None);
    let tiny = x.of(x.at(f64::EPSILON, f32::EPSILON.into()) / 4.0);
    x.or(x.abs().less(tiny), anywhere(x, x.of(-1.0), value))
}

fn log_to_base<F: Real>(x: F, base: &Base) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let Split { k, f } = split(x, n);
    let (head, tail) = log_of_one_plus(f, n);
    let [of_two, of_two_rest] = x.at(base.of_two[0], base.of_two[1]);
    let [factor, factor_rest] = x.at(base.factor[0], base.factor[1]).map(|c| x.of(c));
    let product = head * factor;
    let rest = tail.fma(factor, head.fma(factor_rest, head.fma(factor, -product)));
    // To base 2 the logarithm of 2 is 1, without a second part.
    let (whole, rest) = if of_two_rest == 0.0 { (k, rest) } else { (k * x.of(of_two), k.fma(x.of(of_two_rest), rest)) };
    let (near, lost) = quick_sum(whole, product);
    anywhere(x, x.of(0.0), near + (lost + rest))
}

/// Logarithm to base 2.
pub fn log2<F: Real>(x: F) -> F {
    log_to_base(x, &TWO)
}

/// Logarithm to base 10.
pub fn log10<F: Real>(x: F) -> F {
    log_to_base(x, &TEN)
}
