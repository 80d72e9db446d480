//! Rounding of double-doubles to `f64` in one step, also to subnormal numbers.

use super::double_double::{Dd, LN_2};

/// e^x rounded to `f64` from a hundred bits. |x| is at most 800 and known to a hundred bits.
pub(super) fn exp_of_hundred_bits(x: Dd) -> f64 {
    let k = (x.hi / LN_2.hi).round_ties_even();
    round_scaled((x - LN_2 * Dd::new(k)).exp(), k as i32)
}

/// `x 2^k` rounded to `f64` once. Numbers within 2^-30 of their spacing from a midpoint count as ties.
pub(super) fn round_scaled(x: Dd, k: i32) -> f64 {
    // The spacing of numbers near x 2^k is 2^(unit + k).
    let unit = (libm::frexp(x.hi).1 - 53).max(-1074 - k);
    let units = libm::ldexp(x.hi, -unit);
    let mut whole = units.floor();
    let mut rest = (units - whole) + libm::ldexp(x.lo, -unit);
    if rest < 0.0 {
        (whole, rest) = (whole - 1.0, rest + 1.0);
    }
    let up = if (rest - 0.5).abs() < 2f64.powi(-30) { whole % 2.0 } else { f64::from(rest > 0.5) };
    libm::ldexp(whole + up, unit + k)
}
