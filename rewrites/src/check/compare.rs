//! Comparing results: bit for bit, or within so many units in the last place.

use rewright_ir::{Datum, Scalar};
use std::fmt;

/// The first element at which two values differ.
#[derive(Clone, Debug, PartialEq)]
pub enum Mismatch {
    /// Another dtype, or an array for a scalar.
    Type {
        /// What was wanted, as a type.
        wanted: String,
        /// What was found, as a type.
        found: String,
    },
    /// An element.
    Element {
        /// Its index; empty for scalars and arrays of rank 0.
        index: Vec<usize>,
        /// What was wanted.
        wanted: Scalar,
        /// What was found.
        found: Scalar,
        /// The distance in units in the last place; `None` where it isn't a number (bool, integers, NaN beside a number).
        ulp: Option<u64>,
        /// How many elements differ in all, and of how many.
        count: (usize, usize),
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::Type { wanted, found } => write!(f, "wanted {wanted}, found {found}"),
            Mismatch::Element { index, wanted, found, ulp, count } => {
                let place = if index.is_empty() { String::new() } else { format!("element {index:?}: ") };
                write!(f, "{place}wanted {wanted}, found {found}")?;
                if let Some(ulp) = ulp {
                    write!(f, ", {ulp} ulp apart")?;
                }
                match count {
                    (_, 1) => Ok(()),
                    (n, all) => write!(f, " ({n} of {all} elements differ)"),
                }
            }
        }
    }
}

/// Compares two values: dtype and shape must be equal, bools and integers too, floats and the parts of complex numbers within
/// `ulp` units in the last place. All NaNs count as equal; with `ulp` 0, zeros of different sign do not, otherwise they do.
pub fn compare(wanted: &Datum, found: &Datum, ulp: u64) -> Result<(), Mismatch> {
    let same_form = wanted.as_scalar().is_some() == found.as_scalar().is_some();
    if !same_form || wanted.dtype() != found.dtype() || wanted.shape() != found.shape() {
        return Err(Mismatch::Type { wanted: wanted.ty().to_string(), found: found.ty().to_string() });
    }
    let (wanted, found) = (wanted.to_array(), found.to_array());
    if wanted.same_bits(&found) {
        return Ok(());
    }
    let mut first = None;
    let mut differing = 0;
    for (flat, (w, g)) in wanted.iter().zip(found.iter()).enumerate() {
        if !within(w, g, ulp) {
            differing += 1;
            first.get_or_insert((flat, w, g));
        }
    }
    match first {
        None => Ok(()),
        Some((flat, w, g)) => Err(Mismatch::Element {
            index: unravel(flat, wanted.shape()),
            wanted: w,
            found: g,
            ulp: distance(w, g),
            count: (differing, wanted.len()),
        }),
    }
}

fn within(a: Scalar, b: Scalar, ulp: u64) -> bool {
    match (parts(a), parts(b)) {
        (Some(a), Some(b)) => a.iter().zip(&b).all(|(&x, &y)| x.same(y, ulp)),
        _ => a == b,
    }
}

/// The larger distance of the two parts; `None` unless all parts are numbers.
fn distance(a: Scalar, b: Scalar) -> Option<u64> {
    let (a, b) = (parts(a)?, parts(b)?);
    a.iter().zip(&b).map(|(&x, &y)| x.distance(y)).try_fold(0, |max, d| Some(max.max(d?)))
}

/// A float of either width as a point on the number line of its width.
#[derive(Clone, Copy)]
struct Point {
    /// The number of floats between zero and this one; negative for negative numbers.
    rank: i64,
    negative: bool,
    nan: bool,
}

impl Point {
    fn same(self, other: Point, ulp: u64) -> bool {
        if self.nan || other.nan {
            return self.nan && other.nan;
        }
        let near = self.rank.abs_diff(other.rank) <= ulp;
        if ulp == 0 { near && self.negative == other.negative } else { near }
    }
    fn distance(self, other: Point) -> Option<u64> {
        (!self.nan && !other.nan).then(|| self.rank.abs_diff(other.rank))
    }
    fn of_f64(x: f64) -> Point {
        let magnitude = (x.to_bits() & !(1 << 63)) as i64;
        let negative = x.is_sign_negative();
        Point { rank: if negative { -magnitude } else { magnitude }, negative, nan: x.is_nan() }
    }
    fn of_f32(x: f32) -> Point {
        let magnitude = (x.to_bits() & !(1 << 31)) as i64;
        let negative = x.is_sign_negative();
        Point { rank: if negative { -magnitude } else { magnitude }, negative, nan: x.is_nan() }
    }
}

