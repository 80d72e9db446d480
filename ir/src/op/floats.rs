//! Recorder of the floats in an evaluation: whether any is NaN or infinite, and their greatest magnitude.
//!
//! Rewrites that are not exact may change results if an operand or result of any instruction is NaN or
//! infinite. So a comparison of two forms of a program must know about every value, including those inside
//! `arrayexpr`.

use crate::scalar::Scalar;
use crate::value::Datum;
use std::cell::Cell;

/// The recorded floats, including the parts of complex numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Floats {
    /// Whether any is NaN.
    pub nan: bool,
    /// Whether any is infinite.
    pub infinite: bool,
    /// The greatest finite magnitude.
    pub largest: f64,
}

impl Floats {
    /// Adds the floats of a value.
    pub fn meet(&mut self, value: &Datum) {
        if !is_inexact(value) {
            return;
        }
        match value {
            Datum::Scalar(scalar) => self.meet_scalar(*scalar),
            Datum::Array(array) => array.iter().for_each(|scalar| self.meet_scalar(scalar)),
            Datum::Styled(styled) => {
                styled.components().iter().for_each(|array| self.meet(&Datum::Array(array.clone())));
            }
        }
    }

    /// Adds those of a scalar.
    pub fn meet_scalar(&mut self, scalar: Scalar) {
        let dtype = scalar.dtype();
        if dtype.is_complex() {
            let z = scalar.to_c128();
            self.meet_float(z.re);
            self.meet_float(z.im);
        } else if dtype.is_float() {
            self.meet_float(scalar.to_f64());
        }
    }

    fn meet_float(&mut self, x: f64) {
        if x.is_finite() {
            self.largest = self.largest.max(x.abs());
        } else {
            self.nan |= x.is_nan();
            self.infinite |= x.is_infinite();
        }
    }
}

/// Styled values have components of any dtype.
fn is_inexact(value: &Datum) -> bool {
    matches!(value, Datum::Styled(_)) || value.dtype().is_float() || value.dtype().is_complex()
}

/// The recorder, if floats are recorded.
pub type Watch<'a> = Option<&'a Cell<Floats>>;

/// Records values.
pub(crate) fn note<'a>(watch: Watch<'_>, values: impl IntoIterator<Item = &'a Datum>) {
    if let Some(watch) = watch {
        let mut floats = watch.get();
        values.into_iter().for_each(|value| floats.meet(value));
        watch.set(floats);
    }
}
