//! Bools that become bits while the cache holds them.
//!
//! A kernel whose bools are wanted as words of 64 would write a byte for each, only for these to be read again. So it runs on some points at a time, writes their
//! bools to scratch memory, and they are packed from there.

use super::decide::{CHUNKS, Chunks, Decision};
use super::run::{Part, SCRATCH, Work};
use super::thread_pool::share;
use crate::bools::{WORD, pack_bools};
use crate::kernel::Kernel;

/// So many points at a time: whole words, few enough that their bools stay in the first-level cache beside what is read.
const POINTS: u64 = 8192;

/// Runs a kernel of one loop, whose bools become words, on so many threads.
///
/// # Safety
/// As [`CompiledKernel::call`](crate::CompiledKernel::call), for a kernel that can't fail and that writes one buffer only, of bools, each once and in the order of its
/// loop. The pointer of that buffer is where the words go, valid to write for as many as there are, aligned, and apart from what is read.
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
            let mut part = Part::whole(work);
            work.narrow(&mut part, 0, from, count);
            part.pointers[out] = scratch;
            part.strides[out] = 1;
            // SAFETY: some points of the call, whose bools go to this thread's memory.
            let status = unsafe { part.call(work.kernel) };
            debug_assert_eq!(status.failed, 0, "it can't fail");
            let words = work.pointers[out].cast::<u64>().wrapping_add(from as usize / WORD);
            // SAFETY: the kernel has written so many bools; their words are this block's alone, since it begins at a word.
            unsafe {
                let bools = std::slice::from_raw_parts(scratch.cast_const().cast::<bool>(), count as usize);
                pack_bools(bools, std::slice::from_raw_parts_mut(words, bools.len().div_ceil(WORD)));
            }
        }
        SCRATCH.set(memory);
    });
}

/// The buffer that is written, if it is one.
pub(crate) fn written(kernel: &Kernel) -> Option<usize> {
    let mut written = (0..kernel.buffers.len()).filter(|&number| kernel.buffers[number].written);
    written.next().filter(|_| written.next().is_none())
}

/// The same as a decision, for people.
pub(crate) fn packed_decision(threads: u32) -> Decision {
    let chunks = Chunks { along: 0, first: POINTS, each: POINTS };
    Decision { shared: (threads > 1).then_some((threads, chunks)), ..Decision::default() }
}
