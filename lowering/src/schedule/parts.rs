//! One long row in parts that threads share.
//!
//! The parts of a row, and how they are joined, are those of the tree that its order of combination is (`kernel/split.rs`), whatever the
//! threads: so the result is the same bits.

use super::crew::share;
use super::lines::{LINE, Lines};
use super::run::{Part, Work};
use crate::kernel::{CompiledKernel, Status};
use rewright_ir::DType;
use std::sync::{Arc, Mutex};

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
/// As [`run`](super::run), for the kernel that the halves are of, whose loops but the innermost one have one iteration.
pub(crate) unsafe fn run_parts(work: &Work<'_>, halves: &Halves, parts: Parts, threads: u32) -> Status {
    let inner = work.bound.extents.len() - 1;
    let points = work.bound.extents[inner];
    let count = points.div_ceil(parts.each);
    // A line a part, or more: threads write next to each other otherwise.
    let pitch = (halves.totals.len() * TOTAL).next_multiple_of(LINE);
    let mut memory = Lines::new(count as usize * pitch);
    let totals = Totals(memory.begin());
    let failed: Mutex<Option<Status>> = Mutex::new(None);
    share(threads as usize, count as usize, &|number| {
        let from = number as u64 * parts.each;
        let mut part = Part::whole(work);
        work.narrow(&mut part, inner, from, parts.each.min(points - from));
        for at in 0..halves.totals.len() {
            part.add_buffer(totals.at(number * pitch + at * TOTAL), 0);
        }
        // SAFETY: some points of the row; the additional buffers have room for each total of this part.
        let status = unsafe { part.call(&*halves.part) };
        if status.failed != 0 {
            failed.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(status);
        }
    });
    if let Some(status) = failed.into_inner().unwrap_or_else(|e| e.into_inner()) {
        return status;
    }
    let mut whole = Part::whole(work);
    work.narrow(&mut whole, inner, 0, count);
    for at in 0..halves.totals.len() {
        whole.add_buffer(totals.at(at * TOTAL), pitch as i64);
    }
    // SAFETY: of the row's buffers only those are used that do not go along it, and of the additional ones an element a part.
    unsafe { whole.call(&*halves.join) }
}

/// Memory that threads write to different places of.
struct Totals(*mut u8);

// SAFETY: each part has its own place, and nothing is read before all are done.
unsafe impl Sync for Totals {}

impl Totals {
    fn at(&self, bytes: usize) -> *mut u8 {
        self.0.wrapping_add(bytes)
    }
}

impl Part {
    /// Another buffer, with this stride along the innermost loop and 0 along others.
    fn add_buffer(&mut self, pointer: *mut u8, stride: i64) {
        self.pointers.push(pointer);
        self.strides.extend(std::iter::repeat_n(0, self.extents.len() - 1));
        self.strides.push(stride);
    }
}
