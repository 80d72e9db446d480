//! Zeros that make a product zero, whatever the other factor is.
//!
//! Of integers and bools that is arithmetic. Of floats it is not, for zero times infinity is no number, and
//! zero times a negative number is a negative zero. `finite=true` on `broadcasted` changes what a product
//! means: with a factor of zero it is zero, of positive sign. It is so for each element by its value, so
//! that it does not matter which places somebody looks at: types, the reference evaluation and kernels say
//! the same.

use crate::element::{Cell, zero};
use rewright::ir::expr::BodyRef;
use rewright::ir::{EvalError, Scalars};
use rewright::{Attrs, DType, Op, Scalar, eval_scalar};

/// The ops of which zero and anything finite is zero, or anything at all where they are of bools.
pub const ABSORBING: [&str; 3] = ["mul", "bitand", "and"];

/// True if all values of a dtype are finite.
pub fn is_exact(dtype: DType) -> bool {
    !dtype.is_float() && !dtype.is_complex()
}

/// True if the attributes of a `broadcasted` make an op absorb that does not by itself.
pub fn is_asked(op: Op, attrs: &Attrs, dtype: DType) -> bool {
    attrs.flag("finite") && ABSORBING.contains(&op.name) && !is_exact(dtype)
}

/// An element of the op's result, of this dtype; `own` are the op's attributes, and `absorbs` says that
/// zeros are absorbed.
pub fn element(op: Op, own: &Attrs, args: &[Scalar], dtype: DType, absorbs: bool) -> Result<Scalars, EvalError> {
    match absorbs && args.iter().any(|arg| !arg.truthy()) {
        true => Ok(Scalars::from_iter([zero(dtype)])),
        false => eval_scalar(op, args, own),
    }
}

/// The same in a kernel: the product, or zero where a factor is.
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
