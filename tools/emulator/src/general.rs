//! Instructions on general registers, jumps and calls.

use crate::cpu::Cpu;
use iced_x86::{ConditionCode, FlowControl, Instruction, Mnemonic, OpKind, Register};

/// The flags, as bits.
pub const CARRY: u64 = 1 << 0;
const PARITY: u64 = 1 << 2;
const AUXILIARY: u64 = 1 << 4;
pub const ZERO: u64 = 1 << 6;
const SIGN: u64 = 1 << 7;
const OVERFLOW: u64 = 1 << 11;
/// The flags that an addition sets.
pub const STATUS: u64 = CARRY | PARITY | AUXILIARY | ZERO | SIGN | OVERFLOW;

/// The number of the stack pointer.
const STACK: usize = 4;

/// `flag` if `on`, otherwise no bits.
fn flag(flag: u64, on: bool) -> u64 {
    if on { flag } else { 0 }
}

/// A mask with all bits of `size` bytes set.
fn whole(size: usize) -> u64 {
    u64::MAX >> (64 - 8 * size as u32)
}

/// Sign-extends the low `size` bytes of a value.
pub fn signed(value: u64, size: usize) -> i64 {
    let above = 64 - 8 * size as u32;
    (value << above) as i64 >> above
}

/// The highest bit of a value of `size` bytes.
fn highest(value: u64, size: usize) -> bool {
    value >> (8 * size - 1) & 1 == 1
}

/// The flags that depend on the result only.
fn of_result(value: u64, size: usize) -> u64 {
    let even = (value as u8).count_ones().is_multiple_of(2);
    flag(PARITY, even) | flag(ZERO, value & whole(size) == 0) | flag(SIGN, highest(value, size))
}

/// The hardware number of a general register.
fn number(register: Register) -> usize {
    register.full_register().number()
}

impl Cpu {
    /// The address of the operand in memory.
    pub fn address(&self, inst: &Instruction) -> u64 {
        let mut at = inst.memory_displacement64();
        if inst.memory_base() != Register::None && !inst.is_ip_rel_memory_operand() {
            at = at.wrapping_add(self.general[number(inst.memory_base())]);
        }
        if inst.memory_index() != Register::None {
            let index = self.general[number(inst.memory_index())];
            at = at.wrapping_add(index.wrapping_mul(inst.memory_index_scale().into()));
        }
        at
    }

    /// Reads up to eight bytes.
    pub fn read(&self, at: u64, size: usize) -> u64 {
        let mut bytes = [0; 8];
        // SAFETY: the interpreted code reads there.
        unsafe { (at as *const u8).copy_to_nonoverlapping(bytes.as_mut_ptr(), size.min(8)) };
        u64::from_le_bytes(bytes)
    }

    /// Writes up to eight bytes.
    pub fn write(&self, at: u64, size: usize, value: u64) {
        let bytes = value.to_le_bytes();
        // SAFETY: the interpreted code writes there.
        unsafe { bytes.as_ptr().copy_to_nonoverlapping(at as *mut u8, size.min(8)) };
    }

    /// The size of an operand in bytes.
    fn size(inst: &Instruction, operand: u32) -> usize {
        match inst.op_kind(operand) {
            OpKind::Register => inst.op_register(operand).size(),
            OpKind::Memory => inst.memory_size().size(),
            _ if operand == 0 => 8,
            _ => Cpu::size(inst, 0),
        }
    }

    /// The value of an operand: a general register, memory or an immediate.
    pub fn operand(&self, inst: &Instruction, operand: u32) -> u64 {
        match inst.op_kind(operand) {
            OpKind::Register => {
                let register = inst.op_register(operand);
                self.general[number(register)] & whole(register.size())
            }
            OpKind::Memory => self.read(self.address(inst), inst.memory_size().size()),
            _ => inst.immediate(operand),
        }
    }

    /// Sets an operand that is a general register or memory.
    pub fn set_operand(&mut self, inst: &Instruction, operand: u32, value: u64) {
        if inst.op_kind(operand) == OpKind::Memory {
            return self.write(self.address(inst), inst.memory_size().size(), value);
        }
        let register = inst.op_register(operand);
        let to = &mut self.general[number(register)];
        *to = match register.size() {
            8 => value,
            // A 32-bit write clears the upper half.
            4 => value & whole(4),
            size => *to & !whole(size) | value & whole(size),
        };
    }

    /// Sets some flags.
    pub fn set_flags(&mut self, which: u64, flags: u64) {
        self.flags = self.flags & !which | flags & which;
    }

    /// `a + b + carry`, with flags.
    fn add(&mut self, [a, b]: [u64; 2], carry: u64, size: usize, which: u64) -> u64 {
        let (a, b) = (a & whole(size), b & whole(size));
        let sum = u128::from(a) + u128::from(b) + u128::from(carry);
        let result = sum as u64 & whole(size);
        let flags = of_result(result, size)
            | flag(CARRY, sum > u128::from(whole(size)))
            | flag(OVERFLOW, highest((a ^ result) & (b ^ result), size))
            | flag(AUXILIARY, (a ^ b ^ result) & 16 != 0);
        self.set_flags(which, flags);
        result
    }

