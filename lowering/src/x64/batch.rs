//! Reduction of several rows at once.
//!
//! The points of a row that is not long are combined quickly; joining its lanes and the epilogue take as long
//! or longer. Here as many rows as there are lanes are each combined to a vector. A reduction tree across
//! these vectors then leaves the total of each row in its own lane, so that the epilogue runs once for all
//! rows. The order of combination is that of a single row.
//!
//! Rows of up to a round have code of their own for each number of groups. Longer rows are rounds and a rest
//! of masked groups. In tree order, they are at most a part: leaves combined lane by lane.
//!
//! The last batch of short rows overlaps the one before it and computes some rows again; long rows that are
//! left are computed one by one. If there are fewer rows than lanes, the stores of the other lanes are
//! masked.

use super::allocate::{Mode, Writer, vector_register};
use super::asm::{Label, Mem, Operand};
use super::binding::{Binding, Spot};
use super::codes;
use super::fold::Folding;
use super::frame::Frame;
use super::machine::{Inst, Segment, Uniform, Width};
use super::masks::Masks;
use super::nest::stride_offset;
use super::prepared::Prepared;
use super::row_loop::{LIMIT, REMAINING};
use super::rows::INDEX;
use super::select::Row;
use super::select::fold::SeveralRows;
use crate::kernel::{Kernel, KernelError, Packing};
use iced_x86::{Code, Register};

/// Rows whose points take more instructions do not gain from batches.
const SHORT: usize = 24;
/// Fewer rows are computed one after the other.
const LEAST_ROWS: i32 = 2;
/// The most registers for elements that are the same for all rows.
const MOST_HELD: usize = 4;
/// The bytes of a vector, and the shift that multiplies by them.
const VECTOR: i32 = 64;
const VECTOR_BITS: i32 = 6;

/// The length of the rows of a batch.
#[derive(Clone, Copy)]
enum Length {
    /// Up to a round: `used` of `groups` groups, the last of which may be masked.
    Groups { groups: usize, used: usize, masked: bool },
    /// A round of this many groups, or several rounds, and a rest.
    Rounds { groups: usize },
}

/// The code that joins the vectors of rows.
struct Across {
    join: Prepared,
    /// By accumulator, the frame offset of the first row's vector.
    parts: Vec<u32>,
}

/// How several rows are computed at once.
pub struct Batch {
    across: Option<Across>,
    /// The code for one point of adjacent rows, one row in each lane.
    pub(super) beside: Option<Prepared>,
    /// The points of a group, with constants in registers.
    pub(super) items: Prepared,
    pub(super) reserved: [u32; 2],
    /// Registers for elements that are the same for all rows.
    held: Vec<u8>,
    /// The frame offsets of the number of rows of a batch and of the bytes of their vectors, and the masks
    /// of their lanes.
    pub(super) rows: u32,
    bytes: u32,
    /// The frame offsets of the points of a long row, of those after its rounds, of the last index at which a
    /// round can begin, and of the present row's offset while it is computed.
    points: u32,
    rest: u32,
    whole: u32,
    row: u32,
    pub(super) masks: Masks,
    /// The layout in which the kernel prefers its elements.
    pub packing: Option<Packing>,
}

impl Batch {
    /// Prepares the code for several rows at once; see
    /// [`Selector::across`](super::select::Selector::across).
    pub fn new(
        (several, rows_of): (SeveralRows, &[Row]),
        items: &Segment,
        registers: usize,
        mut reserved: [u32; 2],
        frame: &mut Frame,
    ) -> Batch {
        let first = registers - (registers / 3).min(MOST_HELD);
        let mut items = Prepared::new(items.clone());
        items.pin(first);
        let held: Vec<u8> = (first as u8..registers as u8).collect();
        reserved[0] |= items.pinned() | held.iter().fold(0, |bits, register| bits | 1 << register);
        let [rows, bytes, points, rest, whole, row] = [(); 6].map(|()| frame.place(8));
        let masks = Masks::new(rows_of, frame);
        let across = several.across.map(|(join, parts)| Across { join: Prepared::new(join), parts });
        let beside = several.beside.map(Prepared::new);
        Batch { across, beside, items, reserved, held, rows, bytes, points, rest, whole, row, masks, packing: None }
    }

