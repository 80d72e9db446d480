//! `compress`: the elements where a mask is true.

use super::rule::{self, array, equal, one, refuse};
use crate::error::{EvalError, TypeError};
use crate::op::EvalCx;
use crate::op::{Arity, Eval, InferCx, OpDef, Types};
use crate::register_op;
use crate::types::{Dim, Type};
use crate::value::Datum;
use crate::value::Elements;

/// `compress %x, %mask`: `x[mask]` in NumPy. Selects the parts of `x` at which the mask over its leading
/// axes is true, in row-major order along a first axis. The extent of that axis is known only at run time.
pub static COMPRESS: OpDef = OpDef::new(
    "compress",
    "the parts of an array where a mask over its leading axes is true, along one axis",
    Arity::Exactly(2),
    infer,
    Eval::Array(eval),
);

register_op!(COMPRESS);

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let (ty, mask) = (array(cx, 0)?, array(cx, 1)?);
    if !mask.dtype().is_bool() || mask.rank() == 0 {
        return Err(refuse(cx, format!("wants a mask of bools with one axis or more, got {mask}")).operand(1));
    }
    let Some((leading, rest)) = ty.dims().split_at_checked(mask.rank()) else {
        return Err(refuse(cx, format!("has a mask {mask} for {ty}")).operand(1));
    };
    if let Some(axis) = leading.iter().zip(mask.dims()).position(|(&a, &b)| equal(a, b).is_none()) {
        return Err(refuse(cx, format!("has a mask {mask} for {ty}: they differ along axis {axis}")).operand(1));
    }
    one(Type::array(ty.dtype(), [&[Dim::Any], rest].concat()))
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    rule::result_types(cx, &COMPRESS, args)?;
    let [Datum::Array(array), Datum::Array(mask)] = args else { return Err(EvalError::shape("reads two arrays")) };
    cx.spend(mask.len() as u64)?;
    let chosen: Vec<usize> = mask.iter().enumerate().filter(|(_, s)| s.truthy()).map(|(i, _)| i).collect();
    let rest = &array.shape()[mask.rank()..];
    let inner: usize = rest.iter().product();
    let elements = Elements::of(array);
    let shape = [&[chosen.len()], rest].concat();
    let result =
        cx.build(array.dtype(), &shape, |flat| Ok(elements.at(chosen[flat / inner] * inner + flat % inner)))?;
    Ok(vec![Datum::Array(result)])
}

#[cfg(test)]
mod tests {
    use super::super::rule::testing::{array, eval, infer, message, ty};
    use super::*;
    use crate::attr::Attrs;
    use crate::dtype::DType;
    use crate::scalar::Scalar;
    use crate::value::Array;

    #[test]
    fn masks_choose_parts() {
        let found = |args: &[&str]| infer("compress", args, Attrs::new());
        assert_eq!(found(&["f32[n, m, 3]", "bool[n, ?]"]), Ok(ty("f32[?, 3]")));
        assert!(message(found(&["f32[n]", "i64[n]"])).contains("mask of bools"));
        assert!(message(found(&["f32[n]", "bool[]"])).contains("got bool[]"));
        assert!(message(found(&["f32[n]", "bool[n, n]"])).contains("a mask bool[n, n] for f32[n]"));
        assert!(message(found(&["f32[n, 3]", "bool[n, 2]"])).contains("differ along axis 1"));
        let mask = |shape: &[usize], f: fn(usize) -> bool| {
            Datum::Array(Array::from_fn(DType::Bool, shape, |i| Scalar::Bool(f(i))).unwrap())
        };
        let run = |mask| {
            let found = eval("compress", &[array("f64[2, 3]"), mask], Attrs::new());
            found.map(|d| (d.shape().to_vec(), d.to_array().iter().map(|s| s.to_f64()).collect::<Vec<_>>()))
        };
        assert_eq!(run(mask(&[2, 3], |i| i % 2 == 1)), Ok((vec![3], vec![1., 3., 5.])));
        assert_eq!(run(mask(&[2], |i| i == 1)), Ok((vec![1, 3], vec![3., 4., 5.])));
        assert_eq!(run(mask(&[2], |_| false)), Ok((vec![0, 3], vec![])));
        assert!(run(mask(&[3], |_| true)).is_err_and(|e| e.contains("differ along axis 0")));
    }
}
