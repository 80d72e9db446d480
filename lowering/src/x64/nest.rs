//! The function of a kernel: prologue, setup for each call, and the loops around the innermost one.

use super::allocate::{Mode, Writer};
use super::asm::{Label, Mem};
use super::fold::Folding;
use super::frame::Frame;
use super::helpers::{MOST, STRIDE};
use super::interleaved::Guard;
use super::masks::{Flags, Masks};
use super::pieces::Pieces;
use super::pool::Pool;
use super::prepared::Prepared;
use super::round_plan::RoundPlan;
use super::select::Row;
use super::steps::{Stepping, shifted};
use super::unsupported;
use crate::kernel::{Kernel, KernelArgs, KernelError, Part};
use iced_x86::{Code, Register};
use std::mem::offset_of;

/// Kernels with greater frames are refused.
const MOST_FRAME: u32 = 1 << 20;
/// The prologue touches the stack at this distance, in order, so that it does not skip a guard page.
const PAGE: i32 = 4096;

/// Frame offsets, and the registers of base addresses.
pub struct Places {
    /// Addresses from the arguments.
    pub strides: u32,
    pub params: u32,
    /// For each axis its extent, and the index of the current point.
    pub extents: Vec<u32>,
    pub counters: Vec<u32>,
    /// For each row, the address of its element at the current point of the outer loops.
    pub pointers: Vec<u32>,
    /// For each row, the stride along the innermost axis, and whether its elements are copied.
    pub steps: Vec<u32>,
    pub copied: Vec<u32>,
    /// For each row, the address of the elements of the present piece, and the register that also holds it.
    pub base_words: Vec<u32>,
    pub bases: Vec<Option<Register>>,
    /// True if the addresses of elements include the index; else the bases are advanced instead.
    pub indexed: bool,
    /// For each row, whether addresses of its elements in steps include [`OFFSET`](super::steps::OFFSET).
    pub shifted: Vec<bool>,
    /// For each row, the area for copies of a piece's elements.
    pub copies: Vec<u32>,
    /// For each row between stages, the offset of its elements in the frame, and the bytes of one.
    pub between: Vec<(u32, usize)>,
    /// The sizes of pieces, and the most points of a piece in this call.
    pub pieces: Pieces,
    pub most: u32,
    /// Nonzero if each row is one piece, and none is copied. Then the start and the number of points of a
    /// piece do not change.
    pub at_once: u32,
    /// The first point of the piece, and the number of its points. Rows with tree order are one piece that
    /// begins at 0; their index continues from leaf to leaf.
    pub start: u32,
    pub count: u32,
    /// The number of points of a masked group, and its masks.
    pub remaining: u32,
    pub tail: Masks,
    /// The number of points in whole groups of a [short row](super::short_rows).
    pub whole: u32,
    /// The masks with AVX2.
    pub flags: Vec<Flags>,
    /// An area for the elements of 1 or 2 bytes of a masked group.
    pub small: u32,
    /// The operands of helpers, and their results.
    pub args: u32,
    pub result: u32,
}

impl Places {
    /// Allocates the frame of a kernel with these rows and these element sizes of rows between stages.
    /// `calls` says whether its innermost loop calls functions.
    pub fn new(
        kernel: &Kernel,
        (rows, between): (&[Row], &[usize]),
        (schedule, pieces): (RoundPlan, Pieces),
        calls: bool,
        frame: &mut Frame,
        pool: &mut Pool,
    ) -> Places {
        let vector = schedule.level.register_bytes();
        let elements = |frame: &mut Frame, bytes: usize| frame.place(bytes.max(64));
        // Kernels with steps compute the points one by one instead.
        let is_copied = |row: &Row| row.moves && !row.interleaved && kernel.steps.is_none();
        let flags = match schedule.level.is_evex() {
            true => Vec::new(),
            false => Flags::new((rows, between), frame, pool),
        };
        Places {
            strides: frame.place(8),
            params: frame.place(8),
            extents: frame.words(kernel.axes),
            counters: frame.words(kernel.axes),
            pointers: frame.words(rows.len()),
            steps: frame.words(rows.len()),
            copied: frame.words(rows.len()),
            base_words: frame.words(rows.len()),
            bases: base_registers(kernel, rows, calls, schedule.level.is_evex()),
            indexed: kernel.steps.is_none(),
            shifted: shifted(kernel, rows, calls, schedule.level.is_evex()),
            copies: rows
                .iter()
                .map(|r| if is_copied(r) { elements(frame, pieces.copied * r.size) } else { 0 })
                .collect(),
            between: between.iter().map(|&size| (elements(frame, pieces.points * size), size)).collect(),
            pieces,
            most: frame.place(8),
            at_once: frame.place(8),
            start: frame.place(8),
            count: frame.place(8),
            remaining: frame.place(8),
            tail: Masks::new(rows, frame),
            whole: frame.place(8),
            flags,
            small: frame.place(vector),
            args: frame.place(MOST * STRIDE),
            result: frame.place(STRIDE),
        }
    }
}

