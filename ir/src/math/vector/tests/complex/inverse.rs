//! Reference for complex inverse trigonometric and hyperbolic functions, with double-doubles and correctly
//! rounded real functions. Source: T. E. Hull, T. F. Fairgrieve, P. T. P. Tang, "Implementing the complex
//! arcsine and arccosine functions using exception handling", ACM TOMS 23(3), 1997.

use crate::math::double_double::Dd;
use crate::math::rounded::double;
use num_complex::Complex64;
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, LN_2, PI};

/// pi minus its `f64` value.
const PI_LOW: f64 = 1.2246467991473532e-16;

/// `asin` and `acos` in the first quadrant.
struct Arcs {
    /// Real part of `asin`, in [0, pi/2].
    asin: f64,
    /// Real part of `acos`: pi/2 minus that of `asin`, but accurate near 0.
    acos: f64,
    /// Imaginary part of `asin`; that of `acos` is its negative.
    im: f64,
}

/// The angle of (x, y), both given to more than double precision.
fn atan2(y: Dd, x: Dd) -> f64 {
    let near = double::atan2(y.hi, x.hi);
    let turn = (y.lo * x.hi - x.lo * y.hi) / (x.hi * x.hi + y.hi * y.hi);
    if turn.is_finite() && turn != 0.0 { near + turn } else { near }
}

fn log1p(t: Dd) -> f64 {
    let near = double::log1p(t.hi);
    if t.lo == 0.0 { near } else { near + t.lo / (1.0 + t.hi) }
}

/// For finite x, y >= 0.
fn arcs(x: f64, y: f64) -> Arcs {
    let gap = (x - 1.0).abs();
    if x.max(y) > 1e17 {
        let im = super::logarithm::log(Complex64::new(x, y)).re + LN_2;
        return Arcs { asin: double::atan2(x, y), acos: double::atan2(y, x), im };
    }
    if y < 1e-9 * gap {
        return near_the_axis(x, y);
    }
    if x == 1.0 && y < 1e-18 {
        let root = y.sqrt();
        return Arcs { asin: FRAC_PI_2 - root, acos: root, im: root };
    }
    off_the_axis(x, y)
}

/// For `y` far less than the distance of x from 1: to first order in y.
fn near_the_axis(x: f64, y: f64) -> Arcs {
    let (below, above) = (Dd::sum(1.0, -x), Dd::sum(1.0, x));
    if x < 1.0 {
        let slope = (below * above).sqrt();
        return Arcs { asin: double::asin(x), acos: double::acos(x), im: (Dd::new(y) / slope).value() };
    }
    let root = (-below * above).sqrt();
    let acos = (Dd::new(y) / root).value();
    Arcs { asin: FRAC_PI_2 - acos, acos, im: log1p(root - below) }
}

fn off_the_axis(x: f64, y: f64) -> Arcs {
    let (below, above) = (Dd::sum(1.0, -x), Dd::sum(1.0, x));
    let square = Dd::product(y, y);
    let r = (above * above + square).sqrt();
    let s = (below * below + square).sqrt();
    let a = (r + s).scale(0.5);
    let b = Dd::new(x) / a;
    let from_right = square / (r + above);
    // `s - (1 - x)` without cancellation, on both sides of x = 1.
    let (s_minus, s_plus) = if x < 1.0 { (square / (s + below), s + below) } else { (s - below, square / (s - below)) };
    let im = if a.hi <= 1.5 {
        let excess = (from_right + s_minus).scale(0.5);
        log1p(excess + (excess * (a + Dd::new(1.0))).sqrt())
    } else {
        let t = a + (a * a - Dd::new(1.0)).sqrt();
        double::log(t.hi) + t.lo / t.hi
    };
    if b.hi <= 0.6 {
        let slope = (1.0 - b.hi * b.hi).sqrt();
        return Arcs { asin: double::asin(b.hi) + b.lo / slope, acos: double::acos(b.hi) - b.lo / slope, im };
    }
    let root = ((a + Dd::new(x)) * (from_right + s_plus)).scale(0.5).sqrt();
    Arcs { asin: atan2(Dd::new(x), root), acos: atan2(root, Dd::new(x)), im }
}

