//! Constructors, whose elements are functions of the index only: `full`, `iota`, `eye`, `tri` and
//! `constant`.

use super::rule::{self, axis, dense, one, refuse};
use crate::attr::{Attr, AttrDef, AttrKind, Attrs};
use crate::dtype::DType;
use crate::error::{EvalError, TypeError};
use crate::op::EvalCx;
use crate::op::{Arity, Eval, InferCx, OpDef, Traits, Types};
use crate::register_op;
use crate::scalar::Scalar;
use crate::types::{Dim, Type};
use crate::value::{Array, Datum};
use std::sync::Arc;

const DIMS: AttrDef = AttrDef::required("dims", AttrKind::Dims, "the result's dims");

const fn constructor(
    name: &'static str,
    doc: &'static str,
    infer: crate::op::InferFn,
    eval: crate::op::ArrayFn,
) -> OpDef {
    OpDef::new(name, doc, Arity::Exactly(0), infer, Eval::Array(eval)).traits(Traits::CONSTRUCTOR)
}

/// `full 0.0, dims=[n, 3]`: an array with all elements equal to the operand.
pub static FULL: OpDef =
    OpDef::new("full", "an array filled with one value", Arity::Exactly(1), infer_full, Eval::Array(eval_full))
        .traits(Traits::CONSTRUCTOR)
        .attrs(&[DIMS]);

/// `iota dims=[n, 3], axis=1, dtype=f64`: each element is its position along an axis.
pub static IOTA: OpDef = constructor("iota", "each element is its position along an axis", infer_iota, eval_iota)
    .attrs(&[
        DIMS,
        AttrDef::int("axis", 0, "the axis"),
        AttrDef::optional("dtype", AttrKind::DType, "the element type; i64 if absent"),
    ]);

const MATRIX: &[AttrDef] = &[
    DIMS,
    AttrDef::int("offset", 0, "the diagonal, above the main one if positive"),
    AttrDef::optional("dtype", AttrKind::DType, "the element type; f64 if absent"),
];

/// `eye dims=[n, n], offset=1`: 1 on a diagonal, else 0.
pub static EYE: OpDef =
    constructor("eye", "a matrix with 1 on a diagonal, else 0", infer_matrix, eval_eye).attrs(MATRIX);

/// `tri dims=[n, n]`: 1 on a diagonal and below, else 0.
pub static TRI: OpDef =
    constructor("tri", "a matrix with 1 on a diagonal and below, else 0", infer_matrix, eval_tri).attrs(MATRIX);

/// `constant value=[[1, 2], [3, 4]]:f32`: constant data.
pub static CONSTANT: OpDef = constructor("constant", "an array of constant data", infer_constant, eval_constant)
    .attrs(&[AttrDef::required("value", AttrKind::Array, "the elements")]);

register_op!(FULL, IOTA, EYE, TRI, CONSTANT);

fn dims<'a>(cx: &InferCx<'a>) -> Result<&'a [Dim], TypeError> {
    let dims = cx.attrs.dims("dims").unwrap_or(&[]);
    if dims.contains(&Dim::Any) { Err(refuse(cx, "needs dims that are known, got `?`")) } else { Ok(dims) }
}

fn infer_full(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let value = dense(cx, 0)?;
    match value.is_scalar() {
        true => one(Type::array(value.dtype(), dims(cx)?)),
        false => Err(refuse(cx, format!("wants a scalar, got {value}"))
            .operand(0)
            .help("`broadcast_in_dim` repeats an array")),
    }
}

fn eval_full(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (ty, shape) = rule::result(cx, &FULL, args)?;
    let value = args.first().and_then(Datum::as_scalar).ok_or_else(|| EvalError::shape("wants a scalar"))?;
    Ok(vec![cx.build(ty.dtype(), &shape, |_| Ok(value))?.into()])
}

fn infer_iota(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let dims = dims(cx)?;
    iota_axis(cx)?;
    one(Type::array(cx.attrs.dtype("dtype").unwrap_or(DType::I64), dims))
}

fn iota_axis(cx: &InferCx<'_>) -> Result<usize, TypeError> {
    axis(cx, cx.attrs.int("axis").unwrap_or(0), cx.attrs.dims("dims").unwrap_or(&[]).len())
}

fn eval_iota(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (ty, shape) = rule::result(cx, &IOTA, args)?;
    let axis = rule::concrete(cx, &IOTA, &[], iota_axis)?;
    cx.len(&shape)?;
    let inner: usize = shape[axis + 1..].iter().product();
    let result =
        cx.build(ty.dtype(), &shape, |i| Ok(Scalar::I64((i / inner % shape[axis]) as i64).cast(ty.dtype())))?;
    Ok(vec![result.into()])
}

fn infer_matrix(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let dims = dims(cx)?;
    match dims.len() {
        2 => one(Type::array(cx.attrs.dtype("dtype").unwrap_or(DType::F64), dims)),
        n => Err(refuse(cx, format!("makes matrices, got {n} dims"))),
    }
}

fn eval_eye(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    matrix(cx, &EYE, args, |above| above == 0)
}

fn eval_tri(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    matrix(cx, &TRI, args, |above| above <= 0)
}

/// A matrix that is 1 where `one` holds for the distance to the diagonal, positive above it, and 0
/// elsewhere.
fn matrix(cx: &EvalCx<'_>, op: &'static OpDef, args: &[Datum], one: fn(i128) -> bool) -> Result<Vec<Datum>, EvalError> {
    let (ty, shape) = rule::result(cx, op, args)?;
    let offset = i128::from(cx.attrs.int("offset").unwrap_or(0));
    let columns = shape.get(1).copied().unwrap_or(1);
    let result = cx.build(ty.dtype(), &shape, |i| {
        let above = (i % columns) as i128 - (i / columns) as i128 - offset;
        Ok(Scalar::Bool(one(above)).cast(ty.dtype()))
    })?;
    Ok(vec![result.into()])
}

/// The data of a `constant`.
pub fn constant_value(attrs: &Attrs) -> Option<&Arc<Array>> {
    if let Some(Attr::Array(a)) = attrs.get("value") { Some(a) } else { None }
}

fn infer_constant(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    constant_value(cx.attrs).map_or_else(|| Err(refuse(cx, "has no `value`")), |a| one(a.ty()))
}

fn eval_constant(cx: &EvalCx<'_>, _: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let value = constant_value(cx.attrs).ok_or_else(|| EvalError::unsupported("has no `value`"))?;
    Ok(vec![Datum::Array(Array::clone(value))])
}
