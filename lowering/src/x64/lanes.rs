//! Outer-loop vectorization of reductions: each lane is a row.
//!
//! If a point of adjacent rows is in adjacent elements, one vector holds that point of as many rows as there
//! are lanes, and no totals have to be joined across lanes. If the reduction may be combined in any order, a
//! loop combines the points of these rows one after the other. Tree order needs a few more live vectors and
//! is supported for short rows only. Short rows seldom have this layout; a schedule packs them where that
//! pays (`schedule/policy/row_lanes.rs`).

use super::allocate::{Mode, Writer};
use super::asm::{Label, Mem};
use super::batch::Batch;
use super::binding::Binding;
use super::fold::Folding;
use super::machine::{Inst, Segment, Uniform};
use super::nest::stride_offset;
use super::prepared::Prepared;
use super::row_loop::{LIMIT, REMAINING};
use super::rows::INDEX;
use super::select::Row;
use super::select::fold::Accumulator;
use crate::kernel::{Kernel, KernelError, Packing};
use iced_x86::{Code, Register};

/// The stride from a point of packed rows to the next one, in elements.
pub const PITCH: usize = 128;
/// In tree order, rows of more points would need more sets of accumulators than there are.
const MOST_POINTS: usize = 16;
/// In any order, rows of more points are fast enough without packing.
const MOST_POINTS_OF_ANY: u64 = 64;
/// The most sets of accumulators that are live at once, including the new one.
const SETS: usize = 1 + MOST_POINTS.ilog2() as usize;

/// The packing with which rows can be computed in tree order, one in each lane; `None` if this is not
/// supported. It needs enough sets of accumulators. Then leaves have more lanes than these rows have points,
/// so that each point is a lane of its own. The code of a point must be the same for all rows: a lane
/// depends on its row only by the row's elements.
pub fn packing(kernel: &Kernel, rows: &[Row], items: &Segment, (lanes, sets): (usize, usize)) -> Option<Packing> {
    let level = kernel.axes.checked_sub(2)?;
    let alike = |inst: &Inst| match inst {
        Inst::Broadcast { from: Uniform::Counter(counter), .. } => (*counter as usize) < level,
        Inst::Broadcast { from: Uniform::Element(row, _), .. } => !rows[*row as usize].crosses,
        Inst::Broadcast { from: Uniform::Param(_), .. } | Inst::Op(_) | Inst::Load { .. } | Inst::Output { .. } => true,
        Inst::First { .. } | Inst::Call(_) | Inst::SumBytes { .. } | Inst::Store { .. } => false,
    };
    let moving = || rows.iter().filter(|row| row.moves);
    let simple = moving().all(|row| row.parts == 1 && !row.stored && row.size >= 4);
    let fits = simple && moving().any(|row| row.crosses) && sets >= SETS && lanes <= PITCH;
    let packing = Packing { pitch: PITCH as u64, points: MOST_POINTS as u64, rows: lanes as u64, row_nanos: None };
    (fits && items.insts.iter().all(|(inst, _)| alike(inst))).then_some(packing)
}

/// The packing for rows in any order with this number of accumulators. The times of a row without packing
/// are measured on an AMD EPYC (Zen 4).
pub fn packing_of_any(accumulators: usize, lanes: usize) -> Packing {
    let row_nanos = if accumulators > 1 { 28.0 } else { 8.0 };
    Packing { pitch: PITCH as u64, points: MOST_POINTS_OF_ANY, rows: lanes as u64, row_nanos: Some(row_nanos) }
}

/// True if lanes can be rows, with a loop over their points.
pub fn may_lie_beside(rows: &[Row], accumulators: &[Accumulator]) -> bool {
    let mut moving = rows.iter().filter(|row| row.moves);
    moving.clone().all(|row| row.parts == 1 && !row.stored)
        && moving.any(|row| row.crosses)
        && accumulators.iter().all(|accumulator| !accumulator.sums_bytes)
}

