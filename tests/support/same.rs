//! Equality of results.

use rewright_ir::{Datum, Kind, Scalar};

/// Bitwise equality, except that all NaNs are equal.
pub fn same_datum(a: &Datum, b: &Datum) -> bool {
    match (a, b) {
        (Datum::Scalar(x), Datum::Scalar(y)) => x.dtype() == y.dtype() && same_scalar(*x, *y),
        (Datum::Array(x), Datum::Array(y)) => {
            x.dtype() == y.dtype() && x.shape() == y.shape() && x.iter().zip(y.iter()).all(|(x, y)| same_scalar(x, y))
        }
        _ => false,
    }
}

fn same_scalar(x: Scalar, y: Scalar) -> bool {
    let part = |x: f64, y: f64| (x.is_nan() && y.is_nan()) || x.to_bits() == y.to_bits();
    let (zx, zy) = (x.to_c128(), y.to_c128());
    x == y || (x.dtype().kind() >= Kind::Float && part(zx.re, zy.re) && part(zx.im, zy.im))
}
