//! exp, log and erfc with some 66 bits, as double-doubles: enough to round to `f64`, but for one case in a thousand, and to
//! compute others with.
//!
//! Each reduces its operand to a point of a table and a small distance. What is large is summed exactly: a product of a table's
//! number and the distance is split so that its large part has 53 bits. So no fused multiply-add is needed, and every machine
//! gives the same bits.

use super::double_double::{Dd, LN_2};
use super::tables::{ERFC, EXP2, LOG};

/// The leading 24 bits.
fn head(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !((1 << 29) - 1))
}

/// `x` rounded to `f64`, if that is certain when `x` is off by up to `error`.
pub(super) fn round(x: Dd, error: f64) -> Option<f64> {
    let least = x.hi + (x.lo - error);
    (least == x.hi + (x.lo + error)).then_some(least)
}

/// `f` and `k` with `e^x = f 2^k`, for |x| up to 800; f, between 0.99 and 2, is off by less than `f` 2^-66.
pub(super) fn exp(x: Dd) -> (Dd, i32) {
    // ln(2) / 128 in three parts, the first two of 35 bits: their products with n, of 18 bits, are exact.
    const STEP: [f64; 3] = [0.005415212347998022, 1.2655086083012853e-13, 3.1258479278239995e-24];
    let n = (x.hi * 184.6649652337873).round_ties_even();
    let r = Dd::sum(x.hi - n * STEP[0], -n * STEP[1]);
    let rest = r.lo + (x.lo - n * STEP[2]);
    let large = head(r.hi);
    let small = (r.hi - large) + rest;
    let r = r.hi + rest;
    // e^r - 1 - large
    let tail = small + r * r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0)))));
    let n = n as i32;
    let [power, power_rest] = EXP2[(n & 127) as usize];
    let near = Dd::quick_sum(power, power * large);
    (Dd::quick_sum(near.hi, near.lo + power_rest + (power * tail + power_rest * (large + tail))), n >> 7)
}

/// Natural logarithm of a positive, finite, normal number, off by less than 2^-66 of itself.
pub(super) fn log(x: f64) -> Dd {
    let bits = x.to_bits();
    let fraction = bits & ((1 << 52) - 1);
    let index = ((fraction + (1 << 44)) >> 45) as usize;
    let half = (index > 53) as u64;
    let k = (bits >> 52) as i64 - 1023 + half as i64;
    let m = f64::from_bits(fraction | (1023 - half) << 52);
    let [reciprocal, point, point_rest] = LOG[index];
    // m * reciprocal - 1, exactly z + z_rest.
    let m_head = f64::from_bits(m.to_bits() & !((1 << 13) - 1));
    let (z_head, z_rest) = (m_head * reciprocal - 1.0, (m - m_head) * reciprocal);
    let z = z_head + z_rest;
    let z_rest = (z_head - z) + z_rest;
    // log(1 + z) = z - large^2 / 2 + ...
    let large = head(z);
    let tail = [1.0 / 10.0, -1.0 / 9.0, 1.0 / 8.0, -1.0 / 7.0, 1.0 / 6.0, -1.0 / 5.0, 1.0 / 4.0, -1.0 / 3.0];
    let tail = -tail.iter().fold(0.0, |sum, c| sum * z + c) * z * z * z;
    let k = k as f64;
    let sum = Dd::sum(k * 0.6931471805598903 + point, z);
    let next = Dd::sum(sum.hi, -0.5 * large * large);
    let rest = z_rest * (1.0 - z) - 0.5 * (z - large) * (z + large) + tail + (k * 5.497923018708371e-14 + point_rest);
    Dd::quick_sum(next.hi, sum.lo + next.lo + rest)
}

/// What is known of erf near a multiple c of 1/64.
struct ErfPoint {
    erf: Dd,
    erfc: Dd,
    /// Of 29 bits, and the rest.
    slope: f64,
    slope_rest: f64,
    /// Coefficients of Taylor's series of `(erf(c + r) - erf(c)) / (slope r) - 1`, from the first on.
    bend: [f64; 8],
}