/// Inverse cosine.
pub fn acos(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    let (re, im) = match (x.is_finite(), y.is_finite()) {
        (true, true) => {
            let arcs = arcs(x.abs(), y.abs());
            (if x.is_sign_negative() { (PI - arcs.acos) + PI_LOW } else { arcs.acos }, arcs.im)
        }
        _ if x.is_infinite() => {
            let re = if y.is_nan() {
                f64::NAN
            } else if y.is_infinite() {
                if x < 0.0 { 3.0 * FRAC_PI_4 } else { FRAC_PI_4 }
            } else if x < 0.0 {
                PI
            } else {
                0.0
            };
            (re, f64::INFINITY)
        }
        _ if y.is_infinite() => (if x.is_nan() { f64::NAN } else { FRAC_PI_2 }, f64::INFINITY),
        _ => (if x == 0.0 { FRAC_PI_2 } else { f64::NAN }, f64::NAN),
    };
    Complex64::new(re, if im.is_nan() { im } else { im.copysign(-y.signum()) })
}

/// Inverse hyperbolic cosine.
pub fn acosh(z: Complex64) -> Complex64 {
    let w = acos(z);
    let im = if w.re.is_nan() { w.re } else { w.re.copysign(z.im) };
    Complex64::new(if w.im.is_nan() { w.im } else { w.im.abs() }, im)
}

/// Inverse hyperbolic sine.
pub fn asinh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    let (re, im) = match (x.is_finite(), y.is_finite()) {
        (true, true) => {
            let arcs = arcs(y.abs(), x.abs());
            (arcs.im, arcs.asin)
        }
        _ if x.is_infinite() => {
            let im = if y.is_nan() {
                f64::NAN
            } else if y.is_infinite() {
                FRAC_PI_4
            } else {
                0.0
            };
            (f64::INFINITY, im)
        }
        _ if y.is_infinite() => (f64::INFINITY, if x.is_nan() { f64::NAN } else { FRAC_PI_2 }),
        _ => (f64::NAN, if y == 0.0 { 0.0 } else { f64::NAN }),
    };
    Complex64::new(signed(re, x), signed(im, y))
}

/// A magnitude with a sign; NaN stays NaN.
fn signed(magnitude: f64, sign: f64) -> f64 {
    if magnitude.is_nan() { magnitude } else { magnitude.copysign(sign) }
}

/// Inverse hyperbolic tangent: `log1p(4x / ((1 - x)^2 + y^2)) / 4` and `atan2(2y, (1 - x)(1 + x) - y^2) /
/// 2`, for x >= 0.
pub fn atanh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re.abs(), z.im.abs());
    let (re, im) = if x.is_infinite() || y.is_infinite() {
        (0.0, if y.is_nan() { f64::NAN } else { FRAC_PI_2 })
    } else if x.is_nan() || y.is_nan() {
        (if x == 0.0 { 0.0 } else { f64::NAN }, f64::NAN)
    } else {
        atanh_finite(x, y)
    };
    Complex64::new(signed(re, z.re), signed(im, z.im))
}

fn atanh_finite(x: f64, y: f64) -> (f64, f64) {
    if y == 0.0 && x <= 1.0 {
        return (double::atanh(x), 0.0);
    }
    if x.max(y) > 1e17 {
        // x / |z|^2, in an order that does not overflow.
        let re = if x > y { 1.0 / (x + y * (y / x)) } else { (x / y) / (y + x * (x / y)) };
        return (re, FRAC_PI_2);
    }
    if x.max(y) < 1e-17 {
        return (x, y);
    }
    let (below, above) = (Dd::sum(1.0, -x), Dd::sum(1.0, x));
    let tiny = y < 1e-140;
    let square = if tiny { Dd::new(0.0) } else { Dd::product(y, y) };
    let distance = below * below + square;
    let re = if distance.hi == 0.0 {
        // x is 1 and y is tiny: log(2 / y) / 2.
        0.5 * (LN_2 - double::log(y))
    } else {
        0.25 * log1p(Dd::new(4.0 * x) / distance)
    };
    let im = atan2(Dd::new(2.0 * y), below * above - square);
    (re, 0.5 * im)
}

/// Inverse sine.
pub fn asin(z: Complex64) -> Complex64 {
    let w = asinh(Complex64::new(-z.im, z.re));
    Complex64::new(w.im, -w.re)
}

/// Inverse tangent.
pub fn atan(z: Complex64) -> Complex64 {
    let w = atanh(Complex64::new(-z.im, z.re));
    Complex64::new(w.im, -w.re)
}
