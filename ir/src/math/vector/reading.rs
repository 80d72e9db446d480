//! The operations that functions are written in.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// A float, or what stands for one: a value of `f64` or of `f32`, or an instruction of a kernel at one of these dtypes.
///
/// Every operation is the one of IEEE 754: exact, or rounded to the nearest number once. Which NaN a NaN is, is left open.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The bits of a float of this precision.
    type Bits: Bits<Real = Self, Condition = Self::Condition>;
    /// What comparisons give.
    type Condition: Condition;

    /// True at `f32`, false at `f64`.
    fn is_single(self) -> bool;
    /// The number nearest to `c`, at the precision of `self`.
    fn of(self, c: f64) -> Self;
    /// `self * b + c`, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// The magnitude.
    fn abs(self) -> Self;
    /// The magnitude of `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// `self < b`; false where one is NaN.
    fn less(self, b: Self) -> Self::Condition;
    /// `self == b`; false where one is NaN.
    fn equal(self, b: Self) -> Self::Condition;
    /// `self` where the condition holds, otherwise `b`.
    fn or(self, condition: Self::Condition, b: Self) -> Self;
    /// `f(x)` where the condition holds, which it seldom does, otherwise `self`.
    fn unless(self, condition: Self::Condition, f: &Slow, x: Self) -> Self;
    /// The bits.
    fn bits(self) -> Self::Bits;

    /// `self < b ? self : b`.
    fn min(self, b: Self) -> Self {
        self.or(self.less(b), b)
    }
    /// `self > b ? self : b`.
    fn max(self, b: Self) -> Self {
        self.or(b.less(self), b)
    }
    /// `self 2^floor(k)`, rounded once, where k is a number of eighths of at most twice the bias of exponents, and `self` is 0, NaN or of a magnitude
    /// whose exponent is at most half of the bias. It is the product with the power of 2 in two factors, of which only the second one may round.
    fn scale(self, k: Self) -> Self {
        self.scale_any(k)
    }
    /// The same of a number of any magnitude, which may be rounded twice: by each of the factors.
    fn scale_any(self, k: Self) -> Self {
        let (shifter, mantissa) = scale_numbers(self.is_single());
        let bits = (k + self.of(shifter)).bits();
        let half = bits.shr(FRACTION + 1);
        self * half.shl(mantissa).real() * (bits.shr(FRACTION) - half).shl(mantissa).real()
    }

    /// The significand of a positive number, from 3/4 up to 3/2; 1 of zeros and of infinity, NaN of negative numbers and NaN.
    fn significand(self) -> Self {
        let n = Layout::of(self.is_single());
        let (bits, _) = lifted(self, n);
        let turned = bits - bits.of(n.three_quarters);
        let m = (turned & bits.of((1 << n.mantissa) - 1)) + bits.of(n.three_quarters);
        let negative_or_nan = !(self.equal(self.of(0.0)) | self.of(0.0).less(self));
        self.of(f64::NAN).or(negative_or_nan, m.real())
    }
    /// The power of 2 that goes with the [significand](Self::significand) of a positive number; negative infinity of zeros, infinity of
    /// infinity, NaN of NaN. Of negative numbers it is some float. `significand` is that of `self`.
    fn exponent(self, significand: Self) -> Self {
        let n = Layout::of(self.is_single());
        let (bits, subnormal) = lifted(self, n);
        let raised = bits - significand.bits() + bits.of(n.bias << n.mantissa);
        let k = exponent_field(self, raised, n) - self.of(n.lift.into()).or(subnormal, self.of(0.0));
        let finite = k.or(self.less(self.of(f64::INFINITY)), self);
        self.of(f64::NEG_INFINITY).or(self.equal(self.of(0.0)), finite)
    }

    /// One of two things, by the precision.
    fn at<T>(self, double: T, single: T) -> T {
        if self.is_single() { single } else { double }
    }
}

/// The bits of the fraction of what [`Real::scale`] scales by.
pub const FRACTION: u32 = 3;

/// What [`Real::scale`] adds to k so that the low bits of the sum are k and twice the bias of exponents, those of a fraction last, and the bits of a mantissa.
pub fn scale_numbers(single: bool) -> (f64, u32) {
    if single { (1572864.0 + 254.0, 23) } else { (844424930131968.0 + 2046.0, 52) }
}

/// How floats of a precision are laid out: what [`Real::significand`] and [`Real::exponent`] are computed with.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The bits of a mantissa.
    pub mantissa: u32,
    /// What exponents are stored with.
    pub bias: u64,
    /// The least normal number.
    pub least: f64,
    /// Subnormal numbers are normal ones if they are multiplied by 2 to the power of this.
    pub lift: i32,
    /// The bits of 3/4.
    pub three_quarters: u64,
}

