//! `drop_zeros %s`: removes stored zeros from a sparse array.

use super::refuse;
use crate::pattern;
use rewright::ir::op::Eval;
use rewright::ir::{Arity, EvalCx, EvalError, InferCx, OpDef, Style, Traits, TypeError, Types};
use rewright::{Datum, register_op};

/// The op.
pub static DROP_ZEROS: OpDef = OpDef::new(
    "drop_zeros",
    "a sparse array without the zeros that it stores",
    Arity::Exactly(1),
    infer,
    Eval::Array(eval),
)
.traits(Traits::DIRECT);

register_op!(DROP_ZEROS);

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let ty = &cx.args[0];
    Style::of(ty).and_then(pattern::of).map_err(|why| refuse(cx, why).operand(0))?;
    Ok(Types::from_iter([ty.clone()]))
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let [Datum::Styled(array)] = args else { return Err(EvalError::value("wants a sparse array")) };
    array.components().iter().try_for_each(|part| cx.spend(part.len() as u64))?;
    pattern::without_zeros(array).map(|array| vec![array.into()]).map_err(EvalError::value)
}
