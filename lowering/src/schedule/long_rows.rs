//! Short rows that one result has side by side in memory, run as long ones.
//!
//! In `image * gains`, of shapes `[n, 3]` and `[3]`, the innermost loop has three points, and a vector of it as many lanes in use. But to all
//! arrays except `gains` both loops are one, in memory. So `gains` is written out as often as makes a long row, once a call or chunk, and the
//! kernel runs on such rows. Of `flip(image)`, or of another array that lies across the result, the elements of a long row are copied before
//! the kernel runs on them: they are then where the cache next to the processor has them. So are those of an array with one element a row, as
//! in `points * weights`, of shapes `[n, 3]` and `[n, 1]`, each as often as the row has points, for a kernel that reads them at each point
//! (`kernel/by_point.rs`).

use super::lines::LINE;
use super::run::{Part, SCRATCH, Work};
use crate::copy::{Axis, copy_strided};
use crate::kernel::{KOp, Status};
use crate::lower::{Bound, Lowered};
use smallvec::SmallVec;

/// The points of a row that is written out: enough to make the loop around it cost nothing, few enough for the first-level cache.
pub(super) const LONG: u64 = 2048;
/// The most points of a short row. Vectors of longer ones are mostly full.
const SHORT: u64 = 64;
/// The most points, and bytes, of a short row for which elements are copied that lie side by side; that are reversed; that lie otherwise; and of which there is
/// one a row.
const COPIED: [u64; 2] = [8, 48];
const REVERSED: [u64; 2] = [48, 192];
const TURNED: [u64; 2] = [SHORT, 256];
const ONE: [u64; 2] = [8, 32];
/// What is written out is this part of all points at most.
const LEAST_TIMES: u64 = 8;
/// The fewest rows of which elements are copied to a long row, which takes as long as some rows do: where short ones are quick, as their elements lie side by side, or
/// are a vector in reverse; and where they are not.
const LEAST_QUICK: u64 = 64;
const LEAST_SLOW: u64 = 16;
const VECTOR: u64 = 64;

/// How several short rows are run as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Long {
    /// The loops around and along short rows.
    pub loops: [usize; 2],
    /// By the kernel that reads at each point what the other one reads once a row.
    pub by_point: bool,
    /// Whether there are elements that are copied for each long row.
    pub copies: bool,
    /// The fewest short rows of a long one.
    pub least: u64,
}

/// What an array is to the last two loops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// One loop.
    Flat,
    /// The same for each row.
    Repeated,
    /// Copied for each long row.
    Copied,
}

/// What a buffer is to the last two loops that go on, of a call or of a part of it, if it can be run as one. A part may have one iteration of a loop of which
/// the call has several: what is copied for each row of the call may be the same for each of the part, and nothing else differs if it has all points.
pub(super) fn role(
    lowered: &Lowered,
    (extents, strides): (&[u64], &[i64]),
    number: usize,
    [outer, inner]: [usize; 2],
) -> Option<Role> {
    let strides = &strides[number * extents.len()..][..extents.len()];
    let fixed = (0..outer).all(|number| strides[number] == 0 || extents[number] == 1);
    let reach = (extents[inner] as i64).checked_mul(strides[inner])?;
    match strides[outer] {
        // Points are combined in it, or the last one stays.
        0 if lowered.kernel.buffers[number].written => None,
        // The loop around it goes on for the one point.
        _ if extents[inner] == 1 => Some(Role::Flat),
        stride if stride == reach => Some(Role::Flat),
        _ if lowered.kernel.buffers[number].written => None,
        0 if fixed => Some(Role::Repeated),
        _ => Some(Role::Copied),
    }
}

impl Long {
    /// How many rows of so many points are run as one, of so many that follow one another so many times, if they are enough.
    fn at_once(&self, (times, rows): (u64, u64), points: u64) -> Option<u64> {
        let most = (LONG / points.max(1)).min(rows);
        let most = if self.copies { most } else { most.min(times.saturating_mul(rows) / LEAST_TIMES) };
        // Long rows of the same length, as far as that goes.
        (most >= self.least).then(|| rows.div_ceil(rows.div_ceil(most)))
    }
}

