//! Instructions on mask registers.

use crate::cpu::Cpu;
use crate::general::{CARRY, STATUS, ZERO};
use crate::operands::{is_mask, low};
use iced_x86::{Instruction, Mnemonic as M, OpKind};

/// The width of a mask, by the last letter of the mnemonic.
fn bits(mnemonic: M) -> usize {
    match mnemonic {
        M::Kmovb | M::Kandb | M::Kandnb | M::Korb | M::Kxorb | M::Knotb | M::Kortestb | M::Kshiftrb => 8,
        M::Kmovw | M::Kandw | M::Kandnw | M::Korw | M::Kxorw | M::Knotw | M::Kortestw | M::Kshiftrw => 16,
        M::Kmovd | M::Kandd | M::Kandnd | M::Kord | M::Kxord | M::Knotd | M::Kortestd | M::Kshiftrd => 32,
        _ => 64,
    }
}

impl Cpu {
    pub(super) fn masks(&mut self, inst: &Instruction) -> bool {
        let bits = bits(inst.mnemonic());
        let all = low(bits);
        let of = |cpu: &Cpu, n: u32| cpu.masks[inst.op_register(n).number()] & all;
        match inst.mnemonic() {
            M::Kmovb | M::Kmovw | M::Kmovd | M::Kmovq => self.move_mask(inst, bits),
            M::Kandb | M::Kandw | M::Kandd | M::Kandq => self.set_mask(inst, of(self, 1) & of(self, 2)),
            M::Kandnb | M::Kandnw | M::Kandnd | M::Kandnq => self.set_mask(inst, !of(self, 1) & of(self, 2)),
            M::Korb | M::Korw | M::Kord | M::Korq => self.set_mask(inst, of(self, 1) | of(self, 2)),
            M::Kxorb | M::Kxorw | M::Kxord | M::Kxorq => self.set_mask(inst, of(self, 1) ^ of(self, 2)),
            M::Knotb | M::Knotw | M::Knotd | M::Knotq => self.set_mask(inst, !of(self, 1) & all),
            M::Kshiftrb | M::Kshiftrw | M::Kshiftrd | M::Kshiftrq => {
                let by = usize::from(inst.immediate8());
                self.set_mask(inst, if by < bits { of(self, 1) >> by } else { 0 });
            }
            M::Kortestb | M::Kortestw | M::Kortestd | M::Kortestq => {
                let either = of(self, 0) | of(self, 1);
                let zero = if either == 0 { ZERO } else { 0 };
                let carry = if either == all { CARRY } else { 0 };
                self.set_flags(STATUS, zero | carry);
            }
            _ => return false,
        }
        true
    }

    fn move_mask(&mut self, inst: &Instruction, bits: usize) {
        let value = match inst.op_kind(1) {
            OpKind::Memory => self.read(self.address(inst), bits / 8),
            _ if is_mask(inst, 1) => self.masks[inst.op_register(1).number()],
            _ => self.operand(inst, 1),
        };
        let value = value & low(bits);
        if is_mask(inst, 0) {
            self.set_mask(inst, value);
        } else if inst.op_kind(0) == OpKind::Memory {
            self.write(self.address(inst), bits / 8, value);
        } else {
            self.general[inst.op_register(0).full_register().number()] = value;
        }
    }
}
