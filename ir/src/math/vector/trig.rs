//! Sine, cosine and tangent.
//!
//! Argument reduction in steps: |x| = k c + r with |r| at most c / 2 (W. Cody, W. Waite, "Software Manual
//! for the Elementary Functions", 1980). r is known to more precision than one number holds. Numbers too
//! large for the steps are left to a called function.
//!
//! For [`sin`] and [`cos`] c is pi / 8, and `sin(kc + r) = sin(kc) cos(r) + cos(kc) sin(r)`. Tables have
//! sin(kc) and cos(kc) for k from 0 to 7; short polynomials give the functions of r. For k from 8 to 15 both
//! results change sign. The term added to sin(kc), unless that is 0, is at most about half of it. The sum is
//! exact if the last place of the result is no higher than that of the term. Otherwise the term is rounded
//! at a lower place, with an error of at most a quarter of a unit, and the sum with half of one. The same
//! holds with cos(kc). For the other functions c is pi / 2, and the last two bits of k select the sine or
//! cosine of r and its sign.
//!
//! The product of k and the first part of c, subtracted from |x|, is exact: the difference is less than 1,
//! and a multiple of the last place of either. At `f64` the second part of c is short enough that a second
//! subtraction of its product with k recovers the rounding error of the first. At `f32` this does not work:
//! a third part would not be small enough.
//!
//! For c = pi / 8 the second part has 28 bits. As k is below 2^25, its product with k is exact, and so is
//! the rounding error of the sum (T. Dekker, 1971). If the difference before is the smaller term, that sum
//! itself is exact. This takes a multiplication and two additions instead of two multiplications, of which
//! sine and cosine already have more. It leaves the rest of c known less precisely, which suffices for these
//! two.

use super::operations::horner;
use super::pair::Pair;
use super::polynomials::{
    COS_DOUBLE, COS_NEAR_0_DOUBLE, COS_NEAR_0_SINGLE, COS_SINGLE, EIGHTHS_COS, EIGHTHS_COS_REST, EIGHTHS_SIN,
    EIGHTHS_SIN_REST, SIN_DOUBLE, SIN_NEAR_0_DOUBLE, SIN_NEAR_0_SINGLE, SIN_SINGLE,
};
use super::sums::{quick_sum, quotient, series};
use super::{Bits, Real, Slow, polynomial};
use crate::math::rounded;

/// Constants that depend on the precision.
struct TrigConstants {
    /// Added to a number, it leaves the number, rounded to an integer, in the low bits of the sum.
    shifter: f64,
    /// pi / 2 as a sum of parts, and another such sum with a shorter second part, for eighths of pi.
    half_pi: [f64; 3],
    half_pi_of_eighths: [f64; 3],
    sin: &'static [f64],
    cos: &'static [f64],
    /// The polynomials for |r| up to pi / 16.
    sin_near_0: &'static [f64],
    cos_near_0: &'static [f64],
    /// About the largest magnitude that the steps reduce: the exact limit is the last k below it, see
    /// [`reduced`].
    most: f64,
    /// The position of the sign bit.
    sign: u32,
}

const DOUBLE: TrigConstants = TrigConstants {
    shifter: 6755399441055744.0,
    half_pi: [std::f64::consts::FRAC_PI_2, 6.12323399409214e-17, 1.6446256936324258e-26],
    half_pi_of_eighths: [std::f64::consts::FRAC_PI_2, 6.123233973412625e-17, 2.232414100745812e-25],
    sin: &SIN_DOUBLE,
    cos: &COS_DOUBLE,
    sin_near_0: &SIN_NEAR_0_DOUBLE,
    cos_near_0: &COS_NEAR_0_DOUBLE,
    most: 8388608.0,
    sign: 63,
};

