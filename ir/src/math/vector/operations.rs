//! The operations of which the functions are written, as traits. Floats implement them to compute, kernel
//! values to record instructions.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// A float, or the representation of one: an `f64` or `f32` value, or a kernel instruction of either dtype.
///
/// Every operation is that of IEEE 754: exact, or rounded once to the nearest number. The payload of a NaN
/// is unspecified.
pub trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// The bits of a float of this precision.
    type Bits: Bits<Real = Self, Condition = Self::Condition>;
    /// The result of comparisons.
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
    /// `self < b`; false if either is NaN.
    fn less(self, b: Self) -> Self::Condition;
    /// `self == b`; false if either is NaN.
    fn equal(self, b: Self) -> Self::Condition;
    /// `self` if the condition holds, otherwise `b`.
    fn or(self, condition: Self::Condition, b: Self) -> Self;
    /// `f(x)` if the condition holds, which should be rare, otherwise `self`.
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
    /// `self 2^floor(k)`, rounded once. k is a multiple of 1/8 of at most twice the exponent bias. `self` is
    /// 0, NaN, or has an exponent of at most half the bias in magnitude. Multiplies by the power of 2 in two
    /// factors, of which only the second may round.
    fn scale(self, k: Self) -> Self {
        self.scale_any(k)
    }
    /// `self 2^floor(k)` for any magnitude of `self`. May round twice, once for each factor.
    fn scale_any(self, k: Self) -> Self {
        let (shifter, mantissa) = scale_numbers(self.is_single());
        let bits = (k + self.of(shifter)).bits();
        let half = bits.shr(FRACTION + 1);
        self * half.shl(mantissa).real() * (bits.shr(FRACTION) - half).shl(mantissa).real()
    }

    /// The significand of a positive number, from 3/4 up to 3/2. 1 for zeros and infinity; NaN for negative
    /// numbers and NaN.
    fn significand(self) -> Self {
        let n = Layout::of(self.is_single());
        let (bits, _) = lifted(self, n);
        let turned = bits - bits.of(n.three_quarters);
        let m = (turned & bits.of((1 << n.mantissa) - 1)) + bits.of(n.three_quarters);
        let negative_or_nan = !(self.equal(self.of(0.0)) | self.of(0.0).less(self));
        self.of(f64::NAN).or(negative_or_nan, m.real())
    }
    /// The exponent of 2 that belongs to the [significand](Self::significand) of a positive number. Negative
    /// infinity for zeros, infinity for infinity, NaN for NaN, and some float for negative numbers.
    /// `significand` is that of `self`.
    fn exponent(self, significand: Self) -> Self {
        let n = Layout::of(self.is_single());
        let (bits, subnormal) = lifted(self, n);
        let raised = bits - significand.bits() + bits.of(n.bias << n.mantissa);
        let k = exponent_field(self, raised, n) - self.of(n.lift.into()).or(subnormal, self.of(0.0));
        let finite = k.or(self.less(self.of(f64::INFINITY)), self);
        self.of(f64::NEG_INFINITY).or(self.equal(self.of(0.0)), finite)
    }

    /// Selects one of two values by the precision.
    fn at<T>(self, double: T, single: T) -> T {
        if self.is_single() { single } else { double }
    }
}

/// The number of fraction bits of the exponents that [`Real::scale`] takes.
pub const FRACTION: u32 = 3;

/// The constant that [`Real::scale`] adds to k, and the number of mantissa bits. The low bits of the sum are
/// k plus twice the exponent bias, with the bits of the fraction last.
pub fn scale_numbers(single: bool) -> (f64, u32) {
    if single { (1572864.0 + 254.0, 23) } else { (844424930131968.0 + 2046.0, 52) }
}

/// The layout of floats of a precision, for [`Real::significand`] and [`Real::exponent`].
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The number of mantissa bits.
    pub mantissa: u32,
    /// The exponent bias.
    pub bias: u64,
    /// The smallest normal number.
    pub least: f64,
    /// The exponent of the power of 2 that makes subnormal numbers normal.
    pub lift: i32,
    /// The bits of 3/4.
    pub three_quarters: u64,
}

impl Layout {
    /// The layout of `f32` or `f64`.
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
    /// The number whose lowest mantissa bit has the value 1.
    pub fn unit(&self) -> f64 {
        2f64.powi(self.mantissa as i32)
    }
}

/// The bits of a number, scaled if it is subnormal, and whether it was.
pub(super) fn lifted<F: Real>(x: F, n: &Layout) -> (F::Bits, F::Condition) {
    let subnormal = x.less(x.of(n.least));
    ((x * x.of(2f64.powi(n.lift))).or(subnormal, x).bits(), subnormal)
}

/// The exponent in the bits of a positive number, as a number of the precision of `x`.
pub(super) fn exponent_field<F: Real>(x: F, bits: F::Bits, n: &Layout) -> F {
    // A number with the exponent of `unit` is `unit` plus its low bits.
    let unit = x.of(n.unit()).bits();
    (bits.shr(n.mantissa) | unit).real() - x.of(n.unit() + n.bias as f64)
}

/// Sixteen numbers, selected by the low four bits of an integer. A table of fewer numbers repeats them,
/// which code generators exploit.
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
    /// The number of entries before they repeat: 4, 8 or 16.
    pub fn period(&self, single: bool) -> usize {
        let again = |&count: &usize| match single {
            true => (0..16).all(|at| self.single[at].to_bits() == self.single[at % count].to_bits()),
            false => (0..16).all(|at| self.double[at].to_bits() == self.double[at % count].to_bits()),
        };
        [4, 8].into_iter().find(again).unwrap_or(16)
    }
    /// The upper halves of the `f64` numbers; `None` unless all lower halves and the first number are 0.
    pub fn upper_halves(&self) -> Option<[u32; 16]> {
        let bits = self.double.map(f64::to_bits);
        (bits[0] == 0 && bits.iter().all(|bits| *bits as u32 == 0)).then(|| bits.map(|bits| (bits >> 32) as u32))
    }
}

/// A table that repeats fewer than sixteen numbers.
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

/// A scalar function that is called for one number at a time.
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
    /// The result of comparisons.
    type Condition;

    /// A constant of the same width: the low bits of `c`.
    fn of(self, c: u64) -> Self;
    /// Shifted left, by fewer places than the width.
    fn shl(self, by: u32) -> Self;
    /// Shifted right logically, by fewer places than the width.
    fn shr(self, by: u32) -> Self;
    /// The table entry that the low four bits select.
    fn choose(self, table: &'static Table) -> Self::Real;
    /// True if no bit is set.
    fn is_zero(self) -> Self::Condition;
    /// The float of these bits.
    fn real(self) -> Self::Real;
}

/// The result of a comparison.
pub trait Condition: Copy + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self> {}

/// A polynomial with the constant coefficient first. Evaluates its even and odd powers by Horner's rule
/// separately, as two independent dependency chains.
pub(super) fn polynomial<F: Real>(x: F, coefficients: &[f64]) -> F {
    if coefficients.len() < 4 {
        return horner(x, coefficients.iter());
    }
    let (even, odd) = (coefficients.iter().step_by(2), coefficients.iter().skip(1).step_by(2));
    let square = x * x;
    horner(square, odd).fma(x, horner(square, even))
}

/// A polynomial by Horner's rule, as one dependency chain.
pub(super) fn horner<'c, F: Real>(x: F, mut coefficients: impl DoubleEndedIterator<Item = &'c f64>) -> F {
    let last = coefficients.next_back().copied().unwrap_or(0.0);
    coefficients.rev().fold(x.of(last), |sum, &c| sum.fma(x, x.of(c)))
}