static ERF_POINTS: [ErfPoint; ERFC.len()] = erf_points();

const fn erf_points() -> [ErfPoint; ERFC.len()] {
    let zero = Dd::new(0.0);
    let mut points =
        [const { ErfPoint { erf: Dd::new(0.0), erfc: Dd::new(1.0), slope: 0.0, slope_rest: 0.0, bend: [0.0; 8] } }; _];
    let mut i = 0;
    while i < ERFC.len() {
        let [hi, lo, slope, slope_rest] = ERFC[i];
        let near = Dd::sum(1.0, -hi);
        let erf = if i == 0 { zero } else { Dd::quick_sum(near.hi, near.lo - lo) };
        let c = i as f64 / 64.0;
        let s = c * c;
        // The k-th is (-1)^k H_k(c) / (k + 1)!, H_k Hermite's polynomial.
        let bend = [
            -c,
            (2.0 * s - 1.0) / 3.0,
            c * (3.0 - 2.0 * s) / 6.0,
            ((4.0 * s - 12.0) * s + 3.0) / 30.0,
            -c * ((4.0 * s - 20.0) * s + 15.0) / 90.0,
            (((8.0 * s - 60.0) * s + 90.0) * s - 15.0) / 630.0,
            -c * (((8.0 * s - 84.0) * s + 210.0) * s - 105.0) / 2520.0,
            ((((16.0 * s - 224.0) * s + 840.0) * s - 840.0) * s + 105.0) / 22680.0,
        ];
        points[i] = ErfPoint { erf, erfc: Dd { hi, lo }, slope, slope_rest, bend };
        i += 1;
    }
    points
}

/// erf of a number between 2^-900 and 6, off by less than 2^-64 of itself.
pub(super) fn erf(x: f64) -> Dd {
    let (at, growth) = from_erf_point(x);
    let sum = Dd::quick_sum(at.erf.hi, growth.hi);
    if at.erf.hi == 0.0 { growth } else { Dd::quick_sum(sum.hi, sum.lo + (at.erf.lo + growth.lo)) }
}

/// erfc of a number x between 2^-900 and 6, off by less than (1 + x^2) 2^-63 of itself.
pub(super) fn erfc(x: f64) -> Dd {
    let (at, growth) = from_erf_point(x);
    let sum = Dd::quick_sum(at.erfc.hi, -growth.hi);
    Dd::quick_sum(sum.hi, sum.lo + (at.erfc.lo - growth.lo))
}

/// The nearest point, and by how much erf is greater at x than there.
fn from_erf_point(x: f64) -> (&'static ErfPoint, Dd) {
    let index = (x * 64.0 + 0.5) as usize;
    let at = &ERF_POINTS[index];
    let r = x - index as f64 * (1.0 / 64.0);
    let large = head(r);
    let (a, square) = (&at.bend, r * r);
    let (low, high) = ((a[0] + a[1] * r) + square * (a[2] + a[3] * r), (a[4] + a[5] * r) + square * (a[6] + a[7] * r));
    let bend = r * (low + square * square * high);
    let rest = at.slope * (r - large) + at.slope_rest * r + (at.slope + at.slope_rest) * r * bend;
    (at, Dd::quick_sum(at.slope * large, rest))
}

/// e^x rounded to `f64` from a hundred bits, for |x| up to 800 known to that many.
pub(super) fn exp_of_hundred_bits(x: Dd) -> f64 {
    let k = (x.hi / LN_2.hi).round_ties_even();
    round_scaled((x - LN_2 * Dd::new(k)).exp(), k as i32)
}

/// `x 2^k` rounded to `f64`, once. What is off the middle of two numbers by less than 2^-30 of their distance is taken to be there.
pub(super) fn round_scaled(x: Dd, k: i32) -> f64 {
    // The distance of numbers near x 2^k is 2^(unit + k).
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
