//! Exponentials.
//!
//! Argument reduction in two steps: x = k log 2 + r with |r| at most log(2) / 2, so that `e^x = 2^k e^r` (W.
//! Cody, W. Waite, "Software Manual for the Elementary Functions", 1980). The rounding errors of r and of
//! the sum `1 + r` are added last, so that the result is little more than half a unit off. [`exp`] and
//! [`exp2`] use k in eighths, and thus a smaller r: a table has 2 to the power of the fraction of k.

use super::operations::horner;
use super::pair::Pair;
use super::polynomials::{
    EXP_DOUBLE, EXP_NEAR_0_DOUBLE, EXP_NEAR_0_SINGLE, EXP_SINGLE, EXPM1_DOUBLE, EXPM1_NEAR_0_DOUBLE,
    EXPM1_NEAR_0_SINGLE, EXPM1_SINGLE, QUARTERS, QUARTERS_REST, ROOTS,
};
use super::sums::quick_sum;
use super::{Bits, Real, polynomial};
use std::f64::consts::LN_2;

/// Constants that depend on the precision.
struct ExpConstants {
    /// Added to a number, it leaves the number, rounded to an integer, in the low bits of the sum; `eighths`
    /// does so for multiples of 1/8.
    shifter: f64,
    eighths: f64,
    /// The bias of exponents.
    bias: f64,
    /// log 2 as a sum: the first part is short enough that its product with k is exact.
    ln2: [f64; 2],
    /// The same for k in eighths.
    ln2_by_eighths: [f64; 2],
    exp: &'static [f64],
    near_0: &'static [f64],
    /// The same for powers of 2.
    near_0_of_two: &'static [f64],
    expm1: &'static [f64],
    expm1_near_0: &'static [f64],
    mantissa: u32,
    /// `e^x` is 0 below the first and infinite above the second.
    ends: [f64; 2],
    /// The bounds to which [`exp`] and [`exp2`] clamp x. The power of 2 for the lower one is the least that
    /// [`Real::scale`] supports.
    inside: [f64; 2],
    inside_of_two: [f64; 2],
    /// Below this `e^x - 1` is -1.
    least: f64,
    /// Up to this magnitude `e^x - 1` is x.
    tiny: f64,
}

/// Turns the coefficients of a polynomial in `r log 2` into those of one in r.
const fn of_two<const N: usize>(mut coefficients: [f64; N]) -> [f64; N] {
    let (mut n, mut power) = (1, LN_2);
    while n < N {
        coefficients[n] *= power;
        power *= LN_2;
        n += 1;
    }
    coefficients
}

const DOUBLE: ExpConstants = ExpConstants {
    shifter: 6755399441055744.0,
    eighths: 844424930131968.0,
    bias: 1023.0,
    ln2: [0.6931471805598903, 5.497923018708371e-14],
    ln2_by_eighths: [0.6931471805601177, -1.7239444525614835e-13],
    exp: &EXP_DOUBLE,
    near_0: &EXP_NEAR_0_DOUBLE,
    near_0_of_two: &of_two(EXP_NEAR_0_DOUBLE),
    expm1: &EXPM1_DOUBLE,
    expm1_near_0: &EXPM1_NEAR_0_DOUBLE,
    mantissa: 52,
    ends: [-746.0, 710.0],
    inside: [-1418.0, 710.0],
    inside_of_two: [-2046.0, 1024.0],
    least: -40.0,
    tiny: f64::EPSILON / 4.0,
};

const SINGLE: ExpConstants = ExpConstants {
    shifter: 12582912.0,
    eighths: 1572864.0,
    bias: 127.0,
    ln2: [0.693145751953125, 1.428606765330187e-06],
    ln2_by_eighths: [0.693115234375, 3.194618329871446e-05],
    exp: &EXP_SINGLE,
    near_0: &EXP_NEAR_0_SINGLE,
    near_0_of_two: &of_two(EXP_NEAR_0_SINGLE),
    expm1: &EXPM1_SINGLE,
    expm1_near_0: &EXPM1_NEAR_0_SINGLE,
    mantissa: 23,
    ends: [-104.0, 89.0],
    inside: [-176.0, 89.0],
    inside_of_two: [-254.0, 128.0],
    least: -20.0,
    tiny: f32::EPSILON as f64 / 4.0,
};

/// x as k log 2 + r + rest.
struct ReducedExponent<F: Real> {
    k: F,
    /// In the low bits k plus the requested bias.
    bits: F::Bits,
    r: F,
    rest: F,
}

