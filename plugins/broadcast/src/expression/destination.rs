//! `y.assign(expr)`: elements written to an array that is there already.

use super::compiled::Compiled;
use super::program::{Goal, Program};
use super::{Error, Expr};
use rewright::{Array, Datum};

/// Arrays that expressions can be written to.
pub trait Assign {
    /// Writes the elements of an expression to this array, whose extents and dtype stay. Where the expression reads it, it reads what was there before.
    /// Nothing is allocated if nobody but the expression has a share in the buffer, and the expression reads elements only where it writes them.
    ///
    /// # Errors
    ///
    /// The shape does not broadcast to this one, a dtype is of a later kind than this one, and those of [`Expr::materialize`]. The array then
    /// holds what it held before.
    fn assign(&mut self, expr: impl Into<Expr>) -> Result<(), Error>;
}

impl Assign for Array {
    fn assign(&mut self, expr: impl Into<Expr>) -> Result<(), Error> {
        let expr = expr.into();
        let (program, others) = Program::of(&expr, Goal::Destination(self))?;
        let compiled = Compiled::of(program)?;
        // The expression's own share would keep the buffer from being written in place.
        drop(expr);
        let empty = Array::Bool(Default::default());
        let mut values = vec![Datum::Array(std::mem::replace(self, empty))];
        values.extend(others);
        let stored = compiled.store(&mut values);
        if let Some(Datum::Array(array)) = values.into_iter().next() {
            *self = array;
        }
        stored
    }
}
