//! Packs bools into bits while they are in the cache.
//!
//! A kernel writes a byte per bool. Where the result is wanted as words of 64 bits, those bytes would go
//! through memory once more. So the kernel computes a block of points into scratch memory, and the bools are
//! packed from there.

use super::decide::{CHUNKS, Chunks, Decision};
use super::run::{CallPart, SCRATCH, Work};
use super::thread_pool::share;
use crate::bools::{WORD, pack_bools};
use crate::kernel::Kernel;

/// The points of a block: a whole number of words, and few enough that their bools stay in the first-level
/// cache beside the operands.
const POINTS: u64 = 8192;

/// Runs a kernel of one loop whose bools become words, on up to `threads` threads.
///
/// # Safety
/// As [`CompiledKernel::call`](crate::CompiledKernel::call), for a kernel that can't fail. It writes one
/// buffer only, of bools, each element once and in the order of its loop. The pointer of that buffer is the
/// destination of the words: it is aligned, valid for writes of all words, and aliases no operand.
pub(crate) unsafe fn run_packed(work: &Work<'_>, threads: u32) {
    let (Some(out), &[points]) = (written(&work.lowered.kernel), &work.bound.extents[..]) else { return };
    let blocks = points.div_ceil(POINTS) as usize;
    let pieces = if threads > 1 { (threads as usize * CHUNKS as usize).min(blocks) } else { 1 };
    share(threads as usize, pieces, &|piece| {
        let mut memory = SCRATCH.take();
        memory.grow(POINTS.min(points) as usize);
        let scratch = memory.begin();
        for block in piece * blocks / pieces..(piece + 1) * blocks / pieces {
            let from = block as u64 * POINTS;
            let count = POINTS.min(points - from);
            let mut part = CallPart::whole(work);
            work.narrow(&mut part, 0, from, count);
            part.pointers[out] = scratch;
            part.strides[out] = 1;
            // SAFETY: a range of the call's points, whose bools go to this thread's memory.
            let status = unsafe { part.call(work.kernel) };
            debug_assert_eq!(status.failed, 0, "it can't fail");
            let words = work.pointers[out].cast::<u64>().wrapping_add(from as usize / WORD);
            // SAFETY: the kernel has written `count` bools. A block begins at a word boundary, so no other
            // block writes its words.
            unsafe {
                let bools = std::slice::from_raw_parts(scratch.cast_const().cast::<bool>(), count as usize);
                pack_bools(bools, std::slice::from_raw_parts_mut(words, bools.len().div_ceil(WORD)));
            }
        }
        SCRATCH.set(memory);
    });
}

/// The buffer that the kernel writes, if it writes exactly one.
pub(crate) fn written(kernel: &Kernel) -> Option<usize> {
    let mut written = (0..kernel.buffers.len()).filter(|&number| kernel.buffers[number].written);
    written.next().filter(|_| written.next().is_none())
}

/// The schedule of `run_packed` as a decision, for printing.
pub(crate) fn packed_decision(threads: u32) -> Decision {
    let chunks = Chunks { along: 0, first: POINTS, each: POINTS };
    Decision { shared: (threads > 1).then_some((threads, chunks)), ..Decision::default() }
}
