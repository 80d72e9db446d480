//! Bindings: the locations of a segment's inputs and outputs. These are accumulators and carried values,
//! whose locations are the same in all iterations of a loop.

use super::allocate::{File, Writer, at_width, vector_register};
use super::asm::{Mem, Operand};
use super::codes::{self, Form, masked_move};
use super::machine::{Class, V, Width};
use super::rows::TAIL;
use super::unsupported;
use crate::kernel::KernelError;
use iced_x86::{Code, Register};

/// The location of a value between segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// In a vector or mask register, by its number.
    Register(u8),
    /// In the frame.
    Frame(u32),
}

/// The locations for one run of a segment.
#[derive(Clone, Debug, Default)]
pub struct Binding {
    /// The location of each input.
    pub inputs: Vec<Spot>,
    /// The location of each output.
    pub outputs: Vec<Spot>,
    /// Vector and mask registers that the segment must not change, one bit each.
    pub reserved: [u32; 2],
    /// In a masked run, outputs keep their old values in the lanes outside of the mask.
    pub merge: bool,
}

impl Writer<'_> {
    /// Moves the value, which is in register `source`, to the location of the output.
    pub(super) fn output(
        &mut self,
        file: &mut File<'_>,
        number: u32,
        (v, source): (V, Register),
        size: usize,
    ) -> Result<(), KernelError> {
        let spot = *file.binding.outputs.get(number as usize).ok_or_else(|| unsupported("an output to nowhere"))?;
        let (class, merges) = (file.class(v), file.merges() && size > 0);
        match (spot, class) {
            (Spot::Register(to), Class::Vector(width)) => {
                let to = vector_register(width, to);
                if merges {
                    let operands = [Operand::Reg(to), Operand::Reg(source)];
                    self.asm.vector(masked_move(size).code(true, width), &operands, Some((TAIL, false)));
                } else if to != source {
                    self.copy_register(width, to, source);
                }
            }
            (Spot::Frame(at), Class::Vector(width)) if merges => {
                let scratch = self.scratch(width);
                let held = [Operand::Reg(scratch), Operand::Mem(Mem::frame(at))];
                self.asm.vector(codes::MOV_PS_LOAD.code(true, width), &held, None);
                let operands = [Operand::Reg(scratch), Operand::Reg(source)];
                self.asm.vector(masked_move(size).code(true, width), &operands, Some((TAIL, false)));
                self.keep(at, class, scratch);
            }
            (Spot::Frame(at), Class::Mask) if merges => {
                let (new, tail) = (Register::RAX, Register::RDX);
                self.asm.rr(Code::VEX_Kmovq_r64_kr, new, source);
                self.asm.rr(Code::VEX_Kmovq_r64_kr, tail, TAIL);
                self.asm.rr(Code::And_r64_rm64, new, tail);
                self.asm.r(Code::Not_rm64, tail);
                self.asm.rm(Code::And_r64_rm64, tail, Mem::frame(at));
                self.asm.rr(Code::Or_r64_rm64, new, tail);
                self.asm.store(Mem::frame(at), new);
            }
            (Spot::Frame(at), _) => self.keep(at, class, source),
            (Spot::Register(to), Class::Mask) => {
                let to = Register::K0 + u32::from(to);
                if merges {
                    // `to = source & tail | to & !tail`.
                    let not_tail = [to, TAIL, to];
                    self.mask_op(&codes::KANDN, not_tail);
                    self.mask_op(&codes::KAND, [source, source, TAIL]);
                    self.mask_op(&codes::KOR, [to, to, source]);
                } else if to != source {
                    self.asm.rr(Code::VEX_Kmovq_kr_km64, to, source);
                }
            }
        }
        Ok(())
    }

    /// Loads a location from memory.
    pub(super) fn put(&mut self, spot: Spot, class: Class, from: Mem) {
        match (spot, class) {
            (Spot::Frame(at), Class::Mask) => {
                self.asm.load(Register::RAX, from);
                self.asm.store(Mem::frame(at), Register::RAX);
            }
            (_, Class::Vector(width)) => {
                let to = self.in_register(spot, width);
                let code = codes::MOV_PS_LOAD.code(self.evex(), width);
                self.asm.vector(code, &[Operand::Reg(to), Operand::Mem(from)], None);
                self.leave(spot, class, to);
            }
            (Spot::Register(to), Class::Mask) => {
                let operands = [Operand::Reg(Register::K0 + u32::from(to)), Operand::Mem(from)];
                self.asm.vector(Code::VEX_Kmovq_kr_km64, &operands, None);
            }
        }
    }

    fn mask_op(&mut self, form: &Form, operands: [Register; 3]) {
        self.asm.vector(form.code(true, Width::Z), &operands.map(Operand::Reg), None);
    }

    /// Stores a location to memory.
    pub(super) fn get(&mut self, spot: Spot, class: Class, to: Mem) {
        match (spot, class) {
            (Spot::Frame(at), Class::Mask) => {
                self.asm.load(Register::RAX, Mem::frame(at));
                self.asm.store(to, Register::RAX);
            }
            (_, Class::Vector(width)) => {
                let from = self.in_register(spot, width);
                if let Spot::Frame(at) = spot {
                    let code = codes::MOV_PS_LOAD.code(self.evex(), width);
                    self.asm.vector(code, &[Operand::Reg(from), Operand::Mem(Mem::frame(at))], None);
                }
                let code = codes::MOV_PS_STORE.code(self.evex(), width);
                self.asm.vector(code, &[Operand::Mem(to), Operand::Reg(from)], None);
            }
            (Spot::Register(from), Class::Mask) => {
                let operands = [Operand::Mem(to), Operand::Reg(Register::K0 + u32::from(from))];
                self.asm.vector(Code::VEX_Kmovq_m64_kr, &operands, None);
            }
        }
    }

    /// The register of a location, or the scratch register for one in the frame.
    pub(super) fn in_register(&self, spot: Spot, width: Width) -> Register {
        match spot {
            Spot::Register(number) => vector_register(width, number),
            Spot::Frame(_) => self.scratch(width),
        }
    }

    /// Stores the register to a location that is in the frame.
    pub(super) fn leave(&mut self, spot: Spot, class: Class, register: Register) {
        if let (Spot::Frame(at), Class::Vector(width)) = (spot, class) {
            self.keep(at, class, at_width(register, width));
        }
    }
}