const SINGLE: TrigConstants = TrigConstants {
    shifter: 12582912.0,
    half_pi: [1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15],
    half_pi_of_eighths: [1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15],
    sin: &SIN_SINGLE,
    cos: &COS_SINGLE,
    sin_near_0: &SIN_NEAR_0_SINGLE,
    cos_near_0: &COS_NEAR_0_SINGLE,
    most: 131072.0,
    sign: 31,
};

macro_rules! far {
    ($($NAME:ident $function:ident)*) => {$(
        /// The called function for numbers that the steps do not reduce.
        const $NAME: Slow = {
            extern "C" fn double(x: f64) -> f64 {
                rounded::double::$function(x)
            }
            extern "C" fn single(x: f32) -> f32 {
                rounded::single::$function(x)
            }
            Slow { name: stringify!($function), double, single }
        };
    )*};
}
far! { SIN sin COS cos TAN tan }

/// A number's magnitude as k c + r + rest.
struct ReducedAngle<F: Real> {
    /// k in the low bits.
    bits: F::Bits,
    r: F,
    rest: F,
    /// Whether the number is too large for the reduction.
    far: F::Condition,
}

/// The c of the reduction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReductionStep {
    HalfPi,
    /// The step of the tables of sine and cosine.
    EighthOfPi,
}

impl ReductionStep {
    /// How often the step divides pi / 2.
    fn parts(self) -> f64 {
        match self {
            ReductionStep::HalfPi => 1.0,
            ReductionStep::EighthOfPi => 4.0,
        }
    }
}

fn reduced<F: Real>(x: F, step: ReductionStep, n: &TrigConstants) -> ReducedAngle<F> {
    let (size, parts) = (x.abs(), step.parts());
    let shifted = size.fma(x.of(std::f64::consts::FRAC_2_PI * parts), x.of(n.shifter));
    let k = shifted - x.of(n.shifter);
    let half_pi = if step == ReductionStep::HalfPi { n.half_pi } else { n.half_pi_of_eighths };
    let [first, second, third] = half_pi.map(|part| x.of(-part / parts));
    let near = k.fma(first, size);
    let (r, rest) = if x.is_single() || step == ReductionStep::EighthOfPi {
        let product = k * second;
        let r = near + product;
        let rest = (near - r) + product;
        (r, if x.is_single() { rest + k.fma(second, -product) } else { rest })
    } else {
        let r = k.fma(second, near);
        (r, k.fma(second, near - r))
    };
    // Compares k instead of x, whose live range would otherwise extend to here. Numbers that round to the
    // last k are reduced, too.
    let most = (n.most * std::f64::consts::FRAC_2_PI * parts).floor();
    ReducedAngle { bits: shifted.bits(), r, rest: k.fma(third, rest), far: x.of(n.shifter + most).less(shifted) }
}

/// The terms of the sine and the cosine of k pi / 8 + r + rest, without the sign that changes with every
/// eight of k.
struct Eighths<F: Real> {
    r: F,
    sin: F,
    cos: F,
    /// sin(r + rest) - r, and cos(r) - 1.
    sin_more: F,
    cos_more: F,
}

fn eighths<F: Real>(at: &ReducedAngle<F>, n: &TrigConstants) -> Eighths<F> {
    let r = at.r;
    let square = r * r;
    Eighths {
        r,
        sin: at.bits.choose(&EIGHTHS_SIN),
        cos: at.bits.choose(&EIGHTHS_COS),
        sin_more: (r * square).fma(horner(square, n.sin_near_0.iter()), at.rest),
        cos_more: square * horner(square, n.cos_near_0.iter()),
    }
}

/// `value` with its sign changed if bit 3 of `k`, the number of eighths of pi, is set, and changed again if
/// `x` is given and negative.
fn with_sign<F: Real>(value: F, k: F::Bits, x: Option<F>, n: &TrigConstants) -> F {
    let turned = k.shl(n.sign - 3);
    let turned = x.map_or(turned, |x| turned ^ x.bits()) & value.of(-0.0).bits();
    (value.bits() ^ turned).real()
}

