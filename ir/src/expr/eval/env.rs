//! The environment of an evaluation: the op's context, and the operands of the instruction.

use crate::op::EvalCx;
use crate::value::{Datum, Elements};

/// The environment of an evaluation.
pub(super) struct Env<'a> {
    pub(super) cx: &'a EvalCx<'a>,
    pub(super) args: &'a [Datum],
    /// The elements of each operand of the instruction.
    pub(super) elements: Vec<Elements<'a>>,
}

impl Env<'_> {
    /// The extents of an operand of the instruction.
    pub(super) fn shape(&self, arg: usize) -> &[usize] {
        self.args.get(arg).map_or(&[], Datum::shape)
    }
}
