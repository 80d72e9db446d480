//! Helpers of the type rules of array ops.
//!
//! An op's evaluation runs its own type rule, with the operands' extents as dims, to check the operands and
//! to compute the result's shape. So type rule and evaluation can't disagree.

use crate::attr::{Attr, Attrs};
use crate::error::{EvalError, EvalErrorKind, TypeError};
use crate::op::{EvalCx, InferCx, MAKE_DENSE, Op, OpDef, Types};
use crate::scalar::Scalar;
use crate::types::{Dim, Type};
use crate::value::Datum;
use smallvec::SmallVec;
use std::fmt::Display;

/// An error of a type rule; the message continues after the op's name.
pub(super) fn refuse(cx: &InferCx<'_>, why: impl Display) -> TypeError {
    TypeError::new(format!("`{}` {why}", cx.op))
}

/// A single result type.
pub(super) fn one(ty: Type) -> Result<Types, TypeError> {
    Ok(Types::from_iter([ty]))
}

/// The n-th operand, which must be a dense array.
pub(super) fn array<'a>(cx: &InferCx<'a>, operand: usize) -> Result<&'a Type, TypeError> {
    dense(cx, operand)?;
    of_any_style(cx, operand)
}

/// The n-th operand, which must be an array of any storage style.
pub(super) fn of_any_style<'a>(cx: &InferCx<'a>, operand: usize) -> Result<&'a Type, TypeError> {
    let Some(ty) = cx.args.get(operand) else {
        return Err(refuse(cx, format!("wants at least {} operands", operand + 1)));
    };
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
        Some(_) => {
            let error = refuse(cx, format!("reads dense arrays, operand {operand} is {ty}"));
            Err(error.operand(operand).help(MAKE_DENSE))
        }
    }
}

/// An axis; negative numbers count from the end.
pub(super) fn axis(cx: &InferCx<'_>, at: i64, rank: usize) -> Result<usize, TypeError> {
    let from_start = if at < 0 { at.checked_add(rank as i64) } else { Some(at) };
    match from_start.and_then(|a| usize::try_from(a).ok()).filter(|&a| a < rank) {
        Some(axis) => Ok(axis),
        None => Err(refuse(cx, format!("has no axis {at} at rank {rank}"))),
    }
}

/// Distinct axes in the given order; all axes if `list` is `None`.
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

/// Checks that the operands from `first` on are scalar integers, the positions of leading axes; returns
/// their number.
pub(super) fn positions(cx: &InferCx<'_>, first: usize) -> Result<usize, TypeError> {
    let given = cx.args.get(first..).unwrap_or(&[]);
    match given.iter().position(|ty| !ty.is_scalar() || !ty.dtype().is_int()) {
        None => Ok(given.len()),
        Some(i) => {
            let operand = first + i;
            let error = refuse(cx, format!("wants scalar integers for positions, operand {operand} is {}", given[i]));
            let help = "`item` gives the element of an array that has one, `gather` reads at arrays of positions";
            Err(error.operand(operand).help(help))
        }
    }
}

/// A position along an axis; negative numbers count from the end.
pub(super) fn position(at: Scalar, axis: usize, extent: usize) -> Result<usize, EvalError> {
    let found = at.to_i128().and_then(|at| usize::try_from(if at < 0 { at + extent as i128 } else { at }).ok());
    found.filter(|&at| at < extent).ok_or_else(|| {
        EvalError::index(format!("position {at} is out of bounds along axis {axis}, which has extent {extent}"))
    })
}

/// The values of scalar position operands, one for each leading axis of `shape`.
pub(super) fn leading(args: &[Datum], shape: &[usize]) -> Result<SmallVec<[usize; 4]>, EvalError> {
    let scalar = |arg: &Datum| arg.as_scalar().ok_or_else(|| EvalError::shape("wants scalar positions"));
    args.iter().zip(shape).enumerate().map(|(axis, (arg, &extent))| position(scalar(arg)?, axis, extent)).collect()
}