/// Sine.
pub fn sin<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let at = reduced(x, ReductionStep::EighthOfPi, n);
    let Eighths { r, sin, cos, sin_more, cos_more } = eighths(&at, n);
    let more = cos.fma(sin_more, sin.fma(cos_more, at.bits.choose(&EIGHTHS_SIN_REST)));
    with_sign(sin + cos.fma(r, more), at.bits, Some(x), n).unless(at.far, &SIN, x)
}

/// Cosine.
pub fn cos<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let at = reduced(x, ReductionStep::EighthOfPi, n);
    let Eighths { r, sin, cos, sin_more, cos_more } = eighths(&at, n);
    let minus = -sin;
    let more = minus.fma(sin_more, cos.fma(cos_more, at.bits.choose(&EIGHTHS_COS_REST)));
    with_sign(cos + minus.fma(r, more), at.bits, None, n).unless(at.far, &COS, x)
}

/// The sine and the cosine of r + rest, each as a sum of two numbers.
fn parts<F: Real>(r: F, rest: F, n: &TrigConstants) -> [(F, F); 2] {
    let one = r.of(1.0);
    let (square, half) = (r * r, r.of(-0.5) * r);
    let lost_square = r.fma(r, -square);
    // sin r = r + r^3 S(r^2); the leading terms of S have twice the precision.
    let (cube, more) = series(r, square, n.sin);
    let sin_more = (lost_square * r).fma(r.of(n.sin[0]), more);
    let (sin, sin_lost) = quick_sum(r, cube);
    // cos r = 1 - r^2 / 2 + r^4 C(r^2), likewise.
    let head = half.fma(r, one);
    let lost = half.fma(r, one - head);
    let (fourth, more) = series(square, square, n.cos);
    let cos_more = (lost_square * (square + square)).fma(r.of(n.cos[0]), more);
    let (cos, cos_lost) = quick_sum(head, fourth);
    // Of r + rest: adds rest cos r to the sine, and subtracts rest sin r from the cosine.
    let sin_rest = cos.fma(rest, sin_more + sin_lost);
    let cos_rest = (-sin).fma(rest, (cos_more + cos_lost) + lost);
    [(sin, sin_rest), (cos, cos_rest)]
}

/// The sine and the cosine of k pi / 2 + r from those of r. For a negative `x` the sine changes sign.
fn turned<F: Real>(at: &ReducedAngle<F>, [sin, cos]: [Pair<F>; 2], x: Option<F>, n: &TrigConstants) -> [Pair<F>; 2] {
    let even = (at.bits & at.bits.of(1)).is_zero();
    let sign = at.r.of(-0.0).bits();
    let picked = |a: Pair<F>, b: Pair<F>, turned: F::Bits| {
        let Pair { hi, lo } = a.or(even, b);
        Pair { hi: (hi.bits() ^ turned).real(), lo: (lo.bits() ^ turned).real() }
    };
    let of_sine = at.bits.shl(n.sign - 1);
    let of_sine = x.map_or(of_sine, |x| of_sine ^ x.bits()) & sign;
    // The sign of the cosine for k is that of the sine for k + 1.
    let of_cosine = (at.bits + at.bits.of(1)).shl(n.sign - 1) & sign;
    [picked(sin, cos, of_sine), picked(cos, sin, of_cosine)]
}

/// The sine and the cosine of a number's magnitude, each as a sum of two numbers; from the called function,
/// as one rounded number.
pub(super) fn of_magnitude<F: Real>(x: F) -> [Pair<F>; 2] {
    let n = x.at(&DOUBLE, &SINGLE);
    let (size, zero) = (x.abs(), x.of(0.0));
    let at = reduced(x, ReductionStep::HalfPi, n);
    let [sin, cos] = parts(at.r, at.rest, n).map(|(large, small)| quick_sum(large, small).into());
    let [sin, cos] = turned(&at, [sin, cos], None, n);
    let near =
        |part: Pair<F>, slow: &Slow| Pair { hi: part.hi.unless(at.far, slow, size), lo: zero.or(at.far, part.lo) };
    [near(sin, &SIN), near(cos, &COS)]
}

