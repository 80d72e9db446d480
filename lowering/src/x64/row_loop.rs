//! The innermost loop.

use super::ahead::{Ask, asks, asks_for_written};
use super::allocate::{Mode, Writer};
use super::asm::{Label, Mem};
use super::binding::Binding;
use super::machine::Inst;
use super::prepared::Prepared;
use super::rows::{INDEX, MOST_SCALE};
use super::select::Row;
use super::together::MASKS;
use crate::kernel::{Kernel, KernelError};
use iced_x86::{Code, Register};

/// The number of points, less a round during rounds. In a leaf, the row's index at the leaf's end, less a
/// round.
pub const LIMIT: Register = Register::R12;
/// The number of points of the next masked group.
pub const REMAINING: Register = Register::RCX;
/// The number of rounds from which a row is long.
const LONG: i32 = 8;
/// The most instructions of a round of the last points, which is worth its compilation if rows are short.
const MOST_TAIL: usize = 512;

impl Writer<'_> {
    /// Computes all points of a row: in one piece, or, if rows are copied or there are stages, in pieces for
    /// which the frame has room.
    pub fn row(&mut self, kernel: &Kernel, stages: &[Prepared]) -> Result<(), KernelError> {
        let asks =
            if self.evex() { asks(self.rows, stages, self.places.pieces) } else { vec![Vec::new(); stages.len()] };
        self.pieces(kernel.axes.checked_sub(1), |w| {
            stages.iter().zip(&asks).try_for_each(|(stage, asks)| w.points(stage, asks))?;
            w.copy_back();
            Ok(())
        })
    }

    /// Runs `piece` on the pieces of a row along an axis, or on a single point. Rows of one piece without
    /// copies take a short path, because there may be many short rows.
    pub fn pieces(
        &mut self,
        axis: Option<usize>,
        mut piece: impl FnMut(&mut Self) -> Result<(), KernelError>,
    ) -> Result<(), KernelError> {
        let (rax, rcx) = (Register::RAX, Register::RCX);
        let (there, done) = (self.asm.label(), self.asm.label());
        if axis.is_some() {
            let several = self.asm.label();
            self.asm.mi(Code::Cmp_rm64_imm8, Mem::frame(self.places.at_once), 0);
            self.asm.jump(Code::Je_rel32_64, several);
            self.bases_of_rows();
            self.asm.jump(Code::Jmp_rel32_64, there);
            self.asm.bind(several);
        }
        self.asm.mi(Code::Mov_rm64_imm32, Mem::frame(self.places.start), 0);
        let again = self.asm.bound();
        match axis {
            Some(axis) => self.asm.load(rcx, Mem::frame(self.places.extents[axis])),
            None => self.asm.constant(rcx, 1),
        }
        self.asm.rm(Code::Sub_r64_rm64, rcx, Mem::frame(self.places.start));
        self.asm.load(rax, Mem::frame(self.places.most));
        self.asm.rr(Code::Cmp_r64_rm64, rcx, rax);
        self.asm.rr(Code::Cmova_r64_rm64, rcx, rax);
        self.asm.store(Mem::frame(self.places.count), rcx);
        self.bases();
        self.asm.bind(there);
        piece(self)?;
        let Some(axis) = axis else { return Ok(()) };
        self.asm.mi(Code::Cmp_rm64_imm8, Mem::frame(self.places.at_once), 0);
        self.asm.jump(Code::Jne_rel32_64, done);
        self.asm.load(rax, Mem::frame(self.places.start));
        self.asm.rm(Code::Add_r64_rm64, rax, Mem::frame(self.places.count));
        self.asm.store(Mem::frame(self.places.start), rax);
        self.asm.rm(Code::Cmp_r64_rm64, rax, Mem::frame(self.places.extents[axis]));
        self.asm.jump(Code::Jb_rel32_64, again);
        self.asm.bind(done);
        Ok(())
    }

    /// Loads the addresses of the elements, for rows of one piece without copies.
    fn bases_of_rows(&mut self) {
        for (n, _) in self.rows.iter().enumerate().filter(|(_, row)| row.moves) {
            let base = self.places.bases[n].unwrap_or(Register::RAX);
            self.asm.load(base, Mem::frame(self.places.pointers[n]));
            self.asm.store(Mem::frame(self.places.base_words[n]), base);
        }
    }

    /// Loads RDX with the address of the first element of the piece. Changes RAX.
    pub fn piece_address(&mut self, row: usize) {
        self.asm.load(Register::RDX, Mem::frame(self.places.start));
        self.asm.rm(Code::Imul_r64_rm64, Register::RDX, Mem::frame(self.places.steps[row]));
        self.asm.rm(Code::Add_r64_rm64, Register::RDX, Mem::frame(self.places.pointers[row]));
    }

    /// Copies the rows that have to be copied, and sets the address of each row's elements.
    pub fn bases(&mut self) {
        for (n, row) in self.rows.iter().enumerate().filter(|(_, row)| row.moves) {
            self.piece_address(n);
            if row.interleaved {
                self.asm.store(Mem::frame(self.places.base_words[n]), Register::RDX);
                continue;
            }
            let adjacent = self.asm.label();
            self.asm.mi(Code::Cmp_rm64_imm8, Mem::frame(self.places.copied[n]), 0);
            self.asm.jump(Code::Je_rel32_64, adjacent);
            let copy = Mem::frame(self.places.copies[n]);
            if row.loaded {
                self.asm.rr(Code::Mov_r64_rm64, Register::RSI, Register::RDX);
                self.asm.rm(Code::Lea_r64_m, Register::RDI, copy);
                self.asm.load(Register::R8, Mem::frame(self.places.steps[n]));
                self.asm.constant(Register::R9, row.size as u64);
                self.copy(row.size, true);
            }
            self.asm.rm(Code::Lea_r64_m, Register::RDX, copy);
            self.asm.bind(adjacent);
            self.asm.store(Mem::frame(self.places.base_words[n]), Register::RDX);
        }
        self.load_bases();
    }

    /// Loads the base registers.
    pub fn load_bases(&mut self) {
        for n in 0..self.rows.len() {
            if let Some(base) = self.places.bases[n] {
                self.asm.load(base, Mem::frame(self.places.base_words[n]));
            }
        }
    }

    /// Copies results back to rows whose elements are not adjacent.
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
            self.copy(row.size, false);
            self.asm.bind(adjacent);
        }
    }

    /// Computes the points of the piece: rounds of whole groups, then masked groups. If groups are
    /// interleaved to hide latencies, the last points are a round, too, with a mask for each group. A long
    /// piece also begins with a masked group (loop peeling), after which the elements of one row are aligned:
    /// none of its vectors then crosses a cache line.
    fn points(&mut self, inner: &Prepared, asks: &[Ask]) -> Result<(), KernelError> {
        let points = self.schedule.points() as i32;
        let (rest, masked, done) = (self.asm.label(), self.asm.label(), self.asm.label());
        self.load_pins(inner)?;
        self.asm.rr(Code::Xor_r32_rm32, Register::EBX, Register::EBX);
        self.asm.load(LIMIT, Mem::frame(self.places.count));
        if let Some(row) = self.row_to_align() {
            self.asm.ri(Code::Cmp_rm64_imm32, LIMIT, LONG * points);
            self.asm.jump(Code::Jb_rel32_64, rest);
            self.points_to_alignment(row);
            self.asm.jump(Code::Jne_rel32_64, masked);
        }
        self.asm.jump(Code::Jmp_rel32_64, rest);
        let rounds = self.asm.bound();
        if self.schedule.streams {
            let plain = self.asm.label();
            self.unless_streamable(plain);
            self.streaming = true;
            // Lines that are written by streaming stores are not prefetched.
            let reads: Vec<Ask> = asks.iter().copied().filter(|ask| self.schedule.stages > 1 && !ask.written).collect();
            self.rounds(inner, &reads)?;
            self.streaming = false;
            self.asm.jump(Code::Jmp_rel32_64, rest);
            self.asm.bind(plain);
        }
        let unasked = self.asm.label();
        let bytes: usize = self.rows.iter().filter(|row| row.moves).map(|row| row.size).sum();
        if !asks.is_empty() && self.schedule.stages <= 1 {
            let (from, to) = asks_for_written(bytes);
            self.asm.rm(Code::Lea_r64_m, Register::RAX, Mem::at(LIMIT, -i64::from(from)));
            self.asm.ri(Code::Cmp_rm64_imm32, Register::RAX, to - from);
            self.asm.jump(Code::Jae_rel32_64, unasked);
        }
        self.rounds(inner, asks)?;
        if !asks.is_empty() && self.schedule.stages <= 1 {
            self.asm.jump(Code::Jmp_rel32_64, rest);
            self.asm.bind(unasked);
            self.rounds(inner, &[])?;
        }
        self.asm.bind(rest);
        self.remaining(done, rounds);
        if let Some(groups) = inner.together.as_deref().filter(|groups| self.has_tail(groups)) {
            self.tail_round(groups, rest)?;
        }
        self.at_most_a_group();
        self.asm.bind(masked);
        self.mask();
        self.segment(inner, Mode::Masked)?;
        self.asm.rm(Code::Add_r64_rm64, INDEX, Mem::frame(self.places.remaining));
        self.asm.jump(Code::Jmp_rel32_64, rest);
        self.asm.bind(done);
        Ok(())
    }

    /// Computes the number of remaining points. Jumps to `done` if there are none, and to `rounds` if there
    /// are enough for a round.
    pub(super) fn remaining(&mut self, done: Label, rounds: Label) {
        self.asm.rr(Code::Mov_r64_rm64, REMAINING, LIMIT);
        self.asm.rr(Code::Sub_r64_rm64, REMAINING, INDEX);
        self.asm.jump(Code::Je_rel32_64, done);
        self.asm.ri(Code::Cmp_rm64_imm32, REMAINING, self.schedule.points() as i32);
        self.asm.jump(if self.ends_masked() { Code::Ja_rel32_64 } else { Code::Jae_rel32_64 }, rounds);
    }

    /// True if the last points of a row are always masked: parts of the last element may not exist.
    fn ends_masked(&self) -> bool {
        self.rows.iter().any(|row| row.missing > 0)
    }

    /// Rounds of whole groups, as long as there are enough points.
    fn rounds(&mut self, inner: &Prepared, asks: &[Ask]) -> Result<(), KernelError> {
        let points = self.schedule.points() as i32;
        self.asm.ri(Code::Sub_rm64_imm32, LIMIT, points);
        let round = self.asm.bound();
        self.multiple = None;
        let at_once = inner.together.as_deref().unwrap_or(inner);
        for first in (0..self.schedule.groups).step_by(at_once.groups) {
            (first..first + at_once.groups).for_each(|group| asks.iter().for_each(|&ask| self.ask(ask, group)));
            self.segment(at_once, Mode::Group(first))?;
        }
        self.asm.ri(Code::Add_rm64_imm32, INDEX, points);
        self.asm.rr(Code::Cmp_r64_rm64, INDEX, LIMIT);
        self.asm.jump(if self.ends_masked() { Code::Jb_rel32_64 } else { Code::Jbe_rel32_64 }, round);
        self.asm.ri(Code::Add_rm64_imm32, LIMIT, points);
        Ok(())
    }

    /// True if the last points are computed by a round of interleaved groups, each under a mask.
    fn has_tail(&self, groups: &Prepared) -> bool {
        let calls = |(inst, _): &(Inst, u32)| matches!(inst, Inst::Call(_) | Inst::SumBytes { .. });
        self.evex()
            && groups.segment.insts.len() <= MOST_TAIL
            && groups.groups * self.schedule.lanes <= 64
            && groups.most_live[1] + groups.groups <= MASKS + 1
            && self.rows.iter().all(|row| row.parts == 1)
            && !groups.segment.insts.iter().any(calls)
    }

    /// If the last points are more than a group, computes a round of them, and jumps to `rest`.
    fn tail_round(&mut self, groups: &Prepared, rest: Label) -> Result<(), KernelError> {
        let few = self.asm.label();
        self.asm.ri(Code::Cmp_rm64_imm32, REMAINING, self.schedule.lanes as i32);
        self.asm.jump(Code::Jbe_rel32_64, few);
        let points = (groups.groups * self.schedule.lanes) as u64;
        self.asm.constant(Register::RAX, points);
        self.asm.rr(Code::Cmp_r64_rm64, REMAINING, Register::RAX);
        self.asm.rr(Code::Cmova_r64_rm64, REMAINING, Register::RAX);
        self.asm.store(Mem::frame(self.places.remaining), REMAINING);
        self.tails(groups.groups);
        let masks = (0..groups.groups as u32).map(|group| 1 << (7 - group)).sum();
        self.bound_segment(groups, Mode::Tail(0), &Binding { reserved: [0, masks], ..Binding::default() })?;
        self.asm.rm(Code::Add_r64_rm64, INDEX, Mem::frame(self.places.remaining));
        self.asm.jump(Code::Jmp_rel32_64, rest);
        self.asm.bind(few);
        Ok(())
    }

    /// Jumps to `plain` if a result that would be streamed is copied to its row later, or is not aligned at
    /// the next point. Changes RAX.
    fn unless_streamable(&mut self, plain: Label) {
        for (n, row) in self.rows.iter().enumerate() {
            if !(row.stored && self.schedule.streams_size(row.lane())) {
                continue;
            }
            self.asm.mi(Code::Cmp_rm64_imm8, Mem::frame(self.places.copied[n]), 0);
            self.asm.jump(Code::Jne_rel32_64, plain);
            self.asm.load(Register::RAX, Mem::frame(self.places.base_words[n]));
            let scale = row.size.min(MOST_SCALE);
            let next = Mem { index: Some((INDEX, scale as u32)), ..Mem::at(Register::RAX, 0) };
            (0..row.size / scale).for_each(|_| self.asm.rm(Code::Lea_r64_m, Register::RAX, next));
            self.asm.ri(Code::Test_rm64_imm32, Register::RAX, (row.lane() * self.schedule.lanes) as i32 - 1);
            self.asm.jump(Code::Jne_rel32_64, plain);
        }
    }

    /// The row whose vectors are aligned: among the streamed rows, or else among all rows, one with the
    /// largest elements, and a result rather than an operand.
    fn row_to_align(&self) -> Option<usize> {
        if self.schedule.stages > 1 {
            // Rows between stages are aligned from the first point of a piece on.
            return None;
        }
        let streamed = |row: &Row| row.stored && self.schedule.streams_size(row.lane());
        let rows = self.rows.iter().enumerate().filter(|(_, row)| row.moves && (self.evex() || row.size >= 4));
        let rows = rows.filter(|(_, row)| !row.interleaved);
        let best = rows.max_by_key(|(_, row)| (streamed(row), row.size, row.stored));
        best.map(|(number, _)| number)
    }

    /// The number of points before a row's elements are aligned to vectors, in `REMAINING`; the zero flag
    /// tells whether it is 0.
    fn points_to_alignment(&mut self, row: usize) {
        let (size, lane) = (self.rows[row].size, self.rows[row].lane());
        self.asm.load(REMAINING, Mem::frame(self.places.base_words[row]));
        self.asm.r(Code::Neg_rm64, REMAINING);
        self.asm.ri(Code::And_rm64_imm32, REMAINING, (lane * self.schedule.lanes) as i32 - 1);
        self.asm.ri(Code::Shr_rm64_imm8, REMAINING, size.trailing_zeros() as i32);
        self.asm.rr(Code::Test_rm64_r64, REMAINING, REMAINING);
    }

    /// Limits the remaining points to the number of lanes.
    fn at_most_a_group(&mut self) {
        self.asm.constant(Register::RAX, self.schedule.lanes as u64);
        self.asm.rr(Code::Cmp_r64_rm64, REMAINING, Register::RAX);
        self.asm.rr(Code::Cmova_r64_rm64, REMAINING, Register::RAX);
    }

    /// Takes the next group from the remaining points, and makes its mask.
    pub fn one_group(&mut self) {
        self.at_most_a_group();
        self.mask();
    }
}
