//! Limits of functions: 0, infinity or another constant, for arguments of large magnitude.

use crate::math::vector::{Real, unary};

/// A function's name, the bounds from which it has the limit at `f64` and `f32`, the bounds from which the
/// limit is selected instead of computed, and the limit.
const ENDS: &[(&str, [f64; 2], [f64; 2], f64)] = &[
    ("exp", [-745.14, -103.98], [-746.0, -104.0], 0.0),
    ("exp", [709.79, 88.73], [710.0, 89.0], f64::INFINITY),
    ("exp2", [-1075.01, -150.01], [-1076.0, -151.0], 0.0),
    ("exp2", [1024.0, 128.0], [1024.5, 128.5], f64::INFINITY),
    ("logistic", [-745.14, -103.98], [-746.0, -104.0], 0.0),
    ("logistic", [38.0, 18.0], [746.0, 104.0], 1.0),
    ("erf", [5.95, 3.95], [6.0, 4.0], 1.0),
    ("erf", [-5.95, -3.95], [-6.0, -4.0], -1.0),
    ("erfc", [27.24, 10.06], [27.3, 10.1], 0.0),
    ("erfc", [-5.95, -3.95], [-27.3, -10.1], 2.0),
    ("sinh", [710.48, 89.42], [710.5, 89.5], f64::INFINITY),
    ("sinh", [-710.48, -89.42], [-710.5, -89.5], f64::NEG_INFINITY),
    ("cosh", [710.48, 89.42], [710.5, 89.5], f64::INFINITY),
    ("cosh", [-710.48, -89.42], [-710.5, -89.5], f64::INFINITY),
    ("atan", [1e17, 1e8], [1e18, 1e9], std::f64::consts::FRAC_PI_2),
    ("atan", [-1e17, -1e8], [-1e18, -1e9], -std::f64::consts::FRAC_PI_2),
    ("lgamma", [2.6e305, 4.1e36], [3e305, 5e36], f64::INFINITY),
];

fn of<F: Real>(name: &str, x: F) -> F {
    unary::<F>(name).expect("a function of this name")(x)
}

#[test]
fn values_at_and_beyond_the_ends_are_exact() {
    for &(name, from, chosen, value) in ENDS {
        let (from, end, sign) = (from[0], chosen[0], chosen[0].signum());
        let beyond = [from, end.next_down(), end, end.next_up(), 2.0 * end, sign * f64::MAX, sign * f64::INFINITY];
        for x in beyond {
            assert_eq!(of(name, x).to_bits(), value.to_bits(), "{name}({x:?})");
        }
    }
    for &(name, from, chosen, value) in ENDS {
        let (from, end, value) = (from[1] as f32, chosen[1] as f32, value as f32);
        let sign = end.signum();
        let beyond = [from, end.next_down(), end, end.next_up(), 2.0 * end, sign * f32::MAX, sign * f32::INFINITY];
        for x in beyond {
            assert_eq!(of(name, x).to_bits(), value.to_bits(), "{name}({x:?}) at f32");
        }
    }
}

#[test]
fn subnormal_results_are_not_lost_before_the_ends() {
    for name in ["exp", "logistic"] {
        assert_eq!(of(name, -745.13), f64::from_bits(1), "{name}");
        assert_eq!(of(name, -103.97f32), f32::from_bits(1), "{name} at f32");
    }
    assert_eq!(of("exp2", -1074.0), f64::from_bits(1));
    assert_eq!(of("exp2", -149.0f32), f32::from_bits(1));
    assert!(of("erfc", 27.2) > 0.0 && of("erfc", 10.05f32) > 0.0);
}

#[test]
fn zeros_and_nan_are_not_taken_for_ends() {
    for (name, value) in [("exp", 1.0), ("exp2", 1.0), ("logistic", 0.5), ("cosh", 1.0), ("erfc", 1.0)] {
        assert_eq!((of(name, 0.0), of(name, -0.0)), (value, value), "{name}");
        assert_eq!((of(name, 0f32), of(name, -0f32)), (value as f32, value as f32), "{name} at f32");
    }
    for name in ["sinh", "erf", "atan"] {
        assert_eq!(of(name, -0f64).to_bits(), (-0f64).to_bits(), "{name}");
        assert_eq!(of(name, -0f32).to_bits(), (-0f32).to_bits(), "{name} at f32");
    }
    for &(name, ..) in ENDS {
        assert!(of(name, f64::NAN).is_nan() && of(name, f32::NAN).is_nan(), "{name}");
    }
}
