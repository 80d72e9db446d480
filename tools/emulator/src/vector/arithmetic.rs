//! Lane-wise arithmetic instructions.

use crate::cpu::Cpu;
use crate::float::{F32, F64, Format};
use crate::general::signed;
use crate::native;
use crate::operands::{Lanes, Vector};
use iced_x86::{Instruction, Mnemonic as M, OpKind};

/// Shifts by at least the lane size give zero, or copies of the sign in arithmetic shifts.
fn shifted(inst: &Instruction, value: u64, by: u64, size: usize) -> u64 {
    let all = 8 * size as u64;
    match inst.mnemonic() {
        M::Vpsraw | M::Vpsrad | M::Vpsraq | M::Vpsravw | M::Vpsravq => (signed(value, size) >> by.min(all - 1)) as u64,
        _ if by >= all => 0,
        M::Vpsllw | M::Vpslld | M::Vpsllq | M::Vpsllvw => value << by,
        _ => value >> by,
    }
}

/// The lanes to read from memory: all, if result lanes depend on other lanes.
fn read(inst: &Instruction, lanes: Lanes) -> Lanes {
    if native::mixes_lanes(inst.mnemonic()) { lanes.all() } else { lanes }
}

impl Cpu {
    pub(super) fn arithmetic(&mut self, inst: &Instruction) -> bool {
        let mnemonic = inst.mnemonic();
        if let Some(size) = native::binary_size(mnemonic) {
            return self.of_two(inst, size, |a, b| native::binary(mnemonic, a, b));
        }
        if let Some(size) = native::unary_size(mnemonic) {
            return self.of_one(inst, size, |a| native::unary(mnemonic, a));
        }
        if let Some(size) = native::multiply_add_size(mnemonic) {
            return self.of_three(inst, size, |[a, b, c]| native::multiply_add(mnemonic, a, b, c));
        }
        let imm = inst.immediate8();
        match mnemonic {
            M::Vroundps | M::Vrndscaleps => self.of_one(inst, 4, |a| native::round_f32(a, imm)),
            M::Vroundpd | M::Vrndscalepd => self.of_one(inst, 8, |a| native::round_f64(a, imm)),
            M::Vgetexpps => self.each(inst, 4, |a| F32.exponent_of(a)),
            M::Vgetexppd => self.each(inst, 8, |a| F64.exponent_of(a)),
            M::Vgetmantps => self.each(inst, 4, |a| F32.mantissa_of(a, imm)),
            M::Vgetmantpd => self.each(inst, 8, |a| F64.mantissa_of(a, imm)),
            M::Vscalefps => self.each_two(inst, 4, |a, b| Format::scale(&F32, a, b)),
            M::Vscalefpd => self.each_two(inst, 8, |a, b| Format::scale(&F64, a, b)),
            M::Vpabsq => self.each(inst, 8, |a| (a as i64).unsigned_abs()),
            M::Vplzcntd => self.each(inst, 4, |a| (a as u32).leading_zeros().into()),
            M::Vplzcntq => self.each(inst, 8, |a| a.leading_zeros().into()),
            M::Vpmullq => self.each_two(inst, 8, u64::wrapping_mul),
            M::Vpminuq => self.each_two(inst, 8, u64::min),
            M::Vpmaxuq => self.each_two(inst, 8, u64::max),
            M::Vpminsq => self.each_two(inst, 8, |a, b| (a as i64).min(b as i64) as u64),
            M::Vpmaxsq => self.each_two(inst, 8, |a, b| (a as i64).max(b as i64) as u64),
            M::Vpsllvw | M::Vpsrlvw | M::Vpsravw => self.each_two(inst, 2, |a, by| shifted(inst, a, by, 2)),
            M::Vpsravq => self.each_two(inst, 8, |a, by| shifted(inst, a, by, 8)),
            M::Vpsllw | M::Vpsrlw | M::Vpsraw => self.shift_all(inst, 2),
            M::Vpslld | M::Vpsrld | M::Vpsrad => self.shift_all(inst, 4),
            M::Vpsllq | M::Vpsrlq | M::Vpsraq => self.shift_all(inst, 8),
            M::Vpternlogd => self.of_three(inst, 4, |of| Some(choose(of, imm))),
            M::Vpternlogq => self.of_three(inst, 8, |of| Some(choose(of, imm))),
            _ => false,
        }
    }

    fn of_one(&mut self, inst: &Instruction, size: usize, f: impl Fn(&Vector) -> Option<Vector>) -> bool {
        let lanes = self.lanes(inst, size);
        let Some(result) = f(&self.source(inst, 1, read(inst, lanes))) else { return false };
        self.put(inst, &result, lanes);
        true
    }

    fn of_two(&mut self, inst: &Instruction, size: usize, f: impl Fn(&Vector, &Vector) -> Option<Vector>) -> bool {
        let lanes = self.lanes(inst, size);
        let [a, b] = [1, 2].map(|n| self.source(inst, n, read(inst, lanes)));
        let Some(result) = f(&a, &b) else { return false };
        self.put(inst, &result, lanes);
        true
    }

    /// Runs an instruction of three operands that overwrites the first.
    fn of_three(&mut self, inst: &Instruction, size: usize, f: impl Fn([&Vector; 3]) -> Option<Vector>) -> bool {
        let lanes = self.lanes(inst, size);
        let of = [0, 1, 2].map(|n| self.source(inst, n, lanes));
        let Some(result) = f(of.each_ref()) else { return false };
        self.put(inst, &result, lanes);
        true
    }

    fn each(&mut self, inst: &Instruction, size: usize, f: impl Fn(u64) -> u64) -> bool {
        self.of_one(inst, size, |a| Some(Vector::of(size, |n| f(a.lane(size, n)))))
    }

    fn each_two(&mut self, inst: &Instruction, size: usize, f: impl Fn(u64, u64) -> u64) -> bool {
        self.of_two(inst, size, |a, b| Some(Vector::of(size, |n| f(a.lane(size, n), b.lane(size, n)))))
    }

    /// Shifts all lanes by one count: an immediate, or the lowest element of a vector.
    fn shift_all(&mut self, inst: &Instruction, size: usize) -> bool {
        let by = match inst.op_kind(2) {
            OpKind::Immediate8 => inst.immediate8().into(),
            OpKind::Register => self.vectors[inst.op_register(2).number()].lane(8, 0),
            _ => self.read(self.address(inst), 8),
        };
        self.each(inst, size, |a| shifted(inst, a, by, size))
    }
}

/// Ternary logic: the three operand bits form the index of each result bit in a table of eight bits.
fn choose([a, b, c]: [&Vector; 3], table: u8) -> Vector {
    Vector::of(8, |n| {
        let [a, b, c] = [a, b, c].map(|of| of.lane(8, n));
        let of = |bits: u64, on: bool| if on { bits } else { !bits };
        let places = (0..8u8).filter(|place| table >> place & 1 == 1);
        places.fold(0, |bits, place| bits | of(a, place & 4 != 0) & of(b, place & 2 != 0) & of(c, place & 1 != 0))
    })
}
