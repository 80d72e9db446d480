//! A long row whose elements a kernel makes while they are needed.
//!
//! Where one number comes of an array that a kernel has just made, and which nothing else uses, that array goes through memory twice, out and back. Here the
//! rows of it that a part of the long row lies in are made in memory that the cache holds, then the part is combined, and so on. The parts and how they
//! are joined are those of the tree that the order of combination is, so the result is the same bits.

use super::band::SCRATCH;
use super::decide::CHUNKS;
use super::parts::{Halves, PartedRow, Parts};
use super::run::{Part, Work};
use super::sequence::Sequence;
use super::thread_pool::share;
use smallvec::SmallVec;
use std::ops::Range;

/// How a kernel makes what another one combines.
#[derive(Clone, Debug)]
pub(crate) struct Feed {
    /// The parts of the long row.
    pub parts: Parts,
    /// The loop of the kernel that makes elements, an iteration of which makes as many points of the long row as the second number says.
    pub along: usize,
    pub points: u64,
    /// The transformations of that kernel's loops.
    pub sequence: Sequence,
    /// The arrays in between.
    pub passed: SmallVec<[Passed; 2]>,
    /// The bytes that are needed for them.
    pub scratch: usize,
}

/// An array that one kernel writes and the other one reads, in the scratch memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    /// The number of the buffer in the one that makes it, and in the fold.
    pub made: usize,
    pub used: usize,
    /// The bytes of a point, and from the beginning of the scratch memory.
    pub size: usize,
    pub at: usize,
}

/// Runs a kernel and the one of a single row that combines what it makes.
///
/// # Safety
/// As [`run`](super::run), for both kernels, which can't fail, and as [`run_parts`](super::run_parts), for the second one. What is passed takes `scratch` bytes for as many
/// iterations as a part lies in and one more; nothing else is written by the first kernel, and its iterations write to different elements, adjacent ones
/// in the order of the row.
pub(crate) unsafe fn run_fed(maker: &Work<'_>, fold: &Work<'_>, halves: &Halves, feed: &Feed, threads: u32) {
    let row = PartedRow::new(fold, halves, feed.parts);
    let pieces = if threads > 1 { (threads as usize * CHUNKS as usize).min(row.count()) } else { 1 };
    share(threads as usize, pieces, &|piece| {
        let numbers = piece * row.count() / pieces..(piece + 1) * row.count() / pieces;
        // SAFETY: passed on.
        unsafe { some_parts(maker, &row, feed, numbers) };
    });
    // SAFETY: passed on.
    unsafe { row.join() };
}

/// Makes and combines parts that follow one another.
///
/// # Safety
/// As [`run_fed`].
unsafe fn some_parts(maker: &Work<'_>, row: &PartedRow<'_>, feed: &Feed, numbers: Range<usize>) {
    let mut memory = SCRATCH.take();
    memory.grow(feed.scratch);
    let scratch = memory.begin();
    // The iterations whose results are in the scratch memory.
    let mut there = 0..0;
    for number in numbers {
        let (begin, end) = row.span(number);
        let needed = begin / feed.points..end.div_ceil(feed.points);
        let kept = if there.contains(&needed.start) { there.end - needed.start } else { 0 };
        let new = needed.start + kept..needed.end;
        let place = |passed: &Passed, points: u64| scratch.wrapping_add(passed.at + points as usize * passed.size);
        for passed in &feed.passed {
            let from = place(passed, (needed.start - there.start.min(needed.start)) * feed.points);
            // SAFETY: what is kept was made here, and the beginning has room for it.
            unsafe { from.copy_to(place(passed, 0), (kept * feed.points) as usize * passed.size) };
        }
        if !new.is_empty() {
            let mut part = Part::whole(maker);
            maker.narrow(&mut part, feed.along, new.start, new.end - new.start);
            for passed in &feed.passed {
                part.pointers[passed.made] = place(passed, kept * feed.points);
            }
            // SAFETY: some iterations, which write to the scratch memory only.
            let status = unsafe { maker.in_sequence(part, &feed.sequence) };
            debug_assert_eq!(status.failed, 0, "it can't fail");
        }
        let mut part = row.part(number);
        for passed in &feed.passed {
            part.pointers[passed.used] = place(passed, begin - needed.start * feed.points);
        }
        there = needed;
        // SAFETY: some points of the row, whose elements were made.
        unsafe { row.combine(&part) };
    }
    SCRATCH.set(memory);
}
