//! Accuracy of the functions: at `f64` compared with double-doubles of about a hundred bits, at `f32` with
//! the nearest `f64`.
//!
//! A normal test run tries a few fixed arguments. `REWRIGHT_ULPS=n` tries n random ones.
//! `REWRIGHT_EVERY_F32=1` tries every `f32`, and `REWRIGHT_EVERY_F32=sin,cos` those of the named functions.
//! `docs/testing.md` has the commands.

use super::{ERRORS, Real, double, single};
use crate::math::double_double::{self, Dd};
use crate::math::rounded;
use fastrand::Rng;

mod complex;
mod ends;
mod gamma;
mod subnormal;
mod windows;

/// A function and its reference values.
struct Case {
    name: &'static str,
    double: fn(f64) -> f64,
    single: fn(f32) -> f32,
    nearest: fn(f64) -> f64,
    nearest_single: fn(f32) -> f32,
    /// The value to a hundred bits, unless the result is close to the ends of the range.
    exact: fn(f64) -> Dd,
    /// The range of most arguments.
    range: (f64, f64),
    /// Points at which the algorithm changes.
    points: &'static [f64],
}

macro_rules! cases {
    ($($name:ident: $exact:expr, $range:expr, $points:expr;)*) => {
        const CASES: &[Case] = &[$(Case {
            name: stringify!($name),
            double: double::$name,
            single: single::$name,
            nearest: nearest::$name,
            nearest_single: |x| nearest::$name(f64::from(x)) as f32,
            exact: $exact,
            range: $range,
            points: $points,
        }),*];
    };
}

/// The numbers nearest to the exact values.
mod nearest {
    pub(super) use super::gamma::nearest as lgamma;

    pub use crate::math::rounded::double::{
        acos, asin, atan2, atanh, cos, cosh, exp, exp2, expm1, hypot, log, log1p, sin, sinh, tan, tanh,
    };
    pub use pxfm::{
        f_acosh as acosh, f_asinh as asinh, f_atan as atan, f_cbrt as cbrt, f_erf as erf, f_erfc as erfc,
        f_log2 as log2, f_log10 as log10,
    };

    pub fn power(x: f64, y: f64) -> f64 {
        x.powf(y)
    }

    pub fn logistic(x: f64) -> f64 {
        if x < -200.0 || x.is_nan() { exp(x) } else { super::logistic(x).value() }
    }
}

const LN_2: f64 = std::f64::consts::LN_2;
const ROOT_HALF: f64 = std::f64::consts::FRAC_1_SQRT_2;

