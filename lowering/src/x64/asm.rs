//! The assembler: appends encoded instructions, and resolves labels.

use super::unsupported;
use crate::kernel::KernelError;
use iced_x86::{Code, Encoder, IcedError, Instruction, MemoryOperand, OpKind, Register};

/// A memory operand.
#[derive(Clone, Copy, Debug)]
pub struct Mem {
    pub base: Register,
    /// The index register and its scale.
    pub index: Option<(Register, u32)>,
    pub offset: i64,
    /// True if one element is broadcast to all lanes.
    pub repeated: bool,
}

impl Mem {
    /// The memory at a base register plus an offset.
    pub fn at(base: Register, offset: i64) -> Mem {
        Mem { base, index: None, offset, repeated: false }
    }
    /// The memory at an offset in the frame.
    pub fn frame(offset: u32) -> Mem {
        Mem::at(Register::RSP, i64::from(offset))
    }
    /// The memory `offset` bytes further on.
    pub fn plus(self, offset: i64) -> Mem {
        Mem { offset: self.offset + offset, ..self }
    }
}

impl From<Mem> for MemoryOperand {
    fn from(mem: Mem) -> Self {
        let (index, scale) = mem.index.unwrap_or((Register::None, 1));
        let size = if mem.offset == 0 { 0 } else { 1 };
        MemoryOperand::new(mem.base, index, scale, mem.offset, size, mem.repeated, Register::None)
    }
}

/// An operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    Reg(Register),
    Mem(Mem),
    Imm(u8),
}

/// A position in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

/// Code that is being written. Addresses are relative to the start of the constants, which precede the code.
pub struct Asm {
    encoder: Encoder,
    start: u64,
    at: u64,
    /// The address of each label, once it is bound.
    labels: Vec<Option<u64>>,
    /// Jumps whose distances are to be filled in: the address after the jump, and its target.
    jumps: Vec<(u64, Label)>,
    failed: Option<IcedError>,
}

