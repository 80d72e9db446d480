//! Absorbing zeros: a product with a zero factor is zero, whatever the other factor is.
//!
//! For integers and bools this is arithmetic. For floats it is not: zero times infinity is NaN, and zero
//! times a negative number is negative zero. `finite=true` on `broadcasted` changes the meaning of a
//! product: with a zero factor it is positive zero. The rule depends on the value of each element. So type
//! inference, the reference evaluator and kernels agree, whichever places they visit.

use crate::element::{Cell, zero};
use rewright::ir::expr::BodyRef;
use rewright::ir::{EvalError, Scalars};
use rewright::{Attrs, DType, Op, Scalar, eval_scalar};

/// The ops that zero absorbs if the other operand is finite; for bools, whatever the other operand is.
pub const ABSORBING: [&str; 3] = ["mul", "bitand", "and"];

/// True if all values of a dtype are finite.
pub fn is_exact(dtype: DType) -> bool {
    !dtype.is_float() && !dtype.is_complex()
}

/// True if `finite=true` on a `broadcasted` makes zero absorbing for an op that is not absorbing in this
/// dtype by itself.
pub fn is_asked(op: Op, attrs: &Attrs, dtype: DType) -> bool {
    attrs.flag("finite") && ABSORBING.contains(&op.name) && !is_exact(dtype)
}

/// Evaluates the op for one element. `own` holds the op's attributes; `absorbs` says that zeros are
/// absorbing.
pub fn element(op: Op, own: &Attrs, args: &[Scalar], dtype: DType, absorbs: bool) -> Result<Scalars, EvalError> {
    match absorbs && args.iter().any(|arg| !arg.truthy()) {
        true => Ok(Scalars::from_iter([zero(dtype)])),
        false => eval_scalar(op, args, own),
    }
}

/// The same in a kernel: selects zero where a factor is zero, else the product.
pub fn select(
    cell: &mut Cell<'_>,
    factors: &[(BodyRef, DType)],
    product: BodyRef,
    dtype: DType,
) -> Result<BodyRef, String> {
    let mut is_zero: Option<BodyRef> = None;
    for &(factor, own) in factors {
        if let BodyRef::Const(number) = factor {
            if number.truthy() {
                continue;
            }
            return Ok(BodyRef::Const(zero(dtype)));
        }
        let this = cell.core("eq", &[factor, BodyRef::Const(zero(own))], DType::Bool)?;
        is_zero = Some(match is_zero {
            Some(other) => cell.core("or", &[other, this], DType::Bool)?,
            None => this,
        });
    }
    match is_zero {
        Some(is_zero) => cell.core("where", &[is_zero, BodyRef::Const(zero(dtype)), product], dtype),
        None => Ok(product),
    }
}