cases! {
    exp: |x| Dd::new(x).exp(), (-745.0, 710.0), &[LN_2 / 2.0, 1.5 * LN_2, 709.782712893384, 745.1332191019411, 708.5021108541137, 708.5022981864005, 88.72284, 103.972, 87.368927];
    exp2: |x| (Dd::new(x) * double_double::LN_2).exp(), (-1075.0, 1024.0), &[0.5, 1.5, 1022.0, 1022.0972358516357, 1023.0, 1024.0, 1074.0, 1075.0, 126.045456, 126.0, 127.0, 128.0, 149.0, 150.0];
    expm1: expm1, (-40.0, 20.0), &[LN_2 / 2.0, 1.5 * LN_2, 37.4, 40.0, 709.782712893384, 88.72284, 17.3];
    log: log, (0.0, 8.0), &[1.0, 0.75, 0.9375, 0.96875, 1.0625, 1.063, 1.0645, 1.125, 1.5, f64::MIN_POSITIVE, f32::MIN_POSITIVE as f64];
    log2: |x| log(x) / double_double::LN_2, (0.0, 8.0), &[1.0, ROOT_HALF, 2.0 * ROOT_HALF, 4.0, 8.0, f64::MIN_POSITIVE, f32::MIN_POSITIVE as f64];
    log10: |x| log(x) / Dd::new(10.0).log(), (0.0, 8.0), &[1.0, ROOT_HALF, 2.0 * ROOT_HALF, 0.1, 100.0, 1e22, f64::MIN_POSITIVE, f32::MIN_POSITIVE as f64];
    log1p: log1p, (-1.0, 8.0), &[-1.0, ROOT_HALF - 1.0, 2.0 * ROOT_HALF - 1.0];
    sin: |x| sin_cos(x).0, (-7.0, 7.0), TURNS;
    cos: |x| sin_cos(x).1, (-7.0, 7.0), TURNS;
    tan: tan, (-7.0, 7.0), TURNS;
    asin: |x| asin(x), (-1.0, 1.0), &[0.5, 1.0];
    acos: |x| acos(x), (-1.0, 1.0), &[0.5, 1.0];
    atan: |x| if x.abs() > 1e300 { Dd::new(nearest::atan(x)) } else { Dd::atan2(x, 1.0) }, (-10.0, 10.0), &[0.414213562373095, 2.414213562373095, 1e300, 1e38];
    sinh: |x| sinh_cosh(x).0, (-20.0, 20.0), &[710.4758600739439, 710.5, 89.4159, 89.5];
    cosh: |x| sinh_cosh(x).1, (-20.0, 20.0), &[710.4758600739439, 710.5, 89.4159, 89.5];
    tanh: tanh, (-10.0, 10.0), &[1e-8, 1e-4, 22.0, 10.0, LN_2 / 4.0];
    asinh: asinh, (-20.0, 20.0), &[1e9, 1e5];
    acosh: acosh, (1.0, 20.0), &[1e9, 1e5];
    atanh: atanh, (-1.0, 1.0), &[];
    logistic: logistic, (-745.0, 40.0), &[36.8, 37.5, 708.0, 745.2, 88.0, 104.0];
    cbrt: cbrt, (-100.0, 100.0), &[8.0, 27.0, 4.0, f64::MIN_POSITIVE, f32::MIN_POSITIVE as f64];
    erf: erf, (-6.0, 6.0), &[0.65, 6.0, 5.9, 3.9];
    erfc: erfc, (-6.0, 28.0), &[0.65, 6.0, 26.5, 27.2, 27.5, 9.2, 10.05, 10.5];
    lgamma: gamma::exact, (-8.0, 12.0), &[1.0, 1.5, 2.0, 2.5, 2.4570247382208006, 2.7476826467274127, 3.14358088834998, 3.955294284858598, 4.03936184029534, 1e-18, 1e-9, 2.5599833278516383e305, 4.085003e36];
}

/// A number is its significand times a power of 2.
#[test]
fn significands_and_exponents_make_numbers() {
    fn check<F: Real + PartialOrd + Into<f64>>(x: F) {
        let m = x.significand();
        let (m, k, x): (f64, f64, f64) = (m.into(), x.exponent(m).into(), x.into());
        assert!((0.75..1.5).contains(&m) && k == k.trunc(), "{x}: {m}, {k}");
        // Scales in two steps, since a single power of 2 may underflow.
        let half = (k / 2.0).trunc();
        assert_eq!(m * 2f64.powi(half as i32) * 2f64.powi((k - half) as i32), x);
    }
    let mut rng = Rng::with_seed(7);
    for _ in 0..100_000 {
        check(f64::from_bits(rng.u64(1..f64::INFINITY.to_bits())));
        check(f32::from_bits(rng.u32(1..f32::INFINITY.to_bits())));
        check(f64::from_bits(rng.u64(1..f64::MIN_POSITIVE.to_bits())));
        check(f32::from_bits(rng.u32(1..f32::MIN_POSITIVE.to_bits())));
    }
    for x in [0.75, 1.0, 1.5, 1.5f64.next_down(), 0.75f64.next_down(), 5e-324, f64::MIN_POSITIVE, f64::MAX] {
        check(x);
    }
    for (x, m, k) in
        [(0.0, 1.0, f64::NEG_INFINITY), (-0.0, 1.0, f64::NEG_INFINITY), (f64::INFINITY, 1.0, f64::INFINITY)]
    {
        assert_eq!((x.significand(), x.exponent(m)), (m, k));
        let (x, m, k) = (x as f32, m as f32, k as f32);
        assert_eq!((x.significand(), x.exponent(m)), (m, k));
    }
    assert!([-1.0, -5e-324, f64::NEG_INFINITY, f64::NAN].iter().all(|x| x.significand().is_nan()));
    assert!(f64::NAN.exponent(f64::NAN).is_nan());
}

