//! Accuracy of complex functions, compared with implementations that use branches, double-doubles and
//! correctly rounded real functions. Those are within a unit or two of the exact values, as the tables in
//! `ir/tests` confirm for fewer numbers.

mod exponential;
mod inverse;
mod logarithm;

use super::{SPECIAL, budget, ulp};
use crate::math::complex;
use fastrand::Rng;
use num_complex::Complex64;

/// A function, its reference, and the maximum difference of a part in units in the last place.
struct Case {
    name: &'static str,
    got: fn(Complex64) -> Complex64,
    expected: fn(Complex64) -> Complex64,
    most: f64,
}

macro_rules! cases {
    ($($module:ident: $($name:ident $most:literal)*;)*) => {
        const CASES: &[Case] = &[$($(Case {
            name: stringify!($name),
            got: complex::$name,
            expected: $module::$name,
            most: $most,
        }),*),*];
    };
}

cases! {
    // The reference of `exp2` is itself off by up to 2.6 units, on the other side of the exact value.
    exponential: exp 4.0 exp2 5.0 expm1 4.0 cosh 4.0 sinh 4.0 cos 4.0 sin 4.0 tanh 4.0 tan 4.0;
    logarithm: sqrt 1.0 log 2.0 log2 2.0 log10 2.0 log1p 2.0;
    inverse: acos 2.0 acosh 2.0 asin 2.0 asinh 2.0 atan 2.0 atanh 2.0;
}

/// Units between two numbers; infinite if one is special and the other differs.
fn distance(got: f64, expected: f64) -> f64 {
    let same = got.to_bits() == expected.to_bits() || got.is_nan() && expected.is_nan();
    match same {
        true => 0.0,
        // Underflow, with the correct sign.
        false if got.abs().max(expected.abs()) < 1e-300 && got.signum() == expected.signum() => 0.0,
        false if !got.is_finite() || !expected.is_finite() || got == 0.0 || expected == 0.0 => f64::INFINITY,
        false => ((got - expected) / ulp(expected)).abs(),
    }
}

/// All pairs of special numbers, random numbers of several sizes, near the unit circle and near branch
/// points, and arbitrary bits.
fn numbers(count: usize) -> Vec<Complex64> {
    let special: Vec<f64> =
        SPECIAL.iter().flat_map(|&x| [x, -x]).filter(|x| !x.is_nan() || x.is_sign_positive()).collect();
    let mut all: Vec<Complex64> =
        special.iter().flat_map(|&x| special.iter().map(move |&y| Complex64::new(x, y))).collect();
    let mut rng = Rng::with_seed(12);
    for n in 0..count {
        let scale = [1.0, 4.0, 50.0, 800.0, 1e-3, 1e-9, 1e12][n % 7];
        let mut part = |scale: f64| (rng.f64() - 0.5) * scale;
        let z = Complex64::new(part(scale), part(if n % 3 == 0 { 1.0 } else { scale }));
        let point = [1.0, -1.0, 0.0, 0.0][n % 4];
        let near = Complex64::new(point + z.re * 1e-6, if n % 4 < 2 { 0.0 } else { 1.0 } + z.im * 1e-6);
        let circle = Complex64::from_polar(1.0, part(7.0));
        let tiny = |least: i32, n: usize| 10f64.powi(least - (n % 12) as i32);
        let close = Complex64::new(1.0 + part(1.0) * tiny(-5, n), part(1.0) * tiny(-12, n / 12));
        let turned = Complex64::new(close.im, close.re);
        all.extend([z, near, circle, close, turned]);
    }
    all.extend((0..count).map(|_| Complex64::new(f64::from_bits(rng.u64(..)), f64::from_bits(rng.u64(..)))));
    // The sign of NaN has no meaning.
    let positive = |x: f64| if x.is_nan() { f64::NAN } else { x };
    all.into_iter().map(|z| Complex64::new(positive(z.re), positive(z.im))).collect()
}

#[test]
fn functions_are_near_to_their_branches() {
    let numbers = numbers(budget().map_or(20_000, |n| n / 4));
    let mut far = Vec::new();
    for case in CASES {
        let error = |z: Complex64| {
            // For larger angles a part may cancel.
            let most = [("exp2", 1e9), ("expm1", 1e6)].iter().find(|(name, _)| *name == case.name);
            if most.is_some_and(|&(_, most)| z.im.abs() > most) {
                return 0.0;
            }
            let (got, expected) = ((case.got)(z), (case.expected)(z));
            distance(got.re, expected.re).max(distance(got.im, expected.im))
        };
        let (at, error) = super::worst(numbers.iter().copied(), error);
        println!("complex {}: {error:.4} at {at:?}", case.name);
        far.extend((error > case.most).then(|| {
            let z = at.unwrap_or_default();
            let (got, expected) = ((case.got)(z), (case.expected)(z));
            format!("{}({z:?}) is {got:?}, not {expected:?}: off by {error} ULPs", case.name)
        }));
    }
    assert!(far.is_empty(), "{far:#?}");
}

