//! Rows shorter than a round, as those of many small matrices: a loop over them with their addresses and
//! their number in registers, and one mask for the last points of all. The general path computes the pieces,
//! rounds and masks of each row.

use super::ahead::asks;
use super::allocate::{Mode, Writer};
use super::asm::{Label, Mem};
use super::machine::{Inst, Uniform};
use super::nest::stride_offset;
use super::prepared::Prepared;
use super::row_loop::{LIMIT, REMAINING};
use super::rows::INDEX;
use super::select::Row;
use crate::kernel::{Kernel, KernelError};
use iced_x86::{Code, Register};
use std::slice::from_ref;

impl Writer<'_> {
    /// Writes a loop over rows: `around` is computed for each row before its points. If the rows have fewer
    /// points than a round and none is copied, it computes all of them and jumps to `done`, with the pointers
    /// past the last row. Kernels that store or call functions outside of the innermost loop have none, nor
    /// those that store one row in all iterations.
    pub(super) fn short_rows(
        &mut self,
        kernel: &Kernel,
        (around, points): (&Prepared, &Prepared),
        level: usize,
        done: Label,
    ) -> Result<(), KernelError> {
        // A row that is stored again and again is loaded sooner after the store, which delays the load.
        let is_unfit = |row: &Row| row.stored && !(row.moves && kernel.buffers[row.buffer as usize].varies[level]);
        if around.segment.calls() || self.rows.iter().any(is_unfit) {
            return Ok(());
        }
        let other = self.asm.label();
        self.asm.mi(Code::Cmp_rm64_imm8, Mem::frame(self.places.at_once), 0);
        self.asm.jump(Code::Je_rel32_64, other);
        let lanes = self.schedule.lanes as i32;
        self.asm.load(REMAINING, Mem::frame(self.places.extents[level + 1]));
        self.asm.ri(Code::Cmp_rm64_imm32, REMAINING, self.schedule.points().max(lanes as usize + 1) as i32);
        self.asm.jump(Code::Jae_rel32_64, other);
        // The masked group has 1 to `lanes` points.
        self.asm.rm(Code::Lea_r64_m, Register::RAX, Mem::at(REMAINING, -1));
        self.asm.ri(Code::And_rm64_imm32, Register::RAX, -lanes);
        self.asm.store(Mem::frame(self.places.whole), Register::RAX);
        self.asm.rr(Code::Sub_r64_rm64, REMAINING, Register::RAX);
        self.mask();

        // Elements outside of the innermost loop are at registers, too, while these last.
        let bases = self.places.bases.clone();
        let mut free = self.free_bases(points.segment.calls());
        for (n, row) in self.rows.iter().enumerate() {
            if !row.moves && kernel.buffers[row.buffer as usize].varies[level] {
                self.places.bases[n] = free.next();
            }
            let base = self.places.bases[n].unwrap_or(Register::RAX);
            self.asm.load(base, Mem::frame(self.places.pointers[n]));
            self.asm.store(Mem::frame(self.places.base_words[n]), base);
        }
        let extent = Mem::frame(self.places.extents[level]);
        self.asm.load(LIMIT, extent);
        let again = self.asm.bound();
        self.at_bases = true;
        self.segment(around, Mode::Uniform)?;
        self.load_pins(points)?;
        self.points_of_short_row(points)?;
        self.at_bases = false;
        self.asm.load(Register::RAX, Mem::frame(self.places.strides));
        for (n, row) in self.rows.iter().enumerate() {
            if kernel.buffers[row.buffer as usize].varies[level] {
                let stride = Mem::at(Register::RAX, stride_offset(kernel, row.buffer, level));
                match self.places.bases[n] {
                    Some(base) => self.asm.rm(Code::Add_r64_rm64, base, stride),
                    None => {
                        self.asm.load(Register::RDX, stride);
                        self.asm.mr(Code::Add_rm64_r64, Mem::frame(self.places.base_words[n]), Register::RDX);
                    }
                }
            }
        }
        if [around, points].iter().any(|part| names_counter(part, level)) {
            self.asm.load(Register::RAX, Mem::frame(self.places.counters[level]));
            self.asm.r(Code::Inc_rm64, Register::RAX);
            self.asm.store(Mem::frame(self.places.counters[level]), Register::RAX);
        }
        self.asm.r(Code::Dec_rm64, LIMIT);
        self.asm.jump(Code::Jne_rel32_64, again);
        self.places.bases = bases;
        self.asm.load(REMAINING, extent);
        self.advance(kernel, level, Some(REMAINING));
        self.asm.jump(Code::Jmp_rel32_64, done);
        self.asm.bind(other);
        Ok(())
    }

    /// Writes whole groups of a short row, and its last points under a mask.
    fn points_of_short_row(&mut self, points: &Prepared) -> Result<(), KernelError> {
        let asks =
            if self.evex() { asks(self.rows, from_ref(points), self.places.pieces).concat() } else { Vec::new() };
        let (whole, last) = (Mem::frame(self.places.whole), self.asm.label());
        self.asm.rr(Code::Xor_r32_rm32, Register::EBX, Register::EBX);
        self.asm.mi(Code::Cmp_rm64_imm8, whole, 0);
        self.asm.jump(Code::Je_rel32_64, last);
        let group = self.asm.bound();
        self.multiple = None;
        asks.iter().for_each(|&ask| self.ask(ask, 0));
        self.segment(points, Mode::Group(0))?;
        self.asm.ri(Code::Add_rm64_imm32, INDEX, self.schedule.lanes as i32);
        self.asm.rm(Code::Cmp_r64_rm64, INDEX, whole);
        self.asm.jump(Code::Jb_rel32_64, group);
        if points.segment.calls() && self.evex() {
            self.load_mask(self.places.tail.points);
        }
        self.asm.bind(last);
        self.multiple = None;
        asks.iter().for_each(|&ask| self.ask(ask, 0));
        self.segment(points, Mode::Masked)?;
        Ok(())
    }

    /// The registers for addresses that no row has.
    fn free_bases(&self, calls: bool) -> impl Iterator<Item = Register> + use<> {
        use Register::{R8, R9, R10, R13, R14, R15, RDI, RSI};
        let used = self.places.bases.clone();
        let all = [R13, R14, R15, RSI, RDI, R8, R9, R10].into_iter().take(if calls { 3 } else { 8 });
        all.filter(move |register| !used.contains(&Some(*register)))
    }
}

/// True if instructions use the index of a loop.
fn names_counter(part: &Prepared, level: usize) -> bool {
    let names =
        |inst: &Inst| matches!(inst, Inst::Broadcast { from: Uniform::Counter(axis), .. } if *axis as usize == level);
    part.segment.insts.iter().any(|(inst, _)| names(inst))
}