/// Natural logarithm of any positive number.
fn log(x: f64) -> Dd {
    if (x - 1.0).abs() < 1e-6 {
        return log1p(x - 1.0);
    }
    let (part, exponent) = libm::frexp(x);
    Dd::new(part).log() + double_double::LN_2 * Dd::new(f64::from(exponent))
}

/// `x + a x^2 + b x^3`.
fn series(x: f64, a: f64, b: Dd) -> Dd {
    Dd::new(x) + Dd::product(x, x) * (Dd::new(a) + b * Dd::new(x))
}

const THIRD: Dd = Dd { hi: 1.0 / 3.0, lo: 1.850371707708594e-17 };

fn log1p(x: f64) -> Dd {
    if x.abs() < 1e-6 { series(x, -0.5, THIRD) } else { Dd::sum(1.0, x).log() }
}

fn expm1(x: f64) -> Dd {
    let x = x.max(-100.0);
    if x.abs() < 1e-6 { series(x, 0.5, THIRD.scale(0.5)) } else { Dd::new(x).exp() - Dd::new(1.0) }
}

/// Multiples of pi / 4, and points at which the reduction changes.
const TURNS: &[f64] = &[
    std::f64::consts::FRAC_PI_4,
    std::f64::consts::FRAC_PI_2,
    3.0 * std::f64::consts::FRAC_PI_4,
    std::f64::consts::PI,
    1e3 * std::f64::consts::PI,
    131072.0,
    268435456.0,
];

/// pi / 2 in parts of 25 bits, whose products with k are exact.
const HALF_PI: [f64; 8] = [
    1.5707963109016418,
    1.5893254712295857e-08,
    6.123233932053594e-17,
    6.368317055225283e-25,
    1.082856653238257e-32,
    2.068365688266124e-40,
    7.398504398644917e-49,
    3.6962277454286924e-56,
];

