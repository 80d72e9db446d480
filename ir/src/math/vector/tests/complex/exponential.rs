//! Reference for complex exponentials, trigonometric and hyperbolic functions, with correctly rounded real
//! functions.

use crate::math::double_double::{Dd, LN_2};
use crate::math::rounded::double;
use num_complex::Complex64;

/// 2 pi.
const TURN: Dd = Dd { hi: std::f64::consts::TAU, lo: 2.4492935982947064e-16 };

/// The bound above which `exp` overflows.
const EXP_MAX: f64 = 709.0;

/// `exp(x) * f` for |f| <= 1, which may be finite even if `exp(x)` is not.
fn exp_times(x: f64, f: f64) -> f64 {
    if x > EXP_MAX && x.is_finite() {
        let half = double::exp(x / 2.0);
        half * f * half
    } else {
        double::exp(x) * f
    }
}

/// `exp(x) * f / 2` for x beyond the range of `exp`.
fn half_exp_times(x: f64, f: f64) -> f64 {
    let half = double::exp(x / 2.0);
    (half * f) * (half * 0.5)
}

/// e to the power z.
pub fn exp(z: Complex64) -> Complex64 {
    if z.im == 0.0 {
        return Complex64::new(double::exp(z.re), z.im);
    }
    if !z.im.is_finite() {
        return match z.re {
            f64::NEG_INFINITY => Complex64::new(0.0, if z.im < 0.0 { -0.0 } else { 0.0 }),
            f64::INFINITY => Complex64::new(f64::INFINITY, f64::NAN),
            _ => Complex64::new(f64::NAN, f64::NAN),
        };
    }
    Complex64::new(exp_times(z.re, double::cos(z.im)), exp_times(z.re, double::sin(z.im)))
}

/// e to the power of a number known to more than double precision, within the range of `exp`.
pub(super) fn exp_of(re: Dd, im: Dd) -> Complex64 {
    let (sine, cosine) = (double::sin(im.hi), double::cos(im.hi));
    // Beyond 1e15 the second part of the angle is ignored.
    let lo = if im.lo.abs() < 0.1 { im.lo } else { 0.0 };
    let (turn, rest) = (double::sin(lo), double::cos(lo));
    // Far beyond the range only the sign of an infinity matters.
    let near = |f: f64| if re.lo.abs() < 1e-3 { f + f * re.lo } else { f };
    let (cosine, sine) = (cosine * rest - sine * turn, sine * rest + cosine * turn);
    Complex64::new(exp_times(re.hi, near(cosine)), exp_times(re.hi, near(sine)))
}

/// 2 to the power z; accurate for angles up to 1e15.
pub fn exp2(z: Complex64) -> Complex64 {
    if z.im == 0.0 || !z.re.is_finite() || !z.im.is_finite() {
        let scaled = exp(Complex64::new(z.re * LN_2.hi, z.im * LN_2.hi));
        return if z.im == 0.0 { Complex64::new(double::exp2(z.re), scaled.im) } else { scaled };
    }
    exp_of(LN_2 * Dd::new(z.re), LN_2 * Dd::new(z.im))
}

/// e to the power z, minus 1; accurate under cancellation for imaginary parts up to 1e6.
pub fn expm1(z: Complex64) -> Complex64 {
    let im = exp_times(z.re, double::sin(z.im));
    let half = double::sin(z.im / 2.0);
    let re = double::expm1(z.re) * double::cos(z.im) - 2.0 * half * half;
    // The difference of exp(x) cos(y) and 1 cancels along curves through 0 and the multiples of 2 pi i.
    let cancels = re.abs() < 0.5 && z.re < 30.0 && z.im.abs() < 1e6;
    Complex64::new(if cancels { expm1_re(z.re, z.im) } else { re }, im)
}

