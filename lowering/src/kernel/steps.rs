//! Steps: outer-loop vectorization. The innermost axis of a kernel with steps is a sequential loop. The axis
//! around it is the *vector axis*: each of its points runs the loop, and these points are vector lanes.
//! Accumulators of adjacent results therefore stay in vector registers, as in the inner kernel of a matrix
//! product.
//!
//! Instructions of the vector axis' level run before the loop, or after it if they are in [`Steps::end`].
//! Values pass between them and the loop only as carried values, so that a code generator may assign a
//! register to each.

use super::{KInst, KOp, KValue, Kernel};
use std::ops::Range;

/// The sequential loop. The lists have an entry for each carried value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// The value before the first step.
    pub first: Vec<KValue>,
    /// The value when a step begins; no instruction defines it.
    pub before: Vec<KValue>,
    /// The value when a step ends.
    pub after: Vec<KValue>,
    /// The value after the last step, or `first` if there is no step. No instruction defines it.
    pub last: Vec<KValue>,
    /// The instructions, by number, that run after the loop.
    pub end: Range<usize>,
    /// For each buffer of the kernel, the first buffer that has the same strides in all calls.
    pub alike: Vec<u32>,
}

impl Kernel {
    /// The axis whose points are vector lanes, if there is one.
    pub fn vector_axis(&self) -> Option<usize> {
        (self.lanes_level() as usize).checked_sub(1)
    }

    /// The least level of instructions that run for each point of the vector axis.
    pub fn lanes_level(&self) -> u32 {
        self.axes as u32 - u32::from(self.steps.is_some())
    }

    /// Whether an instruction runs after the steps.
    pub fn is_after_steps(&self, inst: usize) -> bool {
        self.steps.as_ref().is_some_and(|steps| steps.end.contains(&inst))
    }

    /// The violation of a rule of steps: the instruction and the rule.
    pub(super) fn steps_problem(&self) -> Option<(usize, String)> {
        let steps = self.steps.as_ref()?;
        let wrong = |at: usize, message: &str| Some((at, message.to_string()));
        let (at, axes) = (steps.end.start, self.axes as u32);
        if self.axes < 2 || self.fold.is_some() {
            return wrong(at, "a kernel with steps has a vector axis, and no fold");
        }
        let is_alike = |(n, &first): (usize, &u32)| {
            first as usize <= n && self.buffers[first as usize].varies == self.buffers[n].varies
        };
        if steps.alike.len() != self.buffers.len() || !steps.alike.iter().enumerate().all(is_alike) {
            return wrong(at, "buffers that are alike vary along the same axes");
        }
        if steps.end.end > self.insts.len() {
            return wrong(at, "the end of steps has instructions that the kernel lacks");
        }
        let lists = [(&steps.first, axes - 1), (&steps.before, axes), (&steps.after, axes), (&steps.last, axes - 1)];
        for (list, most) in lists {
            let level = |value: &KValue| self.values[value.0 as usize].level;
            if list.len() != steps.first.len() || list.iter().any(|value| level(value) > most) {
                return wrong(at, "each carried value has one entry in all lists, of the level where it is used");
            }
            if list.iter().zip(&steps.first).any(|(&value, &first)| self.dtype(value) != self.dtype(first)) {
                return wrong(at, "a carried value has one dtype");
            }
        }
        // The values of the vector axis that are defined before the steps.
        let is_before = |(number, inst): (usize, &KInst)| {
            (inst.results > 0 && self.level(inst) == axes - 1 && !steps.end.contains(&number)).then_some(inst.first)
        };
        let before: Vec<KValue> = self.insts.iter().enumerate().filter_map(is_before).collect();
        for (number, inst) in self.insts.iter().enumerate() {
            let at_end = steps.end.contains(&number);
            if at_end && inst.results > 0 && self.level(inst) == axes {
                return wrong(number, "a value of a step after the steps");
            }
            if (at_end || self.level(inst) == axes) && inst.args.iter().any(|arg| before.contains(arg)) {
                return wrong(number, "a value from before the steps that is not carried");
            }
            let varies =
                |buffer: u32| self.vector_axis().is_some_and(|axis| self.buffers[buffer as usize].varies[axis]);
            if let KOp::Store(buffer, _) = inst.op
                && !varies(buffer)
            {
                return wrong(number, "all points of the vector axis store the same element");
            }
        }
        None
    }
}
