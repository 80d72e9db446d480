//! Queries of expressions that do not materialize all elements: shape, dtype, single elements, reductions.

use super::program::{self, Argument, Goal, Program};
use super::typed::typed;
use super::{Error, Expr};
use rewright::ir::builder::find_op;
use rewright::ir::eval::evaluate;
use rewright::ir::ops::reduce::monoid;
use rewright::{DType, Datum, EvalError, Limits, Scalar};

impl Expr {
    /// The extents; empty for a scalar.
    ///
    /// # Errors
    ///
    /// Shapes don't broadcast.
    pub fn shape(&self) -> Result<Vec<usize>, Error> {
        program::shape(self).map(Option::unwrap_or_default)
    }

    /// The dtype of the elements.
    ///
    /// # Errors
    ///
    /// Shapes or dtypes don't fit.
    pub fn dtype(&self) -> Result<DType, Error> {
        let (program, values) = Program::of(self, Goal::Value(None))?;
        let last = typed(&program)?.last().map(|last| last.result);
        Ok(match (last, program.result) {
            (Some(dtype), _) => dtype,
            (None, program::Operand::Number(number)) => number.0.dtype_beside(None),
            (None, _) => values.first().map_or(DType::F64, Argument::dtype),
        })
    }

    /// One element, computed by the reference evaluator.
    ///
    /// # Errors
    ///
    /// The index is out of bounds, or an error of [`materialize`](Expr::materialize).
    pub fn get(&self, index: &[usize]) -> Result<Scalar, Error> {
        let shape = self.shape()?;
        if index.len() != shape.len() || index.iter().zip(&shape).any(|(at, extent)| at >= extent) {
            return Err(Error::Index { index: index.to_vec(), shape });
        }
        let flat = self.flatten()?;
        let element = |arg: &Datum| {
            let own = arg.shape();
            let at = index[index.len() - own.len()..].iter().zip(own).map(|(&at, &n)| if n == 1 { 0 } else { at });
            let at: Vec<usize> = at.collect();
            let found = match arg {
                Datum::Scalar(scalar) => Some(*scalar),
                Datum::Array(array) => array.get(&at),
                Datum::Styled(styled) => styled.get(&at),
            };
            found.map(Datum::from).ok_or_else(|| EvalError::index("an operand has no such element"))
        };
        let args = flat.args.iter().map(element).collect::<Result<Vec<_>, _>>()?;
        let outcome = evaluate(&flat.module, flat.name, args, Limits::default())?;
        let found = outcome.results.first().and_then(Datum::as_scalar);
        Ok(found.ok_or_else(|| EvalError::value("a function of scalars gives one"))?)
    }

    /// Reduces the elements, by `"sum"` or another reduction, in the kernel that computes them.
    ///
    /// # Errors
    ///
    /// There is no such reduction, the expression is a scalar, or those of
    /// [`materialize`](Expr::materialize).
    pub fn reduce(&self, op: &str) -> Result<Datum, Error> {
        self.reduced(op, None)
    }

    /// Reduces along some axes, which the result does not have.
    ///
    /// # Errors
    ///
    /// Those of [`reduce`](Expr::reduce), or an axis that does not exist.
    pub fn reduce_along(&self, op: &str, axes: &[i64]) -> Result<Datum, Error> {
        self.reduced(op, Some(axes.to_vec()))
    }

    fn reduced(&self, op: &str, axes: Option<Vec<i64>>) -> Result<Datum, Error> {
        let op = find_op(op).map_err(|error| Error::of_type(op, error))?;
        if monoid(op.0).is_none() {
            return Err(Error::NoReduction { op: op.name });
        }
        self.reach(Goal::Reduce { op: op.name, axes })
    }
}
