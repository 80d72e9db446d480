//! Reductions over axes: `sum`, `prod`, `min`, `max`, `any`, `all`, `argmin`, `argmax`.
//!
//! Dtypes are those of NumPy: sums and products of bools and signed integers are `i64`, those of unsigned
//! ones `u64`. A reduction over all axes gives a scalar. An empty minimum or maximum is an error; an empty
//! sum is 0, and an empty product 1. For an array of a storage style all elements count, including those
//! that are not stored.
//!
//! Elements are combined in the order of [`Fold`], whose rows are the reduced axes after the last kept axis;
//! every schedule keeps it. Float sums differ from NumPy's in the last places, since its order is different;
//! the errors have the same bound.

use super::rule::{self, axes, of_any_style, one, refuse};
use crate::attr::{AttrDef, AttrKind};
use crate::dtype::DType;
use crate::error::{EvalError, TypeError};
use crate::expr::{Fold, Monoid, Order};
use crate::op::EvalCx;
use crate::op::{Arity, Eval, InferCx, OpDef, Traits, Types};
use crate::register_op;
use crate::scalar::Scalar;
use crate::types::{Dim, Type};
use crate::value::Datum;
use crate::value::Elements;

const ATTRS: &[AttrDef] = &[
    AttrDef::optional("axes", AttrKind::Ints, "the axes that are combined; all if absent"),
    AttrDef::flag("keepdims", "the combined axes stay, with extent 1"),
];

macro_rules! reductions {
    ($($static:ident $monoid:ident $eval:ident $name:literal $doc:literal $traits:expr;)*) => {$(
        #[doc = $doc]
        pub static $static: OpDef = OpDef::new($name, $doc, Arity::Exactly(1), infer, Eval::Array($eval))
            .traits(Traits::REDUCTION.union($traits))
            .attrs(ATTRS);
        fn $eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
            reduce(cx, &$static, Monoid::$monoid, args)
        }
        register_op!($static);
    )*};
}
reductions! {
    SUM Sum eval_sum "sum" "the sum of elements along axes" Traits::empty();
    PROD Prod eval_prod "prod" "the product of elements along axes" Traits::empty();
    MIN Min eval_min "min" "the smallest element along axes; NaN if there is one" Traits::PARTIAL;
    MAX Max eval_max "max" "the greatest element along axes; NaN if there is one" Traits::PARTIAL;
    ANY Any eval_any "any" "whether any element along axes is true" Traits::empty();
    ALL All eval_all "all" "whether all elements along axes are true" Traits::empty();
    ARGMIN ArgMin eval_argmin "argmin" "the position of the first smallest element along an axis, or in row-major order" Traits::PARTIAL;
    ARGMAX ArgMax eval_argmax "argmax" "the position of the first greatest element along an axis, or in row-major order" Traits::PARTIAL;
}

/// The monoid of a reduction op; `None` for other ops.
pub fn monoid(op: &OpDef) -> Option<Monoid> {
    let table: [&'static OpDef; 8] = [&SUM, &PROD, &MIN, &MAX, &ANY, &ALL, &ARGMIN, &ARGMAX];
    table.iter().zip(Monoid::ALL).find(|(def, _)| std::ptr::eq(**def, op)).map(|(_, m)| m)
}

fn result_dtype(monoid: Monoid, dtype: DType) -> DType {
    match monoid {
        Monoid::ArgMin | Monoid::ArgMax => DType::I64,
        _ => monoid.accumulator(dtype),
    }
}

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = of_any_style(cx, 0)?;
    let Some(monoid) = monoid(cx.op.0) else { return Err(refuse(cx, "is no reduction")) };
    let reduced = axes(cx, cx.attrs.ints("axes"), ty.rank())?;
    if monoid.accumulators() == 2 && cx.attrs.ints("axes").is_some() && reduced.len() != 1 {
        return Err(refuse(cx, format!("reduces one axis or all, got {} axes", reduced.len())));
    }
    let keep = cx.attrs.flag("keepdims");
    let mut dims: Vec<Dim> = Vec::new();
    for (axis, &dim) in ty.dims().iter().enumerate() {
        match reduced.contains(&axis) {
            false => dims.push(dim),
            true if keep => dims.push(Dim::Const(1)),
            true => {}
        }
    }
    let dtype = result_dtype(monoid, ty.dtype());
    one(if dims.is_empty() { Type::scalar(dtype) } else { Type::array(dtype, dims) })
}

fn reduce(cx: &EvalCx<'_>, op: &'static OpDef, monoid: Monoid, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let (ty, shape) = rule::result(cx, op, args)?;
    let [arg] = args else { return Err(EvalError::shape("reduces one array")) };
    if arg.as_styled().is_some() {
        // The array is converted to dense. An existing dense array may have any size.
        cx.len(arg.shape())?;
    }
    let array = &arg.to_array();
    let reduced = rule::concrete(cx, op, &[array.ty()], |cx| axes(cx, cx.attrs.ints("axes"), array.rank()))?;
    let kept = (0..array.rank()).filter(|a| !reduced.contains(a));
    let mut sorted = reduced.clone();
    sorted.sort_unstable();
    let order: Vec<usize> = kept.chain(sorted).collect();
    let rows = array.permuted(&order);
    let elements = Elements::of(&rows);
    let count: usize = reduced.iter().map(|&a| array.shape()[a]).product();
    cx.spend(array.len() as u64)?;
    let len = cx.len(&shape)?;
    if count == 0 && len > 0 && matches!(monoid, Monoid::Min | Monoid::Max | Monoid::ArgMin | Monoid::ArgMax) {
        return Err(monoid.of_nothing());
    }
    let (elements, at) = (&elements, monoid.accumulator(array.dtype()));
    let last_kept = (0..array.rank()).rev().find(|a| !reduced.contains(a));
    let row: usize = reduced.iter().filter(|&&a| last_kept < Some(a)).map(|&a| array.shape()[a]).product();
    let reduce_one = |i: usize| {
        let own = (0..count).map(|k| elements.at(i * count + k).cast(at));
        if monoid.accumulators() == 2 { Ok(position(monoid, own)) } else { combined(monoid, at, row, own) }
    };
    if ty.is_scalar() {
        return Ok(vec![Datum::Scalar(reduce_one(0)?)]);
    }
    Ok(vec![Datum::Array(cx.build(ty.dtype(), &shape, reduce_one)?)])
}

/// Reduces elements of dtype `at`, in rows of `row` elements.
fn combined(monoid: Monoid, at: DType, row: usize, own: impl Iterator<Item = Scalar>) -> Result<Scalar, EvalError> {
    // The identity of a minimum would hide an empty reduction.
    let start = monoid.identity(at).filter(|_| !matches!(monoid, Monoid::Min | Monoid::Max));
    let mut fold = Fold::new(Order::of(monoid, at), row, start, |a, b| Ok::<_, EvalError>(monoid.combine(a, b)));
    for x in own {
        fold.push(x)?;
    }
    fold.finish()?.ok_or_else(|| monoid.of_nothing())
}

/// The position of the first minimum or maximum.
fn position(monoid: Monoid, own: impl Iterator<Item = Scalar>) -> Scalar {
    let first = own.enumerate().reduce(|a, b| if monoid.takes_right(a.1, b.1) { b } else { a });
    Scalar::I64(first.map_or(0, |(k, _)| k as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reduction_op_has_its_monoid() {
        for m in Monoid::ALL.into_iter().filter(|m| *m != Monoid::Dot) {
            let op = crate::registry().op(m.name());
            assert_eq!(op.and_then(|op| monoid(op.0)), Some(m));
        }
    }
}
