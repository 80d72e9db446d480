//! Arithmetic and order of complex numbers at either precision, and functions at `c128`.

use super::{double, single, vector};
use num_complex::{Complex, Complex32, Complex64};
use std::ops::{Add, Div, Mul, Neg, Sub};

macro_rules! functions {
    ($($(#[doc = $doc:literal])* $name:ident)*) => {$(
        $(#[doc = $doc])*
        pub fn $name(z: Complex64) -> Complex64 {
            let [re, im] = vector::complex::$name([z.re, z.im]);
            Complex64::new(re, im)
        }
    )*};
}

functions! {
    /// e to the power z.
    exp
    /// 2 to the power z. Each part is close to the true value for imaginary parts up to 1e9; the error is
    /// small relative to the length up to 1e15.
    exp2
    /// e to the power z, minus 1. Accurate under cancellation for imaginary parts up to 1e6.
    expm1
    /// Hyperbolic cosine.
    cosh
    /// Hyperbolic sine.
    sinh
    /// Hyperbolic tangent.
    tanh
    /// Cosine.
    cos
    /// Sine.
    sin
    /// Tangent.
    tan
    /// Natural logarithm.
    log
    /// Logarithm to base 2.
    log2
    /// Logarithm to base 10.
    log10
    /// Logarithm of 1 + z.
    log1p
    /// Inverse cosine.
    acos
    /// Inverse hyperbolic cosine.
    acosh
    /// Inverse sine.
    asin
    /// Inverse hyperbolic sine.
    asinh
    /// Inverse tangent.
    atan
    /// Inverse hyperbolic tangent.
    atanh
    /// Square root, in the right half plane.
    sqrt
}

/// `a` to the power `b`: products for integer exponents up to 15, else `exp(b log a)`. 1 for b = 0. For a =
/// 0 the result is 0 if b has a positive real part, else NaN.
pub fn power(a: Complex64, b: Complex64) -> Complex64 {
    let [re, im] = vector::complex::power([a.re, a.im], [b.re, b.im]);
    Complex64::new(re, im)
}

/// The parts of a complex number: `f32` or `f64`.
pub trait Part:
    Copy
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// NaN.
    const NAN: Self;
    /// 1/4.
    const QUARTER: Self;
    /// The bound above which a number is scaled by 1/4, so that its length does not overflow.
    const LONG: Self;
    /// The bound below which a number, or its length, may be subnormal.
    const SHORT: Self;
    /// The factor that makes any subnormal number normal.
    const MORE: Self;
    /// Magnitude.
    fn magnitude(self) -> Self;
    /// -1, 0, 1 or NaN.
    fn sign(self) -> Self;
    /// Square root of the sum of squares.
    fn hypot(self, other: Self) -> Self;
    /// True for NaN.
    fn is_nan(self) -> bool;
    /// True for the infinities.
    fn is_infinite(self) -> bool;
}

macro_rules! part {
    ($($ty:ident $functions:ident)*) => {$(
        impl Part for $ty {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const NAN: Self = <$ty>::NAN;
            const QUARTER: Self = 0.25;
            const LONG: Self = <$ty>::MAX / 4.0;
            const SHORT: Self = <$ty>::MIN_POSITIVE / <$ty>::EPSILON;
            const MORE: Self = 1.0 / <$ty>::EPSILON;
            fn magnitude(self) -> Self {
                self.abs()
            }
            fn sign(self) -> Self {
                $functions::sign(self)
            }
            fn hypot(self, other: Self) -> Self {
                $functions::hypot(self, other)
            }
            fn is_nan(self) -> bool {
                <$ty>::is_nan(self)
            }
            fn is_infinite(self) -> bool {
                <$ty>::is_infinite(self)
            }
        }
    )*};
}
part!(f32 single f64 double);

/// `a / b` by Smith's method. Division by zero divides each part by +0.
pub fn quotient<T: Part>(a: Complex<T>, b: Complex<T>) -> Complex<T> {
    if b.re.magnitude() >= b.im.magnitude() {
        if b.re == T::ZERO && b.im == T::ZERO {
            return Complex::new(a.re / T::ZERO, a.im / T::ZERO);
        }
        let ratio = b.im / b.re;
        let scale = T::ONE / (b.re + b.im * ratio);
        Complex::new((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale)
    } else {
        let ratio = b.re / b.im;
        let scale = T::ONE / (b.im + b.re * ratio);
        Complex::new((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale)
    }
}

/// `1 / z` by Smith's method.
pub fn reciprocal<T: Part>(z: Complex<T>) -> Complex<T> {
    if z.im.magnitude() <= z.re.magnitude() {
        let ratio = z.im / z.re;
        let divisor = z.re + z.im * ratio;
        Complex::new(T::ONE / divisor, -ratio / divisor)
    } else {
        let ratio = z.re / z.im;
        let divisor = z.re * ratio + z.im;
        Complex::new(ratio / divisor, -T::ONE / divisor)
    }
}

/// `z / |z|`; 0 for 0; along the axis of an infinite part; NaN if the direction is undefined.
pub fn direction<T: Part>(z: Complex<T>) -> Complex<T> {
    let long = z.re.magnitude() > T::LONG || z.im.magnitude() > T::LONG;
    let short = z.re.magnitude() < T::SHORT && z.im.magnitude() < T::SHORT;
    let factor = if long {
        T::QUARTER
    } else if short {
        T::MORE
    } else {
        T::ONE
    };
    let z = Complex::new(z.re * factor, z.im * factor);
    let length = z.re.hypot(z.im);
    if length.is_nan() || (z.re.is_infinite() && z.im.is_infinite()) {
        Complex::new(T::NAN, T::NAN)
    } else if length.is_infinite() && z.re.is_infinite() {
        Complex::new(z.re.sign(), T::ZERO)
    } else if z.im.is_infinite() {
        Complex::new(T::ZERO, z.im.sign())
    } else if length == T::ZERO {
        Complex::new(T::ZERO, T::ZERO)
    } else {
        Complex::new(z.re / length, z.im / length)
    }
}

/// True if a part is NaN.
pub fn is_nan<T: Part>(z: Complex<T>) -> bool {
    z.re.is_nan() || z.im.is_nan()
}

/// `a < b` in lexicographic order; false if a NaN decides.
pub fn lt<T: Part>(a: Complex<T>, b: Complex<T>) -> bool {
    (a.re < b.re && !a.im.is_nan() && !b.im.is_nan()) || (a.re == b.re && a.im < b.im)
}

/// `a <= b` in lexicographic order; false if a NaN decides.
pub fn le<T: Part>(a: Complex<T>, b: Complex<T>) -> bool {
    (a.re < b.re && !a.im.is_nan() && !b.im.is_nan()) || (a.re == b.re && a.im <= b.im)
}

/// A function at `c64`: computed at `c128` and rounded.
pub fn single(f: fn(Complex64) -> Complex64, z: Complex32) -> Complex32 {
    let w = f(Complex64::new(z.re as f64, z.im as f64));
    Complex32::new(w.re as f32, w.im as f32)
}

/// A function of two arguments at `c64`: computed at `c128` and rounded.
pub fn single2(f: fn(Complex64, Complex64) -> Complex64, a: Complex32, b: Complex32) -> Complex32 {
    let wide = |z: Complex32| Complex64::new(z.re as f64, z.im as f64);
    let w = f(wide(a), wide(b));
    Complex32::new(w.re as f32, w.im as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_of_numbers_of_any_length() {
        for least in [f64::from_bits(1), f64::MIN_POSITIVE / 3.0, f64::MIN_POSITIVE, 1.0, f64::MAX / 8.0] {
            let Complex { re, im } = direction(Complex::new(3.0 * least, -4.0 * least));
            assert!((re - 0.6).abs() < 2e-16 && (im + 0.8).abs() < 2e-16, "{least:e}: {re} {im}");
        }
        for least in [f32::from_bits(1), f32::MIN_POSITIVE / 3.0, f32::MIN_POSITIVE, 1.0, f32::MAX / 8.0] {
            let Complex { re, im } = direction(Complex::new(-3.0 * least, 4.0 * least));
            assert!((re + 0.6).abs() < 1e-7 && (im - 0.8).abs() < 1e-7, "{least:e}: {re} {im}");
        }
    }
}
