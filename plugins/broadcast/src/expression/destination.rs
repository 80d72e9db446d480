//! `y.assign(expr)`: writes the elements of an expression to an existing array.

use super::compiled::Compiled;
use super::program::{Goal, Program};
use super::{Error, Expr};
use rewright::{Array, Datum, Scalar};

/// Arrays to which expressions can be assigned. An array with a storage style keeps the style.
pub trait Assign {
    /// Writes the elements of an expression to this array, whose extents and dtype stay. Where the
    /// expression reads this array, it reads the old elements. Nothing is allocated if only the expression
    /// shares the buffer, and reads elements only where it writes them.
    ///
    /// # Errors
    ///
    /// The shape does not broadcast to this one, the dtype is of a later kind than this one, or the style
    /// can't have the elements; and the errors of [`Expr::materialize`]. The array then keeps its old
    /// elements.
    fn assign(&mut self, expr: impl Into<Expr>) -> Result<(), Error>;
}

impl Assign for Datum {
    fn assign(&mut self, expr: impl Into<Expr>) -> Result<(), Error> {
        let expr = expr.into();
        let (program, others) = Program::of_values(&expr, Goal::Destination(self))?;
        let compiled = Compiled::of(program)?;
        // The expression shares the buffer, which would prevent writing in place.
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
