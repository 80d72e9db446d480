//! The innermost loop.

use super::allocate::{Mode, Prepared, Writer};
use super::asm::{Mem, Operand};
use super::codes;
use super::machine::Width;
use super::rows::{INDEX, TAIL};
use crate::kernel::{Kernel, KernelError};
use iced_x86::{Code, Register};

/// The number of points, less a round while there are whole rounds.
const LIMIT: Register = Register::R12;

impl Writer<'_> {
    /// All points of a row: in one piece, or, where rows are copied, in pieces as large as the copies.
    pub fn row(&mut self, kernel: &Kernel, inner: &Prepared) -> Result<(), KernelError> {
        let (rax, rcx) = (Register::RAX, Register::RCX);
        self.asm.mi(Code::Mov_rm64_imm32, Mem::frame(self.places.start), 0);
        let again = self.asm.bound();
        match kernel.axes.checked_sub(1) {
            Some(axis) => self.asm.load(rcx, Mem::frame(self.places.extents[axis])),
            None => self.asm.constant(rcx, 1),
        }
        self.asm.rm(Code::Sub_r64_rm64, rcx, Mem::frame(self.places.start));
        self.asm.load(rax, Mem::frame(self.places.most));
        self.asm.rr(Code::Cmp_r64_rm64, rcx, rax);
        self.asm.rr(Code::Cmova_r64_rm64, rcx, rax);
        self.asm.store(Mem::frame(self.places.count), rcx);
        self.bases();
        self.points(inner)?;
        self.copy_back();
        let Some(axis) = kernel.axes.checked_sub(1) else { return Ok(()) };
        self.asm.load(rax, Mem::frame(self.places.start));
        self.asm.rm(Code::Add_r64_rm64, rax, Mem::frame(self.places.count));
        self.asm.store(Mem::frame(self.places.start), rax);
        self.asm.rm(Code::Cmp_r64_rm64, rax, Mem::frame(self.places.extents[axis]));
        self.asm.jump(Code::Jb_rel32_64, again);
        Ok(())
    }

    /// The address of the first element of the piece in RDX. Changes RAX.
    fn piece_address(&mut self, row: usize) {
        self.asm.load(Register::RDX, Mem::frame(self.places.start));
        self.asm.rm(Code::Imul_r64_rm64, Register::RDX, Mem::frame(self.places.steps[row]));
        self.asm.rm(Code::Add_r64_rm64, Register::RDX, Mem::frame(self.places.pointers[row]));
    }

    /// Copies what has to be copied, and finds the elements of each row.
    fn bases(&mut self) {
        for (n, row) in self.rows.iter().enumerate().filter(|(_, row)| row.moves) {
            self.piece_address(n);
            let adjacent = self.asm.label();
            self.asm.mi(Code::Cmp_rm64_imm8, Mem::frame(self.places.copied[n]), 0);
            self.asm.jump(Code::Je_rel32_64, adjacent);
            let copy = Mem::frame(self.places.copies[n]);
            if row.loaded {
                self.asm.rr(Code::Mov_r64_rm64, Register::RSI, Register::RDX);
                self.asm.rm(Code::Lea_r64_m, Register::RDI, copy);
                self.asm.load(Register::R8, Mem::frame(self.places.steps[n]));
                self.asm.constant(Register::R9, row.size as u64);
                self.copy(row.size);
            }
            self.asm.rm(Code::Lea_r64_m, Register::RDX, copy);
            self.asm.bind(adjacent);
            self.asm.store(Mem::frame(self.places.base_words[n]), Register::RDX);
        }
        for n in 0..self.rows.len() {
            if let Some(base) = self.places.bases[n] {
                self.asm.load(base, Mem::frame(self.places.base_words[n]));
            }
        }
    }

    /// Copies the results of rows that are not adjacent to where they belong.
    fn copy_back(&mut self) {
        for (n, row) in self.rows.iter().enumerate().filter(|(_, row)| row.moves && row.stored) {
            let adjacent = self.asm.label();
            self.asm.mi(Code::Cmp_rm64_imm8, Mem::frame(self.places.copied[n]), 0);
            self.asm.jump(Code::Je_rel32_64, adjacent);
            self.piece_address(n);
            self.asm.rr(Code::Mov_r64_rm64, Register::RDI, Register::RDX);
            self.asm.rm(Code::Lea_r64_m, Register::RSI, Mem::frame(self.places.copies[n]));
            self.asm.constant(Register::R8, row.size as u64);
            self.asm.load(Register::R9, Mem::frame(self.places.steps[n]));
            self.copy(row.size);
            self.asm.bind(adjacent);
        }
    }

    /// Copies the piece's elements from RSI on, R8 apart, to RDI on, R9 apart. Changes these, RAX and RCX.
    fn copy(&mut self, size: usize) {
        self.asm.load(Register::RCX, Mem::frame(self.places.count));
        let again = self.asm.bound();
        self.move_element(size, Mem::at(Register::RSI, 0), Mem::at(Register::RDI, 0));
        self.asm.rr(Code::Add_r64_rm64, Register::RSI, Register::R8);
        self.asm.rr(Code::Add_r64_rm64, Register::RDI, Register::R9);
        self.asm.r(Code::Dec_rm64, Register::RCX);
        self.asm.jump(Code::Jne_rel32_64, again);
    }

    /// The points of the piece: rounds of whole groups, then masked groups.
    fn points(&mut self, inner: &Prepared) -> Result<(), KernelError> {
        let points = self.schedule.points() as i32;
        let (last, done) = (self.asm.label(), self.asm.label());
        self.load_pins(inner)?;
        self.asm.rr(Code::Xor_r32_rm32, Register::EBX, Register::EBX);
        self.asm.load(LIMIT, Mem::frame(self.places.count));
        self.asm.ri(Code::Cmp_rm64_imm32, LIMIT, points);
        self.asm.jump(Code::Jb_rel32_64, last);
        self.asm.ri(Code::Sub_rm64_imm32, LIMIT, points);
        let round = self.asm.bound();
        for group in 0..self.schedule.groups {
            self.segment(inner, Mode::Group(group))?;
        }
        self.asm.ri(Code::Add_rm64_imm32, INDEX, points);
        self.asm.rr(Code::Cmp_r64_rm64, INDEX, LIMIT);
        self.asm.jump(Code::Jbe_rel32_64, round);
        self.asm.ri(Code::Add_rm64_imm32, LIMIT, points);
        self.asm.rr(Code::Cmp_r64_rm64, INDEX, LIMIT);
        self.asm.jump(Code::Je_rel32_64, done);
        self.asm.bind(last);
        self.mask();
        self.segment(inner, Mode::Masked)?;
        self.asm.ri(Code::Add_rm64_imm32, INDEX, self.schedule.lanes as i32);
        self.asm.rr(Code::Cmp_r64_rm64, INDEX, LIMIT);
        self.asm.jump(Code::Jb_rel32_64, last);
        self.asm.bind(done);
        Ok(())
    }

    /// The mask of the points that remain, at most one group.
    fn mask(&mut self) {
        let (rax, rcx) = (Register::RAX, Register::RCX);
        self.asm.rr(Code::Mov_r64_rm64, rcx, LIMIT);
        self.asm.rr(Code::Sub_r64_rm64, rcx, INDEX);
        self.asm.constant(rax, self.schedule.lanes as u64);
        self.asm.rr(Code::Cmp_r64_rm64, rcx, rax);
        self.asm.rr(Code::Cmova_r64_rm64, rcx, rax);
        self.asm.store(Mem::frame(self.places.remaining), rcx);
        if self.evex() {
            self.asm.constant(rax, u64::MAX);
            self.asm.rrr(Code::VEX_Bzhi_r64_rm64_r64, rax, rax, rcx);
            self.asm.rr(Code::VEX_Kmovq_kr_r64, TAIL, rax);
            self.asm.mr(Code::Mov_rm64_r64, Mem::frame(self.places.tail), rax);
            return;
        }
        let tables = [
            (self.places.flags4, &codes::BROADCAST_D, &codes::CMPGT_D),
            (self.places.flags8, &codes::BROADCAST_Q, &codes::CMPGT_Q),
        ];
        let (low, flags) = (self.scratch(Width::X), self.scratch(Width::Y));
        for (flag, repeat, greater) in tables {
            let Some((at, steps)) = flag else { continue };
            self.asm.rr(Code::VEX_Vmovq_xmm_rm64, low, rcx);
            self.asm.vector(repeat.code(false, Width::Y), &[Operand::Reg(flags), Operand::Reg(low)], None);
            let steps = Operand::Mem(Mem::at(Register::RIP, i64::from(steps)));
            self.asm.vector(greater.code(false, Width::Y), &[Operand::Reg(flags), Operand::Reg(flags), steps], None);
            let to = Operand::Mem(Mem::frame(at));
            self.asm.vector(codes::MOV_PS_STORE.code(false, Width::Y), &[to, Operand::Reg(flags)], None);
        }
    }
}