impl Asm {
    /// Code that begins at this address.
    pub fn new(start: u64) -> Asm {
        Asm { encoder: Encoder::new(64), start, at: start, labels: Vec::new(), jumps: Vec::new(), failed: None }
    }
    /// The address of the next instruction.
    pub fn here(&self) -> u64 {
        self.at
    }
    /// Appends an instruction.
    pub fn put(&mut self, inst: &Instruction) {
        match self.encoder.encode(inst, self.at) {
            Ok(len) => self.at += len as u64,
            Err(why) => self.failed = self.failed.take().or(Some(why)),
        }
    }
    fn put_made(&mut self, inst: Result<Instruction, IcedError>) {
        match inst {
            Ok(inst) => self.put(&inst),
            Err(why) => self.failed = self.failed.take().or(Some(why)),
        }
    }
    /// Appends a vector or mask instruction. The flag says whether lanes outside of the mask become zero or
    /// are kept.
    pub fn vector(&mut self, code: Code, operands: &[Operand], mask: Option<(Register, bool)>) {
        let mut inst = Instruction::default();
        inst.set_code(code);
        for (n, operand) in (0..).zip(operands) {
            match *operand {
                Operand::Reg(register) => {
                    inst.set_op_kind(n, OpKind::Register);
                    inst.set_op_register(n, register);
                }
                Operand::Imm(imm) => {
                    inst.set_op_kind(n, OpKind::Immediate8);
                    inst.set_immediate8(imm);
                }
                Operand::Mem(mem) => {
                    let (index, scale) = mem.index.unwrap_or((Register::None, 1));
                    inst.set_op_kind(n, OpKind::Memory);
                    inst.set_memory_base(mem.base);
                    inst.set_memory_index(index);
                    inst.set_memory_index_scale(scale);
                    inst.set_memory_displacement64(mem.offset as u64);
                    inst.set_memory_displ_size(if mem.offset == 0 { 0 } else { 1 });
                    inst.set_is_broadcast(mem.repeated);
                }
            }
        }
        if let Some((register, zeroing)) = mask {
            inst.set_op_mask(register);
            inst.set_zeroing_masking(zeroing);
        }
        self.put(&inst);
    }
    /// An instruction on two general registers.
    pub fn rr(&mut self, code: Code, a: Register, b: Register) {
        self.put_made(Instruction::with2(code, a, b));
    }
    /// An instruction on three general registers.
    pub fn rrr(&mut self, code: Code, a: Register, b: Register, c: Register) {
        self.put_made(Instruction::with3(code, a, b, c));
    }
    /// An instruction on a general register and an immediate.
    pub fn ri(&mut self, code: Code, a: Register, imm: i32) {
        self.put_made(Instruction::with2(code, a, imm));
    }
    /// An instruction on two general registers and an immediate.
    pub fn rri(&mut self, code: Code, a: Register, b: Register, imm: i32) {
        self.put_made(Instruction::with3(code, a, b, imm));
    }
    /// An instruction on one general register.
    pub fn r(&mut self, code: Code, a: Register) {
        self.put_made(Instruction::with1(code, a));
    }
    /// An instruction on memory.
    pub fn m(&mut self, code: Code, mem: Mem) {
        self.put_made(Instruction::with1(code, MemoryOperand::from(mem)));
    }
    /// An instruction on a general register and memory.
    pub fn rm(&mut self, code: Code, a: Register, mem: Mem) {
        self.put_made(Instruction::with2(code, a, MemoryOperand::from(mem)));
    }
    /// An instruction on memory and a general register.
    pub fn mr(&mut self, code: Code, mem: Mem, a: Register) {
        self.put_made(Instruction::with2(code, MemoryOperand::from(mem), a));
    }
    /// An instruction on memory and an immediate.
    pub fn mi(&mut self, code: Code, mem: Mem, imm: i32) {
        self.put_made(Instruction::with2(code, MemoryOperand::from(mem), imm));
    }
    /// An instruction without operands.
    pub fn plain(&mut self, code: Code) {
        self.put(&Instruction::with(code));
    }
    /// Loads a 64-bit register.
    pub fn load(&mut self, to: Register, from: Mem) {
        self.rm(Code::Mov_r64_rm64, to, from);
    }
    /// Stores a 64-bit register.
    pub fn store(&mut self, to: Mem, from: Register) {
        self.mr(Code::Mov_rm64_r64, to, from);
    }
    /// Loads a constant into a 64-bit register.
    pub fn constant(&mut self, to: Register, value: u64) {
        match i32::try_from(value as i64) {
            Ok(small) => self.ri(Code::Mov_rm64_imm32, to, small),
            Err(_) => self.put_made(Instruction::with2(Code::Mov_r64_imm64, to, value)),
        }
    }
    /// Makes an unbound label.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }
    /// Binds a label to the current address.
    pub fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.at);
    }
    /// Makes a label that is bound to the current address.
    pub fn bound(&mut self) -> Label {
        let label = self.label();
        self.bind(label);
        label
    }
    /// Jumps to a label, with a 32-bit distance.
    pub fn jump(&mut self, code: Code, to: Label) {
        self.put_made(Instruction::with_branch(code, self.at));
        self.jumps.push((self.at, to));
    }
    /// Resolves all jumps, and returns the code.
    pub fn finish(mut self) -> Result<Vec<u8>, KernelError> {
        if let Some(why) = self.failed {
            return Err(unsupported(format!("an instruction can't be encoded: {why}")));
        }
        let mut code = self.encoder.take_buffer();
        for (end, label) in self.jumps {
            let target = self.labels[label.0].ok_or_else(|| unsupported("a jump to nowhere"))?;
            let distance = i32::try_from(target as i64 - end as i64).map_err(unsupported)?;
            let end = (end - self.start) as usize;
            code[end - 4..end].copy_from_slice(&distance.to_le_bytes());
        }
        Ok(code)
    }
}
