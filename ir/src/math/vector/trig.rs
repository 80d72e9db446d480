//! Sine, cosine and tangent.
//!
//! |x| = k pi / 2 + r with |r| at most pi / 4, reduced in three steps (W. Cody, W. Waite, "Software Manual for the Elementary
//! Functions", 1980), and r known to more than one number can hold. The sine of it or the cosine is what the last two bits of k say. Numbers so
//! large that three steps are not enough are left to a function that is called.

use super::polynomials::{COS_DOUBLE, COS_SINGLE, SIN_DOUBLE, SIN_SINGLE};
use super::sums::{quick_sum, quotient, series};
use super::{Bits, Real, Slow};
use crate::math::rounded;

/// What depends on the precision.
struct Numbers {
    /// What a number is added to so that the sum's low bits are the number, rounded to an integer.
    shifter: f64,
    /// Half of pi in three parts.
    half_pi: [f64; 3],
    sin: &'static [f64],
    cos: &'static [f64],
    /// Up to here three steps reduce.
    most: f64,
    /// The number of bits but for one.
    sign: u32,
}

const DOUBLE: Numbers = Numbers {
    shifter: 6755399441055744.0,
    half_pi: [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33],
    sin: &SIN_DOUBLE,
    cos: &COS_DOUBLE,
    most: 268435456.0,
    sign: 63,
};

const SINGLE: Numbers = Numbers {
    shifter: 12582912.0,
    half_pi: [1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15],
    sin: &SIN_SINGLE,
    cos: &COS_SINGLE,
    most: 131072.0,
    sign: 31,
};

macro_rules! far {
    ($($NAME:ident $function:ident)*) => {$(
        /// For numbers of any size.
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

/// A number's magnitude as k pi / 2 + r: k in the low bits, and the sine and cosine of r as sums of two.
struct Reduced<F: Real> {
    bits: F::Bits,
    sin: (F, F),
    cos: (F, F),
    /// Whether the number is too large for this.
    far: F::Condition,
}

fn reduced<F: Real>(x: F, n: &Numbers) -> Reduced<F> {
    let size = x.abs();
    let shifted = size.fma(x.of(std::f64::consts::FRAC_2_PI), x.of(n.shifter));
    let k = shifted - x.of(n.shifter);
    let [first, second, third] = n.half_pi.map(|part| x.of(-part));
    // Exact: both are multiples of the first part's last place, and the difference is less than 1.
    let near = k.fma(first, size);
    let product = k * second;
    let r = near + product;
    let rest = k.fma(third, ((near - r) + product) + k.fma(second, -product));
    let (square, half) = (r * r, x.of(-0.5) * r);
    let lost_square = r.fma(r, -square);
    // sin r = r + r^3 S(r^2), all but the later terms of S known to twice the precision.
    let (cube, more) = series(r, square, n.sin);
    let sin_more = (lost_square * r).fma(x.of(n.sin[0]), more);
    let (sin, sin_lost) = quick_sum(r, cube);
    // cos r = 1 - r^2 / 2 + r^4 C(r^2), likewise.
    let head = half.fma(r, x.of(1.0));
    let lost = half.fma(r, x.of(1.0) - head);
    let (fourth, more) = series(square, square, n.cos);
    let cos_more = (lost_square * (square + square)).fma(x.of(n.cos[0]), more);
    let (cos, cos_lost) = quick_sum(head, fourth);
    // Those of r + rest: rest cos r more, and rest sin r less.
    let sin_rest = cos.fma(rest, sin_more + sin_lost);
    let cos_rest = (-sin).fma(rest, (cos_more + cos_lost) + lost);
    let (sin, cos) = ((sin, sin_rest), (cos, cos_rest));
    Reduced { bits: shifted.bits(), sin, cos, far: x.of(n.most).less(size) }
}

/// The sine of k pi / 2 + r, and k one more is the cosine; with the sign of `sign`.
fn quadrant<F: Real>(at: &Reduced<F>, k: F::Bits, sign: F::Bits, n: &Numbers) -> F {
    let even = (k & k.of(1)).is_zero();
    let (large, small) = (at.sin.0.or(even, at.cos.0), at.sin.1.or(even, at.cos.1));
    let turned = k.shr(1).shl(n.sign) ^ sign;
    ((large + small).bits() ^ turned).real()
}

/// Sine.
pub fn sin<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let at = reduced(x, n);
    let sign = x.bits() & x.of(-0.0).bits();
    quadrant(&at, at.bits, sign, n).unless(at.far, &SIN, x)
}

/// Cosine.
pub fn cos<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let at = reduced(x, n);
    let none = at.bits.of(0);
    quadrant(&at, at.bits + at.bits.of(1), none, n).unless(at.far, &COS, x)
}

/// Tangent: the quotient of sine and cosine, or minus that of cosine and sine.
pub fn tan<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let at = reduced(x, n);
    let even = (at.bits & at.bits.of(1)).is_zero();
    let (sin, cos) = (quick_sum(at.sin.0, at.sin.1), quick_sum(at.cos.0, at.cos.1));
    let pick = |a: (F, F), b: (F, F)| (a.0.or(even, b.0), a.1.or(even, b.1));
    let value = quotient(pick(sin, cos), pick(cos, sin));
    let turned = at.bits.shl(n.sign) ^ (x.bits() & x.of(-0.0).bits());
    (value.bits() ^ turned).real().unless(at.far, &TAN, x)
}
