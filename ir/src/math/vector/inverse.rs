//! Inverse trigonometric functions.

use super::polynomials::{ASIN_DOUBLE, ASIN_SINGLE, ATAN_DOUBLE, ATAN_SINGLE};
use super::sums::{quick_sum, quotient_parts, series, sum};
use super::{Real, polynomial};

/// pi / 2 in two parts.
const HALF_PI: [[f64; 2]; 2] =
    [[std::f64::consts::FRAC_PI_2, 6.123233995736766e-17], [1.5707963705062866, -4.371138828673793e-08]];

/// `x + x^3 P(x^2)` plus `base`, with x and `base` as sums of two numbers; `base` is greater than x or 0.
fn added<F: Real>(base: (F, F), x: (F, F), cube_series: F) -> F {
    let (near, lost) = quick_sum(base.0, x.0);
    near + (lost + (cube_series + (x.1 + base.1)))
}

/// Inverse tangent, with the argument reduced by its magnitude. Up to tan(pi / 8) it is that of x. Up to the
/// inverse of tan(pi / 8) it is pi / 4 plus that of `(x - 1) / (x + 1)`. Above, it is pi / 2 plus that of
/// `-1 / x`.
pub fn atan<F: Real>(x: F) -> F {
    let (size, zero, one) = (x.abs(), x.of(0.0), x.of(1.0));
    let [quarter, quarter_rest] = x.at(HALF_PI[0], HALF_PI[1]).map(|c| x.of(0.5 * c));
    let (low, high) = (x.of(0.414213562373095).less(size), x.of(2.414213562373095).less(size));
    let pick = |a: (F, F), b: (F, F), c: (F, F)| (c.0.or(high, b.0.or(low, a.0)), c.1.or(high, b.1.or(low, a.1)));
    let above = pick((size, zero), sum(size, -one), (-one, zero));
    let below = pick((one, zero), sum(size, one), (size, zero));
    let base = pick((zero, zero), (quarter, quarter_rest), (quarter + quarter, quarter_rest + quarter_rest));
    // The result is pi / 2 well before this bound. It prevents a division by infinity, and underflow of the
    // quotient's powers.
    let most = x.of(x.at(1e18, 1e9));
    let below = (most.min(below.0), below.1);
    let t = quotient_parts(above, below);
    let square = t.0 * t.0;
    let series = square * t.0 * polynomial(square, x.at(&ATAN_DOUBLE[..], &ATAN_SINGLE[..]));
    let value = added(base, t, series).copysign(x);
    let tiny = x.of(x.at(1e-9, 1e-5));
    x.or(size.less(tiny), value)
}

/// The angle of the point (x, y): a multiple of pi / 4 plus or minus the inverse tangent of a quotient, as
/// in [`atan`].
pub fn atan2<F: Real>(y: F, x: F) -> F {
    let (zero, one, two) = (x.of(0.0), x.of(1.0), x.of(2.0));
    let (a, b) = (x.abs(), y.abs());
    let swap = a.less(b);
    let (large, small) = (b.max(a), a.min(b));
    // Replaces infinities and the origin by points of the same angle.
    let infinity = x.of(f64::INFINITY);
    let far = large.equal(infinity);
    let small = one.or(small.equal(infinity), zero.or(far, small));
    let large = one.or(far | large.equal(zero), large);
    // Scales so that neither the inverse nor the rounding error of the quotient underflows.
    let [most, up, down] = x.at([400, 500, -100], [40, 60, -20]).map(|k| x.of(2f64.powi(k)));
    let scale = up.or(large.less(most), down);
    let (large, small) = (large * scale, small * scale);
    let middle = (x.of(0.414213562373095) * large).less(small);
    let (above, below) = (sum(small, -large), sum(small, large));
    let pick = |a: (F, F), b: (F, F)| (a.0.or(middle, b.0), a.1.or(middle, b.1));
    let t = quotient_parts(pick(above, (small, zero)), pick(below, (large, zero)));
    // The angle is `count` times pi / 4, plus or minus the inverse tangent of t.
    let negative = one.copysign(x).less(zero);
    let count = one.or(middle, zero);
    let count = (two - count).or(swap, count);
    let count = (x.of(4.0) - count).or(negative, count);
    let sign = (-one).or(swap, one) * one.copysign(x);
    let square = t.0 * t.0;
    let series = square * t.0 * polynomial(square, x.at(&ATAN_DOUBLE[..], &ATAN_SINGLE[..]));
    let [quarter, quarter_rest] = x.at(HALF_PI[0], HALF_PI[1]).map(|c| x.of(0.5 * c));
    let base = count * quarter;
    let base = (base, count.fma(quarter_rest, count.fma(quarter, -base)));
    let value = added(base, (sign * t.0, sign * t.1), sign * series).copysign(y);
    value.or(x.equal(x) & y.equal(y), x + y)
}

