//! Error messages that are the same for every way to run a function.

use crate::error::{EvalError, EvalErrorKind};
use crate::function::{Function, InstData, Value};
use crate::name::Name;
use crate::scalar::Scalar;
use crate::types::{Dim, Type};

/// The extent of a symbol, and the value that bound it.
pub type Bound = Option<(u64, Option<Value>)>;

/// The error of a value that does not have its type. `what` names the value, `bound` gives the extents of
/// symbols.
pub fn mismatch(func: &Function, what: &str, given: &Type, ty: &Type, bound: impl Fn(Name) -> Bound) -> EvalError {
    let mut parts: Vec<String> = Vec::new();
    for dim in ty.dims() {
        let Dim::Sym(name) = *dim else { continue };
        let Some((extent, origin)) = bound(name) else { continue };
        let from = origin.map(|value| format!(" from `{}`", func.value_label(value))).unwrap_or_default();
        let part = format!("{name} = {extent}{from}");
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    let with = if parts.is_empty() { String::new() } else { format!(" with {}", parts.join(", ")) };
    EvalError::shape(format!("{what} is {given}, its type is {ty}{with}"))
}

/// Adds op, location and operands to an error without an op. `read` gives an operand's type, and its value
/// if it is a scalar.
pub fn with_operands(
    error: EvalError,
    func: &Function,
    data: &InstData,
    read: impl Fn(usize) -> Option<(Type, Option<Scalar>)>,
) -> EvalError {
    let tell = matches!(error.kind, EvalErrorKind::Shape | EvalErrorKind::Index | EvalErrorKind::Value);
    if error.op.is_some() || !tell || data.args.is_empty() {
        return error.at(data.op.name, data.loc);
    }
    let mut told: Vec<String> = Vec::new();
    for (operand, &value) in data.args.iter().enumerate().take(6) {
        let Some((ty, scalar)) = read(operand) else { continue };
        let label = func.value_label(value);
        told.push(match scalar {
            Some(_) if func.as_const(value).is_some() => label,
            Some(scalar) => format!("{label} = {scalar}"),
            None => format!("{label}: {ty}"),
        });
    }
    if told.is_empty() {
        return error.at(data.op.name, data.loc);
    }
    let message = format!("{} (operands {})", error.message, told.join(", "));
    EvalError { message, ..error }.at(data.op.name, data.loc)
}
