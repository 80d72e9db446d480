//! Double-double arithmetic for complex functions, which would lose digits to cancellation: a number is the
//! unevaluated sum of two, with about 105 bits at `f64`.
//!
//! Source of the algorithms: M. Joldes, J.-M. Muller, V. Popescu, "Tight and rigorous error bounds for basic
//! building blocks of double-word arithmetic", ACM TOMS 44(2), 2017. They are valid while no product of
//! parts underflows or overflows; callers scale their numbers.

use super::Real;
use super::sums::{quick_sum, quotient_parts, root_parts, sum};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// `hi + lo`, where `hi` is the rounded sum.
#[derive(Clone, Copy)]
pub(super) struct Pair<F> {
    pub hi: F,
    pub lo: F,
}

impl<F: Real> Pair<F> {
    /// A single number.
    pub fn new(x: F) -> Self {
        Pair { hi: x, lo: x.of(0.0) }
    }

    /// `a + b`, exactly.
    pub fn sum(a: F, b: F) -> Self {
        sum(a, b).into()
    }

    /// `a * b`, exactly.
    pub fn product(a: F, b: F) -> Self {
        let hi = a * b;
        Pair { hi, lo: a.fma(b, -hi) }
    }

    /// `x * x`, exactly.
    pub fn square(x: F) -> Self {
        Pair::product(x, x)
    }

    /// The sum of two numbers of the same sign, cheaper than the general sum.
    pub fn plus(self, other: Self) -> Self {
        let high = Pair::sum(self.hi, other.hi);
        quick_sum(high.hi, high.lo + (self.lo + other.lo)).into()
    }

    /// The sum rounded to one number.
    pub fn value(self) -> F {
        self.hi + self.lo
    }

    /// The product with a power of two.
    pub fn scale(self, by: F) -> Self {
        Pair { hi: self.hi * by, lo: self.lo * by }
    }

    /// The square root, also of 0.
    pub fn sqrt(self) -> Self {
        let (root, lack) = root_parts((self.hi, self.lo));
        quick_sum(root, lack).into()
    }

    /// `self` if the condition holds, otherwise `b`.
    pub fn or(self, condition: F::Condition, b: Self) -> Self {
        Pair { hi: self.hi.or(condition, b.hi), lo: self.lo.or(condition, b.lo) }
    }
}

impl<F> From<(F, F)> for Pair<F> {
    fn from((hi, lo): (F, F)) -> Self {
        Pair { hi, lo }
    }
}

impl<F: Real> Add for Pair<F> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (high, low) = (Pair::sum(self.hi, other.hi), Pair::sum(self.lo, other.lo));
        let (first, lost) = quick_sum(high.hi, high.lo + low.hi);
        quick_sum(first, low.lo + lost).into()
    }
}

impl<F: Real> Neg for Pair<F> {
    type Output = Self;
    fn neg(self) -> Self {
        Pair { hi: -self.hi, lo: -self.lo }
    }
}

impl<F: Real> Sub for Pair<F> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl<F: Real> Mul for Pair<F> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let high = Pair::product(self.hi, other.hi);
        let cross = self.lo.fma(other.hi, self.hi.fma(other.lo, self.lo * other.lo));
        quick_sum(high.hi, high.lo + cross).into()
    }
}

/// The quotient, also of 0; the divisor must have an inverse.
impl<F: Real> Div for Pair<F> {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let (near, lack) = quotient_parts((self.hi, self.lo), (other.hi, other.lo));
        quick_sum(near, lack).into()
    }
}
