//! Kernels whose results are stored and have no other use: one step with the store.
//!
//! The kernel writes to the destination in place if the following holds: no other value shares the
//! destination's buffer, the kernel can't fail, and it reads elements of the destination only where it
//! writes them (`reused.rs`). Otherwise the result replaces the destination, and nothing is copied either.

use super::machine::{Activation, Machine};
use super::plan::{ArrayEval, Destination, KernelStep, Slot, Step};
use super::value::{Held, array_place};
use rewright_ir::{EvalError, with_array};

impl Machine<'_> {
    /// Runs a kernel, and stores its result.
    pub(super) fn assign(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        kernel: &KernelStep,
        eval: ArrayEval,
        to: Destination,
    ) -> Result<(), EvalError> {
        self.kernel(act, step, kernel, eval)?;
        let [def] = &step.defs[..] else { return Err(EvalError::shape("has one result")) };
        self.move_to(act, def.slot, to)
    }

    /// Replaces the destination of a store with an array of the same dtype and shape.
    pub(super) fn move_to(&self, act: &mut Activation<'_, '_>, from: Slot, to: Destination) -> Result<(), EvalError> {
        let new = self.take(act.frame, from);
        let old = &act.frame.slots[to.slot.0 as usize];
        if new.dtype() != old.dtype() || new.shape() != old.shape() {
            return Err(EvalError::shape("writes elements of another dtype or shape"));
        }
        self.put(act.frame, to.slot, new)?;
        if let Some(param) = to.param {
            act.frame.stored[param as usize] = true;
        }
        Ok(())
    }

    /// Whether a slot holds an array that dies with a step and fills an unshared buffer.
    pub(super) fn is_left(&self, act: &Activation<'_, '_>, step: &Step, slot: Slot) -> bool {
        match &act.frame.slots[slot.0 as usize] {
            Held::Array(array) if step.free.contains(&slot) => {
                array_place(array).is_dense() && with_array!(array, |a| a.is_unique())
            }
            _ => false,
        }
    }
}
