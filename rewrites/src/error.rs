//! Errors of rewrites and of runs.

use crate::check::Difference;
use rewright_ir::VerifyErrors;
use rewright_ir::{Name, Origin, TypeError};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use thiserror::Error;

/// A rewrite, and its origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name.
    pub rewrite: &'static str,
    /// Where it was registered.
    pub origin: Origin,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` of {}", self.rewrite, self.origin)
    }
}

/// Why a rewrite, or a whole run, failed. `apply` returns the first few variants; the driver adds the
/// rewrite and the location.
#[derive(Clone, Debug, Error)]
pub enum RewriteError {
    /// A type rule rejected a new instruction.
    #[error("{}{}", .0.message, help(.0.help.as_deref()))]
    Type(#[from] TypeError),
    /// The rewriter rejected a change that would leave invalid IR.
    #[error("{0}")]
    Refused(String),
    /// More precise types contradict an instruction of the program. Usually they show that it always fails;
    /// but it may never run, so that is left to run time. The application is undone, with a remark.
    #[error("not done, for with more precise types `{op}`{} {why}", place(.loc))]
    Declined {
        /// The op.
        op: &'static str,
        /// The location of the instruction.
        loc: rewright_ir::Loc,
        /// The contradiction.
        why: String,
    },
    /// The rewrite's own reason.
    #[error("{0}")]
    Other(String),
    /// The function is not valid after the rewrite.
    #[error("it leaves invalid IR: {0}")]
    Invalid(VerifyErrors),
    /// The rewrite matched and changed nothing.
    #[error("it matched and changed nothing")]
    Idle,
    /// The rewrite panicked.
    #[error("it panicked: {0}")]
    Panicked(String),
    /// The function computes something else after the rewrite.
    #[error("{0}")]
    Differs(Box<Difference>),
    /// An application failed, and was undone.
    #[error("rewrite {step} failed in `@{function}`{}{}: {cause}", place(.loc), number(.application))]
    Failed {
        /// The rewrite.
        step: Step,
        /// The function.
        function: Name,
        /// The number of the application, from 1; none if the test for a match failed.
        application: Option<u32>,
        /// The location of the match.
        loc: Box<rewright_ir::Loc>,
        /// The cause.
        cause: Box<RewriteError>,
    },
    /// The function returned to an earlier form.
    #[error(
        "rewrites undo each other in `@{function}`, for ever: {}\nthe function has this form\n{}\nand this one\n{}",
        list(.steps), .forms[0], .forms[1]
    )]
    Cycle {
        /// The function.
        function: Name,
        /// The rewrites that were applied between two occurrences of a form, without duplicates.
        steps: Vec<Step>,
        /// Two forms of the cycle, as text.
        forms: Box<[String; 2]>,
    },
    /// A rewrite was applied more often than allowed.
    #[error("rewrite {step} was applied {limit} times to `@{function}` and still matches: does it ever end?")]
    Fuel {
        /// The rewrite.
        step: Step,
        /// The function.
        function: Name,
        /// The limit.
        limit: u64,
    },
    /// The function has grown beyond its limit.
    #[error("`@{function}` grew from {from} instructions to {to}, mostly by {}: does it match its own result?", list(.steps))]
    Growth {
        /// The function.
        function: Name,
        /// The number of instructions at the start.
        from: usize,
        /// The number of instructions at the end.
        to: usize,
        /// The rewrites that made it grow, the worst first.
        steps: Vec<Step>,
    },
    /// The function is invalid after all rewrites, although each application passed its check.
    #[error("`@{function}` is not valid after {}: {errors}\nwhich one it was can be found by verifying after each", list(.steps))]
    InvalidAtEnd {
        /// The function.
        function: Name,
        /// The rewrites that were applied.
        steps: Vec<Step>,
        /// The errors.
        errors: VerifyErrors,
    },
    /// The types of an untyped function's values can't be inferred.
    #[error("the types of `@{function}` can't be inferred: {errors}")]
    Inference {
        /// The function.
        function: Name,
        /// The errors.
        errors: VerifyErrors,
    },
    /// The function is invalid before any rewrite.
    #[error("the input is not valid: {0}")]
    InvalidInput(VerifyErrors),
}

impl RewriteError {
    /// An error with the rewrite's own message.
    pub fn new(message: impl Into<String>) -> Self {
        RewriteError::Other(message.into())
    }
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        RewriteError::Refused(message.into())
    }
}

fn help(text: Option<&str>) -> String {
    text.map(|t| format!(" ({t})")).unwrap_or_default()
}

fn place(loc: &rewright_ir::Loc) -> String {
    if loc.is_none() { String::new() } else { format!(" at line {}", loc.line) }
}

fn number(application: &Option<u32>) -> String {
    application.map(|n| format!(", in application {n}")).unwrap_or_default()
}

fn list(steps: &[Step]) -> String {
    steps.iter().map(Step::to_string).collect::<Vec<_>>().join(", ")
}

/// Calls a rewrite's code; a panic becomes an error. The caller rolls back or drops all state that the
/// rewrite had access to.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, RewriteError> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| RewriteError::Panicked(message(payload)))
}

fn message(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => {
            payload.downcast_ref::<&str>().map_or_else(|| "without a message".to_string(), |s| s.to_string())
        }
    }
}