impl Layout {
    /// Of `f32` or `f64`.
    pub fn of(single: bool) -> &'static Layout {
        const SINGLE: Layout =
            Layout { mantissa: 23, bias: 127, least: f32::MIN_POSITIVE as f64, lift: 25, three_quarters: 0x3f40_0000 };
        const DOUBLE: Layout = Layout {
            mantissa: 52,
            bias: 1023,
            least: f64::MIN_POSITIVE,
            lift: 54,
            three_quarters: 0x3fe8_0000_0000_0000,
        };
        if single { &SINGLE } else { &DOUBLE }
    }
    /// The number whose lowest bit is 1.
    pub fn unit(&self) -> f64 {
        2f64.powi(self.mantissa as i32)
    }
}

/// The bits of a number, as a normal one, and whether it was none.
pub(super) fn lifted<F: Real>(x: F, n: &Layout) -> (F::Bits, F::Condition) {
    let subnormal = x.less(x.of(n.least));
    ((x * x.of(2f64.powi(n.lift))).or(subnormal, x).bits(), subnormal)
}

/// The exponent that the bits of a positive number say, as a number of the precision of `x`.
pub(super) fn exponent_field<F: Real>(x: F, bits: F::Bits, n: &Layout) -> F {
    // A number with the exponent of `unit` is `unit` and its low bits.
    let unit = x.of(n.unit()).bits();
    (bits.shr(n.mantissa) | unit).real() - x.of(n.unit() + n.bias as f64)
}

/// Sixteen numbers, to choose one of by the low bits of an integer. Fewer are there again and again, which code generators make use of.
#[derive(Debug)]
pub struct Table {
    /// Its name, which identifies it.
    pub name: &'static str,
    /// At `f64`.
    pub double: [f64; 16],
    /// At `f32`.
    pub single: [f32; 16],
}

impl Table {
    /// How many numbers there are before they come again: 4, 8 or 16.
    pub fn period(&self, single: bool) -> usize {
        let again = |&count: &usize| match single {
            true => (0..16).all(|at| self.single[at].to_bits() == self.single[at % count].to_bits()),
            false => (0..16).all(|at| self.double[at].to_bits() == self.double[at % count].to_bits()),
        };
        [4, 8].into_iter().find(again).unwrap_or(16)
    }
    /// The upper halves of the numbers at `f64`, if all lower ones are 0, and the first number is.
    pub fn upper_halves(&self) -> Option<[u32; 16]> {
        let bits = self.double.map(f64::to_bits);
        (bits[0] == 0 && bits.iter().all(|bits| *bits as u32 == 0)).then(|| bits.map(|bits| (bits >> 32) as u32))
    }
}

/// Fewer numbers than sixteen, again and again.
pub(super) const fn again<T: Copy, const N: usize>(numbers: [T; N]) -> [T; 16] {
    let (mut all, mut at) = ([numbers[0]; 16], 0);
    while at < all.len() {
        all[at] = numbers[at % N];
        at += 1;
    }
    all
}

impl PartialEq for Table {
    fn eq(&self, other: &Table) -> bool {
        self.name == other.name
    }
}

/// A function that is called for one number at a time.
#[derive(Clone, Copy)]
pub struct Slow {
    /// Its name.
    pub name: &'static str,
    /// At `f64`.
    pub double: extern "C" fn(f64) -> f64,
    /// At `f32`.
    pub single: extern "C" fn(f32) -> f32,
}

/// The bits of a float: an unsigned integer of the same width, whose arithmetic wraps.
pub trait Bits:
    Copy + Add<Output = Self> + Sub<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    /// The float.
    type Real;
    /// What comparisons give.
    type Condition;

    /// A constant of the same width: the low bits of `c`.
    fn of(self, c: u64) -> Self;
    /// Shifted by fewer places than there are, toward the high end.
    fn shl(self, by: u32) -> Self;
    /// Shifted by fewer places than there are, toward the low end; zeros come in.
    fn shr(self, by: u32) -> Self;
    /// The number of a table that the low four bits say.
    fn choose(self, table: &'static Table) -> Self::Real;
    /// True if no bit is set.
    fn is_zero(self) -> Self::Condition;
    /// The float of these bits.
    fn real(self) -> Self::Real;
}

/// The result of a comparison.
pub trait Condition: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {}

/// A polynomial with the constant coefficient first: its even and its odd powers by Horner's rule each, two chains of operations
/// that do not wait for one another.
pub(super) fn polynomial<F: Real>(x: F, coefficients: &[f64]) -> F {
    if coefficients.len() < 4 {
        return horner(x, coefficients.iter());
    }
    let (even, odd) = (coefficients.iter().step_by(2), coefficients.iter().skip(1).step_by(2));
    let square = x * x;
    horner(square, odd).fma(x, horner(square, even))
}

/// The same as one chain of operations.
pub(super) fn horner<'c, F: Real>(x: F, mut coefficients: impl DoubleEndedIterator<Item = &'c f64>) -> F {
    let last = coefficients.next_back().copied().unwrap_or(0.0);
    coefficients.rev().fold(x.of(last), |sum, &c| sum.fma(x, x.of(c)))
}
