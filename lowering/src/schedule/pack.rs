//! Short rows, turned before.
//!
//! Where a kernel combines the points of short rows, as in distances of all points of one set to all of another, each row of an operand that does not go
//! along the outer loops is read once for each of their iterations. Turned so that a point of adjacent rows lies in adjacent elements, it makes
//! vectors whose lanes are rows (`x64/lanes.rs`): nothing has to be joined across lanes. So that the cache holds what is turned, it is a block of rows at a time
//! that all iterations of the outer loops run on. Where any order of combination does, that pays for rows that are read once, too.

use super::ahead::Ahead;
use super::run::{Part, SCRATCH, Work};
use super::turn::turn;
use crate::copy::{Axis, copy_strided};
use crate::kernel::{Buffer, Kernel, Packing, Status};
use crate::lower::Bound;
use smallvec::SmallVec;

/// Rows that are read less often are not worth it.
pub const LEAST_TIMES: u64 = 8;

/// What it takes to turn rows and compute them then, besides for each element, in nanoseconds.
const START_NANOS: f64 = 150.0;
const TURN_NANOS: f64 = 0.45;
/// It must be clear that it is worth it.
const SURE: f64 = 0.8;

/// The buffers that are packed, by number: those that go along the rows and along the loop across them.
fn crossing(kernel: &Kernel) -> impl Iterator<Item = usize> {
    (0..kernel.buffers.len()).filter(|&number| goes(&kernel.buffers[number]) == [true; 2])
}

/// Whether a buffer that is read goes along the loop across rows, and along these.
fn goes(buffer: &Buffer) -> [bool; 2] {
    match buffer.varies[..] {
        [.., across, along] if !buffer.written => [across, along],
        _ => [false; 2],
    }
}

/// The first of the loops around `across` along which rows are others, if there is one: one that goes on, with elements of its own.
fn with_own_rows(kernel: &Kernel, extents: &[u64], strides: &[i64]) -> Option<usize> {
    let loops = extents.len();
    let moves = |outer: usize| crossing(kernel).any(|number| strides[number * loops + outer] != 0);
    (0..loops - 2).find(|&outer| extents[outer] > 1 && moves(outer))
}

/// True if a call's operands can be packed as its kernel likes it, and that is worth it.
pub fn is_worth_packing(kernel: &Kernel, bound: &Bound, packing: &Packing) -> bool {
    let loops = bound.extents.len();
    let Some(across) = loops.checked_sub(2) else { return false };
    // What the kernel asks for when it is called (`x64/lanes.rs`), with the strides that buffers have then.
    let right = |(number, buffer): (usize, &Buffer)| {
        let size = buffer.dtype.size() as i64;
        let strides = &bound.strides[number * loops..][..loops];
        let both = [strides[across], strides[across + 1]];
        match goes(buffer) {
            [true, true] => true,
            [false, true] => both[1] == size,
            _ => !buffer.written || both[0] == size,
        }
    };
    // A row of one point is one, too, if what is done with it takes so long.
    let least = if packing.row_nanos.is_some() { 1 } else { 2 };
    let again = with_own_rows(kernel, &bound.extents, &bound.strides).is_none();
    let lie_across = lie_across(kernel, &bound.strides, loops);
    (again || lie_across || packing.row_nanos.is_some())
        && is_long_enough(&bound.extents, packing, again, lie_across)
        && (least..=packing.points).contains(&bound.extents[across + 1])
        && kernel.buffers.iter().enumerate().all(right)
}

/// True if points of adjacent rows are adjacent, and those of a row are apart: what is packed is copied line by line then, in less time than rows take that lie so.
fn lie_across(kernel: &Kernel, strides: &[i64], loops: usize) -> bool {
    crossing(kernel).all(|number| {
        let size = kernel.buffers[number].dtype.size() as i64;
        let strides = &strides[number * loops..][loops - 2..loops];
        strides[0] == size && strides[1] != size
    })
}