/// Exact values where one part is far less than the distance of the other from 1, but not negligible.
#[test]
fn close_to_one_inverse_functions_know_both_parts() {
    let z = |re, im| Complex64::new(re, im);
    for (got, expected) in [
        (complex::acosh(z(1.00000000001, 1e-19)), z(4.472136140008943e-6, 2.2360678849876582e-14)),
        (complex::acos(z(1.00000000001, 1e-19)), z(2.2360678849876582e-14, -4.472136140008943e-6)),
        (
            complex::asinh(z(1e-19, 1.00000000001)),
            z(4.472136140008943e-6, std::f64::consts::FRAC_PI_2 - 2.2360678849876582e-14),
        ),
    ] {
        let far = distance(got.re, expected.re).max(distance(got.im, expected.im));
        assert!(far <= 2.0, "{got:?}, not {expected:?}");
    }
}

#[test]
fn long_numbers_have_a_direction() {
    let z = complex::direction(Complex64::new(1.7e308, -1.7e308));
    assert!((z - Complex64::new(0.5f64.sqrt(), -0.5f64.sqrt())).norm() < 1e-15, "{z:?}");
    assert_eq!(complex::direction(Complex64::new(0.0, f64::MAX)), Complex64::new(0.0, 1.0));
}

/// Bases and exponents; the first exponents are small integers.
fn pairs(count: usize) -> Vec<(Complex64, Complex64)> {
    let mut rng = Rng::with_seed(13);
    let mut part = |scale: f64| (rng.f64() - 0.5) * 2.0 * scale;
    let whole = |n: usize, most: usize| (n % (2 * most + 1)) as f64 - most as f64;
    (0..count)
        .map(|n| {
            let scale = [1.0, 3.0, 1e3, 1e-6, 1e200, 1e-200][n % 6];
            let a = Complex64::new(part(scale), part(scale));
            let b = match n % 3 {
                0 => Complex64::new(whole(n / 3, 20), 0.0),
                1 => Complex64::new(part(3.0), part(3.0)),
                _ => Complex64::new(part(300.0), 0.0),
            };
            (a, b)
        })
        .collect()
}

#[test]
fn powers_are_near_to_those_of_double_doubles() {
    let pairs = pairs(budget().map_or(20_000, |n| n / 4));
    let error = |n: usize| {
        let (a, b) = pairs[n];
        let (got, expected) = (complex::power(a, b), logarithm::power(a, b));
        let length = expected.re.abs().max(expected.im.abs());
        match length.is_finite() && length > 1e-290 && got.re.is_finite() && got.im.is_finite() {
            // Double-doubles lose their second parts there.
            true if length > f64::MAX / 4.0 => 0.0,
            true => (got.re - expected.re).abs().max((got.im - expected.im).abs()) / ulp(length),
            // At the ends of the range one or both parts may be infinite or NaN.
            false if length <= 1e-290 => f64::from(got.re.abs().max(got.im.abs()) > 2e-290),
            false => f64::from(got.re.is_finite() && got.im.is_finite() && got.re.abs().max(got.im.abs()) < 1e300),
        }
    };
    let (at, error) = super::worst(0..pairs.len(), error);
    println!("complex power: {error:.4} at {:?}", at.map(|n| pairs[n]));
    assert!(error <= 4.0, "off by {error} ULPs at {:?}", at.map(|n| pairs[n]));
}

#[test]
fn powers_of_whole_numbers_are_exact() {
    for n in -3..=15i32 {
        for (x, y) in [(1, 2), (-3, 1), (0, 2), (2, 0), (-1, -1), (1, 0), (0, -1)] {
            let (mut re, mut im) = (1i64, 0i64);
            for _ in 0..n.max(0) {
                (re, im) = (re * x - im * y, re * y + im * x);
            }
            let got = complex::power(Complex64::new(x as f64, y as f64), Complex64::new(n.into(), 0.0));
            if n >= 0 {
                assert_eq!(got, Complex64::new(re as f64, im as f64), "({x} + {y}i) to the power {n}");
            } else {
                let whole = complex::power(Complex64::new(x as f64, y as f64), Complex64::new((-n).into(), 0.0));
                assert!((got * whole - 1.0).norm() < 1e-15, "({x} + {y}i) to the power {n}");
            }
        }
    }
}

#[test]
fn a_constant_exponent_gives_the_same_bits() {
    use crate::math::vector::complex::{MOST_FACTORS, constant_power, power};
    for z in numbers(300) {
        for n in (-MOST_FACTORS..=MOST_FACTORS).filter(|&n| n != 0) {
            let (a, b) = (power([z.re, z.im], [n.into(), 0.0]), constant_power([z.re, z.im], n));
            let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
            assert!(same(a[0], b[0]) && same(a[1], b[1]), "{z:?} to the power {n}: {a:?} and {b:?}");
        }
    }
}
