//! Errors of type rules and of evaluation.

use crate::loc::Loc;
use crate::name::Name;
use std::fmt;
use thiserror::Error;

/// An error of a type rule.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{message}")]
pub struct TypeError {
    /// The error; one lower-case sentence.
    pub message: String,
    /// The advice.
    pub help: Option<String>,
    /// The operand at fault.
    pub operand: Option<usize>,
}

impl TypeError {
    /// An error with a message.
    pub fn new(message: impl Into<String>) -> Self {
        TypeError { message: message.into(), help: None, operand: None }
    }
    /// Sets the advice.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// Sets the operand at fault.
    pub fn operand(mut self, index: usize) -> Self {
        self.operand = Some(index);
        self
    }
}

/// The kind of an evaluation's failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalErrorKind {
    /// Arguments do not fit the function, or shapes do not fit each other.
    Shape,
    /// An index out of bounds.
    Index,
    /// A value for which the op is not defined.
    Value,
    /// The program's own `raise`, with the kind that it names.
    Raised(String),
    /// More steps or elements than allowed.
    Limit,
    /// Not supported by this evaluator or code generator.
    Unsupported,
}

impl EvalErrorKind {
    /// The kind that a `raise` names, as a prefix of its message.
    fn raised(&self) -> String {
        match self {
            EvalErrorKind::Raised(kind) if !kind.is_empty() => format!("{kind}: "),
            _ => String::new(),
        }
    }
}

/// A position of an `arrayexpr` that is out of bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfBounds {
    /// The operand that is read, or the result that is written.
    pub accessed: Accessed,
    /// The position along the axis, from 0.
    pub position: i128,
    /// The axis of the array.
    pub axis: usize,
    /// The extent of the axis.
    pub extent: usize,
}

/// The array of an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accessed {
    /// The operand of this name.
    Operand(Name),
    /// The result with this number.
    Result(usize),
    /// An array of positions, which an index map reads.
    Positions,
}

impl fmt::Display for OutOfBounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OutOfBounds { position, axis, extent, .. } = self;
        match &self.accessed {
            Accessed::Operand(name) => write!(f, "operand `{name}` is read")?,
            Accessed::Result(number) => write!(f, "result {number} is written")?,
            Accessed::Positions => f.write_str("an array of positions is read")?,
        }
        write!(f, " at position {position} along axis {axis}, which has extent {extent}")
    }
}

/// A failed evaluation: the failure, its op and its location.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{}{}{message}{}", .op.map(|o| format!("`{o}`: ")).unwrap_or_default(), .kind.raised(), if .loc.is_none() { String::new() } else { format!(" (line {})", .loc.line) })]
pub struct EvalError {
    /// The kind of failure.
    pub kind: EvalErrorKind,
    /// The failure, with values and dims.
    pub message: String,
    /// The op, once known.
    pub op: Option<&'static str>,
    /// The source location, once known.
    pub loc: Loc,
    /// The position that is out of bounds, of an error of an `arrayexpr` with the kind
    /// [`Index`](EvalErrorKind::Index).
    pub out_of_bounds: Option<Box<OutOfBounds>>,
}

impl EvalError {
    /// An error of a kind.
    pub fn new(kind: EvalErrorKind, message: impl Into<String>) -> Self {
        EvalError { kind, message: message.into(), op: None, loc: Loc::default(), out_of_bounds: None }
    }
    /// A shape error.
    pub fn shape(message: impl Into<String>) -> Self {
        Self::new(EvalErrorKind::Shape, message)
    }
    /// An index error.
    pub fn index(message: impl Into<String>) -> Self {
        Self::new(EvalErrorKind::Index, message)
    }
    /// The index error of an access.
    pub fn out_of_bounds(access: OutOfBounds) -> Self {
        EvalError { out_of_bounds: Some(Box::new(access.clone())), ..Self::index(access.to_string()) }
    }
    /// A value error.
    pub fn value(message: impl Into<String>) -> Self {
        Self::new(EvalErrorKind::Value, message)
    }
    /// A limit is exceeded.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(EvalErrorKind::Limit, message)
    }
    /// The op or a feature of it is not supported.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(EvalErrorKind::Unsupported, message)
    }
    /// Adds op and location unless they are known. Names the op as written at the location, or `op` if the
    /// location has none.
    pub fn at(mut self, op: &'static str, loc: Loc) -> Self {
        self.op.get_or_insert(loc.op.unwrap_or(op));
        if self.loc.is_none() {
            self.loc = loc;
        }
        self
    }
}