fn parts(scalar: Scalar) -> Option<Vec<Point>> {
    Some(match scalar {
        Scalar::F32(x) => vec![Point::of_f32(x)],
        Scalar::F64(x) => vec![Point::of_f64(x)],
        Scalar::C64(z) => vec![Point::of_f32(z.re), Point::of_f32(z.im)],
        Scalar::C128(z) => vec![Point::of_f64(z.re), Point::of_f64(z.im)],
        _ => return None,
    })
}

fn unravel(mut flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (slot, &extent) in index.iter_mut().zip(shape).rev() {
        *slot = flat % extent.max(1);
        flat /= extent.max(1);
    }
    index
}

#[cfg(test)]
mod tests {
    use super::*;
    use rewright_ir::{Array, DType};

    fn f64s(elements: &[f64]) -> Datum {
        let made = Array::from_fn(DType::F64, &[elements.len()], |i| Scalar::F64(elements[i]));
        Datum::Array(made.unwrap_or_else(|| panic!("a small array")))
    }

    #[test]
    fn counts_units_in_the_last_place() {
        let next = f64::from_bits(1.0f64.to_bits() + 3);
        assert!(compare(&f64s(&[1.0]), &f64s(&[next]), 3).is_ok());
        let found = compare(&f64s(&[0.0, 1.0]), &f64s(&[0.0, next]), 2);
        let Err(Mismatch::Element { index, ulp, count, .. }) = found else { panic!("{found:?}") };
        assert_eq!((index, ulp, count), (vec![1], Some(3), (1, 2)));
        // Across zero: the smallest negative and the smallest positive number are two apart.
        let tiny = f64::from_bits(1);
        assert!(compare(&f64s(&[-tiny]), &f64s(&[tiny]), 2).is_ok());
        assert!(compare(&f64s(&[-tiny]), &f64s(&[tiny]), 1).is_err());
        let f32s = |x: f32| Datum::Scalar(Scalar::F32(x));
        assert!(compare(&f32s(1.0), &f32s(f32::from_bits(1.0f32.to_bits() + 1)), 1).is_ok());
    }

    #[test]
    fn zero_tolerance_tells_zeros_apart_but_not_nans() {
        let other_nan = f64::from_bits(f64::NAN.to_bits() | 1 << 63 | 1);
        assert!(compare(&f64s(&[f64::NAN]), &f64s(&[other_nan]), 0).is_ok());
        assert!(compare(&f64s(&[f64::NAN]), &f64s(&[1.0]), u64::MAX).is_err());
        assert!(compare(&f64s(&[0.0]), &f64s(&[-0.0]), 0).is_err());
        assert!(compare(&f64s(&[0.0]), &f64s(&[-0.0]), 1).is_ok());
        assert!(compare(&f64s(&[f64::INFINITY]), &f64s(&[f64::MAX]), 0).is_err());
    }

    #[test]
    fn types_must_be_equal() {
        let message = compare(&f64s(&[1.0]), &f64s(&[1.0, 1.0]), 0).map_err(|m| m.to_string());
        assert_eq!(message, Err("wanted f64[1], found f64[2]".into()));
        assert!(compare(&Datum::Scalar(Scalar::I8(1)), &Datum::Scalar(Scalar::U8(1)), 9).is_err());
        assert!(compare(&Datum::Scalar(Scalar::I8(1)), &Datum::Scalar(Scalar::I8(2)), 9).is_err());
        let rank0 = Datum::Array(Datum::Scalar(Scalar::I8(1)).to_array());
        assert!(compare(&rank0, &Datum::Scalar(Scalar::I8(1)), 0).is_err());
    }
}
