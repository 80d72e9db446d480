//! `%starts, %rows, %x, %y = align %s, %d, style="csc"`: merges the patterns of arrays. Its results are the
//! components of the merged pattern, and the values of each array along it.
//!
//! `places="0 & 1 | 2"` restricts the pattern to the places that the first two arrays both have, or that
//! the third has. An array contributes at a place if a term that names it holds there. At other places its
//! values are zero, because the consumer does not depend on them. In the example, the first array's value
//! is zero at a place that only the first and the third array have. An array that no term names contributes
//! nowhere.
//!
//! Such terms are valid if zero absorbs finite values, as in products. If an array of a term with several
//! arrays stores infinities or NaN, the pattern is the union, and every array contributes at all places.

use super::refuse;
use crate::pattern;
use crate::terms::Terms;
use rewright::ir::op::Eval;
use rewright::ir::{Arity, AttrDef, AttrKind, EvalCx, EvalError, InferCx, OpDef, Styled, Traits, TypeError, Types};
use rewright::{DType, Datum, Dim, Type, register_op};

/// The op. A value is zero where the array stores none, and where no term with the array holds. Arrays of
/// other styles are converted to `style` first.
pub static ALIGN: OpDef = OpDef::new(
    "align",
    "the places of sparse arrays together, and the values there of each that counts there",
    Arity::AtLeast(1),
    infer,
    Eval::Array(eval),
)
.traits(Traits::PARTIAL.union(Traits::DIRECT))
.attrs(&[
    AttrDef::required("style", AttrKind::Str, "a storage style with a pattern of places"),
    AttrDef::optional(
        "places",
        AttrKind::Str,
        "terms such as `0 & 1 | 2`: which arrays, by number, all have a place, and count there; each array by itself if absent",
    ),
]);

register_op!(ALIGN);

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let style = pattern::style(cx.attrs).map_err(|why| refuse(cx, why))?;
    pattern::of(style).map_err(|why| refuse(cx, why))?;
    Terms::read(cx.attrs, cx.args.len()).map_err(|why| refuse(cx, why))?;
    if let Some(operand) = cx.args.iter().position(Type::is_scalar) {
        return Err(refuse(cx, format!("wants arrays, got {}", cx.args[operand])).operand(operand));
    }
    let first = &cx.args[0];
    if let Some(operand) = cx.args.iter().position(|ty| ty.dims() != first.dims()) {
        let ty = &cx.args[operand];
        return Err(refuse(cx, format!("wants arrays with the same extents, got {first} and {ty}")).operand(operand));
    }
    let parts = |ty: &Type| (style.def().components)(&ty.clone().with_style(Some(style.name())));
    let mut parts = parts(first).map_err(|why| refuse(cx, why))?;
    parts.pop();
    let values = cx.args.iter().map(|ty| Type::array(ty.dtype(), [Dim::Any]));
    Ok(parts.into_iter().map(|part| part.ty).chain(values).collect())
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let style = pattern::style(cx.attrs).map_err(EvalError::value)?;
    if let Some(other) = args.iter().find(|arg| arg.shape() != args[0].shape()) {
        let (a, b) = (args[0].shape(), other.shape());
        return Err(EvalError::shape(format!("wants arrays with the same extents, got {a:?} and {b:?}")));
    }
    let kept = args.iter().map(|arg| pattern::kept(cx, style, arg)).collect::<Result<Vec<_>, _>>()?;
    let arrays: Vec<&Styled> = kept.iter().map(|array| &**array).collect();
    let mut stored = 0;
    for array in &arrays {
        array.components().iter().try_for_each(|part| cx.spend(part.len() as u64))?;
        stored += pattern::values(array).map_err(EvalError::value)?.len();
    }
    // Memory per place: a position, and one value number for each of the two lists that are merged.
    cx.room(DType::C128, &[stored])?;
    let terms = Terms::read(cx.attrs, arrays.len()).map_err(EvalError::value)?;
    let absorbs = terms.several().all(|number| pattern::is_finite(arrays[number]));
    let terms = if absorbs { terms } else { Terms::any(arrays.len()) };
    let pattern = pattern::of(style).map_err(EvalError::value)?;
    let united = (pattern.united)(cx, &arrays, &terms).map_err(EvalError::value)?;
    Ok(united.components.into_iter().chain(united.values).map(Datum::Array).collect())
}