/// How that is done to a call, of which so many rows are handed out at once, if it can be done and is worth it. The loops are the last two that go on.
pub fn long_rows(lowered: &Lowered, bound: &Bound, loops: [usize; 2], rows: u64) -> Option<Long> {
    let (kernel, points) = (&lowered.kernel, bound.extents[loops[1]]);
    if kernel.fold.is_some() || lowered.fallible {
        return None;
    }
    let is_within = |[most, bytes]: [u64; 2], size: u64| points <= most && points * size <= bytes;
    let (mut repeats, mut copies, mut worth, mut once, mut quick) = (false, false, false, false, true);
    for (number, buffer) in kernel.buffers.iter().enumerate() {
        let role = role(lowered, (&bound.extents, &bound.strides), number, loops)?;
        let strides = loops.map(|along| bound.strides[number * bound.extents.len() + along]);
        once |= (buffer.level() as usize) < kernel.axes && strides[0] != 0;
        repeats |= role == Role::Repeated;
        if role == Role::Copied {
            copies = true;
            let size = buffer.dtype.size() as u64;
            quick &= match strides[1] {
                step if step == -(size as i64) => points * size >= VECTOR,
                step => step == 0 || step == size as i64,
            };
            worth |= is_within(
                match strides[1] {
                    step if step == size as i64 => COPIED,
                    step if step == -(size as i64) => REVERSED,
                    _ => TURNED,
                },
                size,
            );
        }
    }
    let widest = kernel.buffers.iter().map(|buffer| buffer.dtype.size() as u64).max().unwrap_or(1);
    let is_worth = match (once, copies) {
        (true, _) => is_within(ONE, widest),
        (false, true) => points > 1 && worth,
        (false, false) => points > 1 && repeats,
    };
    let least = match (copies, quick) {
        (false, _) => 2,
        (true, false) => LEAST_SLOW,
        (true, true) => LEAST_QUICK,
    };
    let long = Long { loops, by_point: once, copies, least };
    let times = bound.extents[..loops[0]].iter().product();
    let is_long = (1..=SHORT).contains(&points) && long.at_once((times, rows), points).is_some();
    let counts = kernel.insts.iter().any(|inst| matches!(inst.op, KOp::Index(_)));
    (is_worth && is_long && !counts).then_some(long)
}

/// A buffer whose elements of a long row are elsewhere.
pub(super) struct Elsewhere {
    pub number: usize,
    pub role: Role,
    pub size: usize,
    /// From one short row to the next, and from one point to the next, where the elements are.
    pub strides: [isize; 2],
    pub room: *mut u8,
}

impl Elsewhere {
    /// Puts the elements of so many short rows of so many points into the room.
    ///
    /// # Safety
    /// They are valid to read from there on, and the room is large enough.
    pub(super) unsafe fn fill(&self, from: *const u8, rows: u64, points: u64) {
        let size = self.size;
        let axis = |extent: u64, source, target| Axis { extent: extent as usize, source, target };
        let along = axis(points, self.strides[1], size as isize);
        // SAFETY: the caller's promise.
        unsafe {
            if self.role == Role::Copied {
                let down = axis(rows, self.strides[0], (points as usize * size) as isize);
                return copy_strided(size, from, self.room, [down, along]);
            }
            copy_strided(size, from, self.room, [along]);
            let (mut filled, all) = (points as usize * size, (rows * points) as usize * size);
            while filled < all {
                let more = filled.min(all - filled);
                self.room.add(filled).copy_from_nonoverlapping(self.room, more);
                filled += more;
            }
        }
    }
}

