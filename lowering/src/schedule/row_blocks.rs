//! Rows that are combined in memory, block by block.
//!
//! The order of combination takes rows one after the other in blocks, and blocks as a tree ([`Order::Tree`]). A kernel combines the rows of a
//! block with what its results hold; here the results are scratch memory, which blocks have each for itself. A group of blocks is
//! computed in one call, by the same kernel with one more loop, and joined pair by pair; groups that wait to be joined are as many as there
//! are ones in the number of groups so far, as of the places that a binary counter carries over.
//!
//! Where any order gives the same bits, as of integers and extrema, rows are combined one after the other, but in blocks, too, where results that are adjacent are few.
//!
//! Scratch memory must be near: results are computed in pieces that the cache next to the processor has room for. A call chooses by the number of
//! adjacent results which kernel computes blocks ([`ResultLanes`]).

use super::decide::bytes;
use super::lines::{LINE, Lines};
use super::machine_facts::facts;
use super::result_lanes::ResultLanes;
use super::run::{Part, Work};
use crate::copy::{Axis, copy_strided};
use crate::kernel::{CompiledKernel, KOp, Kernel, Status};
use crate::lower::{BlockJoin, Bound, Lowered};
use rewright_ir::expr::Order;
use rewright_ir::{Element, Scalar, with_dtype};
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::Arc;

/// The rows of a block.
const BLOCK: u64 = Order::BLOCK as u64;
/// So many rows of a block are combined in registers.
const AT_ONCE: u64 = 4;
/// So many blocks are worth it where rows need not be combined so.
const FREE_BLOCKS: u64 = 16;
/// And so many adjacent results at most.
const FREE_RESULTS: u64 = 16;
/// Kernels of more instructions are not made longer.
const MOST_INSTS: usize = 64;
/// The bytes of the results of a group of blocks.
const NEAR: u64 = 16 << 10;
/// Of results along loops around those from row to row a piece has so many times fewer.
const OUTSIDE: u64 = 8;
/// The most blocks of a group are as many where each has few results.
const MANY_BLOCKS: u64 = 64;

/// The kernels that run rows in blocks, of a call that has several blocks.
#[derive(Clone, Copy)]
pub(crate) struct BlockKernels<'a> {
    /// Computes any blocks, if it can; the additional loop is the innermost one if they are `narrow`, or else the outermost one.
    pub blocks: Option<&'a Arc<dyn CompiledKernel>>,
    /// The same of whole ones, [`AT_ONCE`] rows at once.
    pub whole_blocks: Option<&'a Arc<dyn CompiledKernel>>,
    pub narrow: bool,
    /// Joins blocks, along two loops.
    pub join: &'a Arc<dyn CompiledKernel>,
}

/// True if a call with such loops runs rows block by block: they come to more than one, and have to be combined so, or vectors would not be full otherwise.
pub fn has_blocks(lowered: &Lowered, bound: &Bound) -> bool {
    let least = |join: &BlockJoin| if join.is_free { FREE_BLOCKS * BLOCK } else { BLOCK };
    let is_short = lowered.kernel.fold.is_none() && bound.extents.last().is_none_or(|&inner| inner <= FREE_RESULTS);
    let indexed = (0..lowered.row).any(|number| lowered.reduced[number] && lowered.indexed[number]);
    let join = lowered.block_join.as_ref().filter(|join| !join.is_free || is_short && !indexed);
    join.is_some_and(|join| rows(lowered, &bound.extents) > least(join))
}

/// A kernel of several blocks, if there is one: an index along rows would not be the same in each.
pub fn of_blocks(lowered: &Lowered, lanes: ResultLanes) -> Option<Kernel> {
    with_blocks(&lowered.kernel, lowered, lanes)
}

/// The same of whole blocks, if it has few instructions.
pub fn of_whole_blocks(lowered: &Lowered, lanes: ResultLanes) -> Option<Kernel> {
    let along = last_along(lowered)?;
    let short = Some(&lowered.kernel).filter(|kernel| kernel.insts.len() <= MOST_INSTS);
    with_blocks(&short?.unrolled(along, AT_ONCE as usize)?, lowered, lanes)
}

