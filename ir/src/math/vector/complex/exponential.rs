//! Complex exponentials, and trigonometric and hyperbolic sines and cosines, as products of real functions.

use super::super::trig::{self, Long};
use super::super::{exp, hyperbolic};
use super::{Parts, Real, is_finite, is_infinite, is_nan, rotated_by_i};

/// A real exponential, and the bound above which it overflows.
pub(super) struct Power<F> {
    of: fn(F) -> F,
    most: f64,
}

/// To base e.
pub(super) fn natural<F: Real>() -> Power<F> {
    Power { of: exp::exp, most: 709.0 }
}

impl<F: Real> Power<F> {
    /// The products of the power with each part, at most 1 in magnitude, and the power. Unless `whole`, a
    /// power that would overflow is multiplied in two halves.
    fn times(&self, x: F, parts: Parts<F>, whole: F::Condition) -> (Parts<F>, F) {
        let great = x.of(self.most).less(x) & is_finite(x) & !whole;
        let power = (self.of)((x * x.of(0.5)).or(great, x));
        let products = parts.map(|part| {
            let once = power * part;
            (once * power).or(great, once)
        });
        (products, power)
    }

    /// The complex power at (x, y); `circle` has the cosine and the sine of y.
    pub(super) fn at(&self, [x, y]: Parts<F>, circle: Parts<F>) -> Parts<F> {
        let zero = x.of(0.0);
        let real = y.equal(zero);
        let ([re, im], power) = self.times(x, circle, real);
        let aimless = !is_finite(y);
        let vanishes = aimless & x.equal(x.of(f64::NEG_INFINITY));
        let im = x.of(-0.0).or(y.less(zero), zero).or(vanishes, im);
        [power.or(aimless & is_infinite(x), re), y.or(real, im)]
    }
}

/// e to the power z.
pub fn exp<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    natural().at([x, y], [trig::cos(y), trig::sin(y)])
}

/// 2 to the power z, for imaginary parts up to 1e15. The angle is known to some 105 bits. A part is accurate
/// unless it is so small that further bits of the angle matter.
pub fn exp2<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    let [ln2, ln2_rest] = [std::f64::consts::LN_2, 2.3190468138462996e-17].map(|c| x.of(c));
    let angle = y * ln2;
    let rest = y.fma(ln2_rest, y.fma(ln2, -angle));
    let [re, im] = Power { of: exp::exp2, most: 1023.0 }.at([x, y], circle(angle, rest));
    // A subnormal angle would be rounded to few bits before the multiplication.
    let tiny = y.abs().less(x.of(1e-290)) & !y.equal(x.of(0.0));
    let half = exp::exp2(x.of(0.5) * x);
    [re, (half * y * half * ln2).or(tiny, im)]
}

/// e to the power z, minus 1. The real part cancels along curves through 0 and the multiples of 2 pi i. With
/// `v = 2 sin^2 (y / 2)` and `g = e^x - 1` it is `g - v (1 + g)`. Both are known to at least 73 bits, for
/// imaginary parts up to 1e6.
pub fn expm1<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    let [least, most] = [-60.0, 30.0].map(|end| x.of(end));
    let growth = exp::long_expm1(most.min(least.max(x)));
    let [sine, _] = trig::long_of(x.of(0.5) * y, Long::Seven);
    let versine = (sine * sine).scale(x.of(2.0));
    let near = (growth - (versine + versine * growth)).value();
    let (cosine, half) = (trig::cos(y), trig::sin(x.of(0.5) * y));
    let turned = growth.value().fma(cosine, x.of(-2.0) * half * half);
    let ([re, im], _) = natural().times(x, [cosine, trig::sin(y)], y.equal(x.of(0.0)));
    let re = turned.or(x.of(1e6).less(y.abs()), near).or(!most.less(x), re - x.of(1.0));
    [x.or(x.equal(x.of(0.0)) & y.equal(x.of(0.0)), re), im]
}

/// The cosine and the sine of an angle that is a sum of two numbers: a rotation by the second number, with
/// the series of its sine and of its cosine minus 1. A second number above 0.1, as for angles beyond 1e15,
/// is ignored.
pub(super) fn circle<F: Real>(angle: F, rest: F) -> Parts<F> {
    let one = angle.of(1.0);
    let rest = rest.or(rest.abs().less(one.of(0.1)), one.of(0.0));
    let series = |inverses: [f64; 4]| inverses.iter().fold(one, |sum, &c| (rest * rest * one.of(-c)).fma(sum, one));
    let sine_of_rest = rest * series([1.0 / 72.0, 1.0 / 42.0, 1.0 / 20.0, 1.0 / 6.0]);
    let lack = one.of(-0.5) * (rest * rest) * series([1.0 / 90.0, 1.0 / 56.0, 1.0 / 30.0, 1.0 / 12.0]);
    let (cosine, sine) = (trig::cos(angle), trig::sin(angle));
    [cosine + cosine.fma(lack, -(sine * sine_of_rest)), sine + sine.fma(lack, cosine * sine_of_rest)]
}

/// The parts of the hyperbolic cosine and of the hyperbolic sine, without special cases.
fn products<F: Real>([x, y]: Parts<F>) -> [Parts<F>; 2] {
    let (half, one) = (x.of(0.5), x.of(1.0));
    let (cosine, sine) = (trig::cos(y), trig::sin(y));
    // Far from 0 both are half of the exponential, in two factors that do not overflow unless the product
    // does.
    let great = x.of(natural::<F>().most).less(x.abs());
    let power = exp::exp(half * x.abs());
    let [along, across] = [cosine, sine].map(|part| (power * part) * (half * power));
    let sign = one.copysign(x);
    let (cosh, sinh) = (hyperbolic::cosh(x), hyperbolic::sinh(x));
    [
        [along.or(great, cosh * cosine), (across * sign).or(great, sinh * sine)],
        [(along * sign).or(great, sinh * cosine), across.or(great, cosh * sine)],
    ]
}

/// Hyperbolic cosine.
pub fn cosh<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    let (zero, one) = (x.of(0.0), x.of(1.0));
    let [[re, im], _] = products([x, y]);
    let aimless = !is_finite(y);
    let re = x.of(f64::INFINITY).or(aimless & is_infinite(x), re);
    let im = zero.or(aimless & x.equal(zero), im);
    let real = y.equal(zero);
    let on_axis = y.or(is_nan(x), y * one.copysign(x));
    [hyperbolic::cosh(x).or(real, re), on_axis.or(real, im)]
}

/// Hyperbolic sine.
pub fn sinh<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    let zero = x.of(0.0);
    let [_, [re, im]] = products([x, y]);
    let aimless = !is_finite(y);
    let re = x.of(f64::INFINITY).or(aimless & is_infinite(x), re);
    let re = x.or(aimless & x.equal(zero), re);
    let im = x.of(f64::NAN).or(aimless, im);
    let real = y.equal(zero);
    [hyperbolic::sinh(x).or(real, re), y.or(real, im)]
}

/// Cosine.
pub fn cos<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    cosh([-y, x])
}

/// Sine.
pub fn sin<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    let [re, im] = rotated_by_i(sinh, [x, y]);
    // C99 leaves the sign open; this one makes the sine of a conjugate the conjugate of the sine.
    let far = is_infinite(y) & !is_finite(x);
    [x.of(f64::NAN).or(far, re), y.or(far, im)]
}
