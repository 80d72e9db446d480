//! Runs reductions that accumulate in memory, in blocks of rows.
//!
//! The order of combination takes the rows of a block one after the other, and joins the blocks as a tree
//! ([`Order::Tree`]). A kernel combines the rows of a block with accumulators in memory; here each block has
//! accumulators of its own in scratch memory. A group of blocks is computed by one call of the same kernel
//! with one more loop, and its blocks are joined pair by pair. Groups are joined like the carries of a
//! binary counter: the number of groups that wait for a partner is the number of ones in the count of groups
//! so far.
//!
//! Where all orders give the same bits, as for integers and extrema, rows are combined one after the other.
//! Few adjacent results are an exception: blocks then fill the vector lanes.
//!
//! The scratch memory must stay in the first-level cache, so results are computed in pieces of [`NEAR`]
//! bytes. The number of adjacent results selects the kernel that computes blocks ([`ResultLanes`]).

use super::decide::bytes;
use super::lines::{LINE, Lines};
use super::machine_facts::facts;
use super::result_lanes::ResultLanes;
use super::run::{CallPart, Work};
use crate::copy::{Axis, copy_strided};
use crate::kernel::{CompiledKernel, KOp, Kernel, Status};
use crate::lower::{BlockJoin, Bound, Lowered};
use rewright_ir::{Element, Scalar, with_dtype};
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::Arc;

/// The rows of a block that one iteration combines in registers (unroll factor).
const AT_ONCE: u64 = 4;
/// The least number of blocks that pays where the order of combination is free.
const FREE_BLOCKS: u64 = 16;
/// The most adjacent results for which it pays.
const FREE_RESULTS: u64 = 16;
/// Kernels with more instructions are not unrolled.
const MOST_INSTS: usize = 64;
/// The bytes of the accumulators of a group of blocks.
const NEAR: u64 = 16 << 10;
/// The divisor for a piece of results along loops outside of the loops over rows.
const OUTSIDE: u64 = 8;
/// The most blocks of a group in the narrow variant, where each block has few results.
const MANY_BLOCKS: u64 = 64;

/// The kernels that run rows in blocks, for a call with several blocks.
#[derive(Clone, Copy)]
pub(crate) struct BlockKernels<'a> {
    /// Computes any blocks, if there is such a kernel. The additional loop is the innermost one if they are
    /// `narrow`, and the outermost one otherwise.
    pub blocks: Option<&'a Arc<dyn CompiledKernel>>,
    /// Computes whole blocks, [`AT_ONCE`] rows per iteration.
    pub whole_blocks: Option<&'a Arc<dyn CompiledKernel>>,
    pub narrow: bool,
    /// Joins blocks, along two loops.
    pub join: &'a Arc<dyn CompiledKernel>,
}

/// Whether a call with these loops runs in blocks: it has more than one block, and either the order of
/// combination requires blocks, or vectors would not be full without them.
pub fn has_blocks(lowered: &Lowered, bound: &Bound) -> bool {
    let least = |join: &BlockJoin| if join.is_free { FREE_BLOCKS * join.block } else { join.block };
    let is_short = lowered.kernel.fold.is_none() && bound.extents.last().is_none_or(|&inner| inner <= FREE_RESULTS);
    let indexed = (0..lowered.row).any(|number| lowered.reduced[number] && lowered.indexed[number]);
    let join = lowered.block_join.as_ref().filter(|join| !join.is_free || is_short && !indexed);
    join.is_some_and(|join| rows(lowered, &bound.extents) > least(join))
}

/// The kernel for several blocks. There is none if the kernel uses an index along rows, which would differ
/// between blocks.
pub fn of_blocks(lowered: &Lowered, lanes: ResultLanes) -> Option<Kernel> {
    with_blocks(&lowered.kernel, lowered, lanes)
}

/// The kernel for several whole blocks, unrolled, if it has few instructions.
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

/// Whether this loop iterates over rows.
fn is_along_rows(lowered: &Lowered, number: usize) -> bool {
    number < lowered.row && lowered.reduced[number]
}

/// The innermost loop that iterates over rows.
fn last_along(lowered: &Lowered) -> Option<usize> {
    (0..lowered.row).rev().find(|&number| lowered.reduced[number])
}

/// The number of rows that are combined with an accumulator.
fn rows(lowered: &Lowered, extents: &[u64]) -> u64 {
    (0..).zip(extents).filter(|&(number, _)| is_along_rows(lowered, number)).map(|(_, &extent)| extent).product()
}

