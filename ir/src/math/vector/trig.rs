//! Sine, cosine and tangent.
//!
//! |x| = k pi / 2 + r with |r| at most pi / 4, reduced in steps (W. Cody, W. Waite, "Software Manual for the Elementary
//! Functions", 1980), and r known to more than one number can hold. The sine of it or the cosine is what the last two bits of k say. Numbers so
//! large that the steps are not enough are left to a function that is called.
//!
//! The product of k and the first part of half of pi, subtracted from |x|, is exact, for the difference is less than 1 and a multiple of the
//! last place of either. At `f64` the second part is so short that its product with k is exact, too: what is lost when that is subtracted
//! is found by subtracting it once more. At `f32` it can't be: a third one would not be small enough.

use super::polynomials::{COS_DOUBLE, COS_SINGLE, SIN_DOUBLE, SIN_SINGLE};
use super::sums::{quick_sum, quotient, series};
use super::{Bits, Real, Slow, polynomial};
use crate::math::rounded;

/// What depends on the precision.
struct Numbers {
    /// What a number is added to so that the sum's low bits are the number, rounded to an integer.
    shifter: f64,
    /// Half of pi in parts.
    half_pi: [f64; 3],
    sin: &'static [f64],
    cos: &'static [f64],
    /// Up to here the steps reduce.
    most: f64,
    /// The number of bits but for one.
    sign: u32,
}

const DOUBLE: Numbers = Numbers {
    shifter: 6755399441055744.0,
    half_pi: [std::f64::consts::FRAC_PI_2, 6.12323399409214e-17, 1.6446256936324258e-26],
    sin: &SIN_DOUBLE,
    cos: &COS_DOUBLE,
    most: 8388608.0,
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

/// A number's magnitude as k pi / 2 + r + rest.
struct Reduced<F: Real> {
    /// The low bits are k.
    bits: F::Bits,
    r: F,
    rest: F,
    /// Whether the number is too large for this.
    far: F::Condition,
}

fn reduced<F: Real>(x: F, n: &Numbers) -> Reduced<F> {
    let size = x.abs();
    let shifted = size.fma(x.of(std::f64::consts::FRAC_2_PI), x.of(n.shifter));
    let k = shifted - x.of(n.shifter);
    let [first, second, third] = n.half_pi.map(|part| x.of(-part));
    let near = k.fma(first, size);
    let (r, rest) = if x.is_single() {
        let product = k * second;
        let r = near + product;
        (r, ((near - r) + product) + k.fma(second, -product))
    } else {
        let r = k.fma(second, near);
        (r, k.fma(second, near - r))
    };
    Reduced { bits: shifted.bits(), r, rest: k.fma(third, rest), far: x.of(n.most).less(size) }
}

/// The sine of k pi / 2 + r, where k is `more` than it was; with the sign of `x` if there is one.
///
/// Both the sine and the cosine of r are computed: choosing coefficients would take as many instructions.
fn quadrant<F: Real>(at: &Reduced<F>, more: u64, x: Option<F>, n: &Numbers) -> F {
    let (r, one) = (at.r, at.r.of(1.0));
    // That of r + rest, rounded once: what is computed of it is that of r + rest, too.
    let square = r.fma(r, (r + r) * at.rest);
    let sin_more = (r * square).fma(polynomial(square, n.sin), at.rest);
    let cos_more = polynomial(square, n.cos).fma(square, r.of(-0.5));
    let k = if more == 0 { at.bits } else { at.bits + at.bits.of(more) };
    let even = (k & k.of(1)).is_zero();
    let value = (r + sin_more).or(even, square.fma(cos_more, one));
    let sign = r.of(-0.0).bits();
    let turned = k.shl(n.sign - 1);
    let turned = x.map_or(turned, |x| turned ^ x.bits()) & sign;
    (value.bits() ^ turned).real()
}

/// Sine.
pub fn sin<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let at = reduced(x, n);
    quadrant(&at, 0, Some(x), n).unless(at.far, &SIN, x)
}

/// Cosine.
pub fn cos<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let at = reduced(x, n);
    quadrant(&at, 1, None, n).unless(at.far, &COS, x)
}

/// The sine and the cosine of r + rest as sums of two.
fn parts<F: Real>(r: F, rest: F, n: &Numbers) -> [(F, F); 2] {
    let one = r.of(1.0);
    let (square, half) = (r * r, r.of(-0.5) * r);
    let lost_square = r.fma(r, -square);
    // sin r = r + r^3 S(r^2), all but the later terms of S known to twice the precision.
    let (cube, more) = series(r, square, n.sin);
    let sin_more = (lost_square * r).fma(r.of(n.sin[0]), more);
    let (sin, sin_lost) = quick_sum(r, cube);
    // cos r = 1 - r^2 / 2 + r^4 C(r^2), likewise.
    let head = half.fma(r, one);
    let lost = half.fma(r, one - head);
    let (fourth, more) = series(square, square, n.cos);
    let cos_more = (lost_square * (square + square)).fma(r.of(n.cos[0]), more);
    let (cos, cos_lost) = quick_sum(head, fourth);
    // Those of r + rest: rest cos r more, and rest sin r less.
    let sin_rest = cos.fma(rest, sin_more + sin_lost);
    let cos_rest = (-sin).fma(rest, (cos_more + cos_lost) + lost);
    [(sin, sin_rest), (cos, cos_rest)]
}

/// Tangent: the quotient of sine and cosine, or minus that of cosine and sine.
pub fn tan<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let at = reduced(x, n);
    let even = (at.bits & at.bits.of(1)).is_zero();
    let [sin, cos] = parts(at.r, at.rest, n).map(|(large, small)| quick_sum(large, small));
    let pick = |a: (F, F), b: (F, F)| (a.0.or(even, b.0), a.1.or(even, b.1));
    let value = quotient(pick(sin, cos), pick(cos, sin));
    let turned = at.bits.shl(n.sign) ^ (x.bits() & x.of(-0.0).bits());
    (value.bits() ^ turned).real().unless(at.far, &TAN, x)
}
