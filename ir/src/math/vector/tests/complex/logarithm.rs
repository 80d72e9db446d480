//! Reference for complex square roots, logarithms and powers, with double-doubles.

use super::exponential::exp_of;
use crate::math::double_double::{Dd, LN_2};
use crate::math::rounded::double;
use num_complex::Complex64;

/// Natural logarithm of 2; the first part has trailing zeros, so that products with exponents are exact.
const LN_2_HIGH: f64 = 6.931471803691238e-1;
const LN_2_LOW: f64 = 1.9082149292705877e-10;
/// 1 / ln 2.
const LOG2_E: Dd = Dd { hi: std::f64::consts::LOG2_E, lo: 2.0355273740931033e-17 };
/// 1 / ln 10.
const LOG10_E: Dd = Dd { hi: std::f64::consts::LOG10_E, lo: 1.098319650216765e-17 };

/// The exponent of the greater part.
fn exponent(z: Complex64) -> i32 {
    libm::frexp(z.re.abs().max(z.im.abs())).1
}

fn scaled(z: Complex64, by: i32) -> Complex64 {
    Complex64::new(libm::ldexp(z.re, by), libm::ldexp(z.im, by))
}

/// Square root, in the right half plane.
pub fn sqrt(z: Complex64) -> Complex64 {
    if z.re == 0.0 && z.im == 0.0 {
        return Complex64::new(0.0, z.im);
    }
    if z.im.is_infinite() {
        return Complex64::new(f64::INFINITY, z.im);
    }
    if z.re.is_infinite() {
        let undecided = if z.im.is_nan() { z.im } else { 0.0 };
        return if z.re > 0.0 {
            Complex64::new(z.re, if z.im.is_nan() { z.im } else { 0.0f64.copysign(z.im) })
        } else {
            Complex64::new(undecided, f64::INFINITY.copysign(z.im))
        };
    }
    if z.re.is_nan() || z.im.is_nan() {
        return Complex64::new(f64::NAN, f64::NAN);
    }
    // Half the exponent of an even scale undoes it exactly.
    let half = exponent(z) / 2;
    let near = scaled(z, -2 * half);
    let length = Dd::sum_of_squares(near.re, near.im).sqrt();
    let root = (length + Dd::new(near.re.abs())).scale(0.5).sqrt();
    let root = Dd { hi: libm::ldexp(root.hi, half), lo: libm::ldexp(root.lo, half) };
    // Uses the original part: beside a large one it may underflow in `near`.
    let other = (Dd::new(z.im.abs()) / root).scale(0.5).value();
    let (re, im) = if z.re >= 0.0 { (root.value(), other) } else { (other, root.value()) };
    Complex64::new(re, im.copysign(z.im))
}

/// `x^2 + y^2 - 1`, accurate where it is near 0.
fn excess(x: f64, y: f64) -> f64 {
    let (x2, y2) = (Dd::product(x, x), Dd::product(y, y));
    let (big, small) = if x2.hi >= y2.hi { (x2, y2) } else { (y2, x2) };
    // The greater square is within a factor of about 2 of 1, so this difference is nearly exact.
    let high = Dd::sum(big.hi, -1.0);
    (high + small + Dd::new(big.lo)).value()
}

/// `log |z|` for |z| other than 0.
fn log_abs(z: Complex64) -> f64 {
    let shift = match exponent(z) {
        e if e.abs() > 400 => e,
        _ => 0,
    };
    let near = scaled(z, -shift);
    let square = Dd::sum_of_squares(near.re, near.im);
    let log = if shift == 0 && (0.5..2.0).contains(&square.hi) {
        double::log1p(excess(z.re, z.im))
    } else {
        double::log(square.hi) + square.lo / square.hi
    };
    shift as f64 * LN_2_HIGH + (0.5 * log + shift as f64 * LN_2_LOW)
}

/// Natural logarithm.
pub fn log(z: Complex64) -> Complex64 {
    let angle = double::atan2(z.im, z.re);
    let length = double::hypot(z.re, z.im);
    if z.re.is_infinite() || z.im.is_infinite() || length.is_nan() || (z.re == 0.0 && z.im == 0.0) {
        return Complex64::new(double::log(length), angle);
    }
    Complex64::new(log_abs(z), angle)
}

/// A number times a constant known to more than double precision.
fn scale_by(z: Complex64, by: Dd) -> Complex64 {
    let part = |x: f64| if x.is_finite() { libm::fma(x, by.hi, x * by.lo) } else { x * by.hi };
    Complex64::new(part(z.re), part(z.im))
}

/// Logarithm to base 2.
pub fn log2(z: Complex64) -> Complex64 {
    scale_by(log(z), LOG2_E)
}