    /// True if vectors of rows can be joined.
    pub fn is_joined(&self) -> bool {
        self.across.is_some()
    }
}

/// True if one epilogue can serve several rows along an axis: it reads no element that varies along it.
pub fn may_follow_several(kernel: &Kernel, rows: &[Row], axis: usize, after: &Segment) -> bool {
    let varies = |row: u32| kernel.buffers[rows[row as usize].buffer as usize].varies[axis];
    let alike = |inst: &Inst| match inst {
        Inst::Broadcast { from: Uniform::Counter(counter), .. } => *counter as usize != axis,
        Inst::Broadcast { from: Uniform::Element(row, _), .. } => !varies(*row),
        Inst::Store { row, .. } => varies(*row),
        Inst::Op(op) => op.row.is_none(),
        Inst::Broadcast { .. } | Inst::Output { .. } => true,
        Inst::Load { .. } | Inst::First { .. } | Inst::Call(_) | Inst::SumBytes { .. } => false,
    };
    let each_by_itself = |row: &Row| !(row.stored && row.loaded);
    rows.iter().all(each_by_itself) && after.insts.iter().all(|(inst, _)| alike(inst))
}

/// True if a point takes so few instructions that joining the vectors of rows pays.
pub fn may_be_joined(items: &Segment) -> bool {
    items.insts.len() <= SHORT && !items.calls()
}

