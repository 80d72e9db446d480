//! Comparison of results: bit for bit, or within a tolerance in units in the last place.

use rewright_ir::{Array, DType, Datum, Scalar, Styled};
use std::fmt;

/// The first element at which two values differ.
#[derive(Clone, Debug, PartialEq)]
pub enum Mismatch {
    /// The dtypes differ, or one is an array and the other a scalar.
    Type {
        /// The expected type.
        wanted: String,
        /// The actual type.
        found: String,
    },
    /// An element differs.
    Element {
        /// Its index; empty for scalars and arrays of rank 0.
        index: Vec<usize>,
        /// The expected value.
        wanted: Scalar,
        /// The actual value.
        found: Scalar,
        /// The distance in units in the last place; `None` if it is not defined (bool, integers, NaN beside
        /// a number).
        ulp: Option<u64>,
        /// The number of elements that differ, and the number of all elements.
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

/// The allowed distance of floats, and of the parts of complex numbers. Satisfying either bound suffices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tolerance {
    /// In units in the last place of the element.
    pub ulp: u64,
    /// In units in the last place of the largest expected finite number. This suits differences, whose error
    /// depends on the magnitude of the terms, however small the difference is.
    pub ulp_of_largest: u64,
}

impl From<u64> for Tolerance {
    fn from(ulp: u64) -> Tolerance {
        Tolerance { ulp, ulp_of_largest: 0 }
    }
}

/// Further tolerance for granted liberties.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Slack {
    /// The allowed difference of floats, and of the parts of complex numbers.
    pub absolute: f64,
    /// Zeros of either sign are equal.
    pub zeros: bool,
}

/// The most elements up to which arrays of storage styles with different components are compared element by
/// element.
const MAX_DENSE: usize = 1 << 24;

/// Compares two values. Dtype and shape must be equal, and so must bools and integers. Floats and the parts
/// of complex numbers must agree within the tolerance; a plain number is a tolerance in units in the last
/// place. All NaNs are equal; infinities are equal to themselves and near the greatest numbers only. Zeros
/// of different sign are equal unless the tolerance is 0.
pub fn compare(wanted: &Datum, found: &Datum, tolerance: impl Into<Tolerance>) -> Result<(), Mismatch> {
    compare_with(wanted, found, tolerance.into(), Slack::default())
}

