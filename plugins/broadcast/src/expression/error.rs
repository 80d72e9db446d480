//! The errors of expressions.

use rewright::lowering::exec::LowerError;
use rewright::rewrites::PipelineError;
use rewright::{DType, EvalError, Name, RewriteError, TypeError};

/// Why an expression can't be computed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Shapes that don't broadcast.
    #[error("`{function}` can't broadcast {left}, with {right}: extents are equal, or one of them is 1")]
    Shape {
        /// The function they are operands of.
        function: String,
        /// The earlier operand, or several of them with their common shape.
        left: String,
        /// The operand that does not fit.
        right: String,
    },
    /// A destination of another shape.
    #[error(
        "{given} can't be assigned to {destination}: its axes may be fewer, and each is as long as that of the destination, or 1"
    )]
    Destination {
        /// The destination's type.
        destination: String,
        /// The type of the assigned expression.
        given: String,
    },
    /// A destination whose dtype is of an earlier kind.
    #[error("{from} can't be assigned to {to}, which is of an earlier kind: `cast` says that it may")]
    Kind {
        /// The expression's dtype.
        from: DType,
        /// The destination's dtype.
        to: DType,
    },
    /// A function that rejects its operands.
    #[error("{}", said(function, error))]
    Type {
        /// The function.
        function: String,
        /// Its type error.
        error: TypeError,
    },
    /// An op that is not elementwise.
    #[error("`{op}` is no elementwise op: compute it before, or apply a function of scalars")]
    NotElementwise {
        /// Its name.
        op: &'static str,
    },
    /// An op that is no reduction.
    #[error("`{op}` is no reduction: `sum`, `prod`, `min`, `max`, `any`, `all`, `argmin` and `argmax` are")]
    NoReduction {
        /// Its name.
        op: &'static str,
    },
    /// An index out of bounds.
    #[error("there is no element at {index:?} of an expression of shape {shape:?}")]
    Index {
        /// The index.
        index: Vec<usize>,
        /// The shape.
        shape: Vec<usize>,
    },
    /// Two functions of one name.
    #[error("two different functions are named `@{name}`: give one of them another name")]
    SameName {
        /// The name.
        name: Name,
    },
    /// The default pipeline failed.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// A rewrite failed.
    #[error(transparent)]
    Rewrite(#[from] RewriteError),
    /// Lowering failed.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// The computation failed.
    #[error(transparent)]
    Eval(#[from] EvalError),
}

impl Error {
    pub(super) fn of_type(function: impl std::fmt::Display, error: TypeError) -> Error {
        Error::Type { function: format!("`{function}`"), error }
    }
}

/// Formats a type error with the function's name and the help.
fn said(function: &str, error: &TypeError) -> String {
    let name = if error.message.contains(function) { String::new() } else { format!("{function}: ") };
    let help = error.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
    format!("{name}{}{help}", error.message)
}