/// For magnitudes up to 1/2 the inverse sine, above it half of the inverse cosine: as a sum of two numbers,
/// and the terms from the third power on.
struct Arc<F: Real> {
    whole: (F, F),
    series: (F, F),
    /// Whether it is half of the inverse cosine.
    halved: F::Condition,
}

fn arc<F: Real>(size: F) -> Arc<F> {
    let (zero, half) = (size.of(0.0), size.of(0.5));
    let halved = half.less(size);
    // cos 2a = 1 - 2 sin^2 a
    let square = half.fma(-size, half).or(halved, size * size);
    let root = square.sqrt();
    // At 1 the root is 0, without a rounding error.
    let twice = size.of(1.0).or(square.equal(zero), root + root);
    let lost = (-root).fma(root, square) / twice;
    let whole = (root.or(halved, size), lost.or(halved, zero));
    let series = series(whole.0, square, size.at(&ASIN_DOUBLE[..], &ASIN_SINGLE[..]));
    Arc { whole, series, halved }
}

/// Inverse sine; above 1/2, pi / 2 minus the inverse cosine.
pub fn asin<F: Real>(x: F) -> F {
    let [turn, turn_rest] = x.at(HALF_PI[0], HALF_PI[1]).map(|c| x.of(c));
    let Arc { whole, series, halved } = arc(x.abs());
    let rest = whole.1 + series.1;
    let (near, near_lost) = quick_sum(whole.0, series.0);
    let near = near + (near_lost + rest);
    let (large, lost) = quick_sum(turn, -(whole.0 + whole.0));
    let (large, more_lost) = quick_sum(large, -(series.0 + series.0));
    let far = large + ((lost + more_lost) + (turn_rest - (rest + rest)));
    let value = far.or(halved, near).copysign(x);
    let tiny = x.of(x.at(1e-9, 1e-5));
    x.or(x.abs().less(tiny), value)
}

/// Inverse cosine; up to 1/2, pi / 2 minus the inverse sine.
pub fn acos<F: Real>(x: F) -> F {
    let [turn, turn_rest] = x.at(HALF_PI[0], HALF_PI[1]).map(|c| x.of(c));
    let zero = x.of(0.0);
    let Arc { whole, series, halved } = arc(x.abs());
    let arc_rest = whole.1 + series.1;
    let negative = x.less(zero);
    let signed = |c: F| (-c).or(negative, c);
    let middle = {
        let (near, lost) = quick_sum(turn, -signed(whole.0));
        let (near, more_lost) = quick_sum(near, -signed(series.0));
        near + ((lost + more_lost) + (turn_rest - signed(series.1)))
    };
    let (whole, lost) = quick_sum(whole.0, series.0);
    let rest = arc_rest + lost;
    let (large, small) = (whole + whole, rest + rest);
    // For negative numbers, pi minus the result for the magnitude.
    let (near, lost) = quick_sum(turn + turn, -large);
    let end = (near + (lost + ((turn_rest + turn_rest) - small))).or(negative, large + small);
    end.or(halved, middle)
}
