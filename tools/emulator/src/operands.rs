//! Vector operands: registers, memory, and broadcasts of one element of memory, with masks.

use crate::cpu::Cpu;
use iced_x86::{Instruction, MemorySize, OpKind, Register};

/// The contents of a 512-bit register, lowest lane first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Vector(pub [u8; 64]);

impl Vector {
    /// All zeros.
    pub const ZERO: Vector = Vector([0; 64]);

    /// A vector of lanes of `size` bytes.
    pub fn of(size: usize, lane: impl Fn(usize) -> u64) -> Vector {
        let mut vector = Vector::ZERO;
        (0..64 / size).for_each(|n| vector.set_lane(size, n, lane(n)));
        vector
    }

    /// Lane `n`, of `size` bytes.
    pub fn lane(&self, size: usize, n: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&self.0[n * size..][..size]);
        u64::from_le_bytes(bytes)
    }

    /// Sets lane `n`, of `size` bytes.
    pub fn set_lane(&mut self, size: usize, n: usize, value: u64) {
        self.0[n * size..][..size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

/// The lanes of an operand: their size in bytes, their number, and the mask of enabled ones.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    pub size: usize,
    pub count: usize,
    pub on: u64,
}

impl Lanes {
    fn is_on(self, n: usize) -> bool {
        self.on >> n & 1 == 1
    }

    fn all_on(self) -> bool {
        self.on == low(self.count)
    }

    /// The same lanes, all enabled.
    pub fn all(self) -> Lanes {
        Lanes { on: low(self.count), ..self }
    }

    /// The same number of lanes, of another size.
    pub fn sized(self, size: usize) -> Lanes {
        Lanes { size, ..self }
    }
}

/// A mask of the low `bits` bits.
pub fn low(bits: usize) -> u64 {
    if bits < 64 { !(u64::MAX << bits) } else { u64::MAX }
}

/// True if the operand is a vector register.
pub fn is_vector(inst: &Instruction, operand: u32) -> bool {
    inst.op_kind(operand) == OpKind::Register && inst.op_register(operand).is_vector_register()
}

/// True if the operand is a mask register.
pub fn is_mask(inst: &Instruction, operand: u32) -> bool {
    inst.op_kind(operand) == OpKind::Register && inst.op_register(operand).is_k()
}

/// The size of the widest operand in bytes.
fn width(inst: &Instruction) -> usize {
    let of = |n| match inst.op_kind(n) {
        OpKind::Register if is_vector(inst, n) => inst.op_register(n).size(),
        OpKind::Memory => read_width(inst.memory_size()),
        _ => 0,
    };
    (0..inst.op_count()).map(of).max().unwrap_or(0)
}

/// The size in bytes of a memory operand once it is in a register. Broadcasts count only for elements of
/// eight bytes, which are the widest operand of a narrowing instruction.
fn read_width(size: MemorySize) -> usize {
    match size {
        MemorySize::Broadcast128_Float64 | MemorySize::Broadcast128_Int64 | MemorySize::Broadcast128_UInt64 => 16,
        MemorySize::Broadcast256_Float64 | MemorySize::Broadcast256_Int64 | MemorySize::Broadcast256_UInt64 => 32,
        MemorySize::Broadcast512_Float64 | MemorySize::Broadcast512_Int64 | MemorySize::Broadcast512_UInt64 => 64,
        size => size.size(),
    }
}

impl Cpu {
    /// The lanes of an instruction, `size` bytes each.
    pub(crate) fn lanes(&self, inst: &Instruction, size: usize) -> Lanes {
        let count = width(inst) / size;
        let on = match inst.op_mask() {
            Register::None | Register::K0 => u64::MAX,
            mask => self.masks[mask.number()],
        };
        Lanes { size, count, on: on & low(count) }
    }

    /// A source operand. Only enabled lanes are read from memory.
    pub(crate) fn source(&self, inst: &Instruction, operand: u32, lanes: Lanes) -> Vector {
        if is_vector(inst, operand) {
            return self.vectors[inst.op_register(operand).number()];
        }
        let (at, size) = (self.address(inst), lanes.size);
        let mut vector = Vector::ZERO;
        if inst.is_broadcast() {
            let value = if lanes.on == 0 { 0 } else { self.read(at, size) };
            (0..lanes.count).for_each(|n| vector.set_lane(size, n, value));
        } else if lanes.all_on() {
            // SAFETY: the interpreted code reads there.
            unsafe { (at as *const u8).copy_to_nonoverlapping(vector.0.as_mut_ptr(), lanes.count * size) };
        } else {
            for n in (0..lanes.count).filter(|&n| lanes.is_on(n)) {
                vector.set_lane(size, n, self.read(at + (n * size) as u64, size));
            }
        }
        vector
    }

    /// Writes lanes to the first operand. In a register, disabled lanes are kept or zeroed, and bytes
    /// beyond the lanes are zeroed. In memory, only enabled lanes are written.
    pub(crate) fn put(&mut self, inst: &Instruction, vector: &Vector, lanes: Lanes) {
        let (size, bytes) = (lanes.size, lanes.count * lanes.size);
        if is_vector(inst, 0) {
            let register = inst.op_register(0);
            if register.is_zmm() || register.number() >= 16 {
                self.writes_upper();
            }
            let to = &mut self.vectors[register.number()];
            if lanes.all_on() {
                to.0[..bytes].copy_from_slice(&vector.0[..bytes]);
                to.0[bytes..].fill(0);
                return;
            }
            for n in 0..lanes.count {
                if lanes.is_on(n) {
                    to.set_lane(size, n, vector.lane(size, n));
                } else if inst.zeroing_masking() {
                    to.set_lane(size, n, 0);
                }
            }
            to.0[bytes..].fill(0);
            return;
        }
        let at = self.address(inst);
        if lanes.all_on() {
            // SAFETY: the interpreted code writes there.
            unsafe { vector.0.as_ptr().copy_to_nonoverlapping(at as *mut u8, bytes) };
        } else {
            for n in (0..lanes.count).filter(|&n| lanes.is_on(n)) {
                self.write(at + (n * size) as u64, size, vector.lane(size, n));
            }
        }
    }

    /// Sets the mask register that is the first operand.
    pub(crate) fn set_mask(&mut self, inst: &Instruction, mask: u64) {
        self.writes_upper();
        self.masks[inst.op_register(0).number()] = mask;
    }
}
