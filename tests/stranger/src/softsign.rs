//! The op `softsign`: x / (1 + |x|).

use rewright::plugin::*;

pub static SOFTSIGN: OpDef = OpDef::elementwise("softsign", "x / (1 + |x|).", 1, dtypes, scalar);
register_op!(SOFTSIGN);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Loop, String> {
    match operands {
        [dtype @ (DType::F32 | DType::F64)] => Ok(Loop::uniform(1, *dtype, *dtype)),
        _ => Err("`softsign` takes floats".into()),
    }
}

fn scalar(operands: &[Scalar], attrs: &Attrs) -> Result<Scalars, EvalError> {
    let x = operands[0];
    let abs = registered("abs")?;
    let size = eval_scalar(abs, &[x], attrs)?[0];
    let more = eval_scalar(Op(&ops::arithmetic::ADD), &[size, Scalar::one(x.dtype())], attrs)?[0];
    eval_scalar(Op(&ops::arithmetic::DIV), &[x, more], attrs)
}

fn registered(name: &str) -> Result<Op, EvalError> {
    registry().op(name).ok_or_else(|| EvalError::value(format!("there is no op `{name}`")))
}
