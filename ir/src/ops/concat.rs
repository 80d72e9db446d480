//! Concatenation: `concat` along an existing axis, `stack` along a new one.

use super::rule::{self, array, axis, dense, equal, one, refuse};
use crate::attr::AttrDef;
use crate::dtype::DType;
use crate::error::{EvalError, TypeError};
use crate::op::EvalCx;
use crate::op::{Arity, Eval, InferCx, OpDef, Types, promote_all};
use crate::types::{Dim, Type};
use crate::value::{Array, Datum, Element};
use crate::{register_op, with_dtype};
use ndarray::{ArrayViewD, Axis, concatenate};

/// `concat %x, %y, axis=1`: concatenates arrays along an axis; their other extents are equal. Dtypes
/// promote.
pub static CONCAT: OpDef = OpDef::new(
    "concat",
    "arrays one after the other along an axis",
    Arity::AtLeast(1),
    infer_concat,
    Eval::Array(eval_concat),
)
.attrs(&[AttrDef::int("axis", 0, "the axis, counting from the last one if negative")]);

/// `stack %x, %y, axis=-1`: concatenates arrays of equal extents, or scalars, along a new axis. Dtypes
/// promote.
pub static STACK: OpDef = OpDef::new(
    "stack",
    "arrays or scalars one after the other along a new axis",
    Arity::AtLeast(1),
    infer_stack,
    Eval::Array(eval_stack),
)
.attrs(&[AttrDef::int("axis", 0, "the new axis of the result, counting from the last one if negative")]);

register_op!(CONCAT, STACK);

fn dtype(cx: &InferCx<'_>) -> Result<DType, TypeError> {
    promote_all(cx.args.iter().map(Type::dtype)).ok_or_else(|| refuse(cx, "wants at least one operand"))
}

/// The common dims of all operands, except along `skip`.
fn common_dims(cx: &InferCx<'_>, skip: Option<usize>) -> Result<Vec<Dim>, TypeError> {
    let first = dense(cx, 0)?;
    let mut dims = first.dims().to_vec();
    for operand in 1..cx.args.len() {
        let ty = dense(cx, operand)?;
        if ty.is_array() != first.is_array() || ty.rank() != first.rank() {
            return Err(refuse(cx, format!("wants operands of one rank, got {first} and {ty}")).operand(operand));
        }
        for (axis, (so_far, &dim)) in dims.iter_mut().zip(ty.dims()).enumerate() {
            if skip == Some(axis) {
                continue;
            }
            *so_far = equal(*so_far, dim).ok_or_else(|| {
                refuse(cx, format!("wants one extent along axis {axis}, got {first} and {ty}")).operand(operand)
            })?;
        }
    }
    Ok(dims)
}

/// The sum of dims, if it is certain.
fn total(dims: impl Iterator<Item = Dim>) -> Dim {
    let mut sum = Dim::Const(0);
    for dim in dims {
        sum = match (sum, dim) {
            (Dim::Const(a), Dim::Const(b)) => a.checked_add(b).map_or(Dim::Any, Dim::Const),
            (Dim::Const(0), d) | (d, Dim::Const(0)) => d,
            _ => Dim::Any,
        };
    }
    sum
}

/// The axis of the concatenation.
fn concat_axis(cx: &InferCx<'_>) -> Result<usize, TypeError> {
    axis(cx, cx.attrs.int("axis").unwrap_or(0), array(cx, 0)?.rank())
}

fn infer_concat(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let along = concat_axis(cx)?;
    let mut dims = common_dims(cx, Some(along))?;
    dims[along] = total(cx.args.iter().map(|ty| ty.dims()[along]));
    one(Type::array(dtype(cx)?, dims))
}

fn eval_concat(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (ty, shape) = rule::result(cx, &CONCAT, args)?;
    let types: Vec<Type> = args.iter().map(Datum::ty).collect();
    let along = rule::concrete(cx, &CONCAT, &types, concat_axis)?;
    let parts: Vec<Array> = args.iter().map(|arg| arg.to_array().cast(ty.dtype())).collect();
    joined(cx, ty.dtype(), &shape, &parts, along)
}

fn stack_axis(cx: &InferCx<'_>) -> Result<usize, TypeError> {
    axis(cx, cx.attrs.int("axis").unwrap_or(0), dense(cx, 0)?.rank() + 1)
}