fn with_blocks(kernel: &Kernel, lowered: &Lowered, lanes: ResultLanes) -> Option<Kernel> {
    let along = || (0..lowered.row).filter(|&number| lowered.reduced[number]);
    let is_index = |op: &KOp, number| matches!(op, KOp::Index(axis) if *axis as usize == number);
    if along().any(|number| kernel.insts.iter().any(|inst| is_index(&inst.op, number))) {
        return None;
    }
    let at = if lanes == ResultLanes::Narrow { kernel.axes } else { 0 };
    let mut kernel = kernel.with_loop(at, |buffer| buffer.written || along().any(|number| buffer.varies[number]));
    if let ResultLanes::Exact(log) = lanes {
        kernel.wishes.lanes = Some(1 << log);
        kernel.wishes.unroll = kernel.wishes.unroll.or(Some(1));
    }
    Some(kernel)
}

/// True if a loop goes from row to row.
fn is_along_rows(lowered: &Lowered, number: usize) -> bool {
    number < lowered.row && lowered.reduced[number]
}

/// The innermost loop that may go from row to row.
fn last_along(lowered: &Lowered) -> Option<usize> {
    (0..lowered.row).rev().find(|&number| lowered.reduced[number])
}

/// How many rows are combined with what a result holds.
fn rows(lowered: &Lowered, extents: &[u64]) -> u64 {
    (0..).zip(extents).filter(|&(number, _)| is_along_rows(lowered, number)).map(|(_, &extent)| extent).product()
}

/// A buffer of results.
struct Total {
    buffer: usize,
    size: usize,
    /// What the first block begins with, and the others.
    start: [Scalar; 2],
    /// Bytes from the beginning of a group's results, and of those of a group that waits.
    at: [usize; 2],
}

/// A piece of a call.
struct Piece<'a> {
    kernels: &'a BlockKernels<'a>,
    part: Part,
    totals: SmallVec<[Total; 2]>,
    /// The loops along which results go, and those from row to row that have several iterations.
    across: SmallVec<[usize; 4]>,
    along: SmallVec<[usize; 4]>,
    /// The number of results of a block, and of blocks of a group.
    count: usize,
    group: usize,
    /// How far apart results of a block are, and blocks, in elements.
    apart: [usize; 2],
    /// The results of a group, and of groups that wait, of so many bytes each.
    scratch: *mut u8,
    waiting: *mut u8,
    bytes: usize,
}

/// The whole blocks of a group.
struct Whole<'a> {
    /// The loop from row to row.
    along: usize,
    blocks: &'a Arc<dyn CompiledKernel>,
    compiled: &'a Arc<dyn CompiledKernel>,
    part: Part,
    /// The loop from block to block.
    at: usize,
}

impl Whole<'_> {
    /// To the next group.
    fn go_on(&mut self, piece: &Piece<'_>) {
        let loops = self.part.extents.len();
        let strides = self.part.strides.chunks_exact(loops);
        for (buffer, (pointer, strides)) in self.part.pointers.iter_mut().zip(strides).enumerate() {
            if piece.totals.iter().all(|total| total.buffer != buffer) {
                *pointer = pointer.wrapping_offset(strides[self.at].wrapping_mul(piece.group as i64) as isize);
            }
        }
    }
}

