//! `%t = stretch %u, %s, style="csc"`: broadcasts a sparse array to the common extents of all operands, in
//! a style with a pattern. A sparse vector beside a matrix becomes a matrix with the vector in each row.

use super::refuse;
use crate::pattern::{self, Stretches};
use rewright::ir::eval::broadcast_shapes;
use rewright::ir::op::{Eval, broadcast_types};
use rewright::ir::{Arity, AttrDef, AttrKind, EvalCx, EvalError, InferCx, OpDef, Style, Traits, TypeError, Types};
use rewright::{DType, Datum, Type, register_op};

/// The op. Operands after the first one contribute only their extents.
pub static STRETCH: OpDef = OpDef::new(
    "stretch",
    "a sparse array, broadcast to the extents of others",
    Arity::AtLeast(1),
    infer,
    Eval::Array(eval),
)
.traits(Traits::PARTIAL.union(Traits::DIRECT))
.attrs(&[AttrDef::required("style", AttrKind::Str, "the storage style of the result, which has a pattern of places")]);

register_op!(STRETCH);

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let style = pattern::style(cx.attrs).map_err(|why| refuse(cx, why))?;
    pattern::of(style).map_err(|why| refuse(cx, why))?;
    let first = &cx.args[0];
    let own = Style::of(first).map_err(|why| refuse(cx, why))?;
    pattern::of(own).map_err(|why| refuse(cx, why).operand(0))?;
    let plain: Vec<Type> = cx.args.iter().map(|ty| ty.clone().with_style(None)).collect();
    let dims = broadcast_types(cx.op, &plain)?.ok_or_else(|| refuse(cx, "wants arrays"))?;
    let fits = own.def().interface::<Stretches>().and_then(|stretches| (stretches.0)(first, &dims));
    if fits != Some(style.def().name) {
        let to = Type::array(first.dtype(), dims).with_style(Some(style.name()));
        return Err(refuse(cx, format!("can't broadcast {first} to {to}")).operand(0));
    }
    Ok(Types::from_iter([Type::array(first.dtype(), dims).with_style(Some(style.name()))]))
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let [Datum::Styled(array), ..] = args else { return Err(EvalError::value("wants a sparse array")) };
    let style = pattern::style(cx.attrs).map_err(EvalError::value)?;
    let shape = broadcast_shapes(args.iter().map(Datum::shape))
        .ok_or_else(|| EvalError::shape("the extents of the operands don't broadcast"))?;
    let rank = shape.len();
    let stored = pattern::values(array).map_err(EvalError::value)?.len();
    let copies =
        |axis: usize| axis < rank - array.shape().len() || array.shape()[axis + array.shape().len() - rank] == 1;
    let stretched: Vec<usize> =
        (0..rank).filter(|&axis| copies(axis)).map(|axis| shape[axis]).chain([stored]).collect();
    // Each place has two positions and a value.
    cx.spend(cx.room(DType::C128, &stretched)? as u64)?;
    let columns = shape.last().copied().unwrap_or(0);
    cx.spend(cx.room(DType::I64, &[columns])? as u64)?;
    pattern::stretched(style, array, &shape).map(|array| vec![array.into()]).map_err(EvalError::limit)
}
