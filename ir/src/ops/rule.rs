//! What the type rules of array ops share.
//!
//! An op's evaluation asks its own type rule, with the operands' extents for dims, what the result's shape is and whether the
//! operands are right at all; so the two can't disagree.

use crate::array::Datum;
use crate::attr::{Attr, Attrs};
use crate::error::{EvalError, EvalErrorKind, TypeError};
use crate::eval::EvalCx;
use crate::op::{InferCx, Op, OpDef, Types};
use crate::scalar::Scalar;
use crate::types::{Dim, Type};
use smallvec::SmallVec;
use std::fmt::Display;

/// A type rule's refusal; the message goes on after the op's name.
pub(super) fn refuse(cx: &InferCx<'_>, why: impl Display) -> TypeError {
    TypeError::new(format!("`{}` {why}", cx.op))
}

/// One result type.
pub(super) fn one(ty: Type) -> Result<Types, TypeError> {
    Ok(Types::from_iter([ty]))
}

/// The n-th operand, which must be a dense array.
pub(super) fn array<'a>(cx: &InferCx<'a>, operand: usize) -> Result<&'a Type, TypeError> {
    let ty = dense(cx, operand)?;
    if ty.is_scalar() {
        let error = refuse(cx, format!("reads an array, operand {operand} is the scalar {ty}"));
        return Err(error.operand(operand).help("`to_array` makes an array of rank 0 of it"));
    }
    Ok(ty)
}

/// The n-th operand, which must be a scalar or a dense array.
pub(super) fn dense<'a>(cx: &InferCx<'a>, operand: usize) -> Result<&'a Type, TypeError> {
    let Some(ty) = cx.args.get(operand) else {
        return Err(refuse(cx, format!("wants at least {} operands", operand + 1)));
    };
    match ty.style() {
        None => Ok(ty),
        Some(_) => Err(refuse(cx, format!("reads dense arrays, operand {operand} is {ty}")).operand(operand)),
    }
}

/// An axis that counts from the end where it is negative.
pub(super) fn axis(cx: &InferCx<'_>, at: i64, rank: usize) -> Result<usize, TypeError> {
    let from_start = if at < 0 { at.checked_add(rank as i64) } else { Some(at) };
    match from_start.and_then(|a| usize::try_from(a).ok()).filter(|&a| a < rank) {
        Some(axis) => Ok(axis),
        None => Err(refuse(cx, format!("has no axis {at} at rank {rank}"))),
    }
}

/// Distinct axes, in the order given; all where none are given.
pub(super) fn axes(cx: &InferCx<'_>, list: Option<&[i64]>, rank: usize) -> Result<SmallVec<[usize; 4]>, TypeError> {
    let Some(list) = list else { return Ok((0..rank).collect()) };
    let mut found: SmallVec<[usize; 4]> = SmallVec::new();
    for &at in list {
        let axis = axis(cx, at, rank)?;
        if found.contains(&axis) {
            return Err(refuse(cx, format!("names axis {axis} twice")));
        }
        found.push(axis);
    }
    Ok(found)
}

/// The attributes with symbols replaced by what they are bound to.
fn bound_attrs(cx: &EvalCx<'_>) -> Result<Attrs, EvalError> {
    let mut attrs = cx.attrs.clone();
    for (name, attr) in cx.attrs.iter() {
        if let Attr::Dims(dims) = attr {
            let bound: Result<Vec<Dim>, EvalError> =
                dims.iter().map(|&d| if d == Dim::Any { Ok(d) } else { cx.extent(d).map(Dim::Const) }).collect();
            attrs.set(name, Attr::Dims(bound?.into()));
        }
    }
    Ok(attrs)
}

/// The result types for these very operands, by the op's type rule.
pub(super) fn result_types(cx: &EvalCx<'_>, op: &'static OpDef, args: &[Datum]) -> Result<Types, EvalError> {
    let types: SmallVec<[Type; 4]> = args.iter().map(Datum::ty).collect();
    let consts: SmallVec<[Option<Scalar>; 4]> = args.iter().map(Datum::as_scalar).collect();
    let attrs = bound_attrs(cx)?;
    let infer = InferCx { op: Op(op), args: &types, consts: &consts, attrs: &attrs, callee: None };
    (op.infer)(&infer).map_err(|e| {
        let prefix = format!("`{}` ", op.name);
        EvalError::new(EvalErrorKind::Shape, e.message.strip_prefix(&prefix).unwrap_or(&e.message))
    })
}

/// The type and shape of an op's one result for these very operands.
pub(super) fn result(cx: &EvalCx<'_>, op: &'static OpDef, args: &[Datum]) -> Result<(Type, Vec<usize>), EvalError> {
    let types = result_types(cx, op, args)?;
    let ty = types.into_iter().next().ok_or_else(|| EvalError::unsupported("gives no result"))?;
    let shape = cx.shape(ty.dims())?;
    Ok((ty, shape))
}

/// The type rule's view of these very operands, for evaluations that read attributes with the helpers of this file.
pub(super) fn concrete<R>(
    cx: &EvalCx<'_>,
    op: &'static OpDef,
    types: &[Type],
    f: impl FnOnce(&InferCx<'_>) -> Result<R, TypeError>,
) -> Result<R, EvalError> {
    let infer = InferCx { op: Op(op), args: types, consts: &[], attrs: cx.attrs, callee: None };
    f(&infer).map_err(|e| EvalError::shape(e.message))
}
