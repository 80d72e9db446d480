//! Numbers of a dtype in their order, counted: neighbours are one apart.
//!
//! Of floats the order is that of their bits: -0.0 is one before 0.0, and the infinities are the ends.

use crate::rule::number::extreme;
use rewright_ir::{DType, Scalar};

/// The place of a number in the order of its dtype. `None` of NaN and of complex numbers.
pub(super) fn ordinal(scalar: Scalar) -> Option<i128> {
    let dtype = scalar.dtype();
    if !dtype.is_float() {
        return scalar.to_i128();
    }
    if scalar.to_f64().is_nan() {
        return None;
    }
    let sign = sign_bit(dtype);
    let bits = i128::from(scalar.bits().0);
    Some(if bits >= sign { -1 - (bits - sign) } else { bits })
}

/// The number at a place; `None` beyond the ends.
pub(super) fn at_ordinal(dtype: DType, place: i128) -> Option<Scalar> {
    if !dtype.is_float() {
        let (least, greatest) = ends(dtype)?;
        let fits = (least..=greatest).contains(&place);
        return fits.then(|| Scalar::from_bits(dtype, (place as u64, 0)));
    }
    let sign = sign_bit(dtype);
    let bits = if place < 0 { sign + (-1 - place) } else { place };
    let scalar = Scalar::from_bits(dtype, (u64::try_from(bits).ok()?, 0));
    (ordinal(scalar) == Some(place)).then_some(scalar)
}

/// The number that many places after another, or before it.
pub(super) fn stepped(scalar: Scalar, by: i128) -> Option<Scalar> {
    at_ordinal(scalar.dtype(), ordinal(scalar)?.checked_add(by)?)
}

fn sign_bit(dtype: DType) -> i128 {
    1i128 << (8 * dtype.size() - 1)
}

/// The least and the greatest integer, or bool, of a dtype.
pub(super) fn ends(dtype: DType) -> Option<(i128, i128)> {
    Some((extreme(dtype, false)?.to_i128()?, extreme(dtype, true)?.to_i128()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_apart() {
        for (a, b) in [
            (Scalar::F64(-0.0), Scalar::F64(0.0)),
            (Scalar::F64(1.0), Scalar::F64(1.0f64.next_up())),
            (Scalar::F32(-1.0), Scalar::F32((-1.0f32).next_up())),
            (Scalar::F32(f32::MAX), Scalar::F32(f32::INFINITY)),
            (Scalar::I8(-128), Scalar::I8(-127)),
            (Scalar::Bool(false), Scalar::Bool(true)),
        ] {
            assert_eq!(stepped(a, 1), Some(b));
            assert_eq!(stepped(b, -1), Some(a));
        }
        for end in [Scalar::F64(f64::INFINITY), Scalar::U64(u64::MAX), Scalar::I64(i64::MAX), Scalar::Bool(true)] {
            assert_eq!(stepped(end, 1), None);
        }
        assert_eq!(ordinal(Scalar::F64(f64::NAN)), None);
    }
}
