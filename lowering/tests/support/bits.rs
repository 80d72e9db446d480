//! What results are compared by.

use rewright_ir::{Datum, Scalar};

/// The bits of the elements; which NaN a NaN is, is open.
pub fn bits(datum: &Datum) -> Vec<(u64, u64)> {
    let float = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
    let one = |x: Scalar| match x {
        Scalar::F32(_) | Scalar::F64(_) | Scalar::C64(_) | Scalar::C128(_) => {
            let z = x.to_c128();
            (float(z.re), float(z.im))
        }
        other => other.bits(),
    };
    datum.to_array().iter().map(one).collect()
}
