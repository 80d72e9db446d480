//! `getitem`: the element or subarray at positions of the leading axes.

use super::rule::{self, array, one, positions, refuse};
use crate::error::{EvalError, TypeError};
use crate::op::EvalCx;
use crate::op::{Arity, Eval, InferCx, OpDef, Traits, Types, index_literal};
use crate::register_op;
use crate::types::Type;
use crate::value::{Array, Datum, map_array};
use ndarray::Axis;

/// `getitem %x, %i, %j`: `x[i, j]` in Python, with positions of the leading axes. A position for each axis
/// gives a scalar; fewer give a view of the remaining axes. Negative positions count from the end; a
/// position out of bounds is an error.
pub static GETITEM: OpDef = OpDef::new(
    "getitem",
    "the element at positions of all axes, or a view of the axes without a position",
    Arity::AtLeast(2),
    infer,
    Eval::Array(eval),
)
.traits(Traits::VIEW.union(Traits::PARTIAL))
.literals(index_literal);

register_op!(GETITEM);

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let (ty, count) = (array(cx, 0)?, positions(cx, 1)?);
    match ty.dims().get(count..) {
        None => Err(refuse(cx, format!("has {count} positions for {ty}")).operand(0)),
        Some([]) => one(Type::scalar(ty.dtype())),
        Some(rest) => one(Type::array(ty.dtype(), rest)),
    }
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (ty, _) = rule::result(cx, &GETITEM, args)?;
    let [Datum::Array(array), at @ ..] = args else { return Err(EvalError::shape("reads an array")) };
    let mut part = array.clone();
    for i in rule::leading(at, array.shape())? {
        part = map_array!(part, |a| a.index_axis_move(Axis(0), i));
    }
    match part.get(&[]) {
        Some(element) if ty.is_scalar() => Ok(vec![Datum::Scalar(element)]),
        _ => Ok(vec![Datum::Array(part)]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::rule::testing::{array, eval, infer, int, message, ty};
    use super::*;
    use crate::attr::Attrs;
    use crate::dtype::DType;
    use crate::scalar::Scalar;

    #[test]
    fn positions_take_leading_axes() {
        let found = |args: &[&str]| infer("getitem", args, Attrs::new());
        assert_eq!(found(&["f32[n, m]", "i64", "u8"]), Ok(ty("f32")));
        assert_eq!(found(&["f32[n, m]", "i64"]), Ok(ty("f32[m]")));
        assert!(message(found(&["f32[n]", "i64", "i64"])).contains("has 2 positions for f32[n]"));
        assert!(message(found(&["f32[n]", "f64"])).contains("operand 1 is f64"));
        assert!(message(found(&["f32[n]", "i64[]"])).contains("operand 1 is i64[]"));
        assert!(message(found(&["f32[n]", "bool"])).contains("operand 1 is bool"));
        assert!(message(found(&["f32", "i64"])).contains("is the scalar f32"));
    }

    #[test]
    fn negative_positions_count_from_the_end() {
        let x = array("f64[2, 3]");
        let at = |indices: &[i64]| {
            let args: Vec<Datum> = [x.clone()].into_iter().chain(indices.iter().map(|&i| int(i))).collect();
            eval("getitem", &args, Attrs::new())
        };
        assert_eq!(at(&[1, 2]), Ok(Datum::Scalar(Scalar::F64(5.0))));
        assert_eq!(at(&[-2, -1]), Ok(Datum::Scalar(Scalar::F64(2.0))));
        let row = Array::from_fn(DType::F64, &[3], |i| Scalar::F64(3.0 + i as f64));
        assert_eq!(at(&[-1]).ok().as_ref().and_then(Datum::as_array), row.as_ref());
        for (indices, words) in [
            (&[2][..], "position 2 is out of bounds along axis 0, which has extent 2"),
            (&[0, -4], "position -4 is out of bounds along axis 1, which has extent 3"),
            (&[i64::MIN], "position -9223372036854775808 is out of bounds"),
        ] {
            assert!(at(indices).is_err_and(|e| e.contains(words)), "{words}");
        }
    }
}
