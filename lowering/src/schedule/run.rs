//! Runs a call: threads share its chunks, and each chunk runs by a sequence of transformations.

use super::decide::{Chunks, Decision};
use super::fission::FissionKernels;
use super::lines::Lines;
use super::row_blocks::BlockKernels;
use super::search::Searchers;
use super::thread_pool::share;
use crate::kernel::{CompiledKernel, Status};
use crate::lower::{Bound, Lowered, Param};
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::Mutex;

/// The arguments of a whole call of a kernel.
pub(crate) struct Work<'a> {
    pub kernel: &'a dyn CompiledKernel,
    pub lowered: &'a Lowered,
    /// The kernels for blocks of rows, if the call has several blocks.
    pub blocks: Option<BlockKernels<'a>>,
    /// The kernels for block-wise search of long rows, if it is possible.
    pub search: Option<&'a Searchers>,
    /// The kernels of the fission of map and reduction, if there are any.
    pub fission: Option<&'a FissionKernels>,
    /// The kernel that computes several rows at once, if there is one.
    pub jammed: Option<&'a dyn CompiledKernel>,
    pub bound: &'a Bound,
    /// For each buffer, the address of the first point's element.
    pub pointers: &'a [*mut u8],
    pub params: &'a [u64],
}

impl<'a> Work<'a> {
    /// A call of a kernel that runs as it is.
    pub fn of(
        kernel: &'a dyn CompiledKernel,
        lowered: &'a Lowered,
        bound: &'a Bound,
        pointers: &'a [*mut u8],
        params: &'a [u64],
    ) -> Work<'a> {
        Work { kernel, lowered, blocks: None, search: None, fission: None, jammed: None, bound, pointers, params }
    }
}

// SAFETY: parts of a call write disjoint elements, and nothing writes the elements that they read. The
// caller of `run` promises that, and `Decision` shares only loops whose iterations write disjoint elements.
unsafe impl Sync for Work<'_> {}

/// A part of a call: a range of iterations of each loop.
pub(super) struct CallPart {
    pub(super) extents: SmallVec<[u64; 4]>,
    pub(super) pointers: SmallVec<[*mut u8; 6]>,
    pub(super) strides: SmallVec<[i64; 16]>,
    params: SmallVec<[u64; 4]>,
}

impl Clone for CallPart {
    fn clone(&self) -> CallPart {
        // Copies each array with a memcpy, instead of a clone per element.
        CallPart {
            extents: SmallVec::from_slice(&self.extents),
            pointers: SmallVec::from_slice(&self.pointers),
            strides: SmallVec::from_slice(&self.strides),
            params: SmallVec::from_slice(&self.params),
        }
    }
}

impl CallPart {
    pub(super) fn whole(work: &Work<'_>) -> CallPart {
        CallPart {
            extents: work.bound.extents.clone(),
            pointers: work.pointers.into(),
            strides: work.bound.strides.clone(),
            params: work.params.into(),
        }
    }

    /// The strides of a buffer, one for each loop.
    pub(super) fn strides(&self, buffer: usize) -> &[i64] {
        let loops = self.extents.len();
        &self.strides[buffer * loops..][..loops]
    }

    /// The mutable strides of a buffer, one for each loop.
    pub(super) fn strides_mut(&mut self, buffer: usize) -> &mut [i64] {
        let loops = self.extents.len();
        &mut self.strides[buffer * loops..][..loops]
    }

    /// # Safety
    /// As [`CompiledKernel::call`], for a kernel of these loops, buffers and parameters.
    pub(super) unsafe fn call(&self, kernel: &dyn CompiledKernel) -> Status {
        // SAFETY: forwarded.
        unsafe { kernel.run(&self.extents, &self.pointers, &self.strides, &self.params) }
    }
}