/// Logarithm to base 10.
pub fn log10(z: Complex64) -> Complex64 {
    scale_by(log(z), LOG10_E)
}

/// Logarithm of 1 + z.
pub fn log1p(z: Complex64) -> Complex64 {
    let sum = Dd::sum(z.re, 1.0);
    let shifted = Complex64::new(sum.hi, z.im);
    if !z.re.is_finite() || !z.im.is_finite() || exponent(z) > 400 || sum.hi == 0.0 {
        return log(shifted);
    }
    // |1 + z|^2 - 1 = 2x + x^2 + y^2
    let excess = Dd::new(2.0 * z.re) + Dd::product(z.re, z.re) + Dd::product(z.im, z.im);
    let re = if (-0.5..1.0).contains(&excess.hi) {
        let near = double::log1p(excess.hi);
        if excess.hi.abs() < 1e-30 { near } else { near + excess.lo / (1.0 + excess.hi) }
    } else {
        let square = sum * sum + Dd::product(z.im, z.im);
        double::log(square.hi) + square.lo / square.hi
    };
    let turn = -sum.lo * z.im / (sum.hi * sum.hi + z.im * z.im);
    let angle = double::atan2(z.im, sum.hi);
    Complex64::new(0.5 * re, if turn.is_finite() && turn != 0.0 { angle + turn } else { angle })
}

/// A complex number with double-double parts, for products that must not lose digits.
#[derive(Clone, Copy)]
struct Wide {
    re: Dd,
    im: Dd,
}

impl Wide {
    fn times(self, other: Wide) -> Wide {
        Wide { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

/// A finite number to the power of a small integer, by repeated squaring of its mantissa.
fn integer_power(a: Complex64, n: i32) -> Complex64 {
    let shift = exponent(a);
    let near = scaled(a, -shift);
    let mut base = Wide { re: Dd::new(near.re), im: Dd::new(near.im) };
    let mut power = Wide { re: Dd::new(1.0), im: Dd::new(0.0) };
    let mut rest = n.unsigned_abs();
    while rest > 0 {
        if rest & 1 == 1 {
            power = power.times(base);
        }
        rest >>= 1;
        if rest > 0 {
            base = base.times(base);
        }
    }
    if n < 0 {
        let square = power.re * power.re + power.im * power.im;
        power = Wide { re: power.re / square, im: -power.im / square };
    }
    scaled(Complex64::new(power.re.value(), power.im.value()), shift * n)
}

/// Any number to the power of a small integer, in plain double precision.
fn plain_power(a: Complex64, n: i32) -> Complex64 {
    let (mut base, mut power, mut rest) = (a, Complex64::new(1.0, 0.0), n.unsigned_abs());
    while rest > 0 {
        if rest & 1 == 1 {
            power *= base;
        }
        rest >>= 1;
        if rest > 0 {
            base *= base;
        }
    }
    if n < 0 { crate::math::complex::reciprocal(power) } else { power }
}

/// `a` to the power `b`: repeated squaring for integers below 100, else `exp(b log a)`, either to about 100
/// bits. 1 for b = 0. For a = 0 the result is 0 if b has a positive real part, else NaN.
pub fn power(a: Complex64, b: Complex64) -> Complex64 {
    if b.re == 0.0 && b.im == 0.0 {
        return Complex64::new(1.0, 0.0);
    }
    if a.re == 0.0 && a.im == 0.0 {
        return if b.re > 0.0 { Complex64::new(0.0, 0.0) } else { Complex64::new(f64::NAN, f64::NAN) };
    }
    if b.im == 0.0 && b.re.abs() < 100.0 && b.re == b.re.trunc() {
        if b.re == 1.0 {
            return a;
        }
        let n = b.re as i32;
        return if a.re.is_finite() && a.im.is_finite() { integer_power(a, n) } else { plain_power(a, n) };
    }
    general_power(a, b)
}

fn general_power(a: Complex64, b: Complex64) -> Complex64 {
    let finite = [a.re, a.im, b.re, b.im].iter().all(|x| x.is_finite());
    if !finite {
        let exponent = b * log(a);
        if exponent.re == f64::NEG_INFINITY && exponent.im.is_nan() {
            // The sign of NumPy's result, which follows that of the NaN that x86 produces.
            return Complex64::new(0.0, -0.0);
        }
        return super::exponential::exp(exponent);
    }
    let shift = exponent(a);
    let near = scaled(a, -shift);
    let length = Dd::sum_of_squares(near.re, near.im).log().scale(0.5) + LN_2 * Dd::new(shift as f64);
    let angle = Dd::atan2(near.im, near.re);
    let log = Wide { re: length, im: angle };
    let product = log.times(Wide { re: Dd::new(b.re), im: Dd::new(b.im) });
    exp_of(product.re, product.im)
}
