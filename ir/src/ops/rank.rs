//! `rank`: the number of axes of an array.

use super::rule::one;
use crate::dtype::DType;
use crate::error::{EvalError, TypeError};
use crate::op::EvalCx;
use crate::op::{Arity, Eval, InferCx, OpDef, Types};
use crate::register_op;
use crate::scalar::Scalar;
use crate::types::Type;
use crate::value::Datum;

/// `rank %x`: the number of axes, as an `i64`; 0 for a scalar. Reads no element.
pub static RANK: OpDef =
    OpDef::new("rank", "the number of axes, as an i64", Arity::Exactly(1), infer, Eval::Array(eval));

register_op!(RANK);

fn infer(_: &InferCx<'_>) -> Result<Types, TypeError> {
    one(Type::scalar(DType::I64))
}

fn eval(_: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    Ok(vec![Datum::Scalar(Scalar::I64(args[0].shape().len() as i64))])
}

#[cfg(test)]
mod tests {
    use super::super::rule::testing::{array, eval, infer, ty};
    use super::*;
    use crate::attr::Attrs;

    #[test]
    fn axes_are_counted() {
        for (operand, rank) in [("f32[n, ?]", 2), ("bool[]", 0), ("c64", 0)] {
            assert_eq!(infer("rank", &[operand], Attrs::new()), Ok(ty("i64")));
            if !operand.contains('n') && operand.contains('[') {
                assert_eq!(eval("rank", &[array(operand)], Attrs::new()), Ok(Datum::Scalar(Scalar::I64(rank))));
            }
        }
        assert_eq!(eval("rank", &[array("f64[2, 0, 3]")], Attrs::new()), Ok(Datum::Scalar(Scalar::I64(3))));
    }
}
