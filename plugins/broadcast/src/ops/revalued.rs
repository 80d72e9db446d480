//! `revalued %s, %values`: replaces the values of a sparse array and keeps its pattern.

use super::refuse;
use crate::pattern;
use rewright::ir::op::Eval;
use rewright::ir::{Arity, EvalCx, EvalError, InferCx, OpDef, Style, Traits, TypeError, Types};
use rewright::{Datum, Type, register_op};

/// The op. It takes as many values as there are places. The pattern was checked when the array was made,
/// and is not checked again.
pub static REVALUED: OpDef = OpDef::new(
    "revalued",
    "a sparse array with other values at its places",
    Arity::Exactly(2),
    infer,
    Eval::Array(eval),
)
.traits(Traits::PARTIAL.union(Traits::DIRECT));

register_op!(REVALUED);

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let (ty, values) = (&cx.args[0], &cx.args[1]);
    Style::of(ty).and_then(pattern::of).map_err(|why| refuse(cx, why).operand(0))?;
    if values.rank() != 1 || values.style().is_some() {
        return Err(refuse(cx, format!("wants a vector of values, got {values}")).operand(1));
    }
    Ok(Types::from_iter([Type::array(values.dtype(), ty.dims()).with_style(ty.style())]))
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let [Datum::Styled(array), Datum::Array(values)] = args else {
        return Err(EvalError::value("wants a sparse array and a vector"));
    };
    let (count, given) = (pattern::values(array).map_err(EvalError::value)?.len(), values.len());
    if count != given {
        return Err(EvalError::value(format!("there are {given} values for {count} places")));
    }
    cx.spend(1)?;
    let last = array.components().len() - 1;
    let revalued = array.with_component(values.dtype(), last, values.clone());
    revalued.map(|array| vec![array.into()]).map_err(EvalError::value)
}
