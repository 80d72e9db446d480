//! x to the power y at `f64`, rounded to the nearest number.

use super::double_double::{Dd, LN_2};
use super::extended;

/// x to the powers that one operation or two give, rounded once; any float type.
macro_rules! short_power {
    ($x:expr, $y:expr) => {
        if $y == 2.0 {
            Some($x * $x)
        } else if $y == 1.0 {
            Some($x)
        } else if $y == -1.0 {
            Some(1.0 / $x)
        } else if $y == 0.5 {
            // C99's power of -0 is 0, that of minus infinity infinity.
            Some(if $x.is_infinite() { $x.abs() } else { $x.sqrt() + 0.0 })
        } else {
            None
        }
    };
}
pub(super) use short_power;

/// x to the power y where C99 lists it as a special case.
pub(super) fn special_power(x: f64, y: f64) -> Option<f64> {
    if x > 0.0 && x < f64::INFINITY && x != 1.0 && y.abs() < f64::INFINITY && y != 0.0 {
        return None;
    }
    let size = x.abs();
    if x == 1.0 || y == 0.0 || (size == 1.0 && y.is_infinite()) {
        Some(1.0)
    } else if x.is_nan() || y.is_nan() {
        Some(f64::NAN)
    } else if size == 0.0 || size.is_infinite() || y.is_infinite() {
        let sign = if x.is_sign_negative() && is_odd(y) { -1.0 } else { 1.0 };
        Some(sign * if (size > 1.0) == (y > 0.0) { f64::INFINITY } else { 0.0 })
    } else {
        (x < 0.0 && y.fract() != 0.0).then_some(f64::NAN)
    }
}

/// Minus 1 where x is negative and y odd, otherwise 1.
pub(super) fn sign_of_power(x: f64, y: f64) -> f64 {
    if x < 0.0 && is_odd(y) { -1.0 } else { 1.0 }
}

fn is_odd(y: f64) -> bool {
    (y * 0.5).fract().abs() == 0.5
}

/// x to the power y, for x positive, finite and not 1, y neither 0 nor NaN, nor a short power.
pub(super) fn nearest_power(x: f64, y: f64) -> f64 {
    // x = part * 2^scale, part a normal number.
    let (part, scale) = if x < f64::MIN_POSITIVE { (x * (1u64 << 54) as f64, -54.0) } else { (x, 0.0) };
    let mut log = extended::log(part);
    if scale != 0.0 {
        log = log + LN_2 * Dd::new(scale);
    }
    let near = log.hi * y;
    if near.abs() > 800.0 {
        return if near > 0.0 { f64::INFINITY } else { 0.0 };
    }
    let product = Dd::product(log.hi, y);
    let (power, k) = extended::exp(Dd { hi: product.hi, lo: product.lo + log.lo * y });
    let error = power.hi * (near.abs() + 1.0) * 2f64.powi(-66);
    match extended::round(power, error) {
        Some(power) if k.abs() < 1000 => power * f64::from_bits(((1023 + k) as u64) << 52),
        _ => by_a_hundred_bits(part, scale, y),
    }
}

/// The same, of part * 2^scale.
#[cold]
fn by_a_hundred_bits(part: f64, scale: f64, y: f64) -> f64 {
    let (mut m, mut k) = libm::frexp(part);
    if m < std::f64::consts::FRAC_1_SQRT_2 {
        (m, k) = (2.0 * m, k - 1);
    }
    // log(m) = 2 artanh((m - 1) / (m + 1)), |(m - 1) / (m + 1)| < 0.172: terms to 2^-110 of the first.
    let s = Dd::new(m - 1.0) / Dd::sum(m, 1.0);
    let square = s * s;
    let mut sum = Dd::new(0.0);
    for n in (0..22).rev() {
        sum = sum * square + Dd::new(1.0) / Dd::new((2 * n + 1) as f64);
    }
    let log = (s * sum).scale(2.0) + LN_2 * Dd::new(k as f64 + scale);
    extended::exp_of_hundred_bits(log * Dd::new(y))
}
