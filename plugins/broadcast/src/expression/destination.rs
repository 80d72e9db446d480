//! `y.assign(expr)`: elements written to an array that is there already.

use super::compiled::Compiled;
use super::program::{Goal, Program};
use super::{Error, Expr};
use rewright::{Array, Datum, Scalar};

/// Arrays that expressions can be written to, of storage styles too, which they keep.
pub trait Assign {
    /// Writes the elements of an expression to this array, whose extents and dtype stay. Where the
    /// expression reads it, it reads what was there before. Nothing is allocated if nobody but the
    /// expression has a share in the buffer, and the expression reads elements only where it writes them.
    ///
    /// # Errors
    ///
    /// The shape does not broadcast to this one, the dtype is of a later kind than this one, the style
    /// can't have the elements, and those of [`Expr::materialize`]. The array then holds what it held
    /// before.
    fn assign(&mut self, expr: impl Into<Expr>) -> Result<(), Error>;
}

impl Assign for Datum {
    fn assign(&mut self, expr: impl Into<Expr>) -> Result<(), Error> {
        let expr = expr.into();
        let (program, others) = Program::of_values(&expr, Goal::Destination(self))?;
        let compiled = Compiled::of(program)?;
        // The expression's own share would keep the buffer from being written in place.
        drop(expr);
        let mut values = vec![std::mem::replace(self, Datum::Scalar(Scalar::Bool(false)))];
        values.extend(others);
        let stored = compiled.store(&mut values);
        *self = values.swap_remove(0);
        stored
    }
}

impl Assign for Array {
    fn assign(&mut self, expr: impl Into<Expr>) -> Result<(), Error> {
        let mut datum = Datum::Array(std::mem::replace(self, Array::Bool(Default::default())));
        let assigned = datum.assign(expr);
        if let Datum::Array(array) = datum {
            *self = array;
        }
        assigned
    }
}
