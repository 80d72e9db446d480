//! Searches long rows for the first of the greatest elements, block by block (`kernel/search.rs`).

use super::decide::CHUNKS;
use super::run::{CallPart, SCRATCH, Shared, Work};
use super::thread_pool::share;
use crate::kernel::{CompiledKernel, Status};
use crate::lower::{Bound, Lowered};
use std::sync::Arc;

/// The compiled kernels.
pub(crate) struct Searchers {
    pub values: Arc<dyn CompiledKernel>,
    pub part: Arc<dyn CompiledKernel>,
    pub pick: Arc<dyn CompiledKernel>,
    pub join: Arc<dyn CompiledKernel>,
}

/// The partition of a row into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocks {
    /// The points of each block but the last one.
    pub each: u64,
    /// The number of threads that share the blocks of a row.
    pub threads: u32,
}

/// Shorter rows are not searched in blocks. The least length grows with the size of a value: a position
/// takes eight bytes per lane, whatever the value takes. `LEAST` is the lower bound.
const LEAST_A_BYTE: u64 = 1 << 12;
const LEAST: u64 = 1 << 13;
/// The target number of blocks of a row. A block costs some 40 nanoseconds besides its points. The block
/// with the result is scanned twice, which is a small part of a row of this number of blocks.
const BLOCKS: u64 = 64;
const POINTS: std::ops::RangeInclusive<u64> = 1 << 11..=1 << 14;
/// The bytes of a value and of a position.
const WORD: usize = 8;

/// The points of a block, if the rows are long enough.
pub fn points_of_block(lowered: &Lowered, bound: &Bound) -> Option<u64> {
    let value = *lowered.kernel.fold.as_ref()?.items.first()?;
    let least = (LEAST_A_BYTE * lowered.kernel.dtype(value).size() as u64).max(LEAST);
    let points = bound.extents.last().copied().filter(|&points| points >= least)?;
    Some((points / BLOCKS).next_power_of_two().clamp(*POINTS.start(), *POINTS.end()))
}

/// Memory in which each thread writes to places of its own.
struct Found(*mut u8);

// SAFETY: each block has its own place, and nothing is read before all blocks are done.
unsafe impl Sync for Found {}

impl Found {
    /// The addresses of the value of a block, and of its position.
    fn at(&self, block: u64) -> [*mut u8; 2] {
        let value = self.0.wrapping_add(block as usize * 2 * WORD);
        [value, value.wrapping_add(WORD)]
    }

    /// # Safety
    /// The memory has room for the block.
    unsafe fn put_position(&self, block: u64, position: i64) {
        // SAFETY: forwarded; places are aligned.
        unsafe { self.at(block)[1].cast::<i64>().write(position) };
    }

    /// # Safety
    /// As [`put_position`](Found::put_position), after that function or a kernel has written the position.
    unsafe fn position(&self, block: u64) -> i64 {
        // SAFETY: forwarded.
        unsafe { self.at(block)[1].cast::<i64>().read() }
    }
}

impl Work<'_> {
    /// Searches the rows of a part of a call, one after the other.
    ///
    /// # Safety
    /// As [`run`](super::run), for a part of it with whole rows; the searchers are those of its kernel.
    pub(super) unsafe fn in_search(&self, part: &CallPart, searchers: &Searchers, blocks: Blocks) -> Status {
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
        // One more place, for the result of all blocks.
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
                // SAFETY: a range of the row's points, whose value goes to a place of its own. Kernels that
                // are searched can't fail.
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
        // SAFETY: the kernel reads no buffer of the row. It reads one element per block of each additional
        // buffer, and writes one place.
        let from = unsafe {
            pick.call(&*searchers.pick);
            found.position(count)
        };
        let mut chosen = block((from as u64).min(points - 1) / blocks.each);
        chosen.add_buffers(found.at(0), 0);
        self.narrow(&mut all, inner, 0, 1);
        // SAFETY: as above. Afterwards the first place holds the position, from the beginning of the row.
        unsafe {
            chosen.call(&*searchers.part);
            // If no element beats the neutral value there is no position; the epilogue of the row handles
            // that case.
            found.put_position(0, found.position(0).wrapping_add(from));
            all.call(&*searchers.join);
        }
        SCRATCH.set(scratch);
        Status::default()
    }
}