/// Sine and cosine; far from 0 those of the called functions.
fn sin_cos(x: f64) -> (Dd, Dd) {
    if x.abs() > 268435456.0 {
        return (Dd::new(rounded::double::sin(x)), Dd::new(rounded::double::cos(x)));
    }
    let k = (x * std::f64::consts::FRAC_2_PI).round_ties_even();
    let r = HALF_PI.iter().fold(Dd::new(x), |rest, part| rest - Dd::new(k * part));
    let (sin, cos) = r.sin_cos();
    match k.rem_euclid(4.0) {
        0.0 => (sin, cos),
        1.0 => (cos, -sin),
        2.0 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

/// Tangent.
fn tan(x: f64) -> Dd {
    if x.abs() > 268435456.0 {
        return Dd::new(rounded::double::tan(x));
    }
    let (sin, cos) = sin_cos(x);
    sin / cos
}

fn asin(x: f64) -> Dd {
    let rest = Dd::sum(1.0, -x.abs()) * Dd::sum(1.0, x.abs());
    atan2(Dd::new(x), rest.sqrt())
}

fn acos(x: f64) -> Dd {
    let rest = Dd::sum(1.0, -x.abs()) * Dd::sum(1.0, x.abs());
    atan2(rest.sqrt(), Dd::new(x))
}

/// The angle of a point.
fn atan2(y: Dd, x: Dd) -> Dd {
    let near = Dd::atan2(y.hi, x.hi);
    // The contribution of the lower parts: x dy - y dx over the square of the distance.
    near + (Dd::new(x.hi) * Dd::new(y.lo) - Dd::new(y.hi) * Dd::new(x.lo)) / (x * x + y * y)
}

fn sinh_cosh(x: f64) -> (Dd, Dd) {
    let power = expm1(x.abs());
    let inverse = Dd::new(1.0) / (power + Dd::new(1.0));
    let sinh = (power + power * inverse).scale(0.5);
    (if x < 0.0 { -sinh } else { sinh }, (power + Dd::new(1.0) + inverse).scale(0.5))
}

fn asinh(x: f64) -> Dd {
    if x.abs() < 1e-5 {
        return Dd::new(nearest::asinh(x));
    }
    let size = Dd::new(x.abs());
    let value = match size.hi > 1e100 {
        true => log(size.hi) + double_double::LN_2,
        false => log_of(size + (size * size + Dd::new(1.0)).sqrt()),
    };
    if x < 0.0 { -value } else { value }
}

fn acosh(x: f64) -> Dd {
    if x > 1e100 {
        return log(x) + double_double::LN_2;
    }
    let x = Dd::new(x);
    log_of(x + ((x - Dd::new(1.0)) * (x + Dd::new(1.0))).sqrt())
}

fn atanh(x: f64) -> Dd {
    if x.abs() < 1e-5 {
        return Dd::new(rounded::double::atanh(x));
    }
    log_of(Dd::sum(1.0, x) / Dd::sum(1.0, -x)).scale(0.5)
}

/// Natural logarithm of numbers that are not close to 1.
fn log_of(x: Dd) -> Dd {
    x.log()
}

fn cbrt(x: f64) -> Dd {
    if x.abs() > 1e280 {
        return cbrt(x * 2f64.powi(-300)).scale(2f64.powi(100));
    }
    if x.abs() < 1e-250 {
        return cbrt(x * 2f64.powi(300)).scale(2f64.powi(-100));
    }
    let near = nearest::cbrt(x);
    let cube = Dd::product(near, near) * Dd::new(near);
    Dd::new(near) - (cube - Dd::new(x)) / (Dd::product(near, near).scale(3.0))
}

/// The error function of numbers between 0 and 3: a series of positive terms.
fn erf_series(x: f64) -> Dd {
    let square = Dd::product(x, x);
    let step = |rest: Dd, n: i32| Dd::new(1.0) + square.scale(2.0) * rest / Dd::new(f64::from(2 * n + 1));
    let sum = (1..90).rev().fold(Dd::new(1.0), step);
    (-square).exp() * sum * Dd::new(2.0 * x) / ROOT_OF_PI
}

/// The complement of the error function above 3: a continued fraction.
fn erfc_tail(x: f64) -> Dd {
    let fraction = (1..200).rev().fold(Dd::new(x), |rest, n| Dd::new(x) + Dd::new(f64::from(n) / 2.0) / rest);
    (-Dd::product(x, x)).exp() / (fraction * ROOT_OF_PI)
}

const ROOT_OF_PI: Dd = Dd { hi: 1.772453850905516, lo: -7.666586499825799e-17 };

fn erf(x: f64) -> Dd {
    let size = x.abs();
    if size > 3.0 {
        let value = Dd::new(1.0) - erfc_tail(size.min(7.0));
        return if x < 0.0 { -value } else { value };
    }
    let value = erf_series(size);
    if x < 0.0 { -value } else { value }
}

fn erfc(x: f64) -> Dd {
    if x > 3.0 { erfc_tail(x) } else { Dd::new(1.0) - erf(x) }
}

fn tanh(x: f64) -> Dd {
    if x.abs() < 1e-5 {
        return series(x, 0.0, -THIRD);
    }
    let power = expm1(2.0 * x.clamp(-100.0, 100.0));
    power / (power + Dd::new(2.0))
}

fn logistic(x: f64) -> Dd {
    let power = Dd::new(-x.abs().min(746.0)).exp();
    let above = if x < 0.0 { power } else { Dd::new(1.0) };
    above / (power + Dd::new(1.0))
}

/// Special arguments of every function.
const SPECIAL: &[f64] = &[
    0.0,
    1.0,
    2.0,
    0.5,
    3.0,
    10.0,
    1e-5,
    1e-300,
    1e300,
    5e-324,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::INFINITY,
    f64::EPSILON,
    f32::MIN_POSITIVE as f64,
    f32::MAX as f64,
    1e-45,
    f32::EPSILON as f64,
    f64::NAN,
];

/// The distance of adjacent numbers near x.
fn ulp(x: f64) -> f64 {
    let x = x.abs().max(f64::MIN_POSITIVE);
    f64::from_bits(x.to_bits() & (0x7ff << 52)) * f64::EPSILON
}

/// The distance of adjacent `f32` numbers near x.
fn ulp_single(x: f64) -> f64 {
    let x = x.abs().max(f32::MIN_POSITIVE.into());
    f64::from_bits(x.to_bits() & (0x7ff << 52)) * f64::from(f32::EPSILON)
}

/// True if the results are the same; all NaNs are equal.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// The error if the nearest number is 0, infinite or NaN. For 0 the least number of the same sign is also
/// acceptable.
fn at_the_ends(got: f64, nearest: f64, least: f64) -> f64 {
    let next = nearest == 0.0 && got.abs() == least && got.is_sign_negative() == nearest.is_sign_negative();
    if same(got, nearest) {
        0.0
    } else if next {
        0.5
    } else {
        f64::INFINITY
    }
}

impl Case {
    /// The magnitude below which errors are measured in the units of this magnitude.
    fn least(&self, x: f64) -> f64 {
        if self.name == "lgamma" && x < 0.0 { gamma::MIN_MAGNITUDE } else { 0.0 }
    }

    /// The error of the result, in units in the last place. If the nearest number is 0, infinite or NaN, the
    /// result must be equal.
    fn error(&self, x: f64) -> f64 {
        let (got, nearest) = ((self.double)(x), (self.nearest)(x));
        if nearest == 0.0 || !nearest.is_finite() {
            return at_the_ends(got, nearest, f64::from_bits(1));
        }
        if !(1e-280..1e300).contains(&nearest.abs()) {
            // The nearest number is within half a unit.
            return ((got - nearest).abs() / ulp(nearest) - 0.5).max(0.0);
        }
        let exact = (self.exact)(x);
        let ulp = ulp(exact.hi.abs().max(self.least(x)));
        assert!((exact.hi - nearest).abs() <= ulp, "{}({x:?}): the reference is wrong", self.name);
        (((got - exact.hi) - exact.lo) / ulp).abs()
    }

    fn error_single(&self, x: f32) -> f64 {
        let (got, exact) = ((self.single)(x), (self.nearest)(x.into()));
        let nearest = (self.nearest_single)(x);
        if nearest == 0.0 || !nearest.is_finite() {
            return at_the_ends(got.into(), nearest.into(), f32::from_bits(1).into());
        }
        ((f64::from(got) - exact) / ulp_single(exact.abs().max(self.least(x.into())))).abs()
    }

    /// Special values of both signs, and the numbers next to each.
    fn corners(&self) -> Vec<f64> {
        let around = |&x: &f64| [x.next_down().next_down(), x.next_down(), x, x.next_up(), x.next_up().next_up()];
        let all = SPECIAL.iter().chain(self.points).flat_map(around);
        all.flat_map(|x| [x, -x]).collect()
    }

    fn corners_single(&self) -> Vec<f32> {
        let around = |&x: &f64| [(x as f32).next_down(), x as f32, (x as f32).next_up()];
        SPECIAL.iter().chain(self.points).flat_map(around).flat_map(|x| [x, -x]).collect()
    }

    fn bound(&self) -> (f64, f64) {
        let found = ERRORS.iter().find(|(name, ..)| *name == self.name).expect("a bound of every function");
        (found.1, found.2)
    }
}

/// The argument with the greatest error, and that error.
fn worst<T: Copy>(arguments: impl Iterator<Item = T>, error: impl Fn(T) -> f64) -> (Option<T>, f64) {
    arguments.map(|x| (Some(x), error(x))).fold((None, 0.0), greater)
}

/// The requested number of random arguments.
fn budget() -> Option<usize> {
    std::env::var("REWRIGHT_ULPS").ok()?.parse().ok()
}

/// The number of arguments that are tried in each window.
fn of_window() -> usize {
    4 + budget().unwrap_or(0) / 5000
}

/// The greater of two errors, with its argument.
fn greater<T>(a: (Option<T>, f64), b: (Option<T>, f64)) -> (Option<T>, f64) {
    if b.1 > a.1 || b.1.is_nan() { b } else { a }
}

/// True if a test of every `f32` was requested for this function.
fn all_singles(name: &str) -> bool {
    let asked = std::env::var("REWRIGHT_EVERY_F32").unwrap_or_default();
    let known = |asked: &str| asked.is_empty() || asked == "1" || CASES.iter().any(|case| case.name == asked);
    assert!(asked.split(',').all(known), "REWRIGHT_EVERY_F32 is 1, or names of functions: {asked}");
    asked == "1" || asked.split(',').any(|asked| asked == name)
}

#[test]
fn every_function_is_tried() {
    let names: Vec<_> = CASES.iter().map(|c| c.name).chain(PAIRS.iter().map(|c| c.name)).collect();
    assert_eq!(names, ERRORS.iter().map(|e| e.0).collect::<Vec<_>>());
}

#[test]
fn doubles_are_near_as_stated() {
    let mut far = Vec::new();
    for case in CASES {
        let mut rng = Rng::with_seed(7);
        let (least, most) = case.range;
        let random = (0..budget().unwrap_or(40_000)).map(|n| match n % 4 {
            0 => f64::from_bits(rng.u64(..)),
            1 if n % 8 < 4 => (rng.f64() - 0.5) * 4.0,
            // Arguments near the zeros and poles of trigonometric functions.
            1 => f64::from(rng.u32(..) >> rng.u32(4..32)) * std::f64::consts::FRAC_PI_2,
            _ => least + rng.f64() * (most - least),
        });
        let far_and_wide = worst(case.corners().into_iter().chain(random), |x| case.error(x));
        let (at, error) = greater(far_and_wide, windows::worst(case.range, of_window(), |x| case.error(x)));
        println!("{} f64: {error:.4} at {at:?}", case.name);
        far.extend((error > case.bound().0).then(|| format!("{}({at:?}) is off by {error} ULPs", case.name)));
    }
    assert!(far.is_empty(), "{far:#?}");
}

#[test]
fn singles_are_near_as_stated() {
    let mut far = Vec::new();
    for case in CASES {
        let (least, most) = (case.range.0.max(-200.0), case.range.1.min(200.0));
        let step = if all_singles(case.name) { 1 } else { 65_537 };
        let all = (0..=u32::MAX).step_by(step).map(|bits| f64::from(f32::from_bits(bits)));
        let mut rng = Rng::with_seed(8);
        let random = (0..60_000).map(|n| match n % 3 {
            0 => f64::from(rng.u32(..) >> rng.u32(14..32)) * std::f64::consts::FRAC_PI_2,
            _ => least + rng.f64() * (most - least),
        });
        let corners = case.corners_single().into_iter().map(f64::from);
        let far_and_wide = worst(corners.chain(random).chain(all), |x| case.error_single(x as f32));
        let in_windows = windows::worst(case.range, of_window(), |x| case.error_single(x as f32));
        let (at, error) = greater(far_and_wide, in_windows);
        println!("{} f32: {error:.4} at {at:?}", case.name);
        far.extend((error > case.bound().1).then(|| format!("{}({at:?}) is off by {error} ULPs", case.name)));
    }
    assert!(far.is_empty(), "{far:#?}");
}

fn power(x: f64, y: f64) -> Dd {
    let size = (log(x.abs()) * Dd::new(y)).exp();
    if x < 0.0 && y % 2.0 != 0.0 { -size } else { size }
}

/// A function of two arguments.
struct Pair {
    name: &'static str,
    double: fn(f64, f64) -> f64,
    single: fn(f32, f32) -> f32,
    nearest: fn(f64, f64) -> f64,
    /// The value to a hundred bits for arguments between 1e-100 and 1e100, unless the result is close to the
    /// ends of the range.
    exact: fn(f64, f64) -> Dd,
}

const PAIRS: &[Pair] = &[
    Pair {
        name: "atan2",
        double: double::atan2,
        single: single::atan2,
        nearest: nearest::atan2,
        exact: |y, x| atan2(Dd::new(y), Dd::new(x)),
    },
    Pair {
        name: "hypot",
        double: double::hypot,
        single: single::hypot,
        nearest: nearest::hypot,
        exact: |x, y| Dd::sum_of_squares(x, y).sqrt(),
    },
    Pair { name: "power", double: double::power, single: single::power, nearest: nearest::power, exact: power },
    Pair {
        name: "float_power",
        double: double::float_power,
        single: single::float_power,
        nearest: nearest::power,
        exact: power,
    },
];

impl Pair {
    fn error(&self, x: f64, y: f64) -> f64 {
        let (got, nearest) = ((self.double)(x, y), (self.nearest)(x, y));
        if nearest == 0.0 || !nearest.is_finite() {
            return at_the_ends(got, nearest, f64::from_bits(1));
        }
        let usual = [x, y].iter().all(|v| (1e-100..1e100).contains(&v.abs()));
        if !usual || !(1e-290..1.7e308).contains(&nearest.abs()) {
            return ((got - nearest).abs() / ulp(nearest) - 0.5).max(0.0);
        }
        let exact = (self.exact)(x, y);
        assert!((exact.hi - nearest).abs() <= ulp(nearest), "{}({x:?}, {y:?}): the reference is wrong", self.name);
        (((got - exact.hi) - exact.lo) / ulp(exact.hi)).abs()
    }

    /// The arguments with the greatest error, found by windows of their quotient. Errors depend mostly on
    /// it, except those of powers.
    fn worst_quotient(&self, error: impl Fn(f64, f64) -> f64) -> (Option<(f64, f64)>, f64) {
        if self.name.ends_with("power") {
            return (None, 0.0);
        }
        let of_quotient = |t| {
            let (x, y) = with_quotient(t);
            error(x, y)
        };
        let (at, error) = windows::worst((-1e4, 1e4), of_window(), of_quotient);
        (at.map(with_quotient), error)
    }

    fn error_single(&self, x: f32, y: f32) -> f64 {
        let (got, exact) = ((self.single)(x, y), (self.nearest)(x.into(), y.into()));
        let nearest = exact as f32;
        if nearest == 0.0 || !nearest.is_finite() {
            return at_the_ends(got.into(), nearest.into(), f32::from_bits(1).into());
        }
        ((f64::from(got) - exact) / ulp_single(exact)).abs()
    }
}

/// A pair with quotient t whose second number is between 1 and 2.
fn with_quotient(t: f64) -> (f64, f64) {
    // The bits of t seed the random number.
    let x = 1.0 + Rng::with_seed(t.to_bits()).f64();
    (x * t, x)
}

/// All pairs of special values, random pairs of similar size, and arbitrary random pairs.
fn pairs(count: usize) -> Vec<(f64, f64)> {
    let special: Vec<f64> = SPECIAL.iter().flat_map(|&x| [x, -x]).collect();
    let mut all: Vec<(f64, f64)> = special.iter().flat_map(|&x| special.iter().map(move |&y| (x, y))).collect();
    let mut rng = Rng::with_seed(9);
    let mut signed = |size: f64| (rng.f64() - 0.5) * size;
    for n in 0..count {
        let scale = [1.0, 8.0, 1e3, 1e-3][n % 4];
        all.push((signed(2.0), signed(scale)));
    }
    let mut rng = Rng::with_seed(10);
    // Powers with large exponents, of bases close to 1.
    all.extend((0..count).map(|_| (1.0 + (rng.f64() - 0.5) * 1e-3, (rng.f64() - 0.5) * 1e6)));
    // Powers with large positive and negative exponents, of bases near the roots of 2 and 1/2: there the
    // series of the logarithm has its largest argument.
    all.extend((0..count).map(|n| {
        let (x, log) = (
            (0.97 + rng.f64() * 0.06) * [0.5f64, 2.0][n % 2].sqrt(),
            (600.0 + rng.f64() * 109.0) * [1.0, -1.0][n / 2 % 2],
        );
        (x, log / x.ln())
    }));
    let mut rng = Rng::with_seed(11);
    all.extend((0..count).map(|_| (f64::from_bits(rng.u64(..)), f64::from_bits(rng.u64(..)))));
    all.extend((0..count).map(|_| (f32::from_bits(rng.u32(..)).into(), f32::from_bits(rng.u32(..)).into())));
    all
}

#[test]
fn functions_of_two_are_near_as_stated() {
    let pairs = pairs(budget().unwrap_or(40_000));
    let mut far = Vec::new();
    for case in PAIRS {
        let (_, double, single) =
            *ERRORS.iter().find(|(name, ..)| *name == case.name).expect("a bound of every function");
        let far_and_wide = worst(pairs.iter().copied(), |(x, y)| case.error(x, y));
        let (at, error) = greater(far_and_wide, case.worst_quotient(|x, y| case.error(x, y)));
        println!("{} f64: {error:.4} at {at:?}", case.name);
        far.extend((error > double).then(|| format!("{}{at:?} is off by {error} ULPs", case.name)));
        let far_and_wide = worst(pairs.iter().copied(), |(x, y)| case.error_single(x as f32, y as f32));
        let in_windows = case.worst_quotient(|x, y| case.error_single(x as f32, y as f32));
        let (at, error) = greater(far_and_wide, in_windows);
        println!("{} f32: {error:.4} at {at:?}", case.name);
        far.extend((error > single).then(|| format!("{}{at:?} is off by {error} ULPs", case.name)));
    }
    assert!(far.is_empty(), "{far:#?}");
}
