//! `%rows, %columns = places %s`: the positions of a sparse array's values, one vector for each axis.

use super::refuse;
use crate::pattern;
use rewright::ir::op::Eval;
use rewright::ir::{Arity, EvalCx, EvalError, InferCx, OpDef, Style, Traits, TypeError, Types};
use rewright::{DType, Datum, Dim, Type, register_op};

/// The op.
pub static PLACES: OpDef = OpDef::new(
    "places",
    "the positions of a sparse array's values along each axis",
    Arity::Exactly(1),
    infer,
    Eval::Array(eval),
)
.traits(Traits::DIRECT);

register_op!(PLACES);

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = &cx.args[0];
    Style::of(ty).and_then(pattern::of).map_err(|why| refuse(cx, why).operand(0))?;
    Ok(ty.dims().iter().map(|_| Type::array(DType::I64, [Dim::Any])).collect())
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let [Datum::Styled(array)] = args else { return Err(EvalError::value("wants a sparse array")) };
    let count = pattern::values(array).map_err(EvalError::value)?.len();
    cx.spend(cx.room(DType::I64, &[count, array.shape().len()])? as u64)?;
    let places = pattern::of(array.style()).and_then(|pattern| (pattern.places)(array)).map_err(EvalError::value)?;
    Ok(places.into_iter().map(|along| pattern::list(along).into()).collect())
}
