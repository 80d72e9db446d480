//! Loads, stores, register moves, broadcasts and blends.

use crate::cpu::Cpu;
use crate::operands::{Lanes, Vector, is_vector};
use iced_x86::{Instruction, Mnemonic as M, OpKind};

/// The first `bytes` bytes of a register, as one lane.
fn first(bytes: usize) -> Lanes {
    Lanes { size: bytes, count: 1, on: 1 }
}

impl Cpu {
    pub(super) fn moves(&mut self, inst: &Instruction) -> bool {
        let size = match inst.mnemonic() {
            M::Vmovdqu8 => 1,
            M::Vmovdqu16 => 2,
            M::Vmovups | M::Vmovaps | M::Vmovdqu32 | M::Vmovdqa32 | M::Vmovntps => 4,
            M::Vmovupd
            | M::Vmovapd
            | M::Vmovdqu64
            | M::Vmovdqa64
            | M::Vmovdqu
            | M::Vmovdqa
            | M::Vmovntpd
            | M::Vmovntdq => 8,
            _ => return self.elements(inst),
        };
        let lanes = self.lanes(inst, size);
        if matches!(
            inst.mnemonic(),
            M::Vmovaps
                | M::Vmovapd
                | M::Vmovdqa
                | M::Vmovdqa32
                | M::Vmovdqa64
                | M::Vmovntps
                | M::Vmovntpd
                | M::Vmovntdq
        ) {
            self.check_aligned(inst, lanes);
        }
        let moved = self.source(inst, 1, lanes);
        self.put(inst, &moved, lanes);
        true
    }

    /// Checks alignment: the processor raises an exception at an address that is no multiple of the size.
    fn check_aligned(&self, inst: &Instruction, lanes: Lanes) {
        let bytes = (lanes.size * lanes.count) as u64;
        let in_memory = (0..2).any(|n| inst.op_kind(n) == OpKind::Memory);
        assert!(
            !in_memory || self.address(inst).is_multiple_of(bytes),
            "`{inst}` is not at a multiple of {bytes} bytes"
        );
    }

    /// Moves and broadcasts of single elements.
    fn elements(&mut self, inst: &Instruction) -> bool {
        match inst.mnemonic() {
            M::Vmovd => self.move_element(inst, 4, 0),
            M::Vmovq => self.move_element(inst, 8, 0),
            M::Vpextrb => self.move_element(inst, 1, inst.immediate8()),
            M::Vpextrw => self.move_element(inst, 2, inst.immediate8()),
            M::Vpextrd => self.move_element(inst, 4, inst.immediate8()),
            M::Vpextrq => self.move_element(inst, 8, inst.immediate8()),
            M::Vpbroadcastb => self.repeat(inst, 1),
            M::Vpbroadcastw => self.repeat(inst, 2),
            M::Vpbroadcastd | M::Vbroadcastss => self.repeat(inst, 4),
            M::Vpbroadcastq | M::Vbroadcastsd => self.repeat(inst, 8),
            M::Vpblendmb => self.blend(inst, 1),
            M::Vpblendmw => self.blend(inst, 2),
            M::Vpblendmd | M::Vblendmps => self.blend(inst, 4),
            M::Vpblendmq | M::Vblendmpd => self.blend(inst, 8),
            _ => return false,
        }
        true
    }

    /// An element, from a vector, a general register or memory.
    fn element(&self, inst: &Instruction, size: usize, n: usize) -> u64 {
        match inst.op_kind(1) {
            OpKind::Memory => self.read(self.address(inst), size),
            _ if is_vector(inst, 1) => self.vectors[inst.op_register(1).number()].lane(size, n),
            _ => self.operand(inst, 1),
        }
    }

    /// Moves one element to the lowest lane of a vector, to memory or to a general register.
    fn move_element(&mut self, inst: &Instruction, size: usize, n: u8) {
        let value = self.element(inst, size, usize::from(n) % (16 / size));
        if is_vector(inst, 0) {
            self.put(inst, &Vector::of(8, |n| if n == 0 { value } else { 0 }), first(8));
        } else if inst.op_kind(0) == OpKind::Memory {
            self.write(self.address(inst), size, value);
        } else {
            // The upper half becomes zero, as in a 32-bit write.
            self.general[inst.op_register(0).full_register().number()] = value;
        }
    }

    fn repeat(&mut self, inst: &Instruction, size: usize) {
        let lanes = self.lanes(inst, size);
        let value = if lanes.on == 0 { 0 } else { self.element(inst, size, 0) };
        self.put(inst, &Vector::of(size, |_| value), lanes);
    }

    /// Blends: the third operand in enabled lanes, the second elsewhere.
    fn blend(&mut self, inst: &Instruction, size: usize) {
        let lanes = self.lanes(inst, size);
        let otherwise = self.source(inst, 1, lanes.all());
        let chosen = self.source(inst, 2, lanes);
        let blend = Vector::of(size, |n| match lanes.on >> n & 1 {
            1 => chosen.lane(size, n),
            _ if inst.zeroing_masking() => 0,
            _ => otherwise.lane(size, n),
        });
        self.put(inst, &blend, lanes.all());
    }
}
