//! Reference values of `lgamma`, and its special values.

use super::super::{double, single};
use super::{log, log_of, log1p, ulp};
use crate::math::double_double::{Dd, LN_2};

/// For x < 0, errors are measured in ULPs of `max(|value|, 0.25)`: near its zeros there, the value is a
/// difference of larger numbers.
pub(super) const MIN_MAGNITUDE: f64 = 0.25;

/// The reference at `f64`. It is correctly rounded except near 1 and 2, where it may be off by 0.03 ULP more
/// than a rounding, and near the zeros at negative numbers, where it is less accurate.
pub(super) fn nearest(x: f64) -> f64 {
    if x < 1e270 || x == f64::INFINITY {
        return pxfm::f_lgamma(x);
    }
    // x (log x - 1), scaled so that products of parts do not overflow. The other terms are far below its
    // last place.
    let small = Dd::new(x).scale(f64::from_bits(0x17f0_0000_0000_0000)); // 2^-640
    let log = small.log() + LN_2 * Dd::new(640.0);
    (small * (log - Dd::new(1.0))).value() * f64::from_bits(0x67f0_0000_0000_0000)
}

/// The coefficients of Stirling's series in 1 / x, as numerators and denominators.
const STIRLING: [(f64, f64); 12] = [
    (1.0, 12.0),
    (-1.0, 360.0),
    (1.0, 1260.0),
    (-1.0, 1680.0),
    (1.0, 1188.0),
    (-691.0, 360360.0),
    (1.0, 156.0),
    (-3617.0, 122400.0),
    (43867.0, 244188.0),
    (-174611.0, 125400.0),
    (77683.0, 5796.0),
    (-236364091.0, 1506960.0),
];
/// Half of the logarithm of 2 pi.
const HALF_LN_2PI: Dd = Dd { hi: 0.9189385332046728, lo: -3.8782941580672414e-17 };
const PI: Dd = Dd { hi: std::f64::consts::PI, lo: 1.2246467991473532e-16 };

/// The Taylor coefficients of degree 1 to 4 at 1: minus Euler's constant, and the values of the zeta function
/// at 2, 3 and 4 divided by 2, 3 and 4, with alternating signs.
const LGAMMA_TAYLOR_AT_1: [Dd; 4] = [
    Dd { hi: -0.5772156649015329, lo: 4.942915152430645e-18 },
    Dd { hi: 0.8224670334241132, lo: 1.520336175199238e-17 },
    Dd { hi: -0.40068563438653143, lo: 2.250747042487504e-18 },
    Dd { hi: 0.27058080842778454, lo: 1.1871280107138412e-17 },
];

/// The value to a hundred bits, fewer near the zeros at negative numbers.
pub(super) fn exact(x: f64) -> Dd {
    let size = x.abs();
    if size < 1e-35 {
        return -log(size);
    }
    if x < 0.0 {
        let turn = PI * Dd::new((size - size.round_ties_even()).abs());
        return log_of(PI / (turn.sin_cos().0 * Dd::new(size))) - exact(size);
    }
    if (x - 1.0).abs() < 1e-7 {
        return near_one(x - 1.0);
    }
    if (x - 2.0).abs() < 1e-7 {
        return near_one(x - 2.0) + log1p(x - 2.0);
    }
    // gamma (x) = gamma (x + n) / (x (x + 1) ... (x + n - 1))
    let (mut y, mut product) = (Dd::new(x), Dd::new(1.0));
    while y.hi < 30.0 {
        product = product * y;
        y = y + Dd::new(1.0);
    }
    let inverse = Dd::new(1.0) / y;
    let square = inverse * inverse;
    let term = |rest: Dd, &(above, below): &(f64, f64)| rest * square + Dd::new(above) / Dd::new(below);
    let series = STIRLING.iter().rev().fold(Dd::new(0.0), term) * inverse;
    let log = if x < 30.0 { log_of(y) } else { log(x) };
    (y - Dd::new(0.5)) * log - y + HALF_LN_2PI + series - log_of(product)
}

/// The value for 1 + e.
fn near_one(e: f64) -> Dd {
    LGAMMA_TAYLOR_AT_1.iter().rev().fold(Dd::new(0.0), |sum, &c| (sum + c) * Dd::new(e))
}

/// Arguments and rounded values, computed by mpmath.
const VALUES: &[(f64, f64)] = &[
    (5e-324, 744.4400719213812),
    (-5e-324, 744.4400719213812),
    (2.2250738585072014e-308, 708.3964185322641),
    (-1e-300, 690.7755278982137),
    (1e-20, 46.051701859880914),
    (-1e-20, 46.051701859880914),
    (1e-10, 23.025850929882736),
    (-1e-10, 23.025850929998178),
    (0.5, 0.5723649429247001),
    (-0.5, 1.2655121234846454),
    (0.9999999999999999, 6.408381213480008e-17),
    (1.0000000000000002, -1.2816762426960008e-16),
    (1.4616321449683622, -0.12148629053584961),
    (1.9999999999999998, -9.387698065543117e-17),
    (2.0000000000000004, 1.8775396131086244e-16),
    (2.5, 0.2846828704729192),
    (4.0, 1.791759469228055),
    (-1.5, 0.860047015376481),
    (-0.9999999999999999, 36.7368005696771),
    (-1.0000000000000002, 36.04365338911715),
    (-2.4570247382208006, 5.619192358950097e-17),
    (-2.7476826467274127, 1.733509244024501e-16),
    (-3.1435808883499803, -1.7579854183617677e-15),
    (-3.955294284858598, -4.14382750757705e-16),
    (-19.999999999999996, -9.064551793876099),
    (-170.5, -707.9984331450788),
    (-4503599627370495.5, -1.5782258434492883e+17),
    (-1125899906842624.2, -3.78948173941909e16),
    (1000000000000000.0, 3.3538776394910668e+16),
    (1e+270, 6.206979751083923e+272),
    (2.5599833278516383e+305, 1.7976931348623157e+308),
];

#[test]
fn lgamma_matches_mpmath_within_one_ulp() {
    for &(x, value) in VALUES {
        let ulp = ulp(if x < 0.0 { value.abs().max(MIN_MAGNITUDE) } else { value });
        let got = double::lgamma(x);
        assert!((got - value).abs() <= ulp, "lgamma({x:?}) is {got:?}, not {value:?}");
    }
}

#[test]
fn lgamma_of_special_values() {
    let infinite = [0.0, -0.0, -1.0, -2.0, -171.0, -4503599627370495.0, -1e16, f64::MIN, f64::MAX, 2.56e305];
    for x in infinite.into_iter().chain([f64::INFINITY, f64::NEG_INFINITY]) {
        assert_eq!(double::lgamma(x), f64::INFINITY, "{x:?}");
        assert_eq!(single::lgamma(x as f32), f32::INFINITY, "{x:?}");
    }
    assert_eq!(double::lgamma(1.0).to_bits(), 0);
    assert_eq!(double::lgamma(2.0).to_bits(), 0);
    assert_eq!(single::lgamma(1.0).to_bits(), 0);
    assert_eq!(single::lgamma(2.0).to_bits(), 0);
    assert!(double::lgamma(f64::NAN).is_nan() && single::lgamma(f32::NAN).is_nan());
    // The greatest number with a finite value, and the next one.
    assert_eq!(double::lgamma(2.5599833278516383e305), f64::MAX);
    assert_eq!(double::lgamma(2.5599833278516383e305_f64.next_up()), f64::INFINITY);
    assert!(single::lgamma(4.085003e36).is_finite());
    assert_eq!(single::lgamma(4.085_003e36_f32.next_up()), f32::INFINITY);
}