fn infer_stack(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let along = stack_axis(cx)?;
    let mut dims = common_dims(cx, None)?;
    dims.insert(along, Dim::Const(cx.args.len() as u64));
    one(Type::array(dtype(cx)?, dims))
}

fn eval_stack(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (ty, shape) = rule::result(cx, &STACK, args)?;
    let types: Vec<Type> = args.iter().map(Datum::ty).collect();
    let along = rule::concrete(cx, &STACK, &types, stack_axis)?;
    let mut part = shape.clone();
    part[along] = 1;
    let parts: Option<Vec<Array>> = args.iter().map(|arg| arg.to_array().cast(ty.dtype()).reshaped(&part)).collect();
    let parts = parts.ok_or_else(|| EvalError::shape("the operands' shapes differ"))?;
    joined(cx, ty.dtype(), &shape, &parts, along)
}

fn joined(
    cx: &EvalCx<'_>,
    dtype: DType,
    shape: &[usize],
    parts: &[Array],
    along: usize,
) -> Result<Vec<Datum>, EvalError> {
    fn join<T: Element>(parts: &[Array], along: usize) -> Option<Array> {
        let views: Option<Vec<ArrayViewD<'_, T>>> = parts.iter().map(|part| Some(T::unwrap(part)?.view())).collect();
        Some(Array::from(concatenate(Axis(along), &views?).ok()?))
    }
    cx.spend(cx.len(shape)? as u64)?;
    let result = with_dtype!(dtype, T => join::<T>(parts, along));
    result.map(|a| vec![Datum::Array(a)]).ok_or_else(|| EvalError::shape("the operands' shapes differ"))
}

#[cfg(test)]
mod tests {
    use super::super::rule::testing::{array, eval, infer, int, message, ty};
    use crate::attr::{Attr, Attrs};

    fn along(axis: i64) -> Attrs {
        Attrs::new().with("axis", Attr::Int(axis))
    }

    #[test]
    fn dims_are_added_where_that_is_certain() {
        assert_eq!(infer("concat", &["i32[2, n]", "f32[3, 4]"], along(0)), Ok(ty("f64[5, 4]")));
        assert_eq!(infer("concat", &["i32[n]", "i8[?]", "i8[1]"], along(-1)), Ok(ty("i32[?]")));
        assert_eq!(infer("concat", &["i32[n, ?]", "i32[0, m]"], along(0)), Ok(ty("i32[n, m]")));
        assert_eq!(infer("stack", &["i32[?, n]", "i32[m, 3]"], along(-1)), Ok(ty("i32[m, 3, 2]")));
        assert_eq!(infer("stack", &["i32", "f64", "bool"], along(0)), Ok(ty("f64[3]")));
        let clash = message(infer("concat", &["i32[2, 4]", "i32[2, 5]"], along(0)));
        assert!(clash.contains("one extent along axis 1, got i32[2, 4] and i32[2, 5]"), "{clash}");
        assert!(message(infer("concat", &["i32[2]", "i32[2, 5]"], along(0))).contains("one rank"));
        assert!(message(infer("concat", &["i32", "i32"], along(0))).contains("is the scalar i32"));
        assert!(message(infer("concat", &["i32[2]"], along(1))).contains("has no axis 1 at rank 1"));
        assert!(message(infer("stack", &["i32[2]", "i32[3]"], along(0))).contains("one extent along axis 0"));
        assert!(message(infer("stack", &["i32[]", "i32"], along(0))).contains("one rank, got i32[] and i32"));
    }

    #[test]
    fn elements_come_in_the_order_of_the_operands() {
        let elements = |found: Result<crate::Datum, String>| {
            found.map(|d| d.to_array().iter().map(|s| s.to_f64()).collect::<Vec<_>>())
        };
        let (a, b) = (array("i32[2, 2]"), array("f64[2, 1]"));
        assert_eq!(elements(eval("concat", &[a.clone(), b], along(1))), Ok(vec![0., 1., 0., 2., 3., 1.]));
        assert_eq!(
            elements(eval("stack", &[a.clone(), a.clone()], along(1))),
            Ok(vec![0., 1., 0., 1., 2., 3., 2., 3.])
        );
        assert_eq!(elements(eval("stack", &[int(7), int(8)], along(0))), Ok(vec![7., 8.]));
        assert!(
            eval("concat", &[a, array("i32[3, 3]")], along(0)).is_err_and(|e| e.contains("one extent along axis 1"))
        );
    }
}
