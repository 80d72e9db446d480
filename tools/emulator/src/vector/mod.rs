//! Vector and mask instructions, one file for each family. Each function returns false for an unknown
//! instruction.

mod arithmetic;
mod compare;
mod convert;
mod masks;
mod moves;
mod shuffle;

use crate::cpu::Cpu;
use iced_x86::{Instruction, RoundingControl};

impl Cpu {
    /// Runs an instruction on vectors or masks; false if it isn't known.
    pub(crate) fn vector(&mut self, inst: &Instruction) -> bool {
        if inst.rounding_control() != RoundingControl::None || inst.suppress_all_exceptions() {
            return false;
        }
        self.moves(inst)
            || self.arithmetic(inst)
            || self.compare(inst)
            || self.convert(inst)
            || self.shuffle(inst)
            || self.masks(inst)
    }
}
