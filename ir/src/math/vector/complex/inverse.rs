//! Inverse trigonometric and hyperbolic functions.
//!
//! Inverse sine and cosine follow T. E. Hull, T. F. Fairgrieve, P. T. P. Tang, "Implementing the complex
//! arcsine and arccosine functions using exception handling", ACM TOMS 23(3), 1997, with intermediate
//! results as sums of two numbers. Branch cuts follow W. Kahan, "Branch cuts for complex elementary
//! functions, or much ado about nothing's sign bit", 1987.

use super::super::pair::Pair;
use super::super::{inverse, log};
use super::{Parts, Real, Scaling, copysign_or_positive, is_infinite, is_nan, rotated_by_i};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// pi minus its `f64` value.
const PI_LOW: f64 = 1.2246467991473532e-16;

/// The function whose real part is computed.
#[derive(Clone, Copy, PartialEq)]
enum Angle {
    /// The inverse sine.
    Asin,
    /// The inverse cosine: pi / 2 minus the inverse sine, but accurate near 0.
    Acos,
}

/// The angle of (x, y), each a sum of two numbers.
fn atan2<F: Real>(y: Pair<F>, x: Pair<F>) -> F {
    let near = inverse::atan2(y.hi, x.hi);
    let turn = (y.lo * x.hi - x.lo * y.hi) / x.hi.fma(x.hi, y.hi * y.hi);
    let usual = turn.abs().less(turn.of(f64::INFINITY)) & !turn.equal(turn.of(0.0));
    (near + turn).or(usual, near)
}

/// For finite x and y in the first quadrant: the angle, and the imaginary part of the inverse sine. The
/// inverse cosine has minus that imaginary part.
fn arcs<F: Real>(x: F, y: F, asked: Angle) -> Parts<F> {
    let number = |c: f64| x.of(c);
    let (half, one) = (number(0.5), number(1.0));
    // Special cases: far from the origin; near the real axis; x = 1 with a y whose square is negligible.
    let far = number(1e17).less(x.max(y));
    let on_axis = y.less(number(1e-9) * (x - one).abs());
    let at_one = x.equal(one) & y.less(number(1e-18));
    let left = x.less(one);

    let (below, above) = (Pair::sum(one, -x), Pair::sum(one, x));
    let gap = below.or(left, -below);
    let square = Pair::square(y);
    let r = (above * above).plus(square).sqrt();
    let s = (gap * gap).plus(square).sqrt();
    let a = r.plus(s).scale(half);
    let b = Pair::new(x) / a;
    let from_right = square / r.plus(above);
    // `s - (1 - x)` and `s + (1 - x)` without cancellation, on both sides of x = 1.
    let sum = s.plus(gap);
    let rest = square / sum;
    let (s_minus, s_plus) = (rest.or(left, sum), sum.or(left, rest));

    // The imaginary part is a logarithm: of 1 plus a small term, of a sum, or far from the origin of twice
    // the length.
    let small = !number(1.5).less(a.hi);
    let excess = from_right.plus(s_minus).scale(half);
    let radicand = (excess * a.plus(Pair::new(one))).or(small, a * a - Pair::new(one));
    let radicand = (gap * above).or(on_axis, radicand);
    let root = radicand.sqrt();
    let more = root.plus(gap).or(on_axis, excess.plus(root));
    let near = Pair::sum(one, more.hi);
    let near = Pair { hi: near.hi, lo: near.lo + more.lo };
    let scaling = Scaling::for_magnitude(x.max(y));
    let length = Pair::square(x * scaling.scale).plus(Pair::square(y * scaling.scale));
    let of = length.or(far, near.or(small | on_axis, a.plus(root)));
    let log = log::log_of_sum(of.hi, of.lo, Some((scaling.log2_inverse_squared + number(2.0)).or(far, number(0.0))));
    let im = (half * log).or(far, log);
    let sunk = (Pair::new(y) / root).value();
    let height = y.sqrt();
    let im = sunk.or(on_axis & left, im);
    let im = height.or(at_one, im);

    // The real part is an inverse sine or cosine, or the angle of a point. On the axis beyond 1 it is a
    // first-order term.
    let wide = !(b.hi.less(number(0.6)) | b.hi.equal(number(0.6)));
    let flank = a.plus(Pair::new(x)) * from_right.plus(s_plus);
    let flank = flank.scale(half).sqrt();
    let flank = Pair::new(y).or(far, flank);
    let inside = on_axis & left;
    let point = x.or(inside, b.hi);
    let slope = (one - b.hi * b.hi).sqrt();
    let turn = number(0.0).or(inside, b.lo / slope);
    let usual = far | (wide & !inside);
    let beyond = (on_axis & !left & !far) | at_one;
    let first_order = height.or(at_one, sunk);
    let angle = match asked {
        Angle::Asin => {
            let angle = atan2(Pair::new(x), flank).or(usual, inverse::asin(point) + turn);
            (number(FRAC_PI_2) - first_order).or(beyond, angle)
        }
        Angle::Acos => {
            let angle = atan2(flank, Pair::new(x)).or(usual, inverse::acos(point) - turn);
            first_order.or(beyond, angle)
        }
    };
    [angle, im]
}

