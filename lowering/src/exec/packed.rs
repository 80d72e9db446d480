//! Kernels whose bools are packed to words, and not read by anybody else: one step with the op that packs them ([`PacksBools`](crate::PacksBools)).
//!
//! The kernel runs on some points at a time, and what it wrote for them is packed at once (`schedule/packed.rs`).

use super::machine::{Activation, Machine};
use super::plan::{ArrayEval, KernelStep, Step};
use rewright_ir::{EvalError, Inst};

impl Machine<'_> {
    /// Runs a kernel whose bools this instruction packs; where the operands don't fit it, both by their reference meanings.
    pub(super) fn packed(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        kernel: &KernelStep,
        eval: ArrayEval,
        pack: Inst,
    ) -> Result<(), EvalError> {
        if let Some(extent) = self.extent(act, step, kernel) {
            return self.run_kernel(act, step, kernel, extent);
        }
        let why = self.why_unfit(act, step, kernel);
        self.arrays(act, step, &[(step.inst, eval), (pack, ArrayEval::Op)], why)
    }
}
