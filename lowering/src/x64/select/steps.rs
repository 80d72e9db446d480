//! Selection for kernels with steps (loops with carried values): the segments from which `x64/steps.rs`
//! writes the code.

use super::fold::Accumulator;
use super::{Selector, Val};
use crate::kernel::{KValue, KernelError, Steps};
use crate::x64::machine::{Class, Origin, Segment};

/// The code for a group of points of the vector axis. Inputs and outputs are numbered by carried value.
pub struct StepSegments {
    /// The form of each carried value.
    pub carried: Vec<Accumulator>,
    /// Computes the values before the first step.
    pub before: Segment,
    /// One step.
    pub step: Segment,
    /// The epilogue after the last step.
    pub end: Segment,
}

impl StepSegments {
    /// True if an instruction calls a function.
    pub fn calls(&self) -> bool {
        [&self.before, &self.step, &self.end].into_iter().any(Segment::calls)
    }
}

impl Selector<'_> {
    /// Selects the kernel's steps. All levels around the vector axis are selected before.
    pub fn steps(&mut self, steps: &Steps) -> Result<StepSegments, KernelError> {
        let kernel = self.kernel;
        let is_before =
            |n: &usize| kernel.level(&kernel.insts[*n]) == kernel.lanes_level() && !kernel.is_after_steps(*n);
        let is_step = |n: &usize| kernel.level(&kernel.insts[*n]) as usize == kernel.axes && !kernel.is_after_steps(*n);
        let all = 0..kernel.insts.len();
        self.begin(kernel.axes - 1);
        self.insts(all.clone().filter(is_before))?;
        let carried = steps.first.iter().map(|&first| self.carried(first)).collect::<Result<Vec<_>, _>>()?;
        self.outputs(&carried, &steps.first)?;
        let before = self.end();
        self.begin(kernel.axes);
        self.inputs(&carried, &steps.before, 0);
        self.insts(all.filter(is_step))?;
        self.outputs(&carried, &steps.after)?;
        let step = self.end();
        self.begin(kernel.axes - 1);
        self.inputs(&carried, &steps.last, 0);
        self.insts(steps.end.clone())?;
        let end = self.end();
        Ok(StepSegments { carried, before, step, end })
    }

    /// The form of a carried value.
    fn carried(&mut self, first: KValue) -> Result<Accumulator, KernelError> {
        let size = self.kernel.dtype(first).size();
        let (class, size, is_flags) = match self.val(first)? {
            Val::Lanes(_) => (Class::Vector(self.width(size)), size, false),
            Val::Flags(_, size) => (Class::Vector(self.width(size)), size, true),
            Val::Always(_) if !self.evex() => (Class::Vector(self.width(1)), 1, true),
            Val::Bits(_) | Val::Always(_) => (Class::Mask, 1, false),
        };
        Ok(Accumulator { class, size, is_flags, sums_bytes: false, neutral: Origin::Computed, total: 0 })
    }
}
