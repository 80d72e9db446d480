//! Short rows that are all the same to some operands, run as long ones.
//!
//! In `image * gains`, of shapes `[n, 3]` and `[3]`, the innermost loop has three points, and a vector of it as many lanes in use. But to all
//! arrays except `gains` both loops are one, in memory. So `gains` is written out as often as makes a long row, once a call or chunk, and the
//! kernel runs on such rows.

use super::lines::LINE;
use super::run::{Part, SCRATCH, Work};
use crate::kernel::{KOp, Status};
use crate::lower::{Bound, Lowered};
use smallvec::SmallVec;

/// The points of a row that is written out: enough to make the loop around it cost nothing, few enough for the first-level cache.
const LONG: u64 = 2048;
/// The most points of a short row. Vectors of longer ones are mostly full.
const SHORT: u64 = 256;
/// What is written out is this part of all points at most.
const LEAST_TIMES: u64 = 8;

/// What an array is to the last two loops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// One loop.
    Flat,
    /// The same for each row.
    Repeated,
}

/// What a buffer is to the last two loops that go on, if it is one of both.
fn role(lowered: &Lowered, bound: &Bound, buffer: usize, [outer, inner]: [usize; 2]) -> Option<Role> {
    let loops = bound.extents.len();
    let strides = &bound.strides[buffer * loops..][..loops];
    let fixed = (0..outer).all(|number| strides[number] == 0 || bound.extents[number] == 1);
    let reach = (bound.extents[inner] as i64).checked_mul(strides[inner])?;
    match strides[outer] {
        stride if stride == reach => Some(Role::Flat),
        0 if fixed && !lowered.kernel.buffers[buffer].written => Some(Role::Repeated),
        _ => None,
    }
}

/// How many rows of so many are run as one, each of so many points, if that is worth it.
fn rows_at_once(rows: u64, points: u64) -> Option<u64> {
    let at_once = (LONG / points.max(1)).min(rows / LEAST_TIMES);
    ((2..=SHORT).contains(&points) && at_once > 1).then_some(at_once)
}

/// True if that can be done to a call, of which so many rows are handed out at once, and is worth it. The loops are the last two that go on.
pub fn may_repeat(lowered: &Lowered, bound: &Bound, [outer, inner]: [usize; 2], rows: u64) -> bool {
    let kernel = &lowered.kernel;
    if rows_at_once(rows, bound.extents[inner]).is_none() || kernel.fold.is_some() || lowered.fallible {
        return false;
    }
    let roles = (0..kernel.buffers.len()).map(|buffer| role(lowered, bound, buffer, [outer, inner]));
    let roles: Option<SmallVec<[Role; 6]>> = roles.collect();
    let counts = kernel.insts.iter().any(|inst| matches!(inst.op, KOp::Index(_)));
    roles.is_some_and(|roles| roles.contains(&Role::Repeated)) && !counts
}

impl Work<'_> {
    /// Runs a part of a call for which [`may_repeat`] is true; as it is, if the part has too few rows.
    ///
    /// # Safety
    /// As [`run`](super::run), for a part of it.
    pub(super) unsafe fn in_long_rows(&self, part: &Part, [outer, inner]: [usize; 2]) -> Status {
        let (loops, points, count) = (part.extents.len(), part.extents[inner], part.extents[outer]);
        let Some(rows) = rows_at_once(count, points).filter(|_| points == self.bound.extents[inner]) else {
            // SAFETY: passed on.
            return unsafe { part.call(self.kernel) };
        };
        let buffers = &self.lowered.kernel.buffers;
        let is_repeated =
            |&number: &usize| role(self.lowered, self.bound, number, [outer, inner]) == Some(Role::Repeated);
        let row = |number: usize| (rows * points) as usize * buffers[number].dtype.size();
        let repeated: SmallVec<[usize; 4]> = (0..buffers.len()).filter(is_repeated).collect();
        let mut scratch = SCRATCH.take();
        let room = |number: usize| row(number).next_multiple_of(LINE);
        scratch.grow(repeated.iter().map(|&number| room(number)).sum());
        let mut at = scratch.begin();
        // Of a part, with so many short rows in each of its own.
        let mut long = part.clone();
        for &number in &repeated {
            let size = buffers[number].dtype.size();
            let step = part.strides[number * loops + inner] as isize;
            // SAFETY: the scratch memory of this buffer has room for the long row, which begins with elements of the first short one.
            unsafe {
                for point in 0..points as usize {
                    let element = part.pointers[number].wrapping_offset(point as isize * step);
                    at.add(point * size).copy_from_nonoverlapping(element, size);
                }
                let mut filled = points as usize * size;
                while filled < row(number) {
                    let more = filled.min(row(number) - filled);
                    at.add(filled).copy_from_nonoverlapping(at, more);
                    filled += more;
                }
            }
            long.pointers[number] = at;
            long.strides[number * loops + inner] = size as i64;
            at = at.wrapping_add(room(number));
        }
        let mut rest = long.clone();
        self.narrow(&mut rest, outer, count - count % rows, count % rows);
        (long.extents[outer], long.extents[inner]) = (count / rows, rows * points);
        (rest.extents[outer], rest.extents[inner]) = (1, count % rows * points);
        for strides in long.strides.chunks_exact_mut(loops) {
            strides[outer] *= rows as i64;
        }
        // SAFETY: the same points, in the same order but for what is around these loops, with copies in place of what is repeated. No point fails.
        unsafe {
            long.call(self.kernel);
            if count % rows > 0 {
                rest.call(self.kernel);
            }
        }
        SCRATCH.set(scratch);
        Status::default()
    }
}
