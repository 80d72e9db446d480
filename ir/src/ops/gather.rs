//! Reads at arrays of positions: `gather` along leading axes, `take` along one axis.

use super::rule::{self, array, axis, dense, one, position, refuse};
use crate::attr::{AttrDef, AttrKind};
use crate::error::{EvalError, TypeError};
use crate::op::EvalCx;
use crate::op::{Arity, Eval, InferCx, OpDef, Traits, Types, broadcast_types, index_literal};
use crate::register_op;
use crate::types::{Dim, Type};
use crate::value::Datum;
use crate::value::Elements;

/// `gather %x, %i, %j`: `x[i, j]` in NumPy, where arrays of positions of the leading axes broadcast. The
/// result has their dims, then the remaining dims of `x`. Negative positions count from the end; a position
/// out of bounds is an error.
pub static GATHER: OpDef = OpDef::new(
    "gather",
    "reads at arrays of positions of the leading axes, which broadcast",
    Arity::AtLeast(2),
    infer_gather,
    Eval::Array(eval_gather),
)
.traits(Traits::PARTIAL)
.literals(index_literal);

/// `take %x, %i, axis=1`: `x[:, i]` in NumPy, with positions of one axis. The dims of the positions replace
/// that axis. Negative positions count from the end; a position out of bounds is an error.
pub static TAKE: OpDef = OpDef::new(
    "take",
    "reads at positions of one axis, in any order and number",
    Arity::Exactly(2),
    infer_take,
    Eval::Array(eval_take),
)
.traits(Traits::PARTIAL)
.literals(index_literal)
.attrs(&[AttrDef::required("axis", AttrKind::Int, "the axis, counting from the last one if negative")]);

register_op!(GATHER, TAKE);

/// Checks that the operands after the first are integers.
fn check_positions(cx: &InferCx<'_>) -> Result<(), TypeError> {
    for operand in 1..cx.args.len() {
        let ty = dense(cx, operand)?;
        if !ty.dtype().is_int() {
            let error = refuse(cx, format!("wants integers for positions, operand {operand} is {ty}")).operand(operand);
            return Err(if ty.dtype().is_bool() { error.help("`compress` reads where a mask is true") } else { error });
        }
    }
    Ok(())
}

fn infer_gather(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = array(cx, 0)?;
    check_positions(cx)?;
    let count = cx.args.len() - 1;
    let Some(rest) = ty.dims().get(count..) else {
        return Err(refuse(cx, format!("has {count} positions for {ty}")).operand(0));
    };
    let found = broadcast_types(cx.op, &cx.args[1..])
        .map_err(|e| TypeError { operand: e.operand.map(|operand| operand + 1), ..e })?;
    if found.is_none() && rest.is_empty() {
        return one(Type::scalar(ty.dtype()));
    }
    one(Type::array(ty.dtype(), [found.as_deref().unwrap_or(&[]), rest].concat()))
}

fn eval_gather(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (ty, shape) = rule::result(cx, &GATHER, args)?;
    let [Datum::Array(array), at @ ..] = args else { return Err(EvalError::shape("reads an array")) };
    let common = &shape[..shape.len() - (array.rank() - at.len())];
    let mut starts = vec![0; cx.len(common)?];
    for (axis, arg) in at.iter().enumerate() {
        let extent = array.shape()[axis];
        let spread =
            arg.to_array().broadcast(common).ok_or_else(|| EvalError::shape("the positions don't broadcast"))?;
        for (start, i) in starts.iter_mut().zip(spread.iter()) {
            *start = *start * extent + position(i, axis, extent)?;
        }
    }
    let elements = Elements::of(array);
    let inner: usize = array.shape()[at.len()..].iter().product();
    let element = |flat: usize| Ok(elements.at(starts[flat / inner] * inner + flat % inner));
    finish(cx, &ty, &shape, element)
}

/// The axis of the positions.
fn take_axis(cx: &InferCx<'_>) -> Result<usize, TypeError> {
    axis(cx, cx.attrs.int("axis").unwrap_or(0), array(cx, 0)?.rank())
}

fn infer_take(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let (ty, at) = (array(cx, 0)?, take_axis(cx)?);
    check_positions(cx)?;
    let positions = dense(cx, 1)?;
    let dims: Vec<Dim> = [&ty.dims()[..at], positions.dims(), &ty.dims()[at + 1..]].concat();
    one(if dims.is_empty() && positions.is_scalar() { Type::scalar(ty.dtype()) } else { Type::array(ty.dtype(), dims) })
}

