//! Kernels whose bools have one use, which packs them into words: one step with the packing op
//! ([`PacksBools`](crate::PacksBools)).
//!
//! The kernel computes a block of points, and the bools of the block are packed at once
//! (`schedule/packed.rs`).

use super::machine::{Activation, Machine};
use super::plan::{ArrayEval, KernelStep, Step};
use rewright_ir::{EvalError, Inst};

impl Machine<'_> {
    /// Runs a kernel whose bools the instruction `pack` packs. If the operands do not fit, both run by their
    /// reference meanings.
    pub(super) fn packed(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        kernel: &KernelStep,
        eval: ArrayEval,
        pack: Inst,
    ) -> Result<(), EvalError> {
        if let Some(extent) = self.extent(act, step, kernel) {
            return self.run_kernel(act, step, kernel, extent, None);
        }
        let why = self.why_unfit(act, step, kernel);
        self.arrays(act, step, &[(step.inst, eval), (pack, ArrayEval::Op)], why)
    }
}
