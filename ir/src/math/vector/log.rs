//! Natural logarithm.
//!
//! x = 2^k m with m between the root of 1/2 and the root of 2, and f = m - 1. With `s = f / (2 + f)`, `log m` is `2 artanh s`, that is
//! `f - f^2 / 2 + s (f^2 / 2 + R(s^2))` (as in P. Tang, "Table-driven implementation of the logarithm function in IEEE
//! floating-point arithmetic", ACM TOMS 16(4), 1990). The large parts, `k log 2` and `f - f^2 / 2`, are summed exactly.

use super::polynomials::{LOG_DOUBLE, LOG_SINGLE};
use super::{Bits, Real, polynomial};

/// What depends on the precision.
struct Numbers {
    /// The logarithm of 2: so many bits that its product with k is exact, and the rest.
    ln2: [f64; 2],
    series: &'static [f64],
    mantissa: u32,
    /// The bias of exponents.
    bias: u64,
    /// The bits of the root of 1/2.
    root_half: u64,
    /// The least normal number.
    normal: f64,
    /// Subnormal numbers are multiplied by 2 to the power of this.
    lift: i32,
}

const DOUBLE: Numbers = Numbers {
    ln2: [0.6931471805598903, 5.497923018708371e-14],
    series: &LOG_DOUBLE,
    mantissa: 52,
    bias: 1023,
    root_half: 0x3fe6_a09e_667f_3bcd,
    normal: f64::MIN_POSITIVE,
    lift: 54,
};

const SINGLE: Numbers = Numbers {
    ln2: [0.693145751953125, 1.428606765330187e-06],
    series: &LOG_SINGLE,
    mantissa: 23,
    bias: 127,
    root_half: 0x3f35_04f3,
    normal: f32::MIN_POSITIVE as f64,
    lift: 25,
};

/// A positive number as 2^k (1 + f), where 1 + f is between the roots of 1/2 and 2: k and f.
fn split<F: Real>(x: F, n: &Numbers) -> (F, F) {
    let subnormal = x.less(x.of(n.normal));
    let lifted = (x * x.of(2f64.powi(n.lift))).or(subnormal, x);
    let bits = lifted.bits();
    let exponent_of_one = n.bias << n.mantissa;
    let turned = bits + bits.of(exponent_of_one - n.root_half);
    // A number with the exponent of `unit` is `unit` and its low bits.
    let unit = 2f64.powi(n.mantissa as i32);
    let (exponent, bias) = (turned.shr(n.mantissa) | x.of(unit).bits(), unit + n.bias as f64);
    let k = exponent.real() - x.of(bias + f64::from(n.lift)).or(subnormal, x.of(bias));
    let m = (turned & bits.of((1 << n.mantissa) - 1)) + bits.of(n.root_half);
    (k, m.real() - x.of(1.0))
}

/// Natural logarithm.
pub fn log<F: Real>(x: F) -> F {
    let n = x.at(&DOUBLE, &SINGLE);
    let (k, f) = split(x, n);
    let s = f / (x.of(2.0) + f);
    let square = s * s;
    let series = square * polynomial(square, n.series);
    // f - f^2 / 2 as a sum of two.
    let half = x.of(-0.5) * f;
    let head = half.fma(f, f);
    let rest = half.fma(f, f - head);
    let whole = k * x.of(n.ln2[0]);
    let sum = whole + head;
    let lost = (whole - sum) + head;
    let small = k.fma(x.of(n.ln2[1]), s.fma(series - half * f, rest));
    let near = sum + (lost + small);
    let finite = near.or(x.less(x.of(f64::INFINITY)), x);
    let not_zero = x.of(f64::NEG_INFINITY).or(x.equal(x.of(0.0)), finite);
    x.of(f64::NAN).or(x.less(x.of(0.0)), not_zero)
}