impl Work<'_> {
    /// Runs a part of a call that has [`long_rows`], with the kernel for that; as it is, if the part has too few rows.
    ///
    /// # Safety
    /// As [`run`](super::run), for a part of it.
    pub(super) unsafe fn in_long_rows(&self, part: &Part, how: &Long) -> Status {
        let [outer, inner] = how.loops;
        let (loops, points, count) = (part.extents.len(), part.extents[inner], part.extents[outer]);
        let times = part.extents[..outer].iter().product();
        let at_once = how.at_once((times, count), points).filter(|_| points == self.bound.extents[inner]);
        let Some(rows) = at_once else {
            // SAFETY: passed on.
            return unsafe { part.call(self.kernel) };
        };
        let mut elsewhere: SmallVec<[Elsewhere; 4]> = SmallVec::new();
        for (number, buffer) in self.lowered.kernel.buffers.iter().enumerate() {
            let role = role(self.lowered, (&part.extents, &part.strides), number, [outer, inner]);
            let Some(role) = role.filter(|role| *role != Role::Flat) else { continue };
            debug_assert!(how.copies || role == Role::Repeated, "it was decided for this part, or for more than it");
            let strides = [outer, inner].map(|along| part.strides[number * loops + along] as isize);
            elsewhere.push(Elsewhere { number, role, size: buffer.dtype.size(), strides, room: std::ptr::null_mut() });
        }
        let room = |size: usize| ((rows * points) as usize * size).next_multiple_of(LINE);
        let mut scratch = SCRATCH.take();
        scratch.grow(elsewhere.iter().map(|other| room(other.size)).sum());
        let mut at = scratch.begin();
        // Of a part, with so many short rows in each of its own.
        let mut long = part.clone();
        if points == 1 {
            long.strides.chunks_exact_mut(loops).for_each(|strides| strides[inner] = strides[outer]);
        }
        for other in &mut elsewhere {
            other.room = at;
            at = at.wrapping_add(room(other.size));
            long.strides[other.number * loops + inner] = other.size as i64;
            if other.role == Role::Repeated {
                // SAFETY: the elements of the first short row, and a room for a long one.
                unsafe { other.fill(part.pointers[other.number], rows, points) };
                long.pointers[other.number] = other.room;
            }
        }
        match how.copies {
            // SAFETY: passed on; rooms are there.
            true => unsafe { self.in_copied_rows(&long, [outer, inner], rows, &elsewhere) },
            // SAFETY: passed on.
            false => unsafe { self.in_repeated_rows(long, [outer, inner], rows) },
        }
        SCRATCH.set(scratch);
        Status::default()
    }

    /// Where all that is elsewhere is the same for each row.
    ///
    /// # Safety
    /// As [`run`](super::run), for a part of it.
    unsafe fn in_repeated_rows(&self, mut long: Part, [outer, inner]: [usize; 2], rows: u64) {
        let (loops, points, count) = (long.extents.len(), long.extents[inner], long.extents[outer]);
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
    }

    /// Long row by long row, whose elements are copied first.
    ///
    /// # Safety
    /// As [`run`](super::run), for a part of it.
    unsafe fn in_copied_rows(&self, part: &Part, [outer, inner]: [usize; 2], rows: u64, elsewhere: &[Elsewhere]) {
        let (points, count) = (part.extents[inner], part.extents[outer]);
        let mut at: SmallVec<[u64; 4]> = SmallVec::from_elem(0, outer);
        loop {
            let mut all = part.clone();
            for (number, &index) in at.iter().enumerate() {
                self.narrow(&mut all, number, index, 1);
            }
            for first in (0..count).step_by(rows as usize) {
                let mut row = all.clone();
                let rows = rows.min(count - first);
                self.narrow(&mut row, outer, first, rows);
                for other in elsewhere {
                    if other.role == Role::Copied {
                        let from = all.pointers[other.number].wrapping_offset(other.strides[0] * first as isize);
                        // SAFETY: the elements of these rows, which the kernel reads, and a room for a long row.
                        unsafe { other.fill(from, rows, points) };
                    }
                    row.pointers[other.number] = other.room;
                }
                (row.extents[outer], row.extents[inner]) = (1, rows * points);
                // SAFETY: these points, with copies in place of what is elsewhere. No point fails.
                unsafe { row.call(self.kernel) };
            }
            let Some(next) = (0..outer).rev().find(|&number| at[number] + 1 < part.extents[number]) else { break };
            at[next] += 1;
            at[next + 1..].fill(0);
        }
    }
}