/// Runs a call with the decided schedule.
///
/// # Safety
/// As [`CompiledKernel::call`], for a kernel of `work.lowered` and the arguments in `work`. Written buffers
/// alias no other buffer. The iterations of loops along axes that `lowered.apart` names write disjoint
/// elements.
pub(crate) unsafe fn run(work: &Work<'_>, decision: &Decision) -> Status {
    let whole = CallPart::whole(work);
    let Some((threads, chunks)) = decision.shared else {
        // SAFETY: forwarded.
        return unsafe { work.decided(whole, decision) };
    };
    let whole = Shared(whole);
    let count = whole.get().extents[chunks.along];
    let failed: Mutex<Option<(usize, Status)>> = Mutex::new(None);
    share(threads as usize, chunks.count(count), &|number| {
        let (from, len) = chunks.get(number, count);
        let mut part = whole.get().clone();
        work.narrow(&mut part, chunks.along, from, len);
        // SAFETY: this part is inside of the whole, and writes other elements than the other parts.
        let status = unsafe { work.decided(part, decision) };
        if status.failed != 0 {
            // Where a point can fail, the chunks are in the order of points.
            let mut first = failed.lock().unwrap_or_else(|e| e.into_inner());
            if first.as_ref().is_none_or(|(other, _)| number < *other) {
                *first = Some((number, status));
            }
        }
    });
    let failed = failed.into_inner().unwrap_or_else(|e| e.into_inner());
    failed.map(|(_, status)| status).unwrap_or_default()
}

/// A part that several threads read.
pub(super) struct Shared(pub CallPart);

// SAFETY: its pointers are those of `Work`.
unsafe impl Sync for Shared {}

impl Shared {
    pub fn get(&self) -> &CallPart {
        &self.0
    }
}

impl Chunks {
    fn count(&self, of: u64) -> usize {
        1 + (of - self.first.min(of)).div_ceil(self.each) as usize
    }
    /// The first iteration of a chunk, and the number of its iterations.
    fn get(&self, number: usize, of: u64) -> (u64, u64) {
        match number as u64 {
            0 => (0, self.first.min(of)),
            number => {
                let from = self.first + (number - 1) * self.each;
                (from, self.each.min(of - from))
            }
        }
    }
}

impl Work<'_> {
    /// Narrows a loop of the part to `count` iterations, from `from` on.
    pub(super) fn narrow(&self, part: &mut CallPart, along: usize, from: u64, count: u64) {
        let loops = part.extents.len();
        part.extents[along] = count;
        for (pointer, strides) in part.pointers.iter_mut().zip(part.strides.chunks_exact(loops)) {
            *pointer = pointer.wrapping_offset(strides[along].wrapping_mul(from as i64) as isize);
        }
        for (word, param) in part.params.iter_mut().zip(&self.lowered.params) {
            if matches!(param, Param::Start(axis) if self.bound.axes(along).any(|a| a == *axis)) {
                *word = word.wrapping_add(from);
            }
        }
    }

    /// # Safety
    /// As [`run`], for a part of it.
    pub(super) unsafe fn decided(&self, part: CallPart, decision: &Decision) -> Status {
        if let (Some(blocks), Some(searchers)) = (decision.search, self.search) {
            // SAFETY: forwarded; threads share whole rows.
            return unsafe { self.in_search(&part, searchers, blocks) };
        }
        // SAFETY: forwarded.
        let run = |part: CallPart| unsafe { self.in_sequence(part, &decision.sequence) };
        let Some(kernels) = &self.blocks else { return run(part) };
        let kernels = BlockKernels { blocks: kernels.blocks.filter(|_| decision.sequence.is_empty()), ..*kernels };
        let again = self.lowered.fallible.then(|| part.clone());
        // SAFETY: forwarded.
        let status = unsafe { self.in_row_blocks(part, &kernels, &run) };
        match again.filter(|_| status.failed != 0) {
            // The call reports the first point that fails in the order of points, so run again in that
            // order.
            Some(again) => Some(run(again)).filter(|first| first.failed != 0).unwrap_or(status),
            None => status,
        }
    }
}

thread_local! {
    /// Scratch memory for copies of blocks, kept from call to call.
    pub(super) static SCRATCH: Cell<Lines> = Cell::default();
}
