//! e to the power of a complex number, minus 1.

use crate::math::double_double::Dd;
use crate::math::rounded::double;
use num_complex::Complex64;

/// 2 pi.
const TURN: Dd = Dd { hi: std::f64::consts::TAU, lo: 2.4492935982947064e-16 };

/// Beyond this `exp` overflows.
const EXP_MAX: f64 = 709.0;

/// `exp(x) * f`, for |f| <= 1, which may be finite where `exp(x)` is not.
fn exp_times(x: f64, f: f64) -> f64 {
    if x > EXP_MAX && x.is_finite() {
        let half = double::exp(x / 2.0);
        half * f * half
    } else {
        double::exp(x) * f
    }
}

/// e to the power z, minus 1; near the true value, where it cancels, for imaginary parts up to 1e6.
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