/// The more precise of two dims that must be equal: a constant before a symbol, and a symbol before `?`.
/// `None` if they can't be equal.
pub(super) fn equal(a: Dim, b: Dim) -> Option<Dim> {
    match (a, b) {
        _ if !a.may_equal(b) => None,
        (Dim::Const(_), _) | (_, Dim::Any) => Some(a),
        (_, Dim::Const(_)) | (Dim::Any, _) => Some(b),
        (Dim::Sym(_), Dim::Sym(_)) => Some(a),
    }
}

/// The attributes with symbols replaced by their extents.
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

/// The result types for these operands, by the op's type rule.
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

/// The type and shape of an op's single result for these operands.
pub(super) fn result(cx: &EvalCx<'_>, op: &'static OpDef, args: &[Datum]) -> Result<(Type, Vec<usize>), EvalError> {
    let types = result_types(cx, op, args)?;
    let ty = types.into_iter().next().ok_or_else(|| EvalError::unsupported("gives no result"))?;
    let shape = cx.shape(ty.dims())?;
    Ok((ty, shape))
}

/// Applies a helper of type rules to these operands, for evaluations that read attributes.
pub(super) fn concrete<R>(
    cx: &EvalCx<'_>,
    op: &'static OpDef,
    types: &[Type],
    f: impl FnOnce(&InferCx<'_>) -> Result<R, TypeError>,
) -> Result<R, EvalError> {
    let infer = InferCx { op: Op(op), args: types, consts: &[], attrs: cx.attrs, callee: None };
    f(&infer).map_err(|e| EvalError::shape(e.message))
}

/// Shorthands for the tests of array ops.
#[cfg(test)]
pub(super) mod testing {
    use crate::attr::Attrs;
    use crate::builder::{find_op, infer_types};
    use crate::dtype::DType;
    use crate::error::TypeError;
    use crate::eval::{Limits, evaluate_op};
    use crate::scalar::Scalar;
    use crate::types::{Dim, Type};
    use crate::value::{Array, Datum};

    /// A type from its text.
    pub fn ty(text: &str) -> Type {
        let dtype = |name: &str| DType::ALL.into_iter().find(|d| d.name() == name).unwrap();
        let Some((name, dims)) = text.split_once('[') else { return Type::scalar(dtype(text)) };
        let dims = dims.trim_end_matches(']').split(", ").filter(|d| !d.is_empty());
        Type::array(dtype(name), dims.map(|d| d.parse().map_or_else(|_| Dim::from(d), Dim::Const)).collect::<Vec<_>>())
    }

    /// An array of a type with constant dims: 0, 1, 2, ...
    pub fn array(text: &str) -> Datum {
        let ty = ty(text);
        let extent = |d: &Dim| if let Dim::Const(n) = d { *n as usize } else { panic!("{d} has no extent") };
        let shape: Vec<usize> = ty.dims().iter().map(extent).collect();
        Datum::Array(Array::from_fn(ty.dtype(), &shape, |i| Scalar::I64(i as i64).cast(ty.dtype())).unwrap())
    }

    pub fn int(i: i64) -> Datum {
        Datum::Scalar(Scalar::I64(i))
    }

    /// The type of an op's single result.
    pub fn infer(op: &str, args: &[&str], attrs: Attrs) -> Result<Type, TypeError> {
        let args: Vec<Type> = args.iter().map(|text| ty(text)).collect();
        let (_, types) = infer_types(find_op(op)?, &args, &vec![None; args.len()], attrs, None)?;
        Ok(types[0].clone())
    }

    pub fn message(found: Result<Type, TypeError>) -> String {
        found.unwrap_err().message
    }

    /// An op's single result.
    pub fn eval(op: &str, args: &[Datum], attrs: Attrs) -> Result<Datum, String> {
        let op = find_op(op).map_err(|e| e.message)?;
        evaluate_op(op, &attrs, args, &[], Limits::default()).map(|r| r[0].clone()).map_err(|e| e.to_string())
    }
}
