//! Short rows that are read again and again, turned once.
//!
//! Where a kernel combines the points of short rows, as in distances of all points of one set to all of another, each row of an operand that does not go
//! along the outer loops is read once for each of their iterations. Turned so that a point of adjacent rows lies in adjacent elements, it makes
//! vectors whose lanes are rows (`x64/lanes.rs`): nothing has to be joined across lanes. So that the cache holds what is turned, it is a block of rows at a time
//! that all iterations of the outer loops run on.

use super::lines::Lines;
use super::run::{Part, Work};
use super::turn::turn;
use crate::kernel::{Kernel, Packing, Status};
use crate::lower::Bound;
use smallvec::SmallVec;
use std::cell::Cell;

/// Rows that are read less often are not worth it.
const LEAST_TIMES: u64 = 8;

/// The strides of a buffer along the last two loops, if it goes along both: elements are adjacent along one of them.
fn packed(kernel: &Kernel, bound: &Bound, buffer: usize) -> Option<[i64; 2]> {
    let loops = bound.extents.len();
    let strides = &bound.strides[buffer * loops..][..loops];
    let both = [strides[loops - 2], strides[loops - 1]];
    (!kernel.buffers[buffer].written && both.iter().all(|&stride| stride != 0)).then_some(both)
}

/// True if a call's operands can be packed as its kernel likes it, and that is worth it.
pub fn is_worth_packing(kernel: &Kernel, bound: &Bound, packing: &Packing) -> bool {
    let loops = bound.extents.len();
    let Some(outer) = loops.checked_sub(2) else { return false };
    let [rows, points] = [bound.extents[outer], bound.extents[outer + 1]];
    let times: u64 = bound.extents[..outer].iter().product();
    let right = |(number, buffer): (usize, &crate::kernel::Buffer)| {
        let size = buffer.dtype.size() as i64;
        let strides = &bound.strides[number * loops..][..loops];
        match packed(kernel, bound, number) {
            Some(both) => {
                let again = (0..outer).all(|number| strides[number] == 0 || bound.extents[number] == 1);
                again && both.contains(&size) && both.iter().all(|&stride| stride > 0)
            }
            None if buffer.written => strides[outer] == size,
            None => strides[outer + 1] == 0 || strides[outer + 1] == size,
        }
    };
    kernel.fold.is_some()
        && times >= LEAST_TIMES
        && rows >= packing.rows
        && (2..=packing.points).contains(&points)
        && kernel.buffers.iter().enumerate().all(right)
        && (0..kernel.buffers.len()).any(|number| packed(kernel, bound, number).is_some())
}

impl Work<'_> {
    /// Runs a part of a call for which [`is_worth_packing`] is true.
    ///
    /// # Safety
    /// As [`run`](super::run), for a part of it.
    pub(super) unsafe fn packed(&self, part: &Part, packing: &Packing) -> Status {
        let (kernel, loops) = (&self.lowered.kernel, part.extents.len());
        let (outer, inner) = (loops - 2, loops - 1);
        let points = part.extents[inner];
        let pitch = |size: usize| packing.pitch as usize * size;
        let mut buffers: SmallVec<[(usize, [i64; 2], usize); 2]> = SmallVec::new();
        let mut bytes = 0;
        for (number, buffer) in kernel.buffers.iter().enumerate() {
            if let Some(strides) = packed(kernel, self.bound, number) {
                buffers.push((number, strides, bytes));
                bytes += pitch(buffer.dtype.size()) * points as usize;
            }
        }
        let mut scratch = SCRATCH.take();
        scratch.grow(bytes);
        let begin = scratch.begin();
        let rows = part.extents[outer];
        // As even as may be, in multiples of what is computed at once.
        let blocks = rows.div_ceil(packing.pitch);
        let each = rows.div_ceil(blocks.max(1)).next_multiple_of(packing.rows).min(packing.pitch);
        let mut from = 0;
        while from < rows {
            // The last rows with some of those before them once more: nothing that is read is written.
            from = from.min(rows.saturating_sub(packing.rows));
            let count = each.min(rows - from);
            let mut block = part.clone();
            self.narrow(&mut block, outer, from, count);
            for &(number, [across, along], at) in &buffers {
                let size = kernel.buffers[number].dtype.size();
                let (there, here) = (block.pointers[number].cast_const(), begin.wrapping_add(at));
                let (rows, points) = (count as usize, points as usize);
                // SAFETY: the elements of the block, and the scratch memory of this buffer.
                unsafe {
                    if across == size as i64 {
                        for point in 0..points {
                            let line = there.wrapping_offset(along as isize * point as isize);
                            here.wrapping_add(pitch(size) * point).copy_from_nonoverlapping(line, rows * size);
                        }
                    } else {
                        turn((there, across as isize), (here, pitch(size) as isize), (rows, points), size);
                    }
                }
                block.pointers[number] = here;
                block.strides[number * loops + outer] = size as i64;
                block.strides[number * loops + inner] = pitch(size) as i64;
            }
            // SAFETY: a part of the part, with copies in place of what is packed.
            let status = unsafe { block.call(self.kernel) };
            debug_assert_eq!(status.failed, 0, "it can't fail");
            from += count;
        }
        SCRATCH.set(scratch);
        Status::default()
    }
}

thread_local! {
    /// Memory for a block, kept from call to call.
    static SCRATCH: Cell<Lines> = Cell::default();
}