fn eval_take(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (ty, shape) = rule::result(cx, &TAKE, args)?;
    let [Datum::Array(array), at] = args else { return Err(EvalError::shape("reads an array")) };
    let types = [array.ty(), at.ty()];
    let axis = rule::concrete(cx, &TAKE, &types, take_axis)?;
    let extent = array.shape()[axis];
    let at: Vec<usize> = at.to_array().iter().map(|i| position(i, axis, extent)).collect::<Result<_, _>>()?;
    let elements = Elements::of(array);
    let inner: usize = array.shape()[axis + 1..].iter().product();
    let element = |flat: usize| {
        let (row, k) = (flat / inner, flat % inner);
        Ok(elements.at((row / at.len() * extent + at[row % at.len()]) * inner + k))
    };
    finish(cx, &ty, &shape, element)
}

fn finish(
    cx: &EvalCx<'_>,
    ty: &Type,
    shape: &[usize],
    element: impl Fn(usize) -> Result<crate::Scalar, EvalError>,
) -> Result<Vec<Datum>, EvalError> {
    if ty.is_scalar() {
        return Ok(vec![Datum::Scalar(element(0)?)]);
    }
    Ok(vec![Datum::Array(cx.build(ty.dtype(), shape, element)?)])
}

#[cfg(test)]
mod tests {
    use super::super::rule::testing::{array, eval, infer, int, message, ty};
    use super::*;
    use crate::attr::{Attr, Attrs};
    use crate::dtype::DType;
    use crate::scalar::Scalar;
    use crate::value::Array;

    fn along(axis: i64) -> Attrs {
        Attrs::new().with("axis", Attr::Int(axis))
    }
    fn positions(shape: &[usize], list: &[i64]) -> Datum {
        Datum::Array(Array::from_fn(DType::I64, shape, |i| Scalar::I64(list[i])).unwrap())
    }
    fn elements(found: Result<Datum, String>) -> Result<Vec<f64>, String> {
        found.map(|d| d.to_array().iter().map(|s| s.to_f64()).collect())
    }

    #[test]
    fn dims_of_positions_come_first_or_in_place() {
        let gather = |args: &[&str]| infer("gather", args, Attrs::new());
        assert_eq!(gather(&["f32[n, m, 3]", "i64[k, 1]", "u8[4]"]), Ok(ty("f32[k, 4, 3]")));
        assert_eq!(gather(&["f32[n, m]", "i64", "i64[]"]), Ok(ty("f32[]")));
        assert_eq!(gather(&["f32[n]", "i64"]), Ok(ty("f32")));
        assert!(message(gather(&["f32[n]", "f64[3]"])).contains("operand 1 is f64[3]"));
        assert!(message(gather(&["f32[n]", "i8", "i8"])).contains("has 2 positions for f32[n]"));
        assert!(message(gather(&["f32[n, n]", "i8[2]", "i8[3]"])).contains("can't broadcast i8[2], i8[3]"));
        assert_eq!(infer("take", &["f32[n, m, 3]", "i64[k, 2]"], along(1)), Ok(ty("f32[n, k, 2, 3]")));
        assert_eq!(infer("take", &["f32[n]", "i64"], along(-1)), Ok(ty("f32")));
        assert!(infer("take", &["f32[n]", "bool[n]"], along(0)).is_err_and(|e| e.help.unwrap().contains("`compress`")));
        assert!(message(infer("take", &["f32[n]", "i64"], along(1))).contains("has no axis 1"));
    }

    #[test]
    fn positions_are_checked() {
        let x = array("f64[2, 3]");
        let gather = |at: &[Datum]| {
            let all: Vec<Datum> = [x.clone()].iter().chain(at).cloned().collect();
            elements(eval("gather", &all, Attrs::new()))
        };
        assert_eq!(gather(&[positions(&[2, 1], &[0, -1]), positions(&[2], &[2, 0])]), Ok(vec![2., 0., 5., 3.]));
        assert_eq!(gather(&[positions(&[1], &[1])]), Ok(vec![3., 4., 5.]));
        assert_eq!(gather(&[int(1), int(1)]), Ok(vec![4.]));
        assert!(
            gather(&[int(1), positions(&[2], &[0, 3])])
                .is_err_and(|e| e.contains("position 3 is out of bounds along axis 1"))
        );
        let take = |at, axis| elements(eval("take", &[x.clone(), at], along(axis)));
        assert_eq!(take(positions(&[4], &[0, 0, -1, 1]), 1), Ok(vec![0., 0., 2., 1., 3., 3., 5., 4.]));
        assert_eq!(take(positions(&[0], &[]), 0), Ok(vec![]));
        assert_eq!(take(int(-2), 0), Ok(vec![0., 1., 2.]));
        assert!(
            take(int(-3), 0)
                .is_err_and(|e| e.contains("position -3 is out of bounds along axis 0, which has extent 2"))
        );
        let nothing = eval("gather", &[array("f64[3, 0]"), positions(&[1], &[5])], Attrs::new());
        assert!(nothing.is_err(), "positions are checked where no element is read, too");
    }
}
