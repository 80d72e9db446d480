//! Splits one long row into parts that threads share.
//!
//! The parts and the way they are joined follow the tree that defines the order of combination
//! (`kernel/split.rs`). They do not depend on the threads, so the result is bitwise the same.

use super::lines::{LINE, Lines};
use super::run::{CallPart, Work};
use super::thread_pool::share_towards;
use crate::kernel::CompiledKernel;
use rewright_ir::DType;
use std::sync::Arc;

/// The partition of a row into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The points of each part but the last one.
    pub each: u64,
}

/// The kernel that reduces a part, the kernel that joins the parts, and the dtypes of the totals that pass
/// between them.
pub(crate) struct Halves {
    pub part: Arc<dyn CompiledKernel>,
    pub join: Arc<dyn CompiledKernel>,
    pub totals: Vec<DType>,
}

/// The bytes of one total of one part.
const TOTAL: usize = 8;

/// Runs a kernel of one row in parts.
///
/// # Safety
/// As [`run`](super::run), for the kernel that was split into the halves. It can't fail, and its loops but
/// the innermost one have one iteration.
pub(crate) unsafe fn run_parts(work: &Work<'_>, halves: &Halves, parts: Parts, threads: u32) {
    let row = PartedRow::new(work, halves, parts);
    // SAFETY: a range of the row's points.
    let combine = |number| unsafe { row.combine(&row.part(number)) };
    share_towards(threads as usize, row.count(), work.lowered.kernel.wishes.backwards, &combine);
    // SAFETY: forwarded.
    unsafe { row.join() };
}

/// A row whose parts are reduced one by one, in any order, and then joined.
pub(super) struct PartedRow<'a> {
    work: &'a Work<'a>,
    halves: &'a Halves,
    /// The points of each part but the last one, and of the row.
    each: u64,
    points: u64,
    /// The bytes from the totals of one part to those of the next: at least a cache line, to avoid false
    /// sharing.
    pitch: usize,
    totals: Totals,
}

/// Memory in which each thread writes to places of its own.
struct Totals {
    begin: *mut u8,
    _lines: Lines,
}

// SAFETY: each part has its own place, and nothing is read before all parts are done.
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

    /// The number of parts.
    pub fn count(&self) -> usize {
        self.points.div_ceil(self.each) as usize
    }

    /// The first point of a part, and one past its last.
    pub fn span(&self, number: usize) -> (u64, u64) {
        let from = number as u64 * self.each;
        (from, (from + self.each).min(self.points))
    }

    /// The points of a part, as arguments of the kernel of parts: one more buffer for each total.
    pub fn part(&self, number: usize) -> CallPart {
        let mut part = CallPart::whole(self.work);
        let (from, to) = self.span(number);
        self.work.narrow(&mut part, self.inner(), from, to - from);
        for at in 0..self.halves.totals.len() {
            part.add_buffer(self.totals.begin.wrapping_add(number * self.pitch + at * TOTAL), 0);
        }
        part
    }

    /// Reduces the points of a part.
    ///
    /// # Safety
    /// As [`run_parts`], for a part of this row.
    pub unsafe fn combine(&self, part: &CallPart) {
        // SAFETY: forwarded.
        let status = unsafe { part.call(&*self.halves.part) };
        debug_assert_eq!(status.failed, 0, "it can't fail");
    }

    /// Joins the parts, and runs the epilogue of the row.
    ///
    /// # Safety
    /// As [`run_parts`], after `combine` of all parts.
    pub unsafe fn join(&self) {
        let mut whole = CallPart::whole(self.work);
        self.work.narrow(&mut whole, self.inner(), 0, self.count() as u64);
        for at in 0..self.halves.totals.len() {
            whole.add_buffer(self.totals.begin.wrapping_add(at * TOTAL), self.pitch as i64);
        }
        // SAFETY: the kernel accesses only those buffers of the row that do not vary along it, and one
        // element per part of each additional buffer.
        let status = unsafe { whole.call(&*self.halves.join) };
        debug_assert_eq!(status.failed, 0, "it can't fail");
    }

    fn inner(&self) -> usize {
        self.work.bound.extents.len() - 1
    }
}

impl CallPart {
    /// Adds two buffers; see [`add_buffer`](CallPart::add_buffer).
    pub(super) fn add_buffers(&mut self, pointers: [*mut u8; 2], stride: i64) {
        pointers.into_iter().for_each(|pointer| self.add_buffer(pointer, stride));
    }

    /// Advances the pointers of the last two buffers by this number of bytes.
    pub(super) fn move_buffers(&mut self, bytes: isize) {
        self.pointers.iter_mut().rev().take(2).for_each(|pointer| *pointer = pointer.wrapping_offset(bytes));
    }

    /// Adds a buffer with this stride along the innermost loop, and 0 along the others.
    pub(super) fn add_buffer(&mut self, pointer: *mut u8, stride: i64) {
        self.pointers.push(pointer);
        self.strides.extend(std::iter::repeat_n(0, self.extents.len() - 1));
        self.strides.push(stride);
    }
}
