//! Exponentials.
//!
//! x = k log 2 + r with |r| at most half of log 2, reduced in two steps (W. Cody, W. Waite, "Software Manual for the Elementary
//! Functions", 1980), so that `e^x = 2^k e^r`. What is lost in rounding r and the sum `1 + r` is added last, so that the result is
//! little more than half a unit off. [`exp`] and [`exp2`] themselves have k in eighths, and with it a smaller r: 2 to the power of k's fraction
//! is in a table.

use super::pair::Pair;
use super::polynomials::{
    EXP_DOUBLE, EXP_NEAR_0_DOUBLE, EXP_NEAR_0_SINGLE, EXP_SINGLE, EXPM1_DOUBLE, EXPM1_NEAR_0_DOUBLE,
    EXPM1_NEAR_0_SINGLE, EXPM1_SINGLE, QUARTERS, QUARTERS_REST, ROOTS,
};
use super::reading::horner;
use super::sums::quick_sum;
use super::{Bits, Real, polynomial};
use std::f64::consts::LN_2;

/// What depends on the precision.
struct Numbers {
    /// What a number is added to so that the sum's low bits are the number, rounded to an integer, and the same for eighths of it.
    shifter: f64,
    eighths: f64,
    /// The bias of exponents.
    bias: f64,
    /// The logarithm of 2: so many bits that its product with k is exact, and the rest.
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
    /// Where `e^x` is 0 below and infinite above.
    ends: [f64; 2],
    /// What [`exp`] and [`exp2`] take for all beyond: the power of 2 of the first is the least that [`Real::scale`] knows.
    inside: [f64; 2],
    inside_of_two: [f64; 2],
    /// Below this `e^x - 1` is -1.
    least: f64,
    /// Up to here `e^x - 1` is x.
    tiny: f64,
}

/// The coefficients of a polynomial of `r log 2`, as one of r.
const fn of_two<const N: usize>(mut coefficients: [f64; N]) -> [f64; N] {
    let (mut n, mut power) = (1, LN_2);
    while n < N {
        coefficients[n] *= power;
        power *= LN_2;
        n += 1;
    }
    coefficients
}