/// The same, with further tolerance.
pub(super) fn compare_with(wanted: &Datum, found: &Datum, tolerance: Tolerance, slack: Slack) -> Result<(), Mismatch> {
    if wanted.ty() != found.ty() {
        return Err(Mismatch::Type { wanted: wanted.ty().to_string(), found: found.ty().to_string() });
    }
    if let (Datum::Styled(wanted), Datum::Styled(found)) = (wanted, found) {
        // Equal components are equal elements. Different components may be equal too: elements outside of a
        // triangle do not count.
        let pairs = || wanted.components().iter().zip(found.components());
        let same =
            |(a, b): (&Array, &Array)| compare_with(&a.clone().into(), &b.clone().into(), tolerance, slack).is_ok();
        if pairs().all(same) {
            return Ok(());
        }
        if wanted.shape().iter().fold(1usize, |len, &n| len.saturating_mul(n)) > MAX_DENSE {
            let components = |styled: &Styled| {
                let types: Vec<String> = styled.components().iter().map(|array| array.ty().to_string()).collect();
                format!("{} with other components, {}", styled.ty(), types.join(", "))
            };
            return Err(Mismatch::Type { wanted: components(wanted), found: components(found) });
        }
    }
    let (wanted, found) = (wanted.to_array(), found.to_array());
    if wanted.same_bits(&found) {
        return Ok(());
    }
    let Tolerance { ulp, ulp_of_largest } = tolerance;
    let bound = if ulp_of_largest == 0 { 0.0 } else { ulp_of_largest as f64 * unit_of_largest(&wanted) };
    let bound = bound.max(slack.absolute);
    let mut first = None;
    let mut differing = 0;
    for (flat, (w, g)) in wanted.iter().zip(found.iter()).enumerate() {
        if !(within(w, g, ulp, bound) || slack.zeros && is_zero(w) && is_zero(g)) {
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

/// The unit in the last place of the largest finite number; 0 if there is none.
fn unit_of_largest(array: &Array) -> f64 {
    let numbers = array.iter().filter_map(parts).flatten().map(|p| p.value.abs());
    let Some(largest) = numbers.filter(|x| x.is_finite()).reduce(f64::max) else { return 0.0 };
    let beside = |up: f64, down: f64| if up.is_finite() { up - largest } else { largest - down };
    match array.dtype() {
        DType::F32 | DType::C64 => {
            let single = largest as f32;
            beside(single.next_up().into(), single.next_down().into())
        }
        _ => beside(largest.next_up(), largest.next_down()),
    }
}

fn is_zero(scalar: Scalar) -> bool {
    parts(scalar).is_some_and(|parts| parts.iter().all(|part| part.value == 0.0))
}

fn within(a: Scalar, b: Scalar, ulp: u64, bound: f64) -> bool {
    match (parts(a), parts(b)) {
        (Some(a), Some(b)) => a.iter().zip(&b).all(|(&x, &y)| x.same(y, ulp) || bound > 0.0 && x.near(y, bound)),
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
struct FloatPoint {
    /// The number of floats between zero and this one; negative for negative numbers.
    rank: i64,
    negative: bool,
    nan: bool,
    value: f64,
}

impl FloatPoint {
    fn same(self, other: FloatPoint, ulp: u64) -> bool {
        if self.nan || other.nan {
            return self.nan && other.nan;
        }
        let near = self.rank.abs_diff(other.rank) <= ulp;
        if ulp == 0 { near && self.negative == other.negative } else { near }
    }
    fn near(self, other: FloatPoint, bound: f64) -> bool {
        // The difference of infinities is NaN, which is within no bound.
        (self.value - other.value).abs() <= bound && other.value.is_finite()
    }
    fn distance(self, other: FloatPoint) -> Option<u64> {
        (!self.nan && !other.nan).then(|| self.rank.abs_diff(other.rank))
    }
    fn of_f64(x: f64) -> FloatPoint {
        let magnitude = (x.to_bits() & !(1 << 63)) as i64;
        let negative = x.is_sign_negative();
        FloatPoint { rank: if negative { -magnitude } else { magnitude }, negative, nan: x.is_nan(), value: x }
    }
    fn of_f32(x: f32) -> FloatPoint {
        let magnitude = (x.to_bits() & !(1 << 31)) as i64;
        let negative = x.is_sign_negative();
        FloatPoint { rank: if negative { -magnitude } else { magnitude }, negative, nan: x.is_nan(), value: x.into() }
    }
}

fn parts(scalar: Scalar) -> Option<Vec<FloatPoint>> {
    Some(match scalar {
        Scalar::F32(x) => vec![FloatPoint::of_f32(x)],
        Scalar::F64(x) => vec![FloatPoint::of_f64(x)],
        Scalar::C64(z) => vec![FloatPoint::of_f32(z.re), FloatPoint::of_f32(z.im)],
        Scalar::C128(z) => vec![FloatPoint::of_f64(z.re), FloatPoint::of_f64(z.im)],
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
        // The smallest negative and the smallest positive number are two units apart.
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
    fn small_elements_may_be_off_by_units_of_the_largest() {
        let unit = f64::EPSILON * 1024.0;
        let (wanted, near) = (f64s(&[1e-9, -1500.0]), f64s(&[1e-9 + 2.0 * unit, -1500.0]));
        let within = |ulp_of_largest| Tolerance { ulp: 1, ulp_of_largest };
        assert!(compare(&wanted, &near, within(2)).is_ok());
        assert!(compare(&wanted, &near, within(1)).is_err());
        // Infinities and NaNs do not determine the unit.
        let (wanted, found) = (f64s(&[f64::INFINITY, 1.0]), f64s(&[f64::MAX, 1.0]));
        assert!(compare(&wanted, &found, within(u64::MAX)).is_ok(), "one unit apart");
        assert!(compare(&found, &f64s(&[f64::INFINITY, 1.0]), within(1 << 40)).is_ok());
        assert!(compare(&wanted, &f64s(&[1e300, 1.0]), within(u64::MAX)).is_err());
        assert!(compare(&f64s(&[1.0]), &f64s(&[f64::INFINITY]), within(u64::MAX)).is_err());
        assert!(compare(&f64s(&[1.0]), &f64s(&[f64::NAN]), within(u64::MAX)).is_err());
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