fn reduced<F: Real>(x: F, n: &ExpConstants, bias: f64) -> ReducedExponent<F> {
    let shifter = x.of(n.shifter + bias);
    let shifted = x.fma(x.of(std::f64::consts::LOG2_E), shifter);
    let k = shifted - shifter;
    let near = k.fma(x.of(-n.ln2[0]), x);
    let r = k.fma(x.of(-n.ln2[1]), near);
    ReducedExponent { k, bits: shifted.bits(), r, rest: k.fma(x.of(-n.ln2[1]), near - r) }
}

/// `e^(r + rest)` as a sum of two numbers.
fn power<F: Real>(r: F, rest: F, n: &ExpConstants) -> (F, F) {
    let sum = r.of(1.0) + r;
    let lost = (r.of(1.0) - sum) + r;
    (sum, (r * r).fma(polynomial(r, n.exp), rest * sum) + lost)
}

/// Clamps x to two ends at which powers are 0 and infinite. The lower end is far below the point from which
/// powers are 0, so that the scaling multiplies by 0 and does not underflow, which is slow on some
/// processors. NaN stays NaN.
fn inside<F: Real>(x: F, ends: [f64; 2]) -> F {
    let [least, most] = ends.map(|end| x.of(end));
    least.max(most.min(x))
}

/// e to the power x: x = k log 2 + r with k a multiple of 1/8, so that `e^x = 2^k e^r`. The table has 2 to
/// the power of k's fraction, divided by a number s close to 1. s is chosen so that all entries are close to
/// floats, and one float for each suffices. The polynomial makes up for s: it is `s e^r - 1`. The
/// second-to-last rounding is that of a product with r, which is much smaller than the result.
pub fn exp<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let x = inside(x, n.inside);
    let shifter = x.of(n.eighths);
    let shifted = x.fma(x.of(std::f64::consts::LOG2_E), shifter);
    let k = shifted - shifter;
    let [ln2, ln2_rest] = n.ln2_by_eighths.map(|c| x.of(-c));
    let r = k.fma(ln2_rest, k.fma(ln2, x));
    from_eighths(shifted, k, r, n.near_0)
}

/// 2 to the power of k, times e to the power of r (2 to the power of r for [`exp2`]) by the polynomial
/// `near_0`.
fn from_eighths<F: Real>(shifted: F, k: F, r: F, near_0: &[f64]) -> F {
    let root = shifted.bits().choose(&ROOTS);
    root.fma(horner(r, near_0.iter()), root).scale(k)
}

/// e to the power of a sum of two numbers, as a sum of two numbers and the power of 2 to scale each by.
pub(super) fn exp_parts<F: Real>(x: F, more: F) -> ((F, F), F) {
    let n = x.at(&DOUBLE, &SINGLE);
    let ReducedExponent { k, r, rest, .. } = reduced(x, n, 0.0);
    let (r, rest) = quick_sum(r, rest + more);
    (power(r, rest, n), k)
}

/// e to the power of a sum of two numbers.
pub(super) fn exp_of_sum<F: Real>(x: F, more: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let ((sum, rest), k) = exp_parts(x, more);
    // Beyond the ends the other part may be anything, and k may exceed the range of `scale`.
    let [least, most] = n.ends.map(|end| x.of(end));
    let zero = x.of(0.0);
    let below = x.less(least);
    let value = x.of(f64::INFINITY).or(most.less(x), (sum + rest).scale(zero.or(below, k)));
    zero.or(below, value)
}

/// 2 to the power x, like [`exp`]: r is the distance to the nearest eighth, which is exact.
pub fn exp2<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let x = inside(x, n.inside_of_two);
    let shifted = x + x.of(n.eighths);
    let k = shifted - x.of(n.eighths);
    from_eighths(shifted, k, x - k, n.near_0_of_two)
}

/// `e^x` for x = k log 2 + r: the power of 2, r, and `e^r - 1 - r` plus the rounding error of the reduction.
pub(super) struct Growth<F> {
    pub scale: F,
    pub r: F,
    pub more: F,
}

/// For x between -700 and 711 at `f64`, -80 and 90 at `f32`. `scale` is 2 to the power of k and `lift`.
pub(super) fn growth<F: Real>(x: F, lift: f64) -> Growth<F> {
    let n = x.at(&DOUBLE, &SINGLE);
    let ReducedExponent { bits, r, rest, .. } = reduced(x, n, n.bias + lift);
    let more = (r * r).fma(r.fma(polynomial(r, n.expm1), r.of(0.5)), rest.fma(r, rest));
    Growth { scale: bits.shl(n.mantissa).real(), r, more }
}

