//! Kernels that follow one another, in bands.
//!
//! A function that makes rows out of rows by several kernels, as a softmax does, goes through all of its arrays once a kernel: where these are
//! larger than the caches, each has to come from memory again. A band is some iterations of a loop that all the kernels have: the first kernel runs on
//! them, then the second, and so on, and then all of them on the next band, as long as the cache still holds what they share. What only these kernels
//! use needs no place but for one band.
//!
//! Nothing of what a kernel computes depends on that: bands are parts of loops whose iterations write to different elements, and kernels
//! are put together only where an iteration of one uses nothing of another iteration of others.

use super::decide::Decision;
use super::lines::Lines;
use super::run::{Part, Work};
use super::thread_pool::share;
use crate::kernel::Status;
use std::cell::Cell;
use std::sync::Mutex;

/// How kernels are run band by band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bands {
    /// The iterations of the loop that the kernels have in common, at least one.
    pub count: u64,
    /// Those of a band, but for the last one, at least one.
    pub each: u64,
    /// The bytes that a band needs for what only these kernels use.
    pub scratch: usize,
}

/// A kernel that is run band by band.
pub(crate) struct Member<'a> {
    pub work: Work<'a>,
    /// The loop, and how many of its iterations are one of the band's.
    pub along: (usize, u64),
    /// How a band of it is run.
    pub decision: &'a Decision,
    /// Buffers that are in the scratch memory.
    pub moved: &'a [Moved],
}

/// A buffer in the scratch memory of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// The number of the buffer.
    pub buffer: usize,
    /// The bytes from the beginning of the scratch memory to the first element of the band's first iteration.
    pub at: usize,
}

/// Runs kernels band by band; the status is that of a failure, if there is any.
///
/// # Safety
/// As [`run`](super::run), for each member by itself, but for its buffers that are moved, which are apart from all others and from one another in so much scratch
/// memory as `bands` says. The loops are such that their iterations write to different elements, as many as `bands` and `along` say. What an
/// iteration of a member reads or writes no other iteration of another member writes.
pub(crate) unsafe fn run_bands(members: &[Member<'_>], bands: &Bands, threads: u32) -> Status {
    let number_of = bands.count.div_ceil(bands.each);
    let failed: Mutex<Option<Status>> = Mutex::new(None);
    let band = |number: usize| {
        let from = number as u64 * bands.each;
        let len = bands.each.min(bands.count - from);
        let mut memory = SCRATCH.take();
        memory.grow(bands.scratch);
        let scratch = memory.begin();
        for member in members {
            // SAFETY: some iterations of what the caller promises, one member after the other; the scratch memory is this thread's.
            let status = unsafe { member.band(from, len, scratch) };
            if status.failed != 0 {
                failed.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(status);
                break;
            }
        }
        SCRATCH.set(memory);
    };
    if threads > 1 {
        share(threads as usize, number_of as usize, &band);
    } else {
        (0..number_of as usize).for_each(band);
    }
    failed.into_inner().unwrap_or_else(|e| e.into_inner()).unwrap_or_default()
}

impl Member<'_> {
    /// # Safety
    /// As [`run_bands`], for these iterations.
    unsafe fn band(&self, from: u64, len: u64, scratch: *mut u8) -> Status {
        let mut part = Part::whole(&self.work);
        let (along, unit) = self.along;
        self.work.narrow(&mut part, along, from * unit, len * unit);
        for moved in self.moved {
            part.pointers[moved.buffer] = scratch.wrapping_add(moved.at);
        }
        // SAFETY: passed on.
        unsafe { self.work.decided(part, self.decision) }
    }
}

thread_local! {
    /// Memory between kernels, kept from call to call.
    pub(super) static SCRATCH: Cell<Lines> = Cell::default();
}
