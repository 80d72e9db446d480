//! `unroll_and_jam(i, n)`: the kernel computes `n` rows at once ([`Kernel::jammed`]), whose accumulators are
//! side by side. Elements that the rows share are loaded once for all of them.
//!
//! Rows that are left are computed one by one.
//!
//! [`Kernel::jammed`]: crate::kernel::Kernel::jammed

use super::run::{CallPart, Work};
use super::sequence::Rest;
use crate::kernel::{CompiledKernel, Status};
use smallvec::SmallVec;
use std::sync::Arc;

/// Several iterations of a loop around rows at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jam {
    /// The loop around rows.
    pub along: usize,
    /// The iterations that are computed at once, at least 2.
    pub by: u64,
}

/// The kernel that computes several rows at once.
pub(crate) struct JammedKernel {
    /// The rows that it computes at once.
    pub by: u64,
    pub compiled: Arc<dyn CompiledKernel>,
}

impl Jam {
    /// Runs a part.
    ///
    /// # Safety
    /// As [`Rest::run`].
    pub(super) unsafe fn run(&self, work: &Work<'_>, part: &mut CallPart, rest: Rest<'_>) -> Status {
        let Some(kernel) = work.jammed.filter(|_| part.extents[self.along] >= self.by) else {
            // SAFETY: passed on.
            return unsafe { rest.run(work, part) };
        };
        let (count, mut rows) = (part.extents[self.along], part.clone());
        let whole = count / self.by;
        rows.extents[self.along] = whole;
        let buffers = work.lowered.kernel.buffers.iter().enumerate();
        let moving: SmallVec<[usize; 6]> =
            buffers.filter(|(_, buffer)| buffer.varies[self.along]).map(|(n, _)| n).collect();
        for iteration in 1..self.by as isize {
            for &buffer in &moving {
                let strides: SmallVec<[i64; 4]> = part.strides(buffer).into();
                let there = (strides[self.along] as isize).wrapping_mul(iteration);
                rows.pointers.push(part.pointers[buffer].wrapping_offset(there));
                rows.strides.extend(strides);
            }
        }
        for buffer in 0..rows.pointers.len() {
            let stride = &mut rows.strides_mut(buffer)[self.along];
            *stride = stride.wrapping_mul(self.by as i64);
        }
        // SAFETY: passed on: the first rows of the part, with a buffer for each copy that the kernel has.
        let status = unsafe { rows.call(kernel) };
        if status.failed != 0 || count == whole * self.by {
            return status;
        }
        let mut left = part.clone();
        work.narrow(&mut left, self.along, whole * self.by, count - whole * self.by);
        // SAFETY: passed on: the other rows.
        unsafe { rest.run(work, &mut left) }
    }
}