/// The coefficients of `sin r / r` and of `cos r` from that of r^2 on, and the rounding errors of the first
/// ones.
struct Series {
    terms: [f64; 12],
    rests: [f64; 7],
}

const LONG_SIN: Series = Series {
    terms: [
        -0.16666666666666666,
        0.008333333333333333,
        -0.0001984126984126984,
        2.7557319223985893e-06,
        -2.505210838544172e-08,
        1.6059043836821613e-10,
        -7.647163731819816e-13,
        2.8114572543455206e-15,
        -8.22063524662433e-18,
        1.9572941063391263e-20,
        -3.868170170630684e-23,
        6.446950284384474e-26,
    ],
    rests: [
        -9.25185853854297e-18,
        1.1564823173178714e-19,
        -1.7209558293420705e-22,
        -1.858393274046472e-22,
        1.448814070935912e-24,
        1.2585294588752098e-26,
        -7.03872877733453e-30,
    ],
};

const LONG_COS: Series = Series {
    terms: [
        -0.5,
        0.041666666666666664,
        -0.001388888888888889,
        2.48015873015873e-05,
        -2.755731922398589e-07,
        2.08767569878681e-09,
        -1.1470745597729725e-11,
        4.779477332387385e-14,
        -1.5619206968586225e-16,
        4.110317623312165e-19,
        -8.896791392450574e-22,
        1.6117375710961184e-24,
    ],
    rests: [
        0.0,
        2.3129646346357427e-18,
        5.300543954373577e-20,
        2.1511947866775882e-23,
        -2.3767714622250297e-23,
        -1.20734505911326e-25,
        -2.0655512752830745e-28,
    ],
};

/// The number of terms of a series that are sums of two. Three give sine and cosine to some 66 bits, seven
/// to 95.
#[derive(Clone, Copy)]
pub(super) enum Long {
    Three = 3,
    Seven = 7,
}

/// The sine and the cosine of a number that the steps reduce, at `f64`.
pub(super) fn long_of<F: Real>(x: F, long: Long) -> [Pair<F>; 2] {
    let n = x.at(&DOUBLE, &SINGLE);
    let at = reduced(x, ReductionStep::HalfPi, n);
    let r: Pair<F> = quick_sum(at.r, at.rest).into();
    let square = r * r;
    let sum = |series: &Series| {
        let (first, others) = series.terms.split_at(long as usize);
        let others = Pair::new(polynomial(square.hi, others));
        let terms = first.iter().zip(&series.rests).rev();
        terms.fold(others, |sum, (&c, &rest)| Pair { hi: x.of(c), lo: x.of(rest) }.plus(square * sum))
    };
    let sin = r.plus(r * (square * sum(&LONG_SIN)));
    let cos = Pair::new(x.of(1.0)).plus(square * sum(&LONG_COS));
    turned(&at, [sin, cos], Some(x), n)
}

/// Tangent: the quotient of sine and cosine, or minus the quotient of cosine and sine.
pub fn tan<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let at = reduced(x, ReductionStep::HalfPi, n);
    let even = (at.bits & at.bits.of(1)).is_zero();
    let [sin, cos] = parts(at.r, at.rest, n).map(|(large, small)| quick_sum(large, small));
    let pick = |a: (F, F), b: (F, F)| (a.0.or(even, b.0), a.1.or(even, b.1));
    let value = quotient(pick(sin, cos), pick(cos, sin));
    let turned = at.bits.shl(n.sign) ^ (x.bits() & x.of(-0.0).bits());
    (value.bits() ^ turned).real().unless(at.far, &TAN, x)
}