/// True if there are as many rows as a kernel computes at once, and these are read often enough, or take longer otherwise; the outer loops read the same ones `again`,
/// or others.
fn is_long_enough(extents: &[u64], packing: &Packing, again: bool, lie_across: bool) -> bool {
    let (outer, last) = extents.split_at(extents.len() - 2);
    let (rows, points) = (last[0], last[1]);
    let is_saved = |nanos: f64| {
        // The last rows are computed with some of those before them once more.
        let turned = (rows.next_multiple_of(packing.rows) * points) as f64;
        START_NANOS + TURN_NANOS * turned < SURE * nanos * rows as f64
    };
    let is_often = again && outer.iter().product::<u64>() >= LEAST_TIMES;
    rows >= packing.rows && (is_often || lie_across || packing.row_nanos.is_some_and(is_saved))
}

impl Work<'_> {
    /// Runs a part of a call for which [`is_worth_packing`] is true; as it is, if the part is too small.
    ///
    /// # Safety
    /// As [`run`](super::run), for a part of it.
    pub(super) unsafe fn in_blocks(&self, part: &Part, packing: &Packing) -> Status {
        let (kernel, loops) = (&self.lowered.kernel, part.extents.len());
        let (across, along) = (loops - 2, loops - 1);
        let others = with_own_rows(kernel, &part.extents, &part.strides);
        if !is_long_enough(&part.extents, packing, others.is_none(), lie_across(kernel, &part.strides, loops)) {
            // SAFETY: passed on.
            return unsafe { part.call(self.kernel) };
        }
        if let Some(outer) = others {
            // Each iteration has rows of its own.
            for iteration in 0..part.extents[outer] {
                let mut one = part.clone();
                self.narrow(&mut one, outer, iteration, 1);
                // SAFETY: a part of the part.
                let status = unsafe { self.in_blocks(&one, packing) };
                if status.failed != 0 {
                    return status;
                }
            }
            return Status::default();
        }
        let points = part.extents[along] as usize;
        let pitch = |size: usize| packing.pitch as usize * size;
        // Where each begins in the scratch memory.
        let mut buffers: SmallVec<[(usize, usize); 2]> = SmallVec::new();
        let mut bytes = 0;
        for number in crossing(kernel) {
            buffers.push((number, bytes));
            bytes += pitch(kernel.buffers[number].dtype.size()) * points;
        }
        let mut scratch = SCRATCH.take();
        scratch.grow(bytes);
        let begin = scratch.begin();
        let rows = part.extents[across];
        // As even as may be, in multiples of what is computed at once.
        let blocks = rows.div_ceil(packing.pitch);
        let each = rows.div_ceil(blocks.max(1)).next_multiple_of(packing.rows).min(packing.pitch);
        let (mut from, mut status) = (0, Status::default());
        while from < rows && status.failed == 0 {
            // The last rows with some of those before them once more: nothing that is read is written.
            from = from.min(rows.saturating_sub(packing.rows));
            let count = each.min(rows - from);
            let mut block = part.clone();
            self.narrow(&mut block, across, from, count);
            for &(number, at) in &buffers {
                let size = kernel.buffers[number].dtype.size();
                let (there, here) = (block.pointers[number].cast_const(), begin.wrapping_add(at));
                let strides = &mut block.strides[number * loops..][..loops];
                // SAFETY: the elements of the block, and the scratch memory of this buffer.
                unsafe {
                    if strides[across] == size as i64 {
                        for point in 0..points {
                            let line = there.wrapping_offset(strides[along] as isize * point as isize);
                            here.wrapping_add(pitch(size) * point)
                                .copy_from_nonoverlapping(line, count as usize * size);
                        }
                    } else if strides[along] != size as i64 || strides[across] < 0 {
                        let axis = |extent: u64, source: i64, target: usize| Axis {
                            extent: extent as usize,
                            source: source as isize,
                            target: target as isize,
                        };
                        let down = axis(points as u64, strides[along], pitch(size));
                        copy_strided(size, there, here, [down, axis(count, strides[across], size)]);
                    } else {
                        let step = strides[across] as isize;
                        turn(
                            (there, step),
                            (here, pitch(size) as isize),
                            (count as usize, points),
                            size,
                            &mut Ahead::default(),
                        );
                    }
                }
                block.pointers[number] = here;
                strides[across] = size as i64;
                strides[along] = pitch(size) as i64;
            }
            // SAFETY: a part of the part, with copies in place of what is packed.
            status = unsafe { block.call(self.kernel) };
            from += count;
        }
        SCRATCH.set(scratch);
        status
    }
}