/// A buffer of accumulators.
struct Total {
    buffer: usize,
    size: usize,
    /// The initial values of the first block, and of the others.
    start: [Scalar; 2],
    /// The byte offsets in the accumulators of the current group, and in those of a group that waits.
    at: [usize; 2],
}

/// A piece of a call.
struct Piece<'a> {
    kernels: &'a BlockKernels<'a>,
    part: CallPart,
    totals: SmallVec<[Total; 2]>,
    /// The loops over results, and the loops over rows with several iterations.
    across: SmallVec<[usize; 4]>,
    along: SmallVec<[usize; 4]>,
    /// The number of results of a block, and of blocks of a group.
    count: usize,
    group: usize,
    /// The distance between the results of a block, and between blocks, in elements.
    apart: [usize; 2],
    /// The accumulators of the current group, and of the groups that wait, of `bytes` bytes each.
    scratch: *mut u8,
    waiting: *mut u8,
    bytes: usize,
}

/// The arguments for the whole blocks of a group.
struct Whole<'a> {
    /// The loop over rows.
    along: usize,
    blocks: &'a Arc<dyn CompiledKernel>,
    compiled: &'a Arc<dyn CompiledKernel>,
    part: CallPart,
    /// The loop over blocks.
    at: usize,
}

impl Whole<'_> {
    /// Advances the pointers to the next group.
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
    /// Runs a part of a call that has all of its rows, in blocks. Without a kernel for several blocks, `run`
    /// computes each block.
    ///
    /// # Safety
    /// As [`run`](super::run), for a part of it. `run` runs a part of this part, possibly with results in
    /// other memory.
    pub(super) unsafe fn in_row_blocks(
        &self,
        part: CallPart,
        kernels: &BlockKernels<'_>,
        run: &dyn Fn(CallPart) -> Status,
    ) -> Status {
        let loops = part.extents.len();
        let is_across = |number: &usize| *number < self.lowered.row && !self.lowered.reduced[*number];
        let across: SmallVec<[usize; 4]> = (0..loops).filter(is_across).collect();
        let count: u64 = across.iter().map(|&number| part.extents[number]).product();
        let written = || (0..).zip(&self.lowered.kernel.buffers).filter(|(_, buffer)| buffer.written);
        let bytes = written().map(|(_, buffer)| buffer.dtype.size() as u64).sum::<u64>().max(1);
        let blocks = rows(self.lowered, &part.extents).div_ceil(self.block());
        // Narrow blocks have few results, so a group has many blocks.
        let least = if kernels.narrow { blocks.next_power_of_two().min(MANY_BLOCKS) } else { 1 };
        let most = |along: usize| {
            // Where inner loops have few results, longer contiguous reads of buffers that vary along rows
            // only need fewer iterations of the outer loop.
            let inner = count / part.extents[along];
            let outside = last_along(self.lowered) > Some(along) && inner * bytes * 2 * OUTSIDE <= NEAR;
            (NEAR / bytes / if outside { least.max(OUTSIDE) } else { least }).max(1)
        };
        let first = across.iter().find(|&&number| part.extents[number] > 1);
        if let Some((&along, most)) = first.map(|along| (along, most(*along))).filter(|&(_, most)| count > most) {
            let extent = part.extents[along];
            let most = (most / (count / extent)).clamp(1, extent);
            // Pieces of about equal length, in whole cache lines: a short last piece costs as many calls as
            // a full one.
            let each = extent.div_ceil(extent.div_ceil(most)).next_multiple_of((LINE as u64 / bytes).max(1)).min(most);
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
        // SAFETY: the memory has room for a group, and for all groups that wait.
        let status = unsafe { self.groups(&piece, blocks as usize, run) };
        SCRATCH.set(memory);
        status
    }

    /// The rows of a block.
    fn block(&self) -> u64 {
        self.lowered.block_join.as_ref().map_or(1, |join| join.block)
    }

    /// # Safety
    /// As [`in_row_blocks`](Work::in_row_blocks), with memory for the piece.
    unsafe fn groups(&self, piece: &Piece<'_>, blocks: usize, run: &dyn Fn(CallPart) -> Status) -> Status {
        let number_of = blocks.div_ceil(piece.group);
        let mut whole = self.whole(piece);
        for group in 0..number_of {
            let first = group * piece.group;
            let count = piece.group.min(blocks - first);
            // SAFETY: forwarded; all accumulators that are joined were computed.
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
                // After the last group, join all groups that wait.
                let waiting = group.count_ones() as usize;
                let joins = if group + 1 < number_of { (group + 1).trailing_zeros() as usize } else { waiting };
                piece.join_groups(waiting, joins);
            }
        }
        // SAFETY: the results were computed.
        unsafe { piece.end(number_of == 1) };
        Status::default()
    }

    /// Computes the `count` blocks of a group, from block `first` on.
    ///
    /// # Safety
    /// As [`groups`](Work::groups).
    unsafe fn group(
        &self,
        piece: &Piece<'_>,
        whole: &mut Option<Whole<'_>>,
        (first, count): (u64, usize),
        run: &dyn Fn(CallPart) -> Status,
    ) -> Status {
        let (all, each) = (rows(self.lowered, &piece.part.extents), self.block());
        let from = first * each;
        let to = all.min(from + count as u64 * each);
        let Some(whole) = whole else {
            for block in 0..count {
                let mut part = piece.part.clone();
                piece.to_block(&mut part, block);
                let from = from + block as u64 * each;
                // SAFETY: a range of the part's rows.
                let status = unsafe { self.rows(&piece.along, &part, from, to.min(from + each), run) };
                if status.failed != 0 {
                    return status;
                }
            }
            return Status::default();
        };
        let (along, blocks) = (whole.along, whole.blocks);
        let number_of = ((to - from) / each) as usize;
        if number_of > 0 {
            whole.part.extents[whole.at] = number_of as u64;
            // SAFETY: blocks of the part; the group has room for them.
            let status = unsafe { whole.part.call(&**whole.compiled) };
            if status.failed != 0 {
                return status;
            }
            whole.go_on(piece);
        }
        if !(to - from).is_multiple_of(each) {
            let mut part = piece.part.clone();
            self.narrow(&mut part, along, from + number_of as u64 * each, (to - from) % each);
            piece.to_block(&mut part, number_of);
            piece.add_loop(&mut part, along);
            // SAFETY: the rows after the last whole block.
            let status = unsafe { part.call(&**blocks) };
            if status.failed != 0 {
                return status;
            }
        }
        Status::default()
    }

    /// The arguments for the whole blocks of a group, from the first block on, if there is a kernel for
    /// several blocks.
    fn whole<'a>(&self, piece: &Piece<'a>) -> Option<Whole<'a>> {
        let (Some(blocks), &[along]) = (piece.kernels.blocks, &piece.along[..]) else { return None };
        let mut part = piece.part.clone();
        part.extents[along] = self.block();
        let at_once =
            piece.kernels.whole_blocks.filter(|_| Some(along) == last_along(self.lowered) && self.may_hop(piece));
        if at_once.is_some() {
            self.at_once(&mut part, along);
        }
        piece.to_block(&mut part, 0);
        let at = piece.add_loop(&mut part, along);
        Some(Whole { along, blocks, compiled: at_once.unwrap_or(blocks), part, at })
    }

    /// Whether an iteration may read several rows (`at_once`). Elements from beyond the second-level cache
    /// are prefetched in time only where long runs of them are contiguous.
    fn may_hop(&self, piece: &Piece<'_>) -> bool {
        let kernel = &self.lowered.kernel;
        let (part, size) = (&piece.part, |number: usize| kernel.buffers[number].dtype.size() as u64);
        let row = part.extents.last().copied().unwrap_or(1);
        let longest = (0..kernel.buffers.len()).map(|number| row * size(number)).max().unwrap_or(0);
        longest <= 2 * LINE as u64
            || longest >= NEAR / 2
            || bytes(kernel, &part.extents, &part.strides) <= facts().level2
    }

    /// Turns the rows of a block along a loop into arguments of the unrolled kernel.
    fn at_once(&self, part: &mut CallPart, along: usize) {
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

    /// Runs the rows `from..to` in order.
    ///
    /// # Safety
    /// As [`in_row_blocks`](Work::in_row_blocks).
    unsafe fn rows(
        &self,
        along: &[usize],
        part: &CallPart,
        mut from: u64,
        to: u64,
        run: &dyn Fn(CallPart) -> Status,
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
    /// The address of the accumulators of a block.
    fn block(&self, total: &Total, block: usize) -> *mut u8 {
        self.scratch.wrapping_add(total.at[0] + block * self.apart[1] * total.size)
    }

    /// The address of the accumulators of the n-th group that waits, counted from 1.
    fn place(&self, total: &Total, place: usize) -> *mut u8 {
        self.waiting.wrapping_add((place - 1) * self.bytes + total.at[1])
    }

    /// Writes the initial values of the accumulators.
    ///
    /// # Safety
    /// There is memory for the piece.
    unsafe fn begin(&self, is_first: bool, blocks: usize) {
        for total in &self.totals {
            let count = if self.apart[1] == 1 { self.group * self.count } else { blocks * self.count };
            // SAFETY: all accumulators of the group, or those of its `blocks` first blocks.
            unsafe {
                fill(total.start[1], self.block(total, 0), count, 1);
                if is_first && total.start[0] != total.start[1] {
                    fill(total.start[0], self.block(total, 0), self.count, self.apart[0]);
                }
            }
        }
    }

    /// Redirects the results of a part to the accumulators of a block.
    fn to_block(&self, part: &mut CallPart, block: usize) {
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

    /// Adds a loop over blocks, with one iteration, to a part that has the rows of one block. Returns the
    /// number of the new loop.
    fn add_loop(&self, part: &mut CallPart, along: usize) -> usize {
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

    /// Joins the blocks of a group into the first one.
    ///
    /// # Safety
    /// The group has `blocks` blocks, and they were computed.
    unsafe fn join_blocks(&self, blocks: usize) {
        let mut step = 1;
        while step < blocks {
            let pairs = (blocks - step).div_ceil(2 * step);
            let onto = |total: &Total, block| {
                let size = total.size as i64;
                (self.block(total, block), [2 * step * self.apart[1], self.apart[0]].map(|apart| apart as i64 * size))
            };
            // SAFETY: forwarded.
            unsafe { self.join(pairs, |total| onto(total, 0), |total| onto(total, step)) };
            step *= 2;
        }
    }

    /// Joins the current group with the groups that wait, `joins` times from the last one back. With no
    /// joins the group itself is stored as one that waits.
    ///
    /// # Safety
    /// The accumulators of the group and of `waiting` groups were computed.
    unsafe fn join_groups(&self, waiting: usize, joins: usize) {
        let own = |total: &Total| (self.block(total, 0), [0, (self.apart[0] * total.size) as i64]);
        let at = |total: &Total, place| (self.place(total, place), [0, total.size as i64]);
        // SAFETY: forwarded; the places alias neither one another nor the group.
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

    /// Combines `pairs` pairs of accumulators into the left ones. Each side has an address, and strides
    /// along the pairs and along the results.
    ///
    /// # Safety
    /// All of them were computed, and they do not alias.
    unsafe fn join(
        &self,
        pairs: usize,
        left: impl Fn(&Total) -> (*mut u8, [i64; 2]),
        right: impl Fn(&Total) -> (*mut u8, [i64; 2]),
    ) {
        let mut pointers: SmallVec<[*mut u8; 6]> = SmallVec::new();
        let mut strides: SmallVec<[i64; 16]> = SmallVec::new();
        let mut extents = [pairs as u64, self.count as u64];
        // The longer loop is the inner one.
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
        // SAFETY: forwarded.
        let status = unsafe { self.kernels.join.run(&extents, &pointers, &strides, &[]) };
        debug_assert_eq!(status.failed, 0, "it can't fail");
    }

    /// Copies the results to their destination.
    ///
    /// # Safety
    /// The results were computed.
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
            // SAFETY: forwarded; the results of the call do not alias scratch memory.
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

/// Writes a value to `count` places that are `apart` elements apart.
///
/// # Safety
/// The places are valid to write, and the first one is aligned to a cache line.
unsafe fn fill(value: Scalar, to: *mut u8, count: usize, apart: usize) {
    with_dtype!(value.dtype(), T => if let Some(x) = T::from_scalar(value) {
        let to = to.cast::<T>();
        // SAFETY: forwarded. A copy has at most as many elements as were written before it, and begins after
        // them.
        unsafe {
            if apart > 1 {
                return (0..count).for_each(|n| to.wrapping_add(n * apart).write(x));
            }
            // Doubles the copied range, so that all copies but the last consist of whole vectors.
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
    /// Scratch memory for the accumulators of blocks, kept from call to call.
    static SCRATCH: Cell<Lines> = Cell::default();
}
