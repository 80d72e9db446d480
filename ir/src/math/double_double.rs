//! Double-double arithmetic: a number is the unevaluated sum of two `f64`, with about 105 bits, for
//! functions that would lose digits to cancellation.
//!
//! Source of the algorithms: M. Joldes, J.-M. Muller, V. Popescu, "Tight and rigorous error bounds for basic
//! building blocks of double-word arithmetic", ACM TOMS 44(2), 2017. They are valid while no product of
//! parts underflows or overflows; callers scale their numbers.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// `hi + lo`, where `hi` is the sum rounded to `f64`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dd {
    pub hi: f64,
    pub lo: f64,
}

/// Natural logarithm of 2.
pub(super) const LN_2: Dd = Dd { hi: std::f64::consts::LN_2, lo: 2.3190468138462996e-17 };

impl Dd {
    pub const fn new(x: f64) -> Self {
        Dd { hi: x, lo: 0.0 }
    }

    /// `a + b`, exactly.
    pub const fn sum(a: f64, b: f64) -> Self {
        let hi = a + b;
        let b_part = hi - a;
        Dd { hi, lo: (a - (hi - b_part)) + (b - b_part) }
    }

    /// `a + b`, exactly, if the magnitude of `b` does not exceed that of `a`.
    pub const fn quick_sum(a: f64, b: f64) -> Self {
        let hi = a + b;
        Dd { hi, lo: b - (hi - a) }
    }

    /// `a * b`, exactly.
    pub fn product(a: f64, b: f64) -> Self {
        let hi = a * b;
        Dd { hi, lo: libm::fma(a, b, -hi) }
    }

    /// The product with a power of two.
    pub fn scale(self, by: f64) -> Self {
        Dd { hi: self.hi * by, lo: self.lo * by }
    }

    /// e to the power of a number within the range of `exp`.
    pub fn exp(self) -> Self {
        let k = (self.hi / LN_2.hi).round_ties_even();
        let r = (self - LN_2 * Dd::new(k)).scale(1.0 / 512.0);
        // Taylor's series of exp(r) - 1, |r| < 7e-4.
        let mut sum = Dd::new(0.0);
        for n in (1..=9).rev() {
            sum = (sum + Dd::new(1.0)) * r / Dd::new(n as f64);
        }
        for _ in 0..9 {
            sum = sum.scale(2.0) + sum * sum;
        }
        let power = sum + Dd::new(1.0);
        Dd { hi: libm::ldexp(power.hi, k as i32), lo: libm::ldexp(power.lo, k as i32) }
    }
}

/// Functions for tests.
#[cfg(test)]
impl Dd {
    /// Rounded to `f64`.
    pub fn value(self) -> f64 {
        self.hi + self.lo
    }

    /// Sine and cosine of a number within [-4, 4]: Taylor's series for 1/64 of it, and repeated doubling.
    pub fn sin_cos(self) -> (Self, Self) {
        let x = self.scale(1.0 / 64.0);
        let square = x * x;
        let (mut sine, mut versine) = (Dd::new(0.0), Dd::new(0.0));
        for n in (1..=9).rev() {
            let n = n as f64;
            sine = (Dd::new(1.0) - sine) * square / Dd::new(2.0 * n * (2.0 * n + 1.0));
            versine = (Dd::new(1.0) - versine) * square / Dd::new(2.0 * n * (2.0 * n - 1.0));
        }
        // sin x = x (1 - ...), and 1 - cos x, which can be doubled without cancellation.
        sine = x * (Dd::new(1.0) - sine);
        for _ in 0..6 {
            let cosine = Dd::new(1.0) - versine;
            (sine, versine) = ((sine * cosine).scale(2.0), (sine * sine).scale(2.0));
        }
        (sine, Dd::new(1.0) - versine)
    }

    /// `x * x + y * y`.
    pub fn sum_of_squares(x: f64, y: f64) -> Self {
        Dd::product(x, x) + Dd::product(y, y)
    }

    pub fn sqrt(self) -> Self {
        if self.hi <= 0.0 {
            return Dd::new(self.hi.sqrt());
        }
        let root = self.hi.sqrt();
        let rest = libm::fma(-root, root, self.hi) + self.lo;
        Dd::quick_sum(root, rest / (2.0 * root))
    }

    /// Natural logarithm, to about 1e-31: one step of Newton's method.
    pub fn log(self) -> Self {
        let near = super::rounded::double::log(self.hi);
        let rest = self * Dd::new(-near).exp() - Dd::new(1.0);
        Dd::new(near) + rest
    }

    /// The angle of the point (x, y), to about 1e-31: one step of Newton's method.
    pub fn atan2(y: f64, x: f64) -> Self {
        let near = super::rounded::double::atan2(y, x);
        let (sine, cosine) = Dd::new(near).sin_cos();
        let (y, x) = (Dd::new(y), Dd::new(x));
        Dd::new(near) + (y * cosine - x * sine) / (x * cosine + y * sine)
    }
}

impl Add for Dd {
    type Output = Dd;
    fn add(self, other: Dd) -> Dd {
        let high = Dd::sum(self.hi, other.hi);
        let low = Dd::sum(self.lo, other.lo);
        let first = Dd::quick_sum(high.hi, high.lo + low.hi);
        Dd::quick_sum(first.hi, low.lo + first.lo)
    }
}
impl Neg for Dd {
    type Output = Dd;
    fn neg(self) -> Dd {
        Dd { hi: -self.hi, lo: -self.lo }
    }
}
impl Sub for Dd {
    type Output = Dd;
    fn sub(self, other: Dd) -> Dd {
        self + -other
    }
}
impl Mul for Dd {
    type Output = Dd;
    fn mul(self, other: Dd) -> Dd {
        let high = Dd::product(self.hi, other.hi);
        let cross = libm::fma(self.lo, other.hi, libm::fma(self.hi, other.lo, self.lo * other.lo));
        Dd::quick_sum(high.hi, high.lo + cross)
    }
}
impl Div for Dd {
    type Output = Dd;
    fn div(self, other: Dd) -> Dd {
        let near = self.hi / other.hi;
        if !near.is_finite() || near == 0.0 {
            return Dd::new(near);
        }
        let rest = self - other * Dd::new(near);
        Dd::quick_sum(near, rest.hi / other.hi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// True if `a` is `hi + lo` to 100 bits.
    fn near(a: Dd, hi: f64, lo: f64) -> bool {
        ((a.hi - hi) + (a.lo - lo)).abs() <= hi.abs() * 1e-30
    }

    #[test]
    fn functions_have_a_hundred_bits() {
        let e = Dd::new(1.0).exp();
        assert!(near(e, std::f64::consts::E, 1.4456468917292502e-16), "{e:?}");
        assert!(near(e.log(), 1.0, 0.0));
        let quarter_pi = Dd::atan2(1.0, 1.0);
        assert!(near(quarter_pi, std::f64::consts::FRAC_PI_4, 3.061616997868383e-17), "{quarter_pi:?}");
        let (sine, cosine) = Dd::new(2.5).sin_cos();
        let one = sine * sine + cosine * cosine;
        assert!(near(one, 1.0, 0.0), "{one:?}");
        assert!(near(Dd::new(2.0).sqrt() * Dd::new(2.0).sqrt(), 2.0, 0.0));
        assert!(near(Dd::new(1.0) / Dd::new(3.0) * Dd::new(3.0), 1.0, 0.0));
    }
}