/// Like [`growth`] with k in quarters, without a lift, for magnitudes up to 80. A smaller r needs fewer
/// terms. The scale is a rounded power of 2; a table has its rounding error, which is part of `more`.
pub(super) fn growth_by_quarters<F: Real>(x: F) -> Growth<F> {
    let n = x.at(&DOUBLE, &SINGLE);
    // Rounds to quarters: twice the constant for eighths.
    let shifter = x.of(2.0 * n.eighths);
    let shifted = x.fma(x.of(std::f64::consts::LOG2_E), shifter);
    let k = shifted - shifter;
    let [ln2, ln2_rest] = n.ln2_by_eighths.map(|c| x.of(c));
    let (near, past) = (k.fma(-ln2, x), k * ln2_rest);
    let r = near - past;
    let bits = shifted.bits();
    let rest = ((near - r) - past) + bits.choose(&QUARTERS_REST);
    let more = (r * r).fma(r.fma(polynomial(r, n.expm1_near_0), r.of(0.5)), rest);
    let scale = bits.choose(&QUARTERS).bits() + bits.shl(n.mantissa - 2);
    Growth { scale: scale.real(), r, more }
}

/// The factor of [`part_of_expm1`]: 2 to the power of the lift.
pub(super) const PART: f64 = 1.0 / 16.0;
const PART_LIFT: f64 = -4.0;

/// `e^x - 1`, times [`PART`], as a sum of two numbers, for x between -700 and 711 at `f64`, -80 and 90 at
/// `f32`.
pub(super) fn part_of_expm1<F: Real>(x: F) -> (F, F) {
    let unit = x.of(PART);
    let Growth { scale, r, more } = growth(x, PART_LIFT);
    let whole = scale - unit;
    let lost = (scale - whole) - unit;
    let sum = scale.fma(r, whole);
    quick_sum(sum, scale.fma(more, scale.fma(r, whole - sum) + lost))
}

/// e to the power x, minus 1.
pub fn expm1<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    // Clamping is safe: the result is -1 or infinity at these ends and beyond.
    let [least, most] = [n.least, n.ends[1]].map(|end| x.of(end));
    let (part, rest) = part_of_expm1(most.min(least.max(x)));
    let value = (part + rest) * x.of(1.0 / PART);
    // The sum would lose the sign of zero.
    x.or(x.abs().less(x.of(n.tiny)), value)
}

/// The coefficients of `(e^r - 1 - r) / r^2`, and the rounding errors of the first ones.
const LONG: [f64; 18] = [
    0.5,
    0.16666666666666666,
    0.041666666666666664,
    0.008333333333333333,
    0.001388888888888889,
    0.0001984126984126984,
    2.48015873015873e-05,
    2.7557319223985893e-06,
    2.755731922398589e-07,
    2.505210838544172e-08,
    2.08767569878681e-09,
    1.6059043836821613e-10,
    1.1470745597729725e-11,
    7.647163731819816e-13,
    4.779477332387385e-14,
    2.8114572543455206e-15,
    1.5619206968586225e-16,
    8.22063524662433e-18,
];
const LONG_RESTS: [f64; 10] = [
    0.0,
    9.25185853854297e-18,
    2.3129646346357427e-18,
    1.1564823173178714e-19,
    -5.300543954373577e-20,
    1.7209558293420705e-22,
    2.1511947866775882e-23,
    -1.858393274046472e-22,
    2.3767714622250297e-23,
    -1.448814070935912e-24,
];

/// `e^x - 1` to some 90 bits, for x between -60 and 60 at `f64`.
pub(super) fn long_expm1<F: Real>(x: F) -> Pair<F> {
    let n = x.at(&DOUBLE, &SINGLE);
    let ReducedExponent { k, r, rest, .. } = reduced(x, n, 0.0);
    let r: Pair<F> = quick_sum(r, rest).into();
    let (first, others) = LONG.split_at(LONG_RESTS.len());
    let others = Pair::new(polynomial(r.hi, others));
    let terms = first.iter().zip(&LONG_RESTS).rev();
    let sum = terms.fold(others, |sum, (&c, &rest)| Pair { hi: x.of(c), lo: x.of(rest) }.plus(r * sum));
    let growth = r.plus(r * r * sum);
    let one = x.of(1.0);
    let scale = one.scale(k);
    Pair::sum(scale, -one) + growth.scale(scale)
}

/// `e^x` for x of at most 0, as a sum of two numbers and the power of 2 to scale each by.
pub(super) fn exp_of_negative<F: Real>(x: F) -> ((F, F), F) {
    let n = x.at(&DOUBLE, &SINGLE);
    let ReducedExponent { k, r, rest, .. } = reduced(x.of(n.ends[0]).max(x), n, 0.0);
    let (sum, rest) = power(r, rest, n);
    (quick_sum(sum, rest), k)
}