const DOUBLE: Numbers = Numbers {
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

const SINGLE: Numbers = Numbers {
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
struct Reduced<F: Real> {
    k: F,
    /// The low bits are k and what was asked for.
    bits: F::Bits,
    r: F,
    rest: F,
}

fn reduced<F: Real>(x: F, n: &Numbers, bias: f64) -> Reduced<F> {
    let shifter = x.of(n.shifter + bias);
    let shifted = x.fma(x.of(std::f64::consts::LOG2_E), shifter);
    let k = shifted - shifter;
    let near = k.fma(x.of(-n.ln2[0]), x);
    let r = k.fma(x.of(-n.ln2[1]), near);
    Reduced { k, bits: shifted.bits(), r, rest: k.fma(x.of(-n.ln2[1]), near - r) }
}

/// `e^(r + rest)` as a sum of two.
fn power<F: Real>(r: F, rest: F, n: &Numbers) -> (F, F) {
    let sum = r.of(1.0) + r;
    let lost = (r.of(1.0) - sum) + r;
    (sum, (r * r).fma(polynomial(r, n.exp), rest * sum) + lost)
}

/// The number or the end that it is beyond, where powers are infinite or 0. Not the numbers between which they come to be 0, but far below them, so that a product
/// is one with 0 and does not underflow, which takes some processors long. NaN is beyond none.
fn inside<F: Real>(x: F, ends: [f64; 2]) -> F {
    let [least, most] = ends.map(|end| x.of(end));
    least.max(most.min(x))
}

/// e to the power x: x = k log 2 + r, where k is a number of eighths, so that `e^x = 2^k e^r`. The table has 2 to the power of the
/// fraction of k, divided by a number s that is near to 1 and such that all of them are near to floats, of which one is enough therefore; the polynomial
/// has s for it, and is `s e^r - 1`. The second-to-last rounding is of a product with r, which is much smaller than the result.
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

/// 2 to the power of k and what the polynomial of r stands for.
fn from_eighths<F: Real>(shifted: F, k: F, r: F, near_0: &[f64]) -> F {
    let root = shifted.bits().choose(&ROOTS);
    root.fma(horner(r, near_0.iter()), root).scale(k)
}

/// e to the power of what is known as a sum of two: a sum of two, and the power of 2 to scale each by.
pub(super) fn exp_parts<F: Real>(x: F, more: F) -> ((F, F), F) {
    let n = x.at(&DOUBLE, &SINGLE);
    let Reduced { k, r, rest, .. } = reduced(x, n, 0.0);
    let (r, rest) = quick_sum(r, rest + more);
    (power(r, rest, n), k)
}

/// e to the power of what is known as a sum of two.
pub(super) fn exp_of_sum<F: Real>(x: F, more: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let ((sum, rest), k) = exp_parts(x, more);
    // Beyond the ends the other part may be anything, and k more than numbers are scaled by.
    let [least, most] = n.ends.map(|end| x.of(end));
    let zero = x.of(0.0);
    let below = x.less(least);
    let value = x.of(f64::INFINITY).or(most.less(x), (sum + rest).scale(zero.or(below, k)));
    zero.or(below, value)
}

/// 2 to the power x, as [`exp`]: r is the distance to the nearest eighth, which is exact.
pub fn exp2<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let x = inside(x, n.inside_of_two);
    let shifted = x + x.of(n.eighths);
    let k = shifted - x.of(n.eighths);
    from_eighths(shifted, k, x - k, n.near_0_of_two)
}

/// x as k log 2 + r: a power of 2, r, and `e^r - 1 - r`, with what the reduction lost.
pub(super) struct Growth<F> {
    pub scale: F,
    pub r: F,
    pub more: F,
}

/// Of x between -700 and 711 at `f64`, -80 and 90 at `f32`, with 2 to the power of k and `lift`.
pub(super) fn growth<F: Real>(x: F, lift: f64) -> Growth<F> {
    let n = x.at(&DOUBLE, &SINGLE);
    let Reduced { bits, r, rest, .. } = reduced(x, n, n.bias + lift);
    let more = (r * r).fma(r.fma(polynomial(r, n.expm1), r.of(0.5)), rest.fma(r, rest));
    Growth { scale: bits.shl(n.mantissa).real(), r, more }
}

/// The same with k in quarters, of magnitudes up to 80 without a lift: r is smaller, so that fewer terms are enough. The scale is a rounded power of 2; what it is
/// off by is in a table, and part of `more`.
pub(super) fn growth_by_quarters<F: Real>(x: F) -> Growth<F> {
    let n = x.at(&DOUBLE, &SINGLE);
    // Twice what it is of eighths.
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

/// What [`part_of_expm1`] is multiplied by: 2 to the power of the lift.
pub(super) const PART: f64 = 1.0 / 16.0;
const PART_LIFT: f64 = -4.0;

/// `e^x - 1`, times [`PART`], as a sum of two, for x between -700 and 711 at `f64`, -80 and 90 at `f32`.
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
    // Beyond these ends the result is -1 or infinity, as it is there.
    let [least, most] = [n.least, n.ends[1]].map(|end| x.of(end));
    let (part, rest) = part_of_expm1(most.min(least.max(x)));
    let value = (part + rest) * x.of(1.0 / PART);
    // The sum would lose the sign of zero.
    x.or(x.abs().less(x.of(n.tiny)), value)
}

/// The coefficients of `(e^r - 1 - r) / r^2`, and what the first ones are more than that.
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
    let Reduced { k, r, rest, .. } = reduced(x, n, 0.0);
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

/// `e^x` as a sum of two, for x not above 0, and the power of 2 to scale each by.
pub(super) fn exp_of_negative<F: Real>(x: F) -> ((F, F), F) {
    let n = x.at(&DOUBLE, &SINGLE);
    let Reduced { k, r, rest, .. } = reduced(x.of(n.ends[0]).max(x), n, 0.0);
    let (sum, rest) = power(r, rest, n);
    (quick_sum(sum, rest), k)
}
