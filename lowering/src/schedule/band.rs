//! Runs consecutive kernels in bands (strip-mining and fusion of their outer loops).
//!
//! A function such as softmax runs several kernels over the same rows, and each kernel passes over all of
//! its arrays. Arrays that are larger than the caches then come from memory once per kernel. A band is a
//! range of iterations of a loop that all the kernels share. All kernels run on one band before the next
//! band begins, so the cache still holds the elements that they share. A temporary that only these kernels
//! use takes the memory of one band.
//!
//! Bands do not change results: they are ranges of loops whose iterations write disjoint elements, and an
//! iteration of one kernel depends on no other iteration of another kernel.

use super::decide::Decision;
use super::lines::Lines;
use super::run::{Part, Work};
use super::thread_pool::share;
use crate::kernel::Status;
use std::cell::Cell;
use std::sync::Mutex;

/// The partition of the shared loop into bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bands {
    /// The number of iterations of the shared loop, at least one.
    pub count: u64,
    /// The iterations of a band, at least one. The last band may have fewer.
    pub each: u64,
    /// The bytes of scratch memory that a band needs for temporaries of these kernels.
    pub scratch: usize,
}

/// A kernel that runs in bands.
pub(crate) struct Member<'a> {
    pub work: Work<'a>,
    /// The number of the kernel's loop, and how many of its iterations make one iteration of the shared
    /// loop.
    pub along: (usize, u64),
    /// The schedule of one band.
    pub decision: &'a Decision,
    /// The buffers that are in scratch memory.
    pub moved: &'a [Moved],
}

/// A buffer in the scratch memory of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// The number of the buffer.
    pub buffer: usize,
    /// The offset in bytes of the first element of the band's first iteration in the scratch memory.
    pub at: usize,
}

/// Runs kernels band by band. Returns the status of a failure, if there is one.
///
/// # Safety
/// As [`run`](super::run), for each member, except for its moved buffers: `bands.scratch` bytes of scratch
/// memory hold them, and they alias no other buffer and not one another. The iterations of the loops write
/// disjoint elements, and their numbers agree with `bands` and `along`. No iteration of a member writes an
/// element that a different iteration of another member reads or writes.
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
            // SAFETY: a range of the iterations that the caller describes, one member after the other. The
            // scratch memory belongs to this thread.
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
        // SAFETY: forwarded.
        unsafe { self.work.decided(part, self.decision) }
    }
}

thread_local! {
    /// Scratch memory of bands, kept from call to call.
    pub(super) static SCRATCH: Cell<Lines> = Cell::default();
}
