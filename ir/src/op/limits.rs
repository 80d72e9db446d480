//! Resource limits of evaluations.

use crate::error::EvalError;
use crate::value::checked_len;

/// The resource limits of an evaluation; they make every program terminate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Instructions executed, elements computed, and points of index spaces, over all calls; 2³² by default.
    /// A product of two matrices of 1,000 rows and columns has 10⁹ points.
    pub steps: u64,
    /// Elements of one array; 2²⁸ by default.
    pub elements: u64,
    /// Bytes of all arrays that live values hold, with a shared buffer counted for each; 8 GiB by default.
    pub bytes: u64,
    /// Depth of calls, 128 by default and at most [`MAX_DEPTH`](crate::eval::MAX_DEPTH).
    pub depth: u32,
}

impl Limits {
    /// The number of elements of a shape; an error if it is over the limit.
    pub fn len(&self, shape: &[usize]) -> Result<usize, EvalError> {
        let error = match checked_len(shape) {
            Some(len) if len as u64 <= self.elements => return Ok(len),
            Some(_) => format!("an array of shape {shape:?} has more than {} elements", self.elements),
            None => format!("no array has so large extents as {shape:?}"),
        };
        Err(EvalError::limit(error))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits { steps: 1 << 32, elements: 1 << 28, bytes: 1 << 33, depth: 128 }
    }
}
