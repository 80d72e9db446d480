//! Logarithms: the real part from the square of the length, as a sum of two numbers, and the imaginary part
//! from the angle.

use super::super::inverse::atan2;
use super::super::log::{Base, LN_2, TEN, TWO, log_of_sum, long_log};
use super::super::pair::Pair;
use super::{Parts, Real, Scaling, is_finite, is_infinite, is_nan};

/// The square of a scaled length as a sum of two numbers. The logarithm of the unscaled square is greater by
/// `doublings` times log 2.
struct Square<F> {
    of: Pair<F>,
    doublings: F,
}

/// For (x, y), with x as a sum of two numbers. `excess` is `x^2 + y^2 - 1`, used if that is near 0.
fn square<F: Real>(x: Pair<F>, y: F, excess: Pair<F>) -> Square<F> {
    let scaling = Scaling::for_magnitude(x.hi.abs().max(y.abs()));
    let near = x.scale(scaling.scale);
    let square = (near * near).plus(Pair::square(y * scaling.scale));
    let one = y.of(1.0);
    let sum = Pair::sum(one, excess.hi);
    let above_one = Pair { hi: sum.hi, lo: sum.lo + excess.lo };
    let is_near = y.of(0.5).less(square.hi) & square.hi.less(y.of(2.0)) & scaling.scale.equal(one);
    Square { of: above_one.or(is_near, square), doublings: scaling.log2_inverse_squared }
}

/// For (x, y).
fn square_of_length<F: Real>([x, y]: Parts<F>) -> Square<F> {
    let (x2, y2) = (Pair::square(x), Pair::square(y));
    let swap = x2.hi.less(y2.hi);
    let (great, small) = (y2.or(swap, x2), x2.or(swap, y2));
    // If the greater square is within a factor of about 2 of 1, this difference is nearly exact.
    let excess = Pair::sum(great.hi, x.of(-1.0)) + small + Pair::new(great.lo);
    square(Pair::new(x), y, excess)
}

impl<F: Real> Square<F> {
    /// The logarithm of the length.
    fn log(self) -> F {
        self.doublings.of(0.5) * log_of_sum(self.of.hi, self.of.lo, Some(self.doublings))
    }
}

/// The logarithm of a length to some 66 bits, for numbers that are not zero, infinite or NaN.
pub(super) fn long_log_of_length<F: Real>(z: Parts<F>) -> Pair<F> {
    let Square { of, doublings } = square_of_length(z);
    let (log, rest) = long_log(of.hi);
    let [ln2, ln2_rest] = doublings.at(LN_2[0], LN_2[1]).map(|c| doublings.of(c));
    let scaled: Pair<F> = (doublings * ln2, doublings * ln2_rest).into();
    (Pair { hi: log, lo: rest + of.lo / of.hi } + scaled).scale(doublings.of(0.5))
}

/// `value`, with the logarithms of zero, infinities and NaN put in.
pub(super) fn anywhere<F: Real>(x: F, y: F, value: F) -> F {
    let origin = x.equal(x.of(0.0)) & y.equal(x.of(0.0));
    let value = x.of(f64::NEG_INFINITY).or(origin, value);
    let value = x.of(f64::NAN).or(is_nan(x) | is_nan(y), value);
    x.of(f64::INFINITY).or(is_infinite(x) | is_infinite(y), value)
}

/// Natural logarithm.
pub fn log<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    [anywhere(x, y, square_of_length([x, y]).log()), atan2(y, x)]
}

/// Converts to another base.
fn scaled<F: Real>(z: Parts<F>, base: &Base) -> Parts<F> {
    z.map(|x| {
        let [by, more] = x.at(base.factor[0], base.factor[1]).map(|c| x.of(c));
        x.fma(by, x * more).or(is_finite(x), x * by)
    })
}

/// Logarithm to base 2.
pub fn log2<F: Real>(z: Parts<F>) -> Parts<F> {
    scaled(log(z), &TWO)
}

/// Logarithm to base 10.
pub fn log10<F: Real>(z: Parts<F>) -> Parts<F> {
    scaled(log(z), &TEN)
}

/// Logarithm of 1 + z.
pub fn log1p<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    let sum = Pair::sum(x, x.of(1.0));
    // Infinity minus itself would be NaN.
    let sum = Pair { hi: sum.hi, lo: sum.lo.or(is_finite(x), x.of(0.0)) };
    // |1 + z|^2 - 1 = 2x + x^2 + y^2
    let excess = Pair::new(x + x) + Pair::square(x) + Pair::square(y);
    let re = anywhere(sum.hi, y, square(sum, y, excess).log());
    // Corrects the angle for the rounding error of the sum, unless the correction is negligible.
    let angle = atan2(y, sum.hi);
    let turn = -(sum.lo * y) / sum.hi.fma(sum.hi, y * y);
    let turned = (angle + turn).or(is_finite(turn) & !turn.equal(x.of(0.0)), angle);
    [re, turned]
}
