//! Powers: products for small integer exponents, else `e^(b log a)`, with the logarithm known to some 66
//! bits.

use super::super::pair::Pair;
use super::super::power::is_integer;
use super::super::sums::quick_sum;
use super::super::trig::{self, Long};
use super::super::{Bits, inverse};
use super::exponential::{circle, natural};
use super::logarithm::{log, long_log_of_length};
use super::{Parts, Real, Scaling, is_finite, is_nan};

/// The largest integer exponent for which the power is a product.
pub const MOST_FACTORS: i32 = 15;

/// The number of bits of such an exponent.
const BITS: usize = 4;

/// A condition: known when code is generated, or computed for each number.
#[derive(Clone, Copy)]
enum Answer<F: Real> {
    Known(bool),
    Asked(F::Condition),
}

impl<F: Real> Answer<F> {
    /// Logical or. A known true is not combined with a computed condition.
    fn any(self, other: Self) -> Self {
        match (self, other) {
            (Answer::Asked(a), Answer::Asked(b)) => Answer::Asked(a | b),
            (Answer::Known(false), b) => b,
            (a, _) => a,
        }
    }
}

/// Values that support selection and multiplication.
trait Factor<F: Real>: Copy {
    fn times(self, other: Self) -> Self;
    fn choose(self, condition: F::Condition, other: Self) -> Self;

    /// `self` if `answer` is true, otherwise `other`.
    fn if_so(self, answer: Answer<F>, other: Self) -> Self {
        match answer {
            Answer::Known(true) => self,
            Answer::Known(false) => other,
            Answer::Asked(condition) => self.choose(condition, other),
        }
    }
}

impl<F: Real> Factor<F> for Parts<F> {
    fn times(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self, other);
        [a * c - b * d, a * d + b * c]
    }
    fn choose(self, condition: F::Condition, other: Self) -> Self {
        [self[0].or(condition, other[0]), self[1].or(condition, other[1])]
    }
}

/// A complex number with double-double parts, for products whose error is small relative to each part.
#[derive(Clone, Copy)]
struct Wide<F> {
    re: Pair<F>,
    im: Pair<F>,
}

impl<F: Real> Factor<F> for Wide<F> {
    fn times(self, other: Self) -> Self {
        let re = (self.re * other.re).plus(-(self.im * other.im));
        let im = (self.re * other.im).plus(self.im * other.re);
        Wide { re, im }
    }
    fn choose(self, condition: F::Condition, other: Self) -> Self {
        Wide { re: self.re.or(condition, other.re), im: self.im.or(condition, other.im) }
    }
}

/// A power by repeated squaring, from the lowest bit of the exponent, which is not 0.
fn product<F: Real, T: Factor<F>>(mut base: T, bits: [Answer<F>; BITS]) -> T {
    let (mut power, mut begun) = (base, Answer::Known(false));
    for (at, &bit) in bits.iter().enumerate() {
        if at > 0 {
            base = base.times(base);
        }
        power = match begun {
            Answer::Known(false) => base.if_so(bit, power),
            _ => power.times(base).if_so(begun, base).if_so(bit, power),
        };
        begun = begun.any(bit);
    }
    power
}

/// `1 / z` by Smith's method.
fn reciprocal<F: Real>([x, y]: Parts<F>) -> Parts<F> {
    let one = x.of(1.0);
    let flat = y.abs().less(x.abs()) | y.abs().equal(x.abs());
    let ratio = (y / x).or(flat, x / y);
    let below = x.or(flat, y) + y.or(flat, x) * ratio;
    [one.or(flat, ratio) / below, -ratio.or(flat, one) / below]
}

/// `floor (log2 x)` of a normal number.
fn exponent<F: Real>(x: F) -> F {
    let (mantissa, bias) = x.at((52, 1023.0), (23, 127.0));
    let unit = 2f64.powi(mantissa as i32);
    (x.bits().shr(mantissa) | x.of(unit).bits()).real() - x.of(unit + bias)
}

