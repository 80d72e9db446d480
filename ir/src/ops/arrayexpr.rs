//! `arrayexpr`: an index space, a scalar body, and operands read through index maps; see [`crate::expr`].

use crate::attr::{AttrDef, AttrKind};
use crate::error::{EvalError, TypeError};
use crate::expr::{evaluate, verify};
use crate::op::EvalCx;
use crate::op::{Arity, Eval, InferCx, OpDef, Traits, Types};
use crate::register_op;
use crate::types::Type;
use crate::value::Datum;

/// `arrayexpr [i: n] (x = %a[i]) { ... } : f64[n]`. Results are arrays, of rank 0 for a result without dims.
/// The arrays of each call determine the schedule of its loops, unless the attribute sets it: `arrayexpr
/// schedule="order=[j,i] threads=2" [i: n, j: m] ...`.
pub static ARRAYEXPR: OpDef = OpDef::new(
    "arrayexpr",
    "computes a scalar body at every point of an index space",
    Arity::AtLeast(0),
    infer,
    Eval::Array(eval),
)
.traits(Traits::PARTIAL)
.attrs(&[
    AttrDef::required("expr", AttrKind::Expr, "the expression"),
    AttrDef::optional("schedule", AttrKind::Str, "how its loops are run; no result depends on it"),
]);

register_op!(ARRAYEXPR);

fn infer(cx: &InferCx<'_>) -> Result<Types, TypeError> {
    let Some(expr) = cx.attrs.expr() else { return Err(TypeError::new("`arrayexpr` has no expression")) };
    let problems = verify(expr, cx.args);
    if problems.is_empty() {
        return Ok(expr.outs.iter().map(|out| Type::array(out.dtype, out.dims.as_slice())).collect());
    }
    let messages: Vec<_> = problems.into_iter().map(|p| p.message).collect();
    Err(TypeError::new(format!("`arrayexpr`: {}", messages.join("; "))))
}

fn eval(cx: &EvalCx<'_>, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
    let expr = cx.attrs.expr().ok_or_else(|| EvalError::unsupported("has no expression"))?;
    Ok(evaluate(cx, expr, args)?.into_iter().map(Datum::Array).collect())
}
