//! `spread %s, 1.0`: a dense array with the values of a sparse array, and a number at all other places.

use super::refuse;
use crate::pattern;
use rewright::ir::op::Eval;
use rewright::ir::{Arity, EvalCx, EvalError, InferCx, LiteralCx, OpDef, Style, Traits, TypeError, Types};
use rewright::{DType, Datum, register_op};

/// The op.
pub static SPREAD: OpDef = OpDef::new(
    "spread",
    "the values of a sparse array among copies of a number",
    Arity::Exactly(2),
    infer,
    Eval::Array(eval),
)
.traits(Traits::DIRECT)
.literals(literal);

register_op!(SPREAD);

fn literal(cx: &LiteralCx<'_>) -> DType {
    cx.literal.dtype_beside(cx.dtypes.first().copied().flatten())
}

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let (ty, number) = (&cx.args[0], &cx.args[1]);
    Style::of(ty).and_then(pattern::of).map_err(|why| refuse(cx, why).operand(0))?;
    if !number.is_scalar() || number.dtype() != ty.dtype() {
        return Err(refuse(cx, format!("puts {ty} among copies of one {}, got {number}", ty.dtype())).operand(1));
    }
    Ok(Types::from_iter([ty.clone().with_style(None)]))
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let [Datum::Styled(array), beside] = args else { return Err(EvalError::value("wants a sparse array")) };
    let beside = beside.as_scalar().ok_or_else(|| EvalError::value("wants copies of a scalar"))?;
    cx.spend(cx.room(array.dtype(), array.shape())? as u64)?;
    array.components().iter().try_for_each(|part| cx.spend(part.len() as u64))?;
    pattern::spread(array, beside).map(|dense| vec![dense.into()]).map_err(EvalError::value)
}