/// `a` to the power `n`, a nonzero integer with the bits `bits`, by products. Finite numbers multiply
/// mantissas, to about 100 bits.
fn whole_power<F: Real>(a: Parts<F>, n: F, bits: [Answer<F>; BITS], negative: Answer<F>) -> Parts<F> {
    let zero = n.of(0.0);
    let size = a[0].abs().max(a[1].abs());
    let scaling = Scaling::for_magnitude(size);
    let k = exponent(size * scaling.scale);
    // One part may be arbitrarily small beside the other.
    let [re, im] = a.map(|part| Pair::new((part * scaling.scale).scale_any(-k)));
    let power = product(Wide { re, im }, bits);
    let square = (power.re * power.re).plus(power.im * power.im);
    let inverse = Wide { re: power.re / square, im: -power.im / square };
    let power = inverse.if_so(negative, power);
    let most = n.of(2046.0);
    let k = ((k + n.of(0.5) * scaling.log2_inverse_squared) * n).min(most).max(-most);
    let near = [power.re, power.im].map(|part| part.value().scale_any(k));
    // Non-finite numbers use plain products, times 1 as NumPy starts.
    let plain = [n.of(1.0), zero].times(product(a, bits));
    let plain = reciprocal(plain).if_so(negative, plain);
    let value = near.choose(is_finite(a[0]) & is_finite(a[1]), plain);
    // Zero to a negative power is NaN.
    let of_zero = [n.of(f64::NAN); 2].if_so(negative, [zero; 2]);
    of_zero.choose(a[0].equal(zero) & a[1].equal(zero), value)
}

/// `a` to the power `n`, which is not 0 and at most [`MOST_FACTORS`] in magnitude: [`power`] specialized to
/// a constant exponent.
pub fn constant_power<F: Real>(a: Parts<F>, n: i32) -> Parts<F> {
    if n == 1 {
        return a;
    }
    let bits = std::array::from_fn(|bit| Answer::Known(n.unsigned_abs() >> bit & 1 == 1));
    whole_power(a, a[0].of(n.into()), bits, Answer::Known(n < 0))
}

/// The angle of (x, y), not both 0, as a sum of two numbers: one step of Newton's method.
fn angle<F: Real>(x: F, y: F) -> Pair<F> {
    let near = inverse::atan2(y, x);
    let [sine, cosine] = trig::long_of(near, Long::Three);
    let by = Scaling::for_magnitude(x.abs().max(y.abs())).scale;
    let (x, y) = (x * by, y * by);
    let across = (Pair::new(y) * cosine - Pair::new(x) * sine).value();
    let along = x.fma(cosine.hi, y * sine.hi);
    quick_sum(near, across / along).into()
}

/// `a` to the power `b`: products for integer exponents up to [`MOST_FACTORS`], else `e^(b log a)`. 1 for b
/// = 0. For a = 0 the result is 0 if b has a positive real part, else NaN.
pub fn power<F: Real>(a: Parts<F>, b: Parts<F>) -> Parts<F> {
    let (zero, one, half) = (a[0].of(0.0), a[0].of(1.0), a[0].of(0.5));
    // b log a, in plain numbers if it is not finite.
    let (length, angle) = (long_log_of_length(a), angle(a[0], a[1]));
    let [c, d] = b.map(Pair::new);
    let re = (length * c).plus(-(angle * d));
    let im = (length * d).plus(angle * c);
    let plain = b.times(log(a));
    let usual = is_finite(re.hi) & is_finite(im.hi);
    let (re, im) = (re.or(usual, Pair::new(plain[0])), im.or(usual, Pair::new(plain[1])));
    let turned = circle(im.hi, im.lo).map(|part| part.fma(re.lo, part));
    let [value, across] = natural().at([re.hi, im.hi], turned);
    // The sign of NumPy's result, which follows that of the NaN that x86 produces.
    let vanishes = re.hi.equal(one.of(f64::NEG_INFINITY)) & is_nan(im.hi);
    let value = [value, one.of(-0.0).or(vanishes, across)];
    let positive = zero.less(b[0]);
    let of_zero = zero.or(positive, one.of(f64::NAN));
    let value = [of_zero; 2].choose(a[0].equal(zero) & a[1].equal(zero), value);
    // Integer exponents.
    let size = b[0].abs();
    let floor = |x: F| {
        let unit = x.of(x.at(2f64.powi(52), 2f64.powi(23)));
        ((x - x.of(0.25)) + unit) - unit
    };
    let mut rest = size;
    let bits = std::array::from_fn(|_| {
        let part = half * rest;
        rest = floor(part);
        Answer::Asked(!part.equal(rest))
    });
    let whole = is_integer(size) & size.less(one.of(f64::from(MOST_FACTORS) + 0.5));
    let real = b[1].equal(zero);
    let product = whole_power(a, b[0], bits, Answer::Asked(b[0].less(zero)));
    let value = product.choose(whole & real, value);
    let value = a.choose(real & b[0].equal(one), value);
    [one, zero].choose(real & b[0].equal(zero), value)
}