impl Writer<'_> {
    /// Computes the rows along a loop in batches, if they are short and there are enough of them. The loop's
    /// counter then is the number of rows that are done, and the rows' pointers are past them.
    pub fn several_rows(&mut self, kernel: &Kernel, fold: &Folding, level: usize) -> Result<(), KernelError> {
        let Some(batch) = &fold.batch else { return Ok(()) };
        let done = self.asm.label();
        if let Some(beside) = &batch.beside {
            self.rows_beside(kernel, (fold, batch, beside), level, done)?;
        } else if let Some(packing) = batch.packing {
            self.rows_on_lanes(kernel, (fold, batch, packing), level, done)?;
        }
        if let (Some(across), Some(groups)) = (&batch.across, fold.paired_groups()) {
            self.rows_across(kernel, (fold, batch, across), (level, groups), done)?;
        }
        self.asm.bind(done);
        Ok(())
    }

    /// If the rows along a loop are short, computes them one by one, joins their vectors across, and jumps
    /// to `done`.
    fn rows_across(
        &mut self,
        kernel: &Kernel,
        (fold, batch, across): (&Folding, &Batch, &Across),
        (level, groups): (usize, usize),
        done: Label,
    ) -> Result<(), KernelError> {
        let (rax, rcx, rdx) = (Register::RAX, Register::RCX, Register::RDX);
        let lanes = self.schedule.lanes as i32;
        self.asm.load(rcx, Mem::frame(self.places.extents[level]));
        self.asm.ri(Code::Cmp_rm64_imm8, rcx, LEAST_ROWS);
        self.asm.jump(Code::Jb_rel32_64, done);
        self.asm.load(rdx, Mem::frame(self.places.strides));
        for (n, row) in self.rows.iter().enumerate() {
            if row.moves {
                self.asm.mi(Code::Cmp_rm64_imm8, Mem::frame(self.places.copied[n]), 0);
                self.asm.jump(Code::Jne_rel32_64, done);
            }
            if row.stored {
                let stride = Mem::at(rdx, stride_offset(kernel, row.buffer, level));
                self.asm.mi(Code::Cmp_rm64_imm8, stride, row.size as i32);
                self.asm.jump(Code::Jne_rel32_64, done);
            }
        }
        self.asm.constant(rax, lanes as u64);
        self.asm.rr(Code::Cmp_r64_rm64, rcx, rax);
        self.asm.rr(Code::Cmova_r64_rm64, rcx, rax);
        self.asm.store(Mem::frame(batch.rows), rcx);
        self.write_masks(&batch.masks);
        self.asm.ri(Code::Shl_rm64_imm8, rcx, VECTOR_BITS);
        self.asm.store(Mem::frame(batch.bytes), rcx);
        self.no_other_rows(fold, across)?;
        let lengths: Vec<(Label, Label)> = (0..groups).map(|_| (self.asm.label(), self.asm.label())).collect();
        self.asm.load(rax, Mem::frame(self.places.extents[level + 1]));
        for (points, (part, whole)) in (1..).zip(&lengths) {
            self.asm.ri(Code::Cmp_rm64_imm32, rax, points * lanes);
            self.asm.jump(Code::Jb_rel32_64, *part);
            self.asm.jump(Code::Je_rel32_64, *whole);
        }
        if let Some(most) = fold.most_of_vector() {
            self.asm.ri(Code::Cmp_rm64_imm32, rax, most as i32);
            self.asm.jump(Code::Ja_rel32_64, done);
        }
        self.measure_long_rows(batch, groups);
        self.batches(kernel, (fold, batch), (level, false), |w| {
            w.joined(kernel, (fold, batch, across), level, Length::Rounds { groups })
        })?;
        self.asm.jump(Code::Jmp_rel32_64, done);
        for (used, (part, whole)) in (1..).zip(lengths) {
            self.asm.bind(part);
            self.asm.rr(Code::Mov_r64_rm64, REMAINING, rax);
            self.asm.ri(Code::Sub_rm64_imm32, REMAINING, (used as i32 - 1) * lanes);
            self.one_group();
            self.batches(kernel, (fold, batch), (level, true), |w| {
                w.joined(kernel, (fold, batch, across), level, Length::Groups { groups, used, masked: true })
            })?;
            self.asm.jump(Code::Jmp_rel32_64, done);
            self.asm.bind(whole);
            self.batches(kernel, (fold, batch), (level, true), |w| {
                w.joined(kernel, (fold, batch, across), level, Length::Groups { groups, used, masked: false })
            })?;
            self.asm.jump(Code::Jmp_rel32_64, done);
        }
        Ok(())
    }

    /// Fills the vectors of the rows that do not exist with neutral elements; arithmetic on arbitrary bits
    /// could be slow. RCX is the offset of the first such vector.
    fn no_other_rows(&mut self, fold: &Folding, across: &Across) -> Result<(), KernelError> {
        let (rcx, filled) = (Register::RCX, self.asm.label());
        let again = self.asm.bound();
        self.asm.ri(Code::Cmp_rm64_imm32, rcx, VECTOR * self.schedule.lanes as i32);
        self.asm.jump(Code::Jae_rel32_64, filled);
        for (accumulator, &part) in fold.accumulators.iter().zip(&across.parts) {
            let neutral = self.scratch(Width::Z);
            self.load_origin(accumulator.neutral, accumulator.class, neutral)?;
            let to = Operand::Mem(Mem { index: Some((rcx, 1)), ..Mem::frame(part) });
            let code = codes::MOV_PS_STORE.code(true, Width::Z);
            self.asm.vector(code, &[to, Operand::Reg(neutral)], None);
        }
        self.asm.ri(Code::Add_rm64_imm8, rcx, VECTOR);
        self.asm.jump(Code::Jmp_rel32_64, again);
        self.asm.bind(filled);
        Ok(())
    }

    /// Computes the rows up to the loop's end in batches. If fewer rows remain than a batch has, the last
    /// batch `overlaps` the one before it, or these rows are left. `totals` leaves the totals of a batch
    /// where the epilogue reads them.
    pub(super) fn batches(
        &mut self,
        kernel: &Kernel,
        (fold, batch): (&Folding, &Batch),
        (level, overlaps): (usize, bool),
        mut totals: impl FnMut(&mut Self) -> Result<(), KernelError>,
    ) -> Result<(), KernelError> {
        let (rax, rcx) = (Register::RAX, Register::RCX);
        let (counter, extent) = (Mem::frame(self.places.counters[level]), Mem::frame(self.places.extents[level]));
        let done = self.asm.label();
        self.asm.mi(Code::Mov_rm64_imm32, Mem::frame(self.places.start), 0);
        self.asm.rr(Code::Xor_r32_rm32, Register::EBX, Register::EBX);
        let again = self.asm.bound();
        for (n, _) in self.rows.iter().enumerate().filter(|(_, row)| row.moves) {
            self.asm.load(rax, Mem::frame(self.places.pointers[n]));
            self.asm.store(Mem::frame(self.places.base_words[n]), rax);
            if let Some(base) = self.places.bases[n] {
                self.asm.rr(Code::Mov_r64_rm64, base, rax);
            }
        }
        totals(self)?;
        let tail = std::mem::replace(&mut self.masks, batch.masks.clone());
        self.load_mask(batch.masks.points);
        self.segment(&fold.after, Mode::Rows)?;
        self.masks = tail;

        // Advances by a batch; if fewer rows remain than that, may step back so that the last batch overlaps.
        self.asm.load(rcx, Mem::frame(batch.rows));
        self.move_on(kernel, level);
        self.asm.load(rcx, extent);
        self.asm.rm(Code::Sub_r64_rm64, rcx, counter);
        self.asm.jump(Code::Je_rel32_64, done);
        self.asm.rm(Code::Sub_r64_rm64, rcx, Mem::frame(batch.rows));
        self.asm.jump(Code::Jns_rel32_64, again);
        if overlaps {
            self.move_on(kernel, level);
            self.asm.jump(Code::Jmp_rel32_64, again);
        }
        self.asm.bind(done);
        Ok(())
    }

    /// Computes the totals of a batch of rows: row by row, and then joined across.
    fn joined(
        &mut self,
        kernel: &Kernel,
        (fold, batch, across): (&Folding, &Batch, &Across),
        level: usize,
        length: Length,
    ) -> Result<(), KernelError> {
        let rcx = Register::RCX;
        match length {
            Length::Groups { used, masked, .. } => {
                self.load_pins(&batch.items)?;
                if masked {
                    self.load_mask(self.masks.points);
                }
                self.hold_rows(kernel, batch, level, (used, masked))?;
            }
            Length::Rounds { .. } => {
                self.load_pins(&fold.points)?;
                self.load_mask(self.masks.points);
            }
        }
        self.asm.rr(Code::Xor_r32_rm32, Register::ECX, Register::ECX);
        let row = self.asm.bound();
        match length {
            Length::Groups { groups, used, masked } => self.short_row(fold, batch, (groups, used, masked))?,
            Length::Rounds { groups } => self.long_row(fold, batch, groups)?,
        }
        for (n, (accumulator, &spot)) in fold.accumulators.iter().zip(fold.spots_of(0)).enumerate() {
            let part = Mem { index: Some((rcx, 1)), ..Mem::frame(across.parts[n]) };
            self.get(spot, accumulator.class, part);
        }
        self.next_bases(kernel, level);
        self.asm.ri(Code::Add_rm64_imm8, rcx, VECTOR);
        self.asm.rm(Code::Cmp_r64_rm64, rcx, Mem::frame(batch.bytes));
        self.asm.jump(Code::Jb_rel32_64, row);
        self.held.clear();
        let totals = fold.accumulators.iter().map(|accumulator| Spot::Frame(accumulator.total)).collect();
        self.bound_segment(&across.join, Mode::Uniform, &Binding { outputs: totals, ..Binding::default() })
    }

    /// Loads elements that are the same for all rows, while registers for them last.
    fn hold_rows(
        &mut self,
        kernel: &Kernel,
        batch: &Batch,
        level: usize,
        (used, masked): (usize, bool),
    ) -> Result<(), KernelError> {
        let alike = |(_, row): &(u32, &Row)| row.moves && !kernel.buffers[row.buffer as usize].varies[level];
        let mut registers = batch.held.iter().copied();
        let mut held = Vec::new();
        for (n, row) in (0..).zip(self.rows).filter(alike) {
            let vectors = (0..used).flat_map(|group| (0..row.parts).map(move |nth| (group, nth)));
            for (group, nth) in vectors {
                let Some(register) = registers.next() else { break };
                let last = masked && group + 1 == used;
                self.masked_group = group;
                let to = vector_register(Width::of(row.lane() * self.schedule.lanes), register);
                self.load_row((n, nth), to, if last { Mode::Masked } else { Mode::Group(group) })?;
                held.push(((n, nth), group, register));
            }
        }
        (self.masked_group, self.held) = (0, held);
        Ok(())
    }

    /// Computes one row, onto the first set of accumulators. Preserves RCX.
    fn short_row(
        &mut self,
        fold: &Folding,
        batch: &Batch,
        (groups, used, masked): (usize, usize, bool),
    ) -> Result<(), KernelError> {
        for group in 0..used {
            let merge = masked && group + 1 == used;
            let outputs = fold.spots_of(group).to_vec();
            let binding = Binding { inputs: Vec::new(), outputs, reserved: batch.reserved, merge };
            if merge {
                self.neutral(fold, group..group + 1)?;
                self.masked_group = group;
            }
            self.bound_segment(&batch.items, if merge { Mode::Masked } else { Mode::Group(group) }, &binding)?;
            self.masked_group = 0;
        }
        let (mut half, mut left) = (groups / 2, used);
        while half > 0 {
            for group in (0..half).filter(|group| group + half < left) {
                let binding = Binding { reserved: batch.reserved, ..fold.binding(&[group, group + half], group) };
                self.bound_segment(&fold.combine, Mode::Uniform, &binding)?;
            }
            left = left.min(half);
            half /= 2;
        }
        Ok(())
    }

    /// Computes where rounds of rows of RAX points end, and the number of points and the mask of the last
    /// group after them.
    fn measure_long_rows(&mut self, batch: &Batch, groups: usize) {
        let (lanes, rax) = (self.schedule.lanes as i32, Register::RAX);
        let round = groups as i32 * lanes;
        self.asm.store(Mem::frame(batch.points), rax);
        self.asm.rm(Code::Lea_r64_m, REMAINING, Mem::at(rax, -i64::from(round)));
        self.asm.store(Mem::frame(batch.whole), REMAINING);
        self.asm.ri(Code::And_rm64_imm32, rax, round - 1);
        self.asm.store(Mem::frame(batch.rest), rax);
        // The last group has one to all lanes.
        self.asm.rm(Code::Lea_r64_m, REMAINING, Mem::at(rax, -1));
        self.asm.ri(Code::And_rm64_imm32, REMAINING, lanes - 1);
        self.asm.r(Code::Inc_rm64, REMAINING);
        self.one_group();
    }

    /// Computes one row of a round or more, onto the first set of accumulators: the leaves of a part, if the
    /// order is a tree, and otherwise the row as one leaf. Preserves RCX.
    fn long_row(&mut self, fold: &Folding, batch: &Batch, groups: usize) -> Result<(), KernelError> {
        let (rcx, rdx, round) = (Register::RCX, Register::RDX, (groups * self.schedule.lanes) as i32);
        let [row, points, whole] = [batch.row, batch.points, batch.whole].map(Mem::frame);
        let (rest, ended) = (self.asm.label(), self.asm.label());
        self.asm.store(row, rcx);
        self.asm.rr(Code::Xor_r32_rm32, Register::ECX, Register::ECX);
        self.asm.rr(Code::Xor_r32_rm32, Register::EBX, Register::EBX);
        let again = self.asm.bound();
        // The last index at which a round can begin.
        self.asm.load(LIMIT, whole);
        if let Some(leaf) = fold.leaf() {
            self.asm.rm(Code::Lea_r64_m, rdx, Mem::at(INDEX, leaf as i64 - i64::from(round)));
            self.asm.rr(Code::Cmp_r64_rm64, LIMIT, rdx);
            self.asm.rr(Code::Cmovg_r64_rm64, LIMIT, rdx);
        }
        self.neutral(fold, 0..groups)?;
        self.asm.rr(Code::Cmp_r64_rm64, INDEX, LIMIT);
        self.asm.jump(Code::Jg_rel32_64, rest);
        let rounds = self.asm.bound();
        self.multiple = None;
        self.round(fold, groups, |_, _| {})?;
        self.asm.ri(Code::Add_rm64_imm32, INDEX, round);
        self.asm.rr(Code::Cmp_r64_rm64, INDEX, LIMIT);
        self.asm.jump(Code::Jle_rel32_64, rounds);
        if let Some(leaf) = fold.leaf() {
            self.asm.rm(Code::Cmp_r64_rm64, INDEX, points);
            self.asm.jump(Code::Jge_rel32_64, ended);
            self.asm.ri(Code::Test_rm64_imm32, INDEX, leaf as i32 - 1);
            self.asm.jump(Code::Jne_rel32_64, rest);
            self.halves(fold, groups, 1)?;
            self.ending_here(fold, leaf, 1);
            self.onto_waiting(fold, 1)?;
            self.wait(fold, 1);
            self.asm.jump(Code::Jmp_rel32_64, again);
        }
        self.asm.bind(rest);
        self.rest_of_row(fold, batch, groups)?;
        self.asm.bind(ended);
        self.halves(fold, groups, 1)?;
        if fold.leaf().is_some() {
            self.asm.rr(Code::Xor_r32_rm32, Register::EDX, Register::EDX);
            self.onto_waiting(fold, 1)?;
        }
        self.asm.load(rcx, row);
        Ok(())
    }

    /// Combines the points after the rounds of a row, each group with its own accumulators. The last group
    /// is masked.
    fn rest_of_row(&mut self, fold: &Folding, batch: &Batch, groups: usize) -> Result<(), KernelError> {
        let (lanes, rest, ended) = (self.schedule.lanes as i32, Mem::frame(batch.rest), self.asm.label());
        for group in 0..groups {
            let whole = self.asm.label();
            self.asm.mi(Code::Cmp_rm64_imm32, rest, group as i32 * lanes);
            self.asm.jump(Code::Jbe_rel32_64, ended);
            self.asm.mi(Code::Cmp_rm64_imm32, rest, (group as i32 + 1) * lanes);
            self.asm.jump(Code::Ja_rel32_64, whole);
            (self.multiple, self.masked_group) = (None, group);
            let binding = Binding { merge: true, ..fold.binding(&[group], group) };
            self.bound_segment(&fold.points, Mode::Masked, &binding)?;
            self.masked_group = 0;
            self.asm.jump(Code::Jmp_rel32_64, ended);
            self.asm.bind(whole);
            if group + 1 < groups {
                self.multiple = None;
                self.bound_segment(&fold.points, Mode::Group(group), &fold.binding(&[group], group))?;
            }
        }
        self.asm.bind(ended);
        Ok(())
    }

    /// Advances the addresses of the elements to the next iteration of a loop. Changes RAX.
    pub(super) fn next_bases(&mut self, kernel: &Kernel, level: usize) {
        let rax = Register::RAX;
        let moving = |row: &Row| row.moves && kernel.buffers[row.buffer as usize].varies[level];
        for (n, row) in self.rows.iter().enumerate().filter(|(_, row)| moving(row)) {
            self.asm.load(rax, Mem::frame(self.places.strides));
            let stride = Mem::at(rax, stride_offset(kernel, row.buffer, level));
            match self.places.bases[n] {
                Some(base) => self.asm.rm(Code::Add_r64_rm64, base, stride),
                None => {
                    self.asm.load(rax, stride);
                    self.asm.mr(Code::Add_rm64_r64, Mem::frame(self.places.base_words[n]), rax);
                }
            }
        }
    }

    /// Advances the pointers and the counter of a loop by RCX iterations. Changes RAX.
    fn move_on(&mut self, kernel: &Kernel, level: usize) {
        self.advance(kernel, level, Some(Register::RCX));
        self.asm.mr(Code::Add_rm64_r64, Mem::frame(self.places.counters[level]), Register::RCX);
    }
}
