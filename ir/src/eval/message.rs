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
        let from = origin.map(|value| format!(" from `{}`", value_label(func, value))).unwrap_or_default();
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
        let label = value_label(func, value);
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

/// A value's name in text: `%name`, or `%` and its number among the anonymous values in layout order; for a
/// constant, the literal.
pub fn value_label(func: &Function, value: Value) -> String {
    if !func.has_value(value) {
        return "%?".to_string();
    }
    if let Some(scalar) = func.as_const(value) {
        return scalar.to_string();
    }
    if let Some(name) = func.value_name(value) {
        return format!("%{name}");
    }
    let params_and_results = func.blocks().flat_map(|b| {
        let results = func.insts(b).flat_map(|i| func.inst(i).results.iter().copied());
        func.block_params(b).iter().copied().chain(results)
    });
    match params_and_results.filter(|&v| func.value_name(v).is_none()).position(|v| v == value) {
        Some(n) => format!("%{n}"),
        None => "%?".to_string(),
    }
}
