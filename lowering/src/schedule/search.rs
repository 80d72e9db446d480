//! Long rows of which the first of the greatest elements is sought, block by block (`kernel/search.rs`).

use super::decide::CHUNKS;
use super::run::{Part, SCRATCH, Shared, Work};
use super::thread_pool::share;
use crate::kernel::{CompiledKernel, Status};
use crate::lower::{Bound, Lowered};
use std::sync::Arc;

/// The kernels, ready to run.
pub(crate) struct Searchers {
    pub values: Arc<dyn CompiledKernel>,
    pub part: Arc<dyn CompiledKernel>,
    pub pick: Arc<dyn CompiledKernel>,
    pub join: Arc<dyn CompiledKernel>,
}

/// How a row is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The points of each but the last one.
    pub each: u64,
    /// The threads that share the blocks of a row.
    pub threads: u32,
}

/// Shorter rows are not worth it: of so many points for each byte of a value, whose position takes as many lanes as eight bytes do, but never fewer than some.
const LEAST_A_BYTE: u64 = 1 << 12;
const LEAST: u64 = 1 << 13;
/// A block takes some 40 nanoseconds more than its points. The one whose positions are found is gone through a second time, and of so many none is much.
const BLOCKS: u64 = 64;
const POINTS: std::ops::RangeInclusive<u64> = 1 << 11..=1 << 14;
/// The bytes of a value and of a position.
const WORD: usize = 8;

/// The points of a block of rows that are long enough.
pub fn points_of_block(lowered: &Lowered, bound: &Bound) -> Option<u64> {
    let value = *lowered.kernel.fold.as_ref()?.items.first()?;
    let least = (LEAST_A_BYTE * lowered.kernel.dtype(value).size() as u64).max(LEAST);
    let points = bound.extents.last().copied().filter(|&points| points >= least)?;
    Some((points / BLOCKS).next_power_of_two().clamp(*POINTS.start(), *POINTS.end()))
}

/// Memory that threads write to different places of.
struct Found(*mut u8);

// SAFETY: each block has its own place, and nothing is read before all are done.
unsafe impl Sync for Found {}

impl Found {
    /// Where the value of a block is, and then its position.
    fn at(&self, block: u64) -> [*mut u8; 2] {
        let value = self.0.wrapping_add(block as usize * 2 * WORD);
        [value, value.wrapping_add(WORD)]
    }

    /// # Safety
    /// There is room for the block.
    unsafe fn put_position(&self, block: u64, position: i64) {
        // SAFETY: passed on; places are aligned.
        unsafe { self.at(block)[1].cast::<i64>().write(position) };
    }

    /// # Safety
    /// As [`put_position`](Found::put_position), which was called for it, or a kernel wrote it.
    unsafe fn position(&self, block: u64) -> i64 {
        // SAFETY: passed on.
        unsafe { self.at(block)[1].cast::<i64>().read() }
    }
}

impl Work<'_> {
    /// Runs a part of a call, row by row.
    ///
    /// # Safety
    /// As [`run`](super::run), for a part of it that has whole rows, of a kernel that these are of.
    pub(super) unsafe fn in_search(&self, part: &Part, searchers: &Searchers, blocks: Blocks) -> Status {
        let inner = part.extents.len() - 1;
        if let Some(outer) = (0..inner).find(|&outer| part.extents[outer] > 1) {
            for iteration in 0..part.extents[outer] {
                let mut one = part.clone();
                self.narrow(&mut one, outer, iteration, 1);
                // SAFETY: a part of the part.
                unsafe { self.in_search(&one, searchers, blocks) };
            }
            return Status::default();
        }
        let points = part.extents[inner];
        let count = points.div_ceil(blocks.each);
        let mut scratch = SCRATCH.take();
        // One place more: what all blocks come to.
        scratch.grow((count as usize + 1) * 2 * WORD);
        let found = Found(scratch.begin());
        let row = Shared(part.clone());
        let block = |number: u64| {
            let mut block = row.get().clone();
            let from = number * blocks.each;
            self.narrow(&mut block, inner, from, blocks.each.min(points - from));
            block
        };
        let pieces = if blocks.threads > 1 { (u64::from(blocks.threads) * CHUNKS).min(count) } else { 1 };
        share(blocks.threads as usize, pieces as usize, &|piece| {
            let [from, to] = [0, 1].map(|more| (piece as u64 + more) * count / pieces);
            let mut values = block(from);
            values.add_buffers(found.at(from), 0);
            for number in from..to {
                let begin = number * blocks.each;
                values.extents[inner] = blocks.each.min(points - begin);
                // SAFETY: some points of the row, whose value goes to a place of its own; kernels that are searched can't fail.
                unsafe {
                    found.put_position(number, begin as i64);
                    values.call(&*searchers.values);
                }
                self.narrow(&mut values, inner, blocks.each, blocks.each);
                values.move_buffers(2 * WORD as isize);
            }
        });
        let mut all = part.clone();
        self.narrow(&mut all, inner, 0, count);
        all.add_buffers(found.at(0), 2 * WORD as i64);
        let mut pick = all.clone();
        pick.add_buffers(found.at(count), 0);
        // SAFETY: of the row's buffers none is read; of the additional ones an element a block, and one place is written.
        let from = unsafe {
            pick.call(&*searchers.pick);
            found.position(count)
        };
        let mut chosen = block((from as u64).min(points - 1) / blocks.each);
        chosen.add_buffers(found.at(0), 0);
        self.narrow(&mut all, inner, 0, 1);
        // SAFETY: as above; then the first place has the position, from the beginning of the row.
        unsafe {
            chosen.call(&*searchers.part);
            // Where nothing in it is beyond what is neutral, there is none yet, which what follows the row knows.
            found.put_position(0, found.position(0).wrapping_add(from));
            all.call(&*searchers.join);
        }
        SCRATCH.set(scratch);
        Status::default()
    }
}
