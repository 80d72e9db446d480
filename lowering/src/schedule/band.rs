//! Runs consecutive kernels in bands (strip-mining and fusion of their outer loops).
//!
//! A function such as softmax runs several kernels over the same rows, and each kernel passes over all of
//! its arrays. Arrays that are larger than the caches then come from memory once per kernel. A band is a
//! range of iterations of a loop that all the kernels share. All kernels run on one band before the next
//! band begins, so the cache still holds the elements that they share. A temporary that only these kernels
//! use takes the memory of one band.
//!
//! A kernel may read rows that are close to its own, such as the rows above and below of a stencil. Then it
//! runs a few iterations behind the kernels that compute them (its *shift*), and the band's memory keeps the
//! rows that later iterations still read. This is loop shifting before fusion; see N. Manjikian and T.
//! Abdelrahman, "Fusion of loops for parallelism and locality", 1997. Several threads share the loop in
//! consecutive pieces. A piece begins by computing the rows of temporaries that it reads from before its own
//! beginning, so some rows are computed twice.
//!
//! Bands do not change results. An iteration of a kernel runs after all iterations of earlier kernels that
//! touch the same bytes, if one of the two writes them.

use super::decide::Decision;
use super::lines::Lines;
use super::run::{CallPart, Work};
use super::thread_pool::share;
use crate::kernel::Status;
use std::cell::Cell;
use std::ops::Range;
use std::sync::Mutex;

/// The partition of the shared loop into bands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bands {
    /// The number of iterations of the shared loop, at least one: with a member's shift, its iteration `i` is
    /// in iteration `i + shift` of the shared loop.
    pub count: u64,
    /// The iterations of a band, at least one. The last band may have fewer.
    pub each: u64,
    /// The bytes of scratch memory that a band needs for temporaries of these kernels.
    pub scratch: usize,
    /// The temporaries of which a band keeps rows of the band before it.
    pub kept: Vec<Kept>,
    /// Whether threads may share the loop.
    pub parallel: bool,
}

/// A temporary in scratch memory whose last rows the next band reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The offset in the scratch memory.
    pub at: usize,
    /// The bytes of a band's rows.
    pub band: usize,
    /// The bytes that are kept.
    pub bytes: usize,
}

/// A kernel that runs in bands.
pub(crate) struct Member<'a> {
    pub work: Work<'a>,
    pub iterations: Iterations,
    /// The schedule of one band.
    pub decision: &'a Decision,
    /// The buffers that are in scratch memory.
    pub moved: &'a [Moved],
}

/// The iterations of a member in the shared loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Iterations {
    /// The number of the kernel's loop.
    pub along: usize,
    /// The number of its iterations that make one iteration of the shared loop.
    pub unit: u64,
    /// The iterations of the shared loop in which the member runs.
    pub count: u64,
    /// The number of iterations of the shared loop by which the member runs late.
    pub shift: u64,
    /// The number of iterations before a piece's own that the piece computes, too.
    pub before: u64,
}

/// A buffer in the scratch memory of a band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    /// The number of the buffer.
    pub buffer: usize,
    /// In the first band, the offset in bytes of the element at the member's first iteration. It may be
    /// before the memory if that iteration is in a later band.
    pub at: isize,
    /// The bytes of one iteration of the shared loop.
    pub stride: usize,
}

/// Runs kernels band by band. Returns the status of a failure, if there is one.
///
/// # Safety
/// As [`run`](super::run), for each member, except for its moved buffers: `bands.scratch` bytes of scratch
/// memory hold the rows that a band touches, and they alias no other buffer and not one another. The
/// iterations of the loops write disjoint elements, and their numbers agree with `bands`. An iteration of a
/// member touches no bytes that an earlier member touches in later iterations of the shared loop, unless both
/// only read. If the bands are parallel, it touches such bytes of other memories than scratch memory in the
/// same iteration only. Members that compute rows before a piece's own then write scratch memory only, and
/// read no other memory that a member writes.
pub(crate) unsafe fn run_bands(members: &[Member<'_>], bands: &Bands, threads: u32) -> Status {
    let number_of = bands.count.div_ceil(bands.each) as usize;
    let failed: Mutex<Option<Status>> = Mutex::new(None);
    let piece = |numbers: Range<usize>| {
        let mut memory = SCRATCH.take();
        memory.grow(bands.scratch);
        // SAFETY: forwarded. The scratch memory belongs to this thread.
        let status = unsafe { bands.piece(members, numbers, memory.begin()) };
        if status.failed != 0 {
            failed.lock().unwrap_or_else(|e| e.into_inner()).get_or_insert(status);
        }
        SCRATCH.set(memory);
    };
    let threads = if bands.parallel { threads as usize } else { 1 };
    // Bands that keep no rows are independent of one another.
    let pieces = match (threads, bands.kept.is_empty()) {
        (1, _) => 1,
        (_, true) => number_of,
        (_, false) => threads.min(number_of),
    };
    share(threads, pieces, &|number| piece(number * number_of / pieces..(number + 1) * number_of / pieces));
    failed.into_inner().unwrap_or_else(|e| e.into_inner()).unwrap_or_default()
}

impl Bands {
    /// Runs consecutive bands.
    ///
    /// # Safety
    /// As [`run_bands`], for these bands.
    unsafe fn piece(&self, members: &[Member<'_>], numbers: Range<usize>, scratch: *mut u8) -> Status {
        let own = numbers.start as u64 * self.each..(numbers.end as u64 * self.each).min(self.count);
        let before = match own.start {
            0 => 0,
            _ => members.iter().map(|member| member.iterations.before).max().unwrap_or(0),
        };
        let mut start = own.start.saturating_sub(before);
        let mut is_first = true;
        while start < own.end {
            let band = start..(start + self.each).min(own.end);
            if !is_first {
                for kept in &self.kept {
                    let rows = scratch.wrapping_add(kept.at);
                    // SAFETY: both ranges are inside of the memory of this temporary.
                    unsafe { rows.wrapping_add(kept.band).copy_to(rows, kept.bytes) };
                }
            }
            for member in members {
                // SAFETY: a range of the iterations that the caller describes, one member after the other.
                let status = unsafe { member.band(&band, own.start, scratch) };
                if status.failed != 0 {
                    return status;
                }
            }
            (start, is_first) = (band.end, false);
        }
        Status::default()
    }
}

impl Member<'_> {
    /// Runs the iterations of a band that are in a piece, which begins at `piece`.
    ///
    /// # Safety
    /// As [`run_bands`], for these iterations.
    unsafe fn band(&self, band: &Range<u64>, piece: u64, scratch: *mut u8) -> Status {
        let Iterations { along, unit, count, shift, before } = self.iterations;
        let begin = if piece == 0 { 0 } else { piece.saturating_sub(before) };
        let from = band.start.max(begin).saturating_sub(shift).min(count);
        let end = band.end.saturating_sub(shift).min(count);
        if from >= end {
            return Status::default();
        }
        let mut part = CallPart::whole(&self.work);
        for moved in self.moved {
            let back = (band.start as usize).wrapping_mul(moved.stride);
            part.pointers[moved.buffer] = scratch.wrapping_offset(moved.at).wrapping_sub(back);
        }
        self.work.narrow(&mut part, along, from * unit, (end - from) * unit);
        // SAFETY: forwarded.
        unsafe { self.work.decided(part, self.decision) }
    }
}

thread_local! {
    /// Scratch memory of bands, kept from call to call.
    pub(super) static SCRATCH: Cell<Lines> = Cell::default();
}