    /// `a - b - borrow`, with flags.
    fn subtract(&mut self, [a, b]: [u64; 2], borrow: u64, size: usize, which: u64) -> u64 {
        let (a, b) = (a & whole(size), b & whole(size));
        let result = a.wrapping_sub(b).wrapping_sub(borrow) & whole(size);
        let flags = of_result(result, size)
            | flag(CARRY, u128::from(a) < u128::from(b) + u128::from(borrow))
            | flag(OVERFLOW, highest((a ^ b) & (a ^ result), size))
            | flag(AUXILIARY, (a ^ b ^ result) & 16 != 0);
        self.set_flags(which, flags);
        result
    }

    fn holds(&self, condition: ConditionCode) -> bool {
        let any = |flags: u64| self.flags & flags != 0;
        let less = any(SIGN) != any(OVERFLOW);
        match condition {
            ConditionCode::None => true,
            ConditionCode::o => any(OVERFLOW),
            ConditionCode::no => !any(OVERFLOW),
            ConditionCode::b => any(CARRY),
            ConditionCode::ae => !any(CARRY),
            ConditionCode::e => any(ZERO),
            ConditionCode::ne => !any(ZERO),
            ConditionCode::be => any(CARRY | ZERO),
            ConditionCode::a => !any(CARRY | ZERO),
            ConditionCode::s => any(SIGN),
            ConditionCode::ns => !any(SIGN),
            ConditionCode::p => any(PARITY),
            ConditionCode::np => !any(PARITY),
            ConditionCode::l => less,
            ConditionCode::ge => !less,
            ConditionCode::le => less || any(ZERO),
            ConditionCode::g => !less && !any(ZERO),
        }
    }

    fn push(&mut self, value: u64) {
        self.general[STACK] -= 8;
        self.write(self.general[STACK], 8, value);
    }

    fn pop(&mut self) -> u64 {
        let value = self.read(self.general[STACK], 8);
        self.general[STACK] += 8;
        value
    }

    /// The target of a jump or call.
    fn target(&self, inst: &Instruction) -> u64 {
        match inst.op_kind(0) {
            OpKind::Register | OpKind::Memory => self.operand(inst, 0),
            _ => inst.near_branch_target(),
        }
    }

    /// Runs an instruction on general registers; false if it isn't known.
    pub(crate) fn general(&mut self, inst: &Instruction) -> bool {
        // Not emulated: high-byte registers, registers other than general ones, and 32-bit addresses.
        let second = [Register::AH, Register::BH, Register::CH, Register::DH];
        let is_known = |register: Register| register.is_gpr() && !second.contains(&register);
        if (0..inst.op_count()).any(|n| inst.op_kind(n) == OpKind::Register && !is_known(inst.op_register(n)))
            || inst.memory_base().is_gpr32()
            || inst.memory_index().is_gpr32()
        {
            return false;
        }
        use Mnemonic as M;
        match inst.mnemonic() {
            M::Nop
            | M::Endbr64
            | M::Sfence
            | M::Prefetcht0
            | M::Prefetcht1
            | M::Prefetcht2
            | M::Prefetchnta
            | M::Prefetchw => {}
            M::Mov | M::Movzx => self.set_operand(inst, 0, self.operand(inst, 1)),
            M::Movsx | M::Movsxd => {
                let value = signed(self.operand(inst, 1), Cpu::size(inst, 1));
                self.set_operand(inst, 0, value as u64);
            }
            M::Lea => self.set_operand(inst, 0, self.address(inst)),
            M::Push => self.push(self.operand(inst, 0)),
            M::Pop => {
                let value = self.pop();
                self.set_operand(inst, 0, value);
            }
            M::Jmp => self.rip = self.target(inst),
            M::Call => {
                let target = self.target(inst);
                self.push(inst.next_ip());
                self.rip = target;
            }
            M::Ret if inst.op_count() == 0 => self.rip = self.pop(),
            M::Add | M::Adc | M::Sub | M::Sbb | M::Cmp | M::Inc | M::Dec | M::Neg => self.sum(inst),
            M::And | M::Or | M::Xor | M::Test | M::Not => self.logic(inst),
            M::Imul if inst.op_count() > 1 => self.multiply(inst),
            M::Shl | M::Shr | M::Sar | M::Shlx | M::Shrx | M::Sarx => self.shift(inst),
            M::Tzcnt | M::Lzcnt | M::Popcnt | M::Bzhi => self.bits(inst),
            _ => return self.conditional(inst),
        }
        true
    }

