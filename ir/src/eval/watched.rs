//! The floats that an evaluation meets: whether one is NaN or infinite, and how large they are.
//!
//! Rewrites that take liberties give other results where an operand or a result of any instruction is NaN or
//! infinite, so whoever compares two forms of a program must know of each value, inside of `arrayexpr` too.

use crate::array::Datum;
use crate::scalar::Scalar;
use std::cell::Cell;

/// The floats that were met, parts of complex numbers among them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Floats {
    /// One is NaN.
    pub nan: bool,
    /// One is infinite.
    pub infinite: bool,
    /// The greatest finite magnitude.
    pub largest: f64,
}

impl Floats {
    /// Those of a value, besides.
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

    /// That of a scalar, besides.
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

/// Where floats are noted, if somebody wants to know.
pub type Watch<'a> = Option<&'a Cell<Floats>>;

/// Notes values.
pub(crate) fn note<'a>(watch: Watch<'_>, values: impl IntoIterator<Item = &'a Datum>) {
    if let Some(watch) = watch {
        let mut floats = watch.get();
        values.into_iter().for_each(|value| floats.meet(value));
        watch.set(floats);
    }
}