impl Work<'_> {
    /// Runs a part of a call that has all of its rows, block by block; with `run`, if there is no kernel for several.
    ///
    /// # Safety
    /// As [`run`](super::run), for a part of it; `run` runs a part of the part, or one with results elsewhere.
    pub(super) unsafe fn in_row_blocks(
        &self,
        part: Part,
        kernels: &BlockKernels<'_>,
        run: &dyn Fn(Part) -> Status,
    ) -> Status {
        let loops = part.extents.len();
        let is_across = |number: &usize| *number < self.lowered.row && !self.lowered.reduced[*number];
        let across: SmallVec<[usize; 4]> = (0..loops).filter(is_across).collect();
        let count: u64 = across.iter().map(|&number| part.extents[number]).product();
        let written = || (0..).zip(&self.lowered.kernel.buffers).filter(|(_, buffer)| buffer.written);
        let bytes = written().map(|(_, buffer)| buffer.dtype.size() as u64).sum::<u64>().max(1);
        let blocks = rows(self.lowered, &part.extents).div_ceil(BLOCK);
        // Narrow ones have many blocks in a group.
        let least = if kernels.narrow { blocks.next_power_of_two().min(MANY_BLOCKS) } else { 1 };
        let most = |along: usize| {
            // Where results along inner loops are few, what goes along rows only is read on for long if there are few iterations of loops around.
            let inner = count / part.extents[along];
            let outside = last_along(self.lowered) > Some(along) && inner * bytes * 2 * OUTSIDE <= NEAR;
            (NEAR / bytes / if outside { least.max(OUTSIDE) } else { least }).max(1)
        };
        let first = across.iter().find(|&&number| part.extents[number] > 1);
        if let Some((&along, most)) = first.map(|along| (along, most(*along))).filter(|&(_, most)| count > most) {
            let extent = part.extents[along];
            let most = (most / (count / extent)).clamp(1, extent);
            // Pieces of about one length, in whole cache lines: a short last piece has as many calls.
            let each = extent.div_ceil(extent.div_ceil(most)).next_multiple_of(LINE as u64).min(most);
            let mut from = 0;
            while from < extent {
                let mut piece = part.clone();
                self.narrow(&mut piece, along, from, each.min(extent - from));
                // SAFETY: a part of the part, with all of its rows.
                let status = unsafe { self.in_row_blocks(piece, kernels, run) };
                if status.failed != 0 {
                    return status;
                }
                from += each;
            }
            return Status::default();
        }
        let group = blocks.next_power_of_two().min(1 << (NEAR / bytes / count).max(1).ilog2()) as usize;
        let count = count as usize;
        let (mut totals, mut ends) = (SmallVec::new(), [0; 2]);
        let starts = self.lowered.results.iter().filter_map(|result| result.start);
        let neutral = self.lowered.block_join.iter().flat_map(|blocks| blocks.neutral.iter().copied());
        for (((buffer, info), first), others) in written().zip(starts).zip(neutral) {
            let size = info.dtype.size();
            totals.push(Total { buffer, size, start: [first, others], at: ends });
            ends[0] += (group * count * size).next_multiple_of(LINE);
            ends[1] += (count * size).next_multiple_of(LINE);
        }
        let places = blocks.div_ceil(group as u64).max(1).ilog2() as usize + 1;
        let mut memory = SCRATCH.take();
        memory.grow(ends[0] + places * ends[1]);
        let scratch = memory.begin();
        let is_along = |number: &usize| is_along_rows(self.lowered, *number) && part.extents[*number] > 1;
        let piece = Piece {
            kernels,
            along: (0..loops).filter(is_along).collect(),
            part,
            totals,
            across,
            count,
            group,
            apart: if kernels.narrow { [group, 1] } else { [1, count] },
            scratch,
            waiting: scratch.wrapping_add(ends[0]),
            bytes: ends[1],
        };
        // SAFETY: the memory has room for a group, and as many as wait.
        let status = unsafe { self.groups(&piece, blocks as usize, run) };
        SCRATCH.set(memory);
        status
    }

    /// # Safety
    /// As [`in_row_blocks`](Work::in_row_blocks), with memory for the piece.
    unsafe fn groups(&self, piece: &Piece<'_>, blocks: usize, run: &dyn Fn(Part) -> Status) -> Status {
        let number_of = blocks.div_ceil(piece.group);
        let mut whole = self.whole(piece);
        for group in 0..number_of {
            let first = group * piece.group;
            let count = piece.group.min(blocks - first);
            // SAFETY: passed on; everything that is joined was computed.
            unsafe {
                piece.begin(first == 0, count);
                let status = self.group(piece, &mut whole, (first as u64, count), run);
                if status.failed != 0 {
                    return status;
                }
                piece.join_blocks(count);
                if number_of == 1 {
                    break;
                }
                // At the end all are joined.
                let waiting = group.count_ones() as usize;
                let joins = if group + 1 < number_of { (group + 1).trailing_zeros() as usize } else { waiting };
                piece.join_groups(waiting, joins);
            }
        }
        // SAFETY: the results were computed.
        unsafe { piece.end(number_of == 1) };
        Status::default()
    }

    /// Computes so many blocks of a group.
    ///
    /// # Safety
    /// As [`groups`](Work::groups).
    unsafe fn group(
        &self,
        piece: &Piece<'_>,
        whole: &mut Option<Whole<'_>>,
        (first, count): (u64, usize),
        run: &dyn Fn(Part) -> Status,
    ) -> Status {
        let all = rows(self.lowered, &piece.part.extents);
        let from = first * BLOCK;
        let to = all.min(from + count as u64 * BLOCK);
        let Some(whole) = whole else {
            for block in 0..count {
                let mut part = piece.part.clone();
                piece.to_block(&mut part, block);
                let from = from + block as u64 * BLOCK;
                // SAFETY: some rows of the part.
                let status = unsafe { self.rows(&piece.along, &part, from, to.min(from + BLOCK), run) };
                if status.failed != 0 {
                    return status;
                }
            }
            return Status::default();
        };
        let (along, blocks) = (whole.along, whole.blocks);
        let number_of = ((to - from) / BLOCK) as usize;
        if number_of > 0 {
            whole.part.extents[whole.at] = number_of as u64;
            // SAFETY: blocks of the part, which the group has room for.
            let status = unsafe { whole.part.call(&**whole.compiled) };
            if status.failed != 0 {
                return status;
            }
            whole.go_on(piece);
        }
        if !(to - from).is_multiple_of(BLOCK) {
            let mut part = piece.part.clone();
            self.narrow(&mut part, along, from + number_of as u64 * BLOCK, (to - from) % BLOCK);
            piece.to_block(&mut part, number_of);
            piece.add_loop(&mut part, along);
            // SAFETY: the rows that are no whole block.
            let status = unsafe { part.call(&**blocks) };
            if status.failed != 0 {
                return status;
            }
        }
        Status::default()
    }

    /// The whole blocks of a group, from the first one on, if a kernel has several.
    fn whole<'a>(&self, piece: &Piece<'a>) -> Option<Whole<'a>> {
        let (Some(blocks), &[along]) = (piece.kernels.blocks, &piece.along[..]) else { return None };
        let mut part = piece.part.clone();
        part.extents[along] = BLOCK;
        let at_once =
            piece.kernels.whole_blocks.filter(|_| Some(along) == last_along(self.lowered) && self.may_hop(piece));
        if at_once.is_some() {
            self.at_once(&mut part, along);
        }
        piece.to_block(&mut part, 0);
        let at = piece.add_loop(&mut part, along);
        Some(Whole { along, blocks, compiled: at_once.unwrap_or(blocks), part, at })
    }

    /// Whether rows may be read side by side. Of those that come from beyond the second-level cache the elements are asked for in time
    /// only if they follow one another for long.
    fn may_hop(&self, piece: &Piece<'_>) -> bool {
        let kernel = &self.lowered.kernel;
        let (part, size) = (&piece.part, |number: usize| kernel.buffers[number].dtype.size() as u64);
        let row = part.extents.last().copied().unwrap_or(1);
        let longest = (0..kernel.buffers.len()).map(|number| row * size(number)).max().unwrap_or(0);
        longest <= 2 * LINE as u64
            || longest >= NEAR / 2
            || bytes(kernel, &part.extents, &part.strides) <= facts().level2
    }

    /// Makes the rows of a block along a loop those of a kernel that takes several at once.
    fn at_once(&self, part: &mut Part, along: usize) {
        let loops = part.extents.len();
        let moving = (0..).zip(&self.lowered.kernel.buffers).filter(|(_, buffer)| buffer.varies[along]);
        let moving: SmallVec<[usize; 6]> = moving.map(|(number, _)| number).collect();
        for row in 1..AT_ONCE as isize {
            for &number in &moving {
                let strides: SmallVec<[i64; 4]> = part.strides[number * loops..][..loops].into();
                let there = (strides[along] as isize).wrapping_mul(row);
                part.pointers.push(part.pointers[number].wrapping_offset(there));
                part.strides.extend(strides);
            }
        }
        part.strides.chunks_exact_mut(loops).for_each(|s| s[along] = s[along].wrapping_mul(AT_ONCE as i64));
        part.extents[along] /= AT_ONCE;
    }

    /// Runs the rows from one to another, in order.
    ///
    /// # Safety
    /// As [`in_row_blocks`](Work::in_row_blocks).
    unsafe fn rows(
        &self,
        along: &[usize],
        part: &Part,
        mut from: u64,
        to: u64,
        run: &dyn Fn(Part) -> Status,
    ) -> Status {
        let Some((&inner, outer)) = along.split_last() else { return run(part.clone()) };
        let extent = part.extents[inner];
        while from < to {
            let mut some = part.clone();
            let (mut rest, first) = (from / extent, from % extent);
            for &number in outer.iter().rev() {
                self.narrow(&mut some, number, rest % part.extents[number], 1);
                rest /= part.extents[number];
            }
            let count = (to - from).min(extent - first);
            self.narrow(&mut some, inner, first, count);
            let status = run(some);
            if status.failed != 0 {
                return status;
            }
            from += count;
        }
        Status::default()
    }
}