impl Writer<'_> {
    /// If the rows along a loop have this layout and any order is allowed, computes them and jumps to
    /// `done`; else continues behind.
    pub fn rows_beside(
        &mut self,
        kernel: &Kernel,
        (fold, batch, beside): (&Folding, &Batch, &Prepared),
        level: usize,
        done: Label,
    ) -> Result<(), KernelError> {
        let otherwise = self.asm.label();
        self.asm.constant(REMAINING, self.schedule.lanes as u64);
        self.asm.rm(Code::Cmp_r64_rm64, REMAINING, Mem::frame(self.places.extents[level]));
        self.asm.jump(Code::Ja_rel32_64, otherwise);
        self.if_rows_begin_beside(kernel, level, otherwise);
        self.lanes_of_rows(kernel, (fold, batch), level, |w| {
            w.neutral(fold, 0..1)?;
            w.asm.rr(Code::Xor_r32_rm32, Register::EBX, Register::EBX);
            let again = w.asm.bound();
            w.bound_segment(beside, Mode::Lanes(0), &fold.binding(&[0], 0))?;
            w.next_bases(kernel, level + 1);
            w.asm.r(Code::Inc_rm64, INDEX);
            w.asm.rm(Code::Cmp_r64_rm64, INDEX, Mem::frame(w.places.extents[level + 1]));
            w.asm.jump(Code::Jb_rel32_64, again);
            w.asm.rr(Code::Xor_r32_rm32, Register::EBX, Register::EBX);
            Ok(())
        })?;
        self.asm.jump(Code::Jmp_rel32_64, done);
        self.asm.bind(otherwise);
        Ok(())
    }

    /// Continues behind if adjacent rows begin at adjacent elements, else jumps to `otherwise`. Leaves the
    /// address of the strides in RDX.
    fn if_rows_begin_beside(&mut self, kernel: &Kernel, level: usize, otherwise: Label) {
        let rdx = Register::RDX;
        self.asm.load(rdx, Mem::frame(self.places.strides));
        for row in self.rows.iter().filter(|row| row.crosses && (row.moves || row.stored)) {
            let stride = Mem::at(rdx, stride_offset(kernel, row.buffer, level));
            self.asm.mi(Code::Cmp_rm64_imm8, stride, row.size as i32);
            self.asm.jump(Code::Jne_rel32_64, otherwise);
        }
    }

    /// Computes all rows, `REMAINING` at a time. `totals` leaves the totals in the first set of
    /// accumulators, one row in each lane.
    fn lanes_of_rows(
        &mut self,
        kernel: &Kernel,
        (fold, batch): (&Folding, &Batch),
        level: usize,
        mut totals: impl FnMut(&mut Self) -> Result<(), KernelError>,
    ) -> Result<(), KernelError> {
        self.asm.store(Mem::frame(batch.rows), REMAINING);
        self.write_masks(&batch.masks);
        self.batches(kernel, (fold, batch), (level, true), |w| {
            totals(w)?;
            for (accumulator, &spot) in fold.accumulators.iter().zip(fold.spots_of(0)) {
                w.get(spot, accumulator.class, Mem::frame(accumulator.total));
            }
            Ok(())
        })
    }

    /// If the rows along a loop are short and have this layout, computes them in tree order and jumps to
    /// `done`; else continues behind.
    pub fn rows_on_lanes(
        &mut self,
        kernel: &Kernel,
        (fold, batch, packing): (&Folding, &Batch, Packing),
        level: usize,
        done: Label,
    ) -> Result<(), KernelError> {
        let (rcx, rdx, otherwise) = (Register::RCX, Register::RDX, self.asm.label());
        self.asm.load(LIMIT, Mem::frame(self.places.extents[level + 1]));
        self.asm.ri(Code::Cmp_rm64_imm8, LIMIT, MOST_POINTS as i32);
        self.asm.jump(Code::Ja_rel32_64, otherwise);
        self.asm.load(rcx, Mem::frame(self.places.extents[level]));
        self.asm.ri(Code::Cmp_rm64_imm8, rcx, packing.rows as i32);
        self.asm.jump(Code::Jb_rel32_64, otherwise);
        self.if_rows_begin_beside(kernel, level, otherwise);
        // A row with a single point has no stride between points.
        let known = self.asm.label();
        self.asm.ri(Code::Cmp_rm64_imm8, LIMIT, 1);
        self.asm.jump(Code::Je_rel32_64, known);
        for row in self.rows.iter().filter(|row| row.moves) {
            let apart = if row.crosses { PITCH * row.size } else { row.size };
            let stride = Mem::at(rdx, stride_offset(kernel, row.buffer, level + 1));
            self.asm.mi(Code::Cmp_rm64_imm32, stride, apart as i32);
            self.asm.jump(Code::Jne_rel32_64, otherwise);
        }
        self.asm.bind(known);
        self.asm.constant(REMAINING, packing.rows);
        self.lanes_of_rows(kernel, (fold, batch), level, |w| {
            w.load_pins(&batch.items)?;
            w.points_on_lanes((fold, batch), (0, 1), 0)
        })?;
        self.asm.jump(Code::Jmp_rel32_64, done);
        self.asm.bind(otherwise);
        Ok(())
    }

    /// Combines the points `first`, `first + apart` and so on in tree order, onto set `set` of the
    /// accumulators. Changes the sets after it as well. The first of these points exists; LIMIT is the
    /// number of points.
    fn points_on_lanes(
        &mut self,
        (fold, batch): (&Folding, &Batch),
        (first, apart): (usize, usize),
        set: usize,
    ) -> Result<(), KernelError> {
        if apart == MOST_POINTS {
            let outputs = fold.spots_of(set).to_vec();
            let binding = Binding { inputs: Vec::new(), outputs, reserved: batch.reserved, merge: false };
            return self.bound_segment(&batch.items, Mode::Lanes(first), &binding);
        }
        self.points_on_lanes((fold, batch), (first, 2 * apart), set)?;
        let single = self.asm.label();
        self.asm.ri(Code::Cmp_rm64_imm8, LIMIT, (first + apart) as i32);
        self.asm.jump(Code::Jbe_rel32_64, single);
        self.points_on_lanes((fold, batch), (first + apart, 2 * apart), set + 1)?;
        let binding = Binding { reserved: batch.reserved, ..fold.binding(&[set, set + 1], set) };
        self.bound_segment(&fold.combine, Mode::Uniform, &binding)?;
        self.asm.bind(single);
        Ok(())
    }
}
