//! Permutations, shuffles, extractions and byte shifts of vectors.

use crate::cpu::Cpu;
use crate::operands::{Lanes, Vector, low};
use iced_x86::{Instruction, Mnemonic as M, OpKind, Register};

/// The size of a 128-bit part; many instructions do not cross parts.
const PART: usize = 16;

impl Cpu {
    pub(super) fn shuffle(&mut self, inst: &Instruction) -> bool {
        let by_number = inst.op_kind(2) == OpKind::Immediate8;
        match inst.mnemonic() {
            M::Vpermpd | M::Vpermq if by_number => self.permute_fours(inst),
            M::Vpermw => self.permute(inst, 2),
            M::Vpermps | M::Vpermd => self.permute(inst, 4),
            M::Vpermpd | M::Vpermq => self.permute(inst, 8),
            M::Vpermt2ps | M::Vpermt2d => self.permute_two(inst, 4, [0, 1]),
            M::Vpermt2pd | M::Vpermt2q => self.permute_two(inst, 8, [0, 1]),
            M::Vpermi2ps | M::Vpermi2d => self.permute_two(inst, 4, [1, 0]),
            M::Vpermi2pd | M::Vpermi2q => self.permute_two(inst, 8, [1, 0]),
            M::Valignd => self.align(inst, 4),
            M::Valignq => self.align(inst, 8),
            M::Vpsrldq => self.shift_bytes(inst),
            M::Vshufps => self.shuffle_fours(inst),
            M::Vshuff32x4 | M::Vshufi32x4 => self.shuffle_parts(inst, 4),
            M::Vshuff64x2 | M::Vshufi64x2 => self.shuffle_parts(inst, 8),
            M::Vextracti128
            | M::Vextractf128
            | M::Vextracti32x4
            | M::Vextractf32x4
            | M::Vextracti64x2
            | M::Vextractf64x2 => {
                return self.extract(inst, PART);
            }
            M::Vextracti64x4 | M::Vextractf64x4 => return self.extract(inst, 2 * PART),
            _ => return false,
        }
        true
    }

    fn rearrange(&mut self, inst: &Instruction, lanes: Lanes, from: impl Fn(usize) -> u64) {
        let size = lanes.size;
        let result = Vector::of(size, |n| if n < lanes.count { from(n) } else { 0 });
        self.put(inst, &result, lanes);
    }

    /// Permutes lanes by a vector of indices.
    fn permute(&mut self, inst: &Instruction, size: usize) {
        let lanes = self.lanes(inst, size);
        let [numbers, from] = [1, 2].map(|n| self.source(inst, n, lanes.all()));
        self.rearrange(inst, lanes, |n| from.lane(size, numbers.lane(size, n) as usize % lanes.count));
    }

    /// Permutes the lanes of two vectors by a vector of indices. The first vector and the indices are
    /// operands 0 and 1, in either order.
    fn permute_two(&mut self, inst: &Instruction, size: usize, [first, numbers]: [u32; 2]) {
        let lanes = self.lanes(inst, size);
        let [first, numbers, second] = [first, numbers, 2].map(|n| self.source(inst, n, lanes.all()));
        self.rearrange(inst, lanes, |n| match numbers.lane(size, n) as usize % (2 * lanes.count) {
            place if place < lanes.count => first.lane(size, place),
            place => second.lane(size, place - lanes.count),
        });
    }

    /// Permutes within each four lanes of eight bytes, by two bits of the immediate for each lane.
    fn permute_fours(&mut self, inst: &Instruction) {
        let lanes = self.lanes(inst, 8);
        let from = self.source(inst, 1, lanes.all());
        self.rearrange(inst, lanes, |n| from.lane(8, n / 4 * 4 + pick(inst, n)));
    }

    /// Selects two of each four lanes of the first vector, and two of the second.
    fn shuffle_fours(&mut self, inst: &Instruction) {
        let lanes = self.lanes(inst, 4);
        let from = [1, 2].map(|n| self.source(inst, n, lanes.all()));
        self.rearrange(inst, lanes, |n| from[n % 4 / 2].lane(4, n / 4 * 4 + pick(inst, n)));
    }

    /// Selects whole parts: the lower half of the result from the first vector, the upper half from the
    /// second.
    fn shuffle_parts(&mut self, inst: &Instruction, size: usize) {
        let lanes = self.lanes(inst, size);
        let from = [1, 2].map(|n| self.source(inst, n, lanes.all()));
        let (each, parts) = (PART / size, lanes.count * size / PART);
        let bits = parts.ilog2() as usize;
        self.rearrange(inst, lanes, |n| {
            let part = n / each;
            let chosen = usize::from(inst.immediate8()) >> (bits * part) & (parts - 1);
            from[2 * part / parts].lane(size, chosen * each + n % each)
        });
    }

    /// Concatenates the second vector and the first, and extracts the lanes from the immediate on.
    fn align(&mut self, inst: &Instruction, size: usize) {
        let lanes = self.lanes(inst, size);
        let [behind, from] = [1, 2].map(|n| self.source(inst, n, lanes.all()));
        let by = usize::from(inst.immediate8()) % lanes.count;
        self.rearrange(inst, lanes, |n| match n + by {
            place if place < lanes.count => from.lane(size, place),
            place => behind.lane(size, place - lanes.count),
        });
    }

    /// Shifts the bytes of each part towards lower indices.
    fn shift_bytes(&mut self, inst: &Instruction) {
        let lanes = self.lanes(inst, 1);
        let from = self.source(inst, 1, lanes.all());
        let by = usize::from(inst.immediate8());
        self.rearrange(inst, lanes, |n| if n % PART + by < PART { from.lane(1, n + by) } else { 0 });
    }

    fn extract(&mut self, inst: &Instruction, bytes: usize) -> bool {
        if inst.op_mask() != Register::None {
            return false;
        }
        let register = inst.op_register(1);
        let from = usize::from(inst.immediate8()) % (register.size() / bytes) * bytes / 8;
        let source = self.vectors[register.number()];
        let count = bytes / 8;
        self.rearrange(inst, Lanes { size: 8, count, on: low(count) }, |n| source.lane(8, from + n));
        true
    }
}

/// The two bits of the immediate for a lane within its group of four.
fn pick(inst: &Instruction, n: usize) -> usize {
    usize::from(inst.immediate8() >> (2 * (n % 4)) & 3)
}