/// `exp(x) cos(y) - 1`, near 0.
fn expm1_re(x: f64, y: f64) -> f64 {
    if x == 0.0 && y == 0.0 {
        return x;
    }
    if x.abs().max(y.abs()) < 1e-5 {
        let re = Dd::new(x) + Dd::product(x, x).scale(0.5) + Dd::product(y, y).scale(-0.5);
        let (x2, y2) = (x * x, y * y);
        return re.value() + (x * (x2 / 6.0 - y2 / 2.0) + (x2 * x2 - 6.0 * x2 * y2 + y2 * y2) / 24.0);
    }
    let turns = (y / TURN.hi).round_ties_even();
    let (_, cosine) = (Dd::new(y) - TURN * Dd::new(turns)).sin_cos();
    (Dd::new(x).exp() * cosine - Dd::new(1.0)).value()
}

/// Hyperbolic cosine.
pub fn cosh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return Complex64::new(double::cosh(x), if x.is_nan() { y } else { y * x.signum() });
    }
    if !y.is_finite() {
        let re = if x.is_infinite() { f64::INFINITY } else { f64::NAN };
        return Complex64::new(re, if x == 0.0 { 0.0 } else { f64::NAN });
    }
    if x.abs() > EXP_MAX {
        let re = half_exp_times(x.abs(), double::cos(y));
        return Complex64::new(re, half_exp_times(x.abs(), double::sin(y)) * x.signum());
    }
    Complex64::new(double::cosh(x) * double::cos(y), double::sinh(x) * double::sin(y))
}

/// Hyperbolic sine.
pub fn sinh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if y == 0.0 {
        return Complex64::new(double::sinh(x), y);
    }
    if !y.is_finite() {
        let re = if x == 0.0 {
            x
        } else if x.is_infinite() {
            f64::INFINITY
        } else {
            f64::NAN
        };
        return Complex64::new(re, f64::NAN);
    }
    if x.abs() > EXP_MAX {
        let re = half_exp_times(x.abs(), double::cos(y)) * x.signum();
        return Complex64::new(re, half_exp_times(x.abs(), double::sin(y)));
    }
    Complex64::new(double::sinh(x) * double::cos(y), double::cosh(x) * double::sin(y))
}

/// Hyperbolic tangent: `(sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y)`.
pub fn tanh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    if x.is_infinite() {
        let im = if y.is_finite() { double::sin(y) * double::cos(y) } else { y };
        return Complex64::new(x.signum(), 0.0f64.copysign(im));
    }
    if x.is_nan() || !y.is_finite() {
        let re = if x == 0.0 { x } else { f64::NAN };
        return Complex64::new(re, if y == 0.0 { y } else { f64::NAN });
    }
    let (sine, cosine) = (double::sin(y), double::cos(y));
    if x.abs() > 20.0 {
        let im = 4.0 * sine * cosine * double::exp(-2.0 * x.abs());
        return Complex64::new(1.0f64.copysign(x), im);
    }
    let (sinh, cosh) = (double::sinh(x), double::cosh(x));
    // The squares of tiny parts would underflow. To first order, the other part is that of a real function.
    if y.abs() < 1e-140 {
        return Complex64::new(double::tanh(x), y / (cosh * cosh));
    }
    if x.abs() < 1e-140 {
        return Complex64::new(x / (cosine * cosine), double::tan(y));
    }
    let divisor = Dd::sum_of_squares(sinh, cosine);
    let re = Dd::product(sinh, cosh) / divisor;
    let im = Dd::product(sine, cosine) / divisor;
    Complex64::new(re.value(), im.value())
}

/// Turns a function of `iz` into one of `z`: `-i f(iz)`.
fn turned(f: fn(Complex64) -> Complex64, z: Complex64) -> Complex64 {
    let w = f(Complex64::new(-z.im, z.re));
    Complex64::new(w.im, -w.re)
}

/// Sine.
pub fn sin(z: Complex64) -> Complex64 {
    if z.im.is_infinite() && !z.re.is_finite() {
        return Complex64::new(f64::NAN, z.im);
    }
    turned(sinh, z)
}

/// Cosine.
pub fn cos(z: Complex64) -> Complex64 {
    cosh(Complex64::new(-z.im, z.re))
}

/// Tangent.
pub fn tan(z: Complex64) -> Complex64 {
    turned(tanh, z)
}