impl Piece<'_> {
    /// Where results of a block are.
    fn block(&self, total: &Total, block: usize) -> *mut u8 {
        self.scratch.wrapping_add(total.at[0] + block * self.apart[1] * total.size)
    }

    /// Where those of a group are that waits: of the n-th of them, from 1 on.
    fn place(&self, total: &Total, place: usize) -> *mut u8 {
        self.waiting.wrapping_add((place - 1) * self.bytes + total.at[1])
    }

    /// Writes what blocks begin with.
    ///
    /// # Safety
    /// There is memory for the piece.
    unsafe fn begin(&self, is_first: bool, blocks: usize) {
        for total in &self.totals {
            let count = if self.apart[1] == 1 { self.group * self.count } else { blocks * self.count };
            // SAFETY: all results of the group, or those of the blocks that there are.
            unsafe {
                fill(total.start[1], self.block(total, 0), count, 1);
                if is_first && total.start[0] != total.start[1] {
                    fill(total.start[0], self.block(total, 0), self.count, self.apart[0]);
                }
            }
        }
    }

    /// Sends the results of a part to a block.
    fn to_block(&self, part: &mut Part, block: usize) {
        let loops = part.extents.len();
        for total in &self.totals {
            part.pointers[total.buffer] = self.block(total, block);
            let strides = &mut part.strides[total.buffer * loops..][..loops];
            strides.fill(0);
            let mut stride = self.apart[0] * total.size;
            for &number in self.across.iter().rev() {
                strides[number] = stride as i64;
                stride *= self.part.extents[number] as usize;
            }
        }
    }

    /// Makes a part, which has the rows of a block along a loop, one of several blocks: of one. Gives the loop from block to block.
    fn add_loop(&self, part: &mut Part, along: usize) -> usize {
        let loops = part.extents.len();
        let at = if self.kernels.narrow { loops } else { 0 };
        let mut strides: SmallVec<[i64; 16]> = SmallVec::new();
        for (buffer, own) in part.strides.chunks_exact(loops).enumerate() {
            let to_next = match self.totals.iter().find(|total| total.buffer == buffer) {
                Some(total) => (self.apart[1] * total.size) as i64,
                None => own[along].wrapping_mul(part.extents[along] as i64),
            };
            strides.extend_from_slice(&own[..at]);
            strides.push(to_next);
            strides.extend_from_slice(&own[at..]);
        }
        part.strides = strides;
        part.extents.insert(at, 1);
        at
    }

    /// Joins the blocks of a group, onto the first one.
    ///
    /// # Safety
    /// There are so many.
    unsafe fn join_blocks(&self, blocks: usize) {
        let mut step = 1;
        while step < blocks {
            let pairs = (blocks - step).div_ceil(2 * step);
            let onto = |total: &Total, block| {
                let size = total.size as i64;
                (self.block(total, block), [2 * step * self.apart[1], self.apart[0]].map(|apart| apart as i64 * size))
            };
            // SAFETY: passed on.
            unsafe { self.join(pairs, |total| onto(total, 0), |total| onto(total, step)) };
            step *= 2;
        }
    }

    /// Joins a group with the last of those that wait, and these with one another, so often; it waits then itself, if it was joined with none.
    ///
    /// # Safety
    /// The results of the group and of as many as wait were computed.
    unsafe fn join_groups(&self, waiting: usize, joins: usize) {
        let own = |total: &Total| (self.block(total, 0), [0, (self.apart[0] * total.size) as i64]);
        let at = |total: &Total, place| (self.place(total, place), [0, total.size as i64]);
        // SAFETY: passed on; the places are apart from one another and from the group.
        unsafe {
            if joins == 0 {
                for total in &self.totals {
                    let axis =
                        Axis { extent: self.count, source: own(total).1[1] as isize, target: total.size as isize };
                    copy_strided(total.size, own(total).0, self.place(total, waiting + 1), [axis]);
                }
                return;
            }
            self.join(1, |total| at(total, waiting), own);
            for place in (waiting - joins + 1..waiting).rev() {
                self.join(1, |total| at(total, place), |total| at(total, place + 1));
            }
        }
    }

    /// Combines left ones with right ones, so many pairs, onto the left ones: addresses, and strides along the pairs and the results.
    ///
    /// # Safety
    /// All of them were computed, and they are apart.
    unsafe fn join(
        &self,
        pairs: usize,
        left: impl Fn(&Total) -> (*mut u8, [i64; 2]),
        right: impl Fn(&Total) -> (*mut u8, [i64; 2]),
    ) {
        let mut pointers: SmallVec<[*mut u8; 6]> = SmallVec::new();
        let mut strides: SmallVec<[i64; 16]> = SmallVec::new();
        let mut extents = [pairs as u64, self.count as u64];
        // The longer loop inside.
        let turned = pairs > self.count;
        if turned {
            extents.reverse();
        }
        for total in &self.totals {
            for (pointer, mut along) in [left(total), right(total)] {
                if turned {
                    along.reverse();
                }
                pointers.push(pointer);
                strides.extend(along);
            }
        }
        // SAFETY: passed on.
        let status = unsafe { self.kernels.join.run(&extents, &pointers, &strides, &[]) };
        debug_assert_eq!(status.failed, 0, "it can't fail");
    }

    /// Copies the results to where they belong.
    ///
    /// # Safety
    /// They were computed.
    unsafe fn end(&self, is_only: bool) {
        let loops = self.part.extents.len();
        for total in &self.totals {
            let from = if is_only { self.block(total, 0) } else { self.place(total, 1) };
            let mut apart = if is_only { self.apart[0] * total.size } else { total.size } as isize;
            let strides = &self.part.strides[total.buffer * loops..][..loops];
            let (to, mut axes) = (self.part.pointers[total.buffer], SmallVec::<[Axis; 4]>::new());
            for &number in self.across.iter().rev() {
                let extent = self.part.extents[number] as usize;
                axes.push(Axis { extent, source: apart, target: strides[number] as isize });
                apart *= extent as isize;
            }
            // SAFETY: passed on; the call's results are apart from scratch memory.
            unsafe {
                match axes[..] {
                    [Axis { extent, source, target }] if source == target && target == total.size as isize => {
                        to.copy_from_nonoverlapping(from, extent * total.size)
                    }
                    _ => copy_strided(total.size, from, to, axes),
                }
            }
        }
    }
}

/// Writes a value to so many places, so many elements apart.
///
/// # Safety
/// They are valid to write, and the first one is aligned to a cache line.
unsafe fn fill(value: Scalar, to: *mut u8, count: usize, apart: usize) {
    with_dtype!(value.dtype(), T => if let Some(x) = T::from_scalar(value) {
        let to = to.cast::<T>();
        // SAFETY: passed on; a copy has twice what was written before it at most, and is behind that.
        unsafe {
            if apart > 1 {
                return (0..count).for_each(|n| to.wrapping_add(n * apart).write(x));
            }
            // Copies are made of whole vectors.
            let mut done = count.min(LINE / size_of::<T>());
            (0..done).for_each(|n| to.wrapping_add(n).write(x));
            while done < count {
                let more = done.min(count - done);
                to.wrapping_add(done).copy_from_nonoverlapping(to, more);
                done += more;
            }
        }
    });
}

thread_local! {
    /// Memory for the results of blocks, kept from call to call.
    static SCRATCH: Cell<Lines> = Cell::default();
}