/// Assigns base registers to rows, while registers last: to the rows that move along the vector axis, or
/// with steps to those that move from step to step. With calls, only callee-saved registers are used.
fn base_registers(kernel: &Kernel, rows: &[Row], calls: bool, evex: bool) -> Vec<Option<Register>> {
    use Register::{R8, R9, R10, R11, R13, R14, R15, RBX, RDI, RSI};
    let kept = [R13, R14, R15];
    let others = [RSI, RDI, R8, R9, R10].into_iter().filter(|_| !calls);
    // With steps, the registers of the index are free. With AVX2, copies of small elements use R11.
    let steps = kernel.steps.is_some();
    let index = [(RBX, steps), (R11, steps && evex && !calls)].into_iter().filter(|(_, free)| *free);
    let mut free = others.chain(kept).chain(index.map(|(register, _)| register));
    let moves = |row: &Row| match kernel.steps {
        Some(_) => kernel.buffers[row.buffer as usize].varies[kernel.axes - 1],
        None => row.moves,
    };
    rows.iter().map(|row| if moves(row) { free.next() } else { None }).collect()
}

/// The callee-saved registers, besides RBP.
const KEPT: [Register; 5] = [Register::RBX, Register::R12, Register::R13, Register::R14, Register::R15];

impl Writer<'_> {
    /// Writes the function; returns the address of its entry.
    pub fn kernel(
        &mut self,
        kernel: &Kernel,
        levels: &[Prepared],
        (folding, stepping): (Option<&Folding>, Option<&Stepping>),
        guard: Option<&Guard<'_>>,
    ) -> Result<u64, KernelError> {
        // The size of the frame is known only after the body, so the entry is at the end.
        let (body, exit) = (self.asm.bound(), self.asm.label());
        self.arguments(kernel, exit);
        self.level(kernel, (levels, folding, stepping), 0)?;
        self.asm.bind(exit);
        self.asm.plain(Code::VEX_Vzeroupper);
        self.asm.rm(Code::Lea_r64_m, Register::RSP, Mem::at(Register::RBP, -8 * KEPT.len() as i64));
        KEPT.iter().rev().for_each(|&r| self.asm.r(Code::Pop_r64, r));
        self.asm.r(Code::Pop_r64, Register::RBP);
        self.asm.plain(Code::Retnq);
        self.cold_calls()?;
        self.copy_routines();
        let entry = self.asm.here();
        if let Some(guard) = guard {
            self.guard(kernel, guard);
        }
        self.entry(body)?;
        Ok(entry)
    }

    fn entry(&mut self, body: Label) -> Result<(), KernelError> {
        let size = self.frame.size();
        if size > MOST_FRAME {
            return Err(unsupported(format!("its frame would have {size} bytes")));
        }
        self.marks.push((self.asm.here(), u32::MAX));
        let asm = &mut self.asm;
        asm.r(Code::Push_r64, Register::RBP);
        asm.rr(Code::Mov_r64_rm64, Register::RBP, Register::RSP);
        KEPT.iter().for_each(|&r| asm.r(Code::Push_r64, r));
        let mut left = size as i32;
        while left > PAGE {
            asm.ri(Code::Sub_rm64_imm32, Register::RSP, PAGE);
            asm.mr(Code::Test_rm64_r64, Mem::at(Register::RSP, 0), Register::RSP);
            left -= PAGE;
        }
        asm.ri(Code::Sub_rm64_imm32, Register::RSP, left);
        asm.ri(Code::And_rm64_imm8, Register::RSP, -64);
        asm.jump(Code::Jmp_rel32_64, body);
        Ok(())
    }

    /// Copies the arguments to the frame. `RDI` is their address.
    fn arguments(&mut self, kernel: &Kernel, exit: Label) {
        let args = Register::RDI;
        let field = |offset: usize| Mem::at(args, offset as i64);
        let (rax, rcx, rdx) = (Register::RAX, Register::RCX, Register::RDX);
        // If the extent of an axis other than the steps' is 0, nothing runs, not even the levels outside of
        // that loop: their operands need not exist.
        self.asm.load(rcx, field(offset_of!(KernelArgs, extents)));
        for axis in 0..kernel.axes {
            self.asm.load(rax, Mem::at(rcx, 8 * axis as i64));
            if axis < kernel.lanes_level() as usize {
                self.asm.rr(Code::Test_rm64_r64, rax, rax);
                self.asm.jump(Code::Je_rel32_64, exit);
            }
            self.asm.store(Mem::frame(self.places.extents[axis]), rax);
        }
        self.asm.load(rax, field(offset_of!(KernelArgs, params)));
        self.asm.store(Mem::frame(self.places.params), rax);
        self.asm.load(rdx, field(offset_of!(KernelArgs, strides)));
        self.asm.store(Mem::frame(self.places.strides), rdx);
        self.asm.load(rcx, field(offset_of!(KernelArgs, pointers)));
        for (n, row) in self.rows.iter().enumerate() {
            self.asm.load(rax, Mem::at(rcx, 8 * i64::from(row.buffer)));
            if row.part == Part::Im {
                self.asm.ri(Code::Add_rm64_imm8, rax, row.size as i32);
            }
            self.asm.store(Mem::frame(self.places.pointers[n]), rax);
        }
        self.steps(kernel);
    }

    /// Finds the rows to be copied: those whose elements are not adjacent, unless the row has only one.
    /// `RDX` is the address of the strides.
    fn steps(&mut self, kernel: &Kernel) {
        let (rax, rcx, r8, r9) = (Register::RAX, Register::RCX, Register::R8, Register::R9);
        let Some(inner) = kernel.vector_axis() else {
            for n in 0..self.rows.len() {
                self.asm.mi(Code::Mov_rm64_imm32, Mem::frame(self.places.copied[n]), 0);
                self.asm.mi(Code::Mov_rm64_imm32, Mem::frame(self.places.steps[n]), 0);
            }
            self.asm.mi(Code::Mov_rm64_imm32, Mem::frame(self.places.most), 1);
            return;
        };
        // R9: the most points of a piece.
        self.asm.load(r8, Mem::frame(self.places.extents[inner]));
        if self.schedule.stages > 1 {
            self.asm.constant(r9, self.places.pieces.points as u64);
        } else {
            self.asm.rr(Code::Mov_r64_rm64, r9, r8);
        }
        let r10 = Register::R10;
        self.asm.constant(r10, 1);
        for (n, row) in self.rows.iter().enumerate().filter(|(_, row)| row.moves) {
            let varies = kernel.buffers[row.buffer as usize].varies[inner];
            if varies {
                self.asm.load(rax, Mem::at(Register::RDX, stride_offset(kernel, row.buffer, inner)));
            } else {
                self.asm.constant(rax, 0);
            }
            self.asm.store(Mem::frame(self.places.steps[n]), rax);
            if row.interleaved {
                self.asm.mi(Code::Mov_rm64_imm32, Mem::frame(self.places.copied[n]), 0);
                continue;
            }
            let (adjacent, known) = (self.asm.label(), self.asm.label());
            self.asm.ri(Code::Cmp_rm64_imm8, rax, row.size as i32);
            self.asm.jump(Code::Je_rel32_64, adjacent);
            self.asm.ri(Code::Cmp_rm64_imm8, r8, 1);
            self.asm.jump(Code::Je_rel32_64, adjacent);
            self.asm.constant(rcx, 1);
            self.asm.constant(r10, 0);
            self.asm.constant(r9, self.places.pieces.copied as u64);
            self.asm.jump(Code::Jmp_rel32_64, known);
            self.asm.bind(adjacent);
            self.asm.constant(rcx, 0);
            self.asm.bind(known);
            self.asm.store(Mem::frame(self.places.copied[n]), rcx);
        }
        self.asm.store(Mem::frame(self.places.most), r9);
        self.asm.constant(rax, 0);
        self.asm.rr(Code::Cmp_r64_rm64, r8, r9);
        self.asm.rr(Code::Cmova_r64_rm64, r10, rax);
        self.asm.store(Mem::frame(self.places.at_once), r10);
        self.asm.store(Mem::frame(self.places.start), rax);
        self.asm.store(Mem::frame(self.places.count), r8);
    }

    /// Writes a level's instructions and the loop inside of it.
    fn level(
        &mut self,
        kernel: &Kernel,
        (levels, folding, stepping): (&[Prepared], Option<&Folding>, Option<&Stepping>),
        level: usize,
    ) -> Result<(), KernelError> {
        if level == kernel.axes {
            return self.row(kernel, &levels[level..]);
        }
        self.segment(&levels[level], Mode::Uniform)?;
        if let Some(stepping) = stepping.filter(|_| Some(level) == kernel.vector_axis()) {
            return self.vector_points(kernel, stepping, level);
        }
        if level + 1 == kernel.axes {
            return match folding {
                Some(folding) => self.fold_row(folding, level),
                None => self.row(kernel, &levels[level + 1..]),
            };
        }
        let (rax, rcx) = (Register::RAX, Register::RCX);
        let (counter, extent) = (Mem::frame(self.places.counters[level]), Mem::frame(self.places.extents[level]));
        self.asm.mi(Code::Mov_rm64_imm32, counter, 0);
        let done = self.asm.label();
        if let Some(folding) = folding.filter(|folding| folding.batch.is_some() && level + 2 == kernel.axes) {
            self.several_rows(kernel, folding, level)?;
            self.asm.load(rax, counter);
            self.asm.rm(Code::Cmp_r64_rm64, rax, extent);
            self.asm.jump(Code::Jae_rel32_64, done);
        }
        if let (None, [around, points]) = (folding, &levels[level + 1..])
            && level + 2 == kernel.axes
        {
            self.short_rows(kernel, (around, points), level, done)?;
        }
        let again = self.asm.bound();
        self.level(kernel, (levels, folding, stepping), level + 1)?;
        self.advance(kernel, level, None);
        self.asm.load(rax, counter);
        self.asm.r(Code::Inc_rm64, rax);
        self.asm.store(counter, rax);
        self.asm.rm(Code::Cmp_r64_rm64, rax, extent);
        self.asm.jump(Code::Jb_rel32_64, again);
        self.asm.bind(done);
        // Moves the pointers back to the first element.
        self.asm.load(rcx, extent);
        self.asm.r(Code::Neg_rm64, rcx);
        self.advance(kernel, level, Some(rcx));
        Ok(())
    }

    /// Advances the pointers of rows by one iteration of a loop, or by the number in a register. Changes RAX.
    pub(super) fn advance(&mut self, kernel: &Kernel, level: usize, iterations: Option<Register>) {
        let rax = Register::RAX;
        let moving = |row: &Row| kernel.buffers[row.buffer as usize].varies[level];
        for (n, row) in self.rows.iter().enumerate().filter(|(_, row)| moving(row)) {
            self.asm.load(rax, Mem::frame(self.places.strides));
            self.asm.load(rax, Mem::at(rax, stride_offset(kernel, row.buffer, level)));
            if let Some(iterations) = iterations {
                self.asm.rr(Code::Imul_r64_rm64, rax, iterations);
            }
            self.asm.mr(Code::Add_rm64_r64, Mem::frame(self.places.pointers[n]), rax);
        }
    }
}

/// The offset of a stride in the array of strides of a call.
pub fn stride_offset(kernel: &Kernel, buffer: u32, axis: usize) -> i64 {
    8 * (buffer as i64 * kernel.axes as i64 + axis as i64)
}