/// Gives the imaginary part the sign of the argument's.
fn odd<F: Real>([re, im]: Parts<F>, [_, y]: Parts<F>) -> Parts<F> {
    [re, copysign_or_positive(im, y)]
}

/// Inverse cosine.
pub fn acos<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    let (zero, infinity, nan) = (x.of(0.0), x.of(f64::INFINITY), x.of(f64::NAN));
    let [angle, im] = arcs(x.abs(), y.abs(), Angle::Acos);
    let negative = x.of(1.0).copysign(x).less(zero);
    let re = ((x.of(PI) - angle) + x.of(PI_LOW)).or(negative, angle);
    let (wide, high) = (is_infinite(x), is_infinite(y));
    let diagonal = x.of(3.0 * FRAC_PI_4).or(negative, x.of(FRAC_PI_4));
    let flat = x.of(PI).or(negative, zero);
    let re = x.of(FRAC_PI_2).or(high | x.equal(zero), re);
    let re = diagonal.or(high, flat).or(wide, re);
    let re = nan.or((is_nan(y) & !x.equal(zero)) | is_nan(x), re);
    let im = nan.or(is_nan(x) | is_nan(y), im);
    [re, -copysign_or_positive(infinity.or(wide | high, im), y)]
}

/// Inverse hyperbolic cosine.
pub fn acosh<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    let [re, im] = acos([x, y]);
    [im.abs(), copysign_or_positive(re, y)]
}

/// Inverse hyperbolic sine.
pub fn asinh<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    let (zero, infinity, nan) = (x.of(0.0), x.of(f64::INFINITY), x.of(f64::NAN));
    let [angle, re] = arcs(y.abs(), x.abs(), Angle::Asin);
    let (wide, high) = (is_infinite(x), is_infinite(y));
    let im = x.of(FRAC_PI_2).or(high, angle);
    let im = x.of(FRAC_PI_4).or(high, zero).or(wide, im);
    let (x_unknown, y_unknown) = (is_nan(x), is_nan(y));
    let im = nan.or(y_unknown | x_unknown, im);
    let im = zero.or(x_unknown & y.equal(zero), im);
    let re = nan.or(x_unknown | y_unknown, re);
    [copysign_or_positive(infinity.or(wide | high, re), x), copysign_or_positive(im, y)]
}

/// Inverse hyperbolic tangent: `log1p(4x / ((1 - x)^2 + y^2)) / 4` and `atan2(2y, (1 - x)(1 + x) - y^2) /
/// 2`, for x of at least 0.
pub fn atanh<F: Real>(z: Parts<F>) -> Parts<F> {
    let [x, y] = z.map(F::abs);
    let number = |c: f64| x.of(c);
    let (zero, one, nan) = (number(0.0), number(1.0), number(f64::NAN));
    let (below, above) = (Pair::sum(one, -x), Pair::sum(one, x));
    // Treats a y as 0 that is negligible beside 1; its square might underflow where x is 1.
    let low = y.less(number(1e-140));
    let square = Pair::new(zero).or(low, Pair::square(y));
    let distance = (below * below).plus(square);
    let at_one = distance.hi.equal(zero);
    let more = Pair::new(number(4.0) * x) / distance;
    let near = Pair::sum(one, more.hi);
    // Where x is 1 and y negligible, the logarithm is half of that of 2 / y, with y scaled since it may be
    // subnormal.
    let lift = 600;
    let hi = (y * number(2f64.powi(lift))).or(at_one, near.hi);
    let lo = zero.or(at_one, near.lo + more.lo);
    let log = log::log_of_sum(hi, lo, Some(number(f64::from(-lift - 1)).or(at_one, zero)));
    let re = log * number(-0.5).or(at_one, number(0.25));
    let re = number(f64::INFINITY).or(at_one & y.equal(zero), re);
    let im = number(0.5) * atan2(Pair::new(y + y), below * above - square);
    // Small numbers are their own result; far from the origin it is x / |z|^2, computed in an order that
    // does not overflow.
    let small = x.max(y).less(number(1e-17));
    let (re, im) = (x.or(small, re), y.or(small, im));
    let (far, flat) = (number(1e17).less(x.max(y)), y.less(x));
    let ratio = (y / x).or(flat, x / y);
    let half = number(0.5);
    let above = half * one.or(flat, ratio);
    let of_far = above / ((half * x) + (half * y) * ratio).or(flat, half * y + (half * x) * ratio);
    let (re, im) = (of_far.or(far, re), number(FRAC_PI_2).or(far, im));
    // Arguments with an infinite or NaN part.
    let endless = is_infinite(x) | is_infinite(y);
    let unknown = is_nan(x) | is_nan(y);
    let re = zero.or(x.equal(zero), nan).or(unknown, re);
    let im = nan.or(unknown, im);
    let re = zero.or(endless, re);
    let im = nan.or(is_nan(y), number(FRAC_PI_2)).or(endless, im);
    [copysign_or_positive(re, z[0]), copysign_or_positive(im, z[1])]
}

/// Inverse sine.
pub fn asin<F: Real>(z: Parts<F>) -> Parts<F> {
    odd(rotated_by_i(asinh, z), z)
}

/// Inverse tangent.
pub fn atan<F: Real>(z: Parts<F>) -> Parts<F> {
    odd(rotated_by_i(atanh, z), z)
}