    fn sum(&mut self, inst: &Instruction) {
        use Mnemonic as M;
        let size = Cpu::size(inst, 0);
        let a = self.operand(inst, 0);
        let b = if inst.op_count() > 1 { self.operand(inst, 1) } else { 1 };
        let carry = self.flags & CARRY;
        let result = match inst.mnemonic() {
            M::Add => self.add([a, b], 0, size, STATUS),
            M::Adc => self.add([a, b], carry, size, STATUS),
            M::Inc => self.add([a, 1], 0, size, STATUS & !CARRY),
            M::Dec => self.subtract([a, 1], 0, size, STATUS & !CARRY),
            M::Neg => self.subtract([0, a], 0, size, STATUS),
            M::Sbb => self.subtract([a, b], carry, size, STATUS),
            _ => self.subtract([a, b], 0, size, STATUS),
        };
        if inst.mnemonic() != M::Cmp {
            self.set_operand(inst, 0, result);
        }
    }

    fn logic(&mut self, inst: &Instruction) {
        use Mnemonic as M;
        let a = self.operand(inst, 0);
        if inst.mnemonic() == M::Not {
            return self.set_operand(inst, 0, !a);
        }
        let b = self.operand(inst, 1);
        let result = match inst.mnemonic() {
            M::Or => a | b,
            M::Xor => a ^ b,
            _ => a & b,
        };
        if inst.mnemonic() != M::Test {
            self.set_operand(inst, 0, result);
        }
        self.set_flags(STATUS, of_result(result, Cpu::size(inst, 0)));
    }

    fn multiply(&mut self, inst: &Instruction) {
        let size = Cpu::size(inst, 0);
        let factors = if inst.op_count() == 2 { [0, 1] } else { [1, 2] };
        let [a, b] = factors.map(|n| i128::from(signed(self.operand(inst, n), size)));
        let result = (a * b) as u64 & whole(size);
        let lost = i128::from(signed(result, size)) != a * b;
        self.set_operand(inst, 0, result);
        self.set_flags(STATUS, flag(CARRY | OVERFLOW, lost));
    }

    fn shift(&mut self, inst: &Instruction) {
        use Mnemonic as M;
        let size = Cpu::size(inst, 0);
        let keeps_flags = inst.op_count() == 3;
        let [a, count] = if keeps_flags { [1, 2] } else { [0, 1] }.map(|n| self.operand(inst, n));
        let count = count as u32 & if size == 8 { 63 } else { 31 };
        let wide = i128::from(if matches!(inst.mnemonic(), M::Sar | M::Sarx) { signed(a, size) } else { a as i64 });
        let wide = if matches!(inst.mnemonic(), M::Shr | M::Shrx) { wide & i128::from(u64::MAX) } else { wide };
        let left = matches!(inst.mnemonic(), M::Shl | M::Shlx);
        let result = if left { wide << count } else { wide >> count } as u64 & whole(size);
        self.set_operand(inst, 0, result);
        if count > 0 && !keeps_flags {
            let carry = if left { wide << count >> (8 * size) } else { wide >> (count - 1) } & 1 == 1;
            let overflow = match inst.mnemonic() {
                M::Shl => highest(result, size) != carry,
                M::Shr => highest(a, size),
                _ => false,
            };
            self.set_flags(STATUS, of_result(result, size) | flag(CARRY, carry) | flag(OVERFLOW, overflow));
        }
    }

    fn bits(&mut self, inst: &Instruction) {
        use Mnemonic as M;
        let size = Cpu::size(inst, 0);
        let width = 8 * size as u32;
        let a = self.operand(inst, 1);
        let (result, which, flags) = match inst.mnemonic() {
            M::Popcnt => (a.count_ones().into(), STATUS, flag(ZERO, a == 0)),
            M::Bzhi => {
                let from = self.operand(inst, 2) as u8;
                let kept = if u32::from(from) < width { a & !(u64::MAX << from) } else { a };
                let over = flag(CARRY, u32::from(from) >= width);
                (kept, STATUS, of_result(kept, size) & (ZERO | SIGN) | over)
            }
            counted => {
                let count =
                    if counted == M::Tzcnt { a.trailing_zeros().min(width) } else { a.leading_zeros() - (64 - width) };
                (count.into(), CARRY | ZERO, flag(CARRY, a == 0) | flag(ZERO, count == 0))
            }
        };
        self.set_operand(inst, 0, result);
        self.set_flags(which, flags);
    }

    /// Conditional jumps, moves and sets.
    fn conditional(&mut self, inst: &Instruction) -> bool {
        let condition = inst.condition_code();
        let holds = self.holds(condition);
        match (inst.flow_control(), inst.op_count()) {
            _ if condition == ConditionCode::None => return false,
            (FlowControl::ConditionalBranch, _) if holds => self.rip = inst.near_branch_target(),
            (FlowControl::ConditionalBranch, _) => {}
            (_, 1) => self.set_operand(inst, 0, holds.into()),
            _ => {
                // A conditional move reads its source even if the condition is false.
                let [kept, moved] = [0, 1].map(|n| self.operand(inst, n));
                self.set_operand(inst, 0, if holds { moved } else { kept });
            }
        }
        true
    }
}
