//! e to the power x.
//!
//! x = k log 2 + r with |r| at most half of log 2, reduced in two steps (W. Cody, W. Waite, "Software Manual for the Elementary
//! Functions", 1980), so that `e^x = 2^k e^r`. What is lost in rounding r and the sum `1 + r` is added last, so that the result is
//! little more than half a unit off.

use super::polynomials::{EXP_DOUBLE, EXP_SINGLE};
use super::{Bits, Real, polynomial};

/// What depends on the precision.
struct Numbers {
    /// What a number is added to so that the sum's low bits are the number, rounded to an integer, plus twice the bias of exponents.
    shifter: f64,
    /// The logarithm of 2: so many bits that its product with k is exact, and the rest.
    ln2: [f64; 2],
    series: &'static [f64],
    /// Below the result is 0, above it is infinite.
    ends: [f64; 2],
    mantissa: u32,
}

const DOUBLE: Numbers = Numbers {
    shifter: 6755399441055744.0 + 2046.0,
    ln2: [0.6931471805598903, 5.497923018708371e-14],
    series: &EXP_DOUBLE,
    ends: [-746.0, 710.0],
    mantissa: 52,
};

const SINGLE: Numbers = Numbers {
    shifter: 12582912.0 + 254.0,
    ln2: [0.693145751953125, 1.428606765330187e-06],
    series: &EXP_SINGLE,
    ends: [-104.0, 89.0],
    mantissa: 23,
};

/// e to the power x.
pub fn exp<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let shifted = x.fma(x.of(std::f64::consts::LOG2_E), x.of(n.shifter));
    let k = shifted - x.of(n.shifter);
    let near = k.fma(x.of(-n.ln2[0]), x);
    let r = k.fma(x.of(-n.ln2[1]), near);
    let rest = k.fma(x.of(-n.ln2[1]), near - r);
    let sum = x.of(1.0) + r;
    let lost = (x.of(1.0) - sum) + r;
    let power = sum + ((r * r).fma(polynomial(r, n.series), rest * sum) + lost);
    // 2^k in two factors, for k beyond the exponents of normal numbers: only the second product may round.
    let biased = shifted.bits();
    let half = biased.shr(1);
    let scaled = power * half.shl(n.mantissa).real() * (biased - half).shl(n.mantissa).real();
    let [least, most] = n.ends.map(|end| x.of(end));
    x.of(0.0).or(x.less(least), x.of(f64::INFINITY).or(most.less(x), scaled))
}
