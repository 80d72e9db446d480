//! The op `cube`: the third power.
//!
//! An elementwise op is its name, a doc line, a *loop* (which dtypes it computes at for given operand
//! dtypes) and its meaning on one element. Broadcasting, evaluation, the text form and fusion come for
//! free.

use rewright::plugin::*;

/// `cube x` is `(x * x) * x`, rounded as those two products are; integers wrap.
pub static CUBE: OpDef = OpDef::elementwise("cube", "Third power, as two products.", 1, dtypes, scalar);
register_op!(CUBE);

/// Any number stays what it is; bools have no third power.
fn dtypes(operands: &[DType], _: &Attrs) -> Result<Loop, String> {
    match operands {
        [DType::Bool] => Err("`cube` takes numbers; cast the bools".into()),
        [dtype] => Ok(Loop::uniform(1, *dtype, *dtype)),
        _ => Err("`cube` takes one operand".into()),
    }
}

/// The meaning is spelled with the core's own product, so the two can't disagree.
fn scalar(operands: &[Scalar], attrs: &Attrs) -> Result<Scalars, EvalError> {
    let x = operands[0];
    let square = eval_scalar(Op(&ops::arithmetic::MUL), &[x, x], attrs)?[0];
    eval_scalar(Op(&ops::arithmetic::MUL), &[square, x], attrs)
}
