//! Fuses a producer kernel with the reduction of its result to one number.
//!
//! If nothing else uses the producer's array, the array would go through memory twice: once to be written,
//! once to be read. Here the producer computes the rows that overlap a part of the long row into scratch
//! memory that stays in the cache, then the reduction combines that part, and so on. The parts and the order
//! in which they are joined are those of the reduction tree, so the result is bitwise the same.

use super::band::SCRATCH;
use super::decide::CHUNKS;
use super::parts::{Halves, PartedRow, Parts};
use super::run::{CallPart, Work};
use super::sequence::Sequence;
use super::thread_pool::share;
use smallvec::SmallVec;
use std::ops::Range;

/// How a producer feeds a reduction.
#[derive(Clone, Debug)]
pub(crate) struct Feed {
    /// The parts of the long row.
    pub parts: Parts,
    /// The parallel loop of the producer. One iteration computes `points` points of the long row.
    pub along: usize,
    pub points: u64,
    /// The transformations of the producer's loops.
    pub sequence: Sequence,
    /// The arrays that pass from the producer to the reduction.
    pub passed: SmallVec<[Passed; 2]>,
    /// The bytes of scratch memory for these arrays.
    pub scratch: usize,
}

/// An array in scratch memory that the producer writes and the reduction reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    /// The number of the buffer in the producer, and in the reduction.
    pub made: usize,
    pub used: usize,
    /// The bytes per point, and the offset in the scratch memory.
    pub size: usize,
    pub at: usize,
}

/// Runs a producer and the reduction of a single row that consumes its results.
///
/// # Safety
/// As [`run`](super::run), for both kernels, which can't fail, and as [`run_parts`](super::run_parts), for
/// the reduction. `scratch` bytes hold the passed arrays for the iterations that overlap a part and one
/// more. The producer writes no other buffer. Its iterations write disjoint elements, in the order of the
/// row and without gaps.
pub(crate) unsafe fn run_fed(maker: &Work<'_>, fold: &Work<'_>, halves: &Halves, feed: &Feed, threads: u32) {
    let row = PartedRow::new(fold, halves, feed.parts);
    let pieces = if threads > 1 { (threads as usize * CHUNKS as usize).min(row.count()) } else { 1 };
    share(threads as usize, pieces, &|piece| {
        let numbers = piece * row.count() / pieces..(piece + 1) * row.count() / pieces;
        // SAFETY: forwarded.
        unsafe { some_parts(maker, &row, feed, numbers) };
    });
    // SAFETY: forwarded.
    unsafe { row.join() };
}

/// Computes and combines consecutive parts.
///
/// # Safety
/// As [`run_fed`].
unsafe fn some_parts(maker: &Work<'_>, row: &PartedRow<'_>, feed: &Feed, numbers: Range<usize>) {
    let mut memory = SCRATCH.take();
    memory.grow(feed.scratch);
    let scratch = memory.begin();
    // The producer's iterations whose results are in the scratch memory.
    let mut there = 0..0;
    for number in numbers {
        let (begin, end) = row.span(number);
        let needed = begin / feed.points..end.div_ceil(feed.points);
        let kept = if there.contains(&needed.start) { there.end - needed.start } else { 0 };
        let new = needed.start + kept..needed.end;
        let place = |passed: &Passed, points: u64| scratch.wrapping_add(passed.at + points as usize * passed.size);
        for passed in &feed.passed {
            let from = place(passed, (needed.start - there.start.min(needed.start)) * feed.points);
            // SAFETY: this function computed the elements that it keeps, and the memory has room for them at
            // its beginning.
            unsafe { from.copy_to(place(passed, 0), (kept * feed.points) as usize * passed.size) };
        }
        if !new.is_empty() {
            let mut part = CallPart::whole(maker);
            maker.narrow(&mut part, feed.along, new.start, new.end - new.start);
            for passed in &feed.passed {
                part.pointers[passed.made] = place(passed, kept * feed.points);
            }
            // SAFETY: a range of iterations, which write to the scratch memory only.
            let status = unsafe { maker.in_sequence(part, &feed.sequence) };
            debug_assert_eq!(status.failed, 0, "it can't fail");
        }
        let mut part = row.part(number);
        for passed in &feed.passed {
            part.pointers[passed.used] = place(passed, begin - needed.start * feed.points);
        }
        there = needed;
        // SAFETY: a range of the row's points, whose elements were computed above.
        unsafe { row.combine(&part) };
    }
    SCRATCH.set(memory);
}
