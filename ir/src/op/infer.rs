//! Result types of an op: checks of operand count and attributes, and the type rule.

use super::{Arity, InferCx, Op, Types};
use crate::attr::Attrs;
use crate::error::TypeError;
use crate::scalar::Scalar;
use crate::types::{Signature, Type};

/// Checks operand count and attributes, and infers the result types from operand types. Returns the
/// attributes in schema order.
pub fn infer_types(
    op: Op,
    args: &[Type],
    consts: &[Option<Scalar>],
    attrs: Attrs,
    callee: Option<&Signature>,
) -> Result<(Attrs, Types), TypeError> {
    check_arity(op, args.len())?;
    let attrs = normalized(op, attrs)?;
    let types = (op.infer)(&InferCx { op, args, consts, attrs: &attrs, callee })?;
    Ok((attrs, types))
}

/// Checks the number of operands.
pub(crate) fn check_arity(op: Op, given: usize) -> Result<(), TypeError> {
    let (right, at_least, wants) = match op.arity {
        Arity::Exactly(n) => (given == n, "", n),
        Arity::AtLeast(n) => (given >= n, "at least ", n),
    };
    if right {
        return Ok(());
    }
    let noun = if wants == 1 { "operand" } else { "operands" };
    let message = format!("`{op}` takes {at_least}{wants} {noun}, got {given}");
    Err(TypeError::new(message).help(format!("write `{}`: {}", op.usage(), op.doc.trim_end_matches('.'))))
}

/// Checks attributes; returns them in schema order.
pub(crate) fn normalized(op: Op, attrs: Attrs) -> Result<Attrs, TypeError> {
    attrs.normalize(op.attrs).map_err(|all| TypeError::new(format!("`{op}`: {}", all.join("; "))))
}
