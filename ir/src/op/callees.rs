//! The functions that the semantics of an op may call.

use super::limits::Limits;
use crate::error::EvalError;
use crate::name::Name;
use crate::types::Signature;
use crate::value::Datum;

/// The outcome of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The function's results.
    pub results: Vec<Datum>,
    /// The arguments, including the effects of stores to them.
    pub args: Vec<Datum>,
    /// One string for each executed `print`.
    pub printed: Vec<String>,
}

/// Functions by name, such as those of a module. Ops know functions by this trait only: the definition of an
/// op does not depend on the representation of functions.
pub trait Callees {
    /// The signature of a function; `None` if there is none of this name.
    fn signature(&self, name: Name) -> Option<Signature>;
    /// True if the function stores to a parameter.
    fn stores_to_params(&self, name: Name) -> bool;
    /// Evaluates a function, and counts its steps, also up to an error.
    fn evaluate(&self, name: Name, args: Vec<Datum>, limits: Limits) -> (Result<Outcome, EvalError>, u64);
}
