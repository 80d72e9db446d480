//! The monoid `dot`: sums of products, whose steps round once.
//!
//! Each point gives two factors, and `(a, b) dot (c, d)` is `(a * b + c * d, 1)`, with the last product added
//! by a fused multiply-add. So a total is `(sum, 1)`: a point adds its product with one rounding, and two
//! totals are added. The first point of a lane, or of a block of points, becomes a total by itself: its
//! rounded product and 1. The monoid is associative but for rounding, as `sum` is, and has the same orders.

use crate::dtype::DType;
use crate::scalar::Scalar;
use num_complex::Complex;

/// A point's factors as a total: the product and 1.
pub(crate) fn total([a, b]: [Scalar; 2]) -> [Scalar; 2] {
    // It is neutral to sums, and rounds the product by itself.
    let bits = match a.dtype().real() {
        DType::F32 => Scalar::F32(-0.0).bits().0,
        DType::F64 => Scalar::F64(-0.0).bits().0,
        _ => 0,
    };
    let nothing = Scalar::from_bits(a.dtype(), (bits, if a.dtype().is_complex() { bits } else { 0 }));
    [multiply_add(a, b, nothing), Scalar::one(a.dtype())]
}

/// Combines two pairs of factors of one dtype. A total on the left is not multiplied by its 1, which would
/// lose the infinite parts of complex numbers.
pub(crate) fn combine([a, b]: [Scalar; 2], [c, d]: [Scalar; 2]) -> [Scalar; 2] {
    let [sum, one] = if b == Scalar::one(b.dtype()) { [a, b] } else { total([a, b]) };
    [multiply_add(c, d, sum), one]
}

/// `x * y + z`. Floats round once; integers wrap; for bools the product is "and" and the sum "or". Complex
/// numbers are computed by parts:
///
/// ```text
/// re = fma(-x.im, y.im, fma(x.re, y.re, z.re))
/// im = fma(x.im, y.re, fma(x.re, y.im, z.im))
/// ```
pub fn multiply_add(x: Scalar, y: Scalar, z: Scalar) -> Scalar {
    match (x, y, z) {
        (Scalar::F32(x), Scalar::F32(y), Scalar::F32(z)) => Scalar::F32(libm::fmaf(x, y, z)),
        (Scalar::F64(x), Scalar::F64(y), Scalar::F64(z)) => Scalar::F64(libm::fma(x, y, z)),
        (Scalar::C64(x), Scalar::C64(y), Scalar::C64(z)) => Scalar::C64(complex(x, y, z, libm::fmaf)),
        (Scalar::C128(x), Scalar::C128(y), Scalar::C128(z)) => Scalar::C128(complex(x, y, z, libm::fma)),
        _ => super::Monoid::Sum.combine(super::Monoid::Prod.combine(x, y), z),
    }
}

fn complex<T: Copy + std::ops::Neg<Output = T>>(
    x: Complex<T>,
    y: Complex<T>,
    z: Complex<T>,
    fma: impl Fn(T, T, T) -> T,
) -> Complex<T> {
    let re = fma(-x.im, y.im, fma(x.re, y.re, z.re));
    Complex { re, im: fma(x.im, y.re, fma(x.re, y.im, z.im)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_not_rounded_before_they_are_added() {
        let x = Scalar::F64(1.0 + f64::EPSILON);
        // (1 + e)^2 - (1 + 2e) = e^2
        let rest = combine([Scalar::F64(-1.0 - 2.0 * f64::EPSILON), Scalar::F64(1.0)], [x, x]);
        assert_eq!(rest, [Scalar::F64(f64::EPSILON * f64::EPSILON), Scalar::F64(1.0)]);
    }

    #[test]
    fn totals_are_added() {
        let one = |x: f64| [Scalar::F64(x), Scalar::F64(1.0)];
        for (x, y) in [(0.1, 0.2), (-0.0, -0.0), (0.0, -0.0), (f64::INFINITY, 1.0)] {
            assert_eq!(combine(one(x), one(y))[0].bits(), Scalar::F64(x + y).bits());
        }
    }

    #[test]
    fn complex_totals_keep_infinite_parts_and_signs_of_zeros() {
        let z = |re, im| Scalar::C128(Complex { re, im });
        let nothing = [z(0.0, 0.0), z(1.0, 0.0)];
        assert_eq!(combine([z(2.0, f64::INFINITY), z(1.0, 0.0)], nothing)[0], z(2.0, f64::INFINITY));
        let [sum, _] = combine([z(-0.0, -1.0), z(1.0, 0.0)], [z(-0.0, 0.0), z(1.0, 1.0)]);
        assert_eq!(sum.bits(), z(-0.0, -1.0).bits());
    }

    #[test]
    fn integers_wrap_and_bools_are_or_of_and() {
        let of = |x: i8, y: i8, z: i8| multiply_add(Scalar::I8(x), Scalar::I8(y), Scalar::I8(z));
        assert_eq!(of(100, 3, 7), Scalar::I8(100i8.wrapping_mul(3).wrapping_add(7)));
        let of = |x, y, z| multiply_add(Scalar::Bool(x), Scalar::Bool(y), Scalar::Bool(z));
        assert_eq!((of(true, true, false), of(true, false, false)), (Scalar::Bool(true), Scalar::Bool(false)));
    }

    #[test]
    fn complex_products_by_parts() {
        let z = |re, im| Scalar::C128(Complex { re, im });
        assert_eq!(multiply_add(z(1.0, 2.0), z(3.0, 4.0), z(10.0, 20.0)), z(5.0, 30.0));
    }
}
