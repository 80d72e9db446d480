//! One long row in parts that threads share.
//!
//! The parts of a row, and how they are joined, are those of the tree that its order of combination is (`kernel/split.rs`), whatever the
//! threads: so the result is the same bits.

use super::lines::{LINE, Lines};
use super::run::{Part, Work};
use super::thread_pool::share_towards;
use crate::kernel::CompiledKernel;
use rewright_ir::DType;
use std::sync::Arc;

/// A row in parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The points of each but the last one.
    pub each: u64,
}

/// A fold's kernel for a part, that which joins parts, and what they leave to each other.
pub(crate) struct Halves {
    pub part: Arc<dyn CompiledKernel>,
    pub join: Arc<dyn CompiledKernel>,
    pub totals: Vec<DType>,
}

/// The bytes of one total of one part.
const TOTAL: usize = 8;

/// Runs a kernel of one row, in parts.
///
/// # Safety
/// As [`run`](super::run), for the kernel that the halves are of, which can't fail, and whose loops but the innermost one have one iteration.
pub(crate) unsafe fn run_parts(work: &Work<'_>, halves: &Halves, parts: Parts, threads: u32) {
    let row = PartedRow::new(work, halves, parts);
    // SAFETY: some points of the row.
    let combine = |number| unsafe { row.combine(&row.part(number)) };
    share_towards(threads as usize, row.count(), work.lowered.kernel.wishes.backwards, &combine);
    // SAFETY: passed on.
    unsafe { row.join() };
}

/// A row whose parts are combined one by one, in any order, and then joined.
pub(super) struct PartedRow<'a> {
    work: &'a Work<'a>,
    halves: &'a Halves,
    /// The points of each part but the last one, and of all.
    each: u64,
    points: u64,
    /// From the totals of one part to those of the next: a line or more, as threads write next to each other otherwise.
    pitch: usize,
    totals: Totals,
}

/// Memory that threads write to different places of.
struct Totals {
    begin: *mut u8,
    _lines: Lines,
}

// SAFETY: each part has its own place, and nothing is read before all are done.
unsafe impl Sync for Totals {}

impl<'a> PartedRow<'a> {
    /// For a kernel whose loops but the innermost one have one iteration.
    pub fn new(work: &'a Work<'a>, halves: &'a Halves, parts: Parts) -> PartedRow<'a> {
        let points = work.bound.extents.last().copied().unwrap_or(0);
        let pitch = (halves.totals.len() * TOTAL).next_multiple_of(LINE);
        let mut lines = Lines::new(points.div_ceil(parts.each) as usize * pitch);
        let totals = Totals { begin: lines.begin(), _lines: lines };
        PartedRow { work, halves, each: parts.each, points, pitch, totals }
    }

    /// How many parts there are.
    pub fn count(&self) -> usize {
        self.points.div_ceil(self.each) as usize
    }

    /// The first point of a part, and one past its last.
    pub fn span(&self, number: usize) -> (u64, u64) {
        let from = number as u64 * self.each;
        (from, (from + self.each).min(self.points))
    }

    /// The points of a part, for the kernel of parts: the additional buffers have room for each total of this one.
    pub fn part(&self, number: usize) -> Part {
        let mut part = Part::whole(self.work);
        let (from, to) = self.span(number);
        self.work.narrow(&mut part, self.inner(), from, to - from);
        for at in 0..self.halves.totals.len() {
            part.add_buffer(self.totals.begin.wrapping_add(number * self.pitch + at * TOTAL), 0);
        }
        part
    }

    /// Combines the points of a part.
    ///
    /// # Safety
    /// As [`run_parts`], for a part of this row.
    pub unsafe fn combine(&self, part: &Part) {
        // SAFETY: passed on.
        let status = unsafe { part.call(&*self.halves.part) };
        debug_assert_eq!(status.failed, 0, "it can't fail");
    }

    /// Joins the parts, and does what follows the row.
    ///
    /// # Safety
    /// As [`run_parts`], and all parts were run.
    pub unsafe fn join(&self) {
        let mut whole = Part::whole(self.work);
        self.work.narrow(&mut whole, self.inner(), 0, self.count() as u64);
        for at in 0..self.halves.totals.len() {
            whole.add_buffer(self.totals.begin.wrapping_add(at * TOTAL), self.pitch as i64);
        }
        // SAFETY: of the row's buffers only those are used that do not go along it, and of the additional ones an element a part.
        let status = unsafe { whole.call(&*self.halves.join) };
        debug_assert_eq!(status.failed, 0, "it can't fail");
    }

    fn inner(&self) -> usize {
        self.work.bound.extents.len() - 1
    }
}

impl Part {
    /// Two more buffers; see [`add_buffer`](Part::add_buffer).
    pub(super) fn add_buffers(&mut self, pointers: [*mut u8; 2], stride: i64) {
        pointers.into_iter().for_each(|pointer| self.add_buffer(pointer, stride));
    }

    /// Moves the last two buffers on by so many bytes.
    pub(super) fn move_buffers(&mut self, bytes: isize) {
        self.pointers.iter_mut().rev().take(2).for_each(|pointer| *pointer = pointer.wrapping_offset(bytes));
    }

    /// Another buffer, with this stride along the innermost loop and 0 along others.
    pub(super) fn add_buffer(&mut self, pointer: *mut u8, stride: i64) {
        self.pointers.push(pointer);
        self.strides.extend(std::iter::repeat_n(0, self.extents.len() - 1));
        self.strides.push(stride);
    }
}
