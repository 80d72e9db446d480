//! The names of functions and reductions, and the ops that they stand for.

use crate::nest::{Function, Reducer};
use crate::syntax::Binary;
use rewright::expr::Monoid;
use rewright::{Arity, DType, Registry, registry};

/// Names that mathematics and other notations use, and the ops that they stand for.
const OTHER_NAMES: [(&str, &str); 20] = [
    ("round", "rint"),
    ("ifelse", "where"),
    ("inv", "reciprocal"),
    ("arcsin", "asin"),
    ("arccos", "acos"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arcsinh", "asinh"),
    ("arccosh", "acosh"),
    ("arctanh", "atanh"),
    ("ln", "log"),
    ("pow", "power"),
    ("rem", "fmod"),
    ("div", "floordiv"),
    ("sigmoid", "logistic"),
    ("magnitude", "abs"),
    ("min", "minimum"),
    ("max", "maximum"),
    ("sqr", "square"),
    ("clamp", "clip"),
];

/// The function of this name.
pub(crate) fn function(name: &str) -> Option<Function> {
    match name {
        "abs2" => return Some(Function::Abs2),
        "float" => return Some(Function::Cast(DType::F64)),
        "int" => return Some(Function::Cast(DType::I64)),
        _ => {}
    }
    if let Some(dtype) = DType::ALL.into_iter().find(|dtype| dtype.to_string() == name) {
        return Some(Function::Cast(dtype));
    }
    let other = OTHER_NAMES.iter().find(|(own, _)| *own == name).map(|(_, op)| *op);
    registry().op(other.unwrap_or(name)).filter(|op| op.is_elementwise()).map(Function::Op)
}

/// The registered op of a binary operation.
pub(crate) fn binary(op: Binary) -> &'static str {
    match op {
        Binary::Add => "add",
        Binary::Subtract => "sub",
        Binary::Multiply => "mul",
        Binary::Divide => "div",
        Binary::FloorDivide => "floordiv",
        Binary::Remainder => "mod",
        Binary::Power => "power",
        Binary::Equal => "eq",
        Binary::NotEqual => "ne",
        Binary::Less => "lt",
        Binary::LessEqual => "le",
        Binary::Greater => "gt",
        Binary::GreaterEqual => "ge",
        Binary::And => "bitand",
        Binary::Or => "bitor",
    }
}

/// The reduction of this name.
pub(crate) fn reducer(name: &str) -> Option<Reducer> {
    Some(Reducer::Builtin(match name {
        "+" | "sum" => Monoid::Sum,
        "*" | "prod" => Monoid::Prod,
        "max" | "maximum" => Monoid::Max,
        "min" | "minimum" => Monoid::Min,
        "argmax" => Monoid::ArgMax,
        "argmin" => Monoid::ArgMin,
        "&" | "&&" | "all" => Monoid::All,
        "|" | "||" | "any" => Monoid::Any,
        _ => {
            return match function(name) {
                Some(Function::Op(op)) if op.arity == Arity::Exactly(2) => Some(Reducer::Function(op)),
                _ => None,
            };
        }
    }))
}

/// A name that is similar to an unknown one.
pub(crate) fn similar(name: &str) -> Option<String> {
    let ops = registry().ops().map(|(op, _)| op).filter(|op| op.is_elementwise()).map(|op| op.name);
    Registry::suggest(name, ops.chain(OTHER_NAMES.map(|(own, _)| own))).map(|near| near.to_string())
}
