//! Sequences of transformations: how the loops of a call, or of a part of it, run.
//!
//! A sequence is read from the outside in. Each transformation changes the loops, or the buffers that the
//! following ones see. Innermost is the kernel:
//!
//! ```text
//! split(i, 64) split(j, 128) stage(y, i, j)      of a kernel over i and j that reads x[i, j] and y[j, i]
//!
//! for i0 in 0..n, 64 at a time:
//!   for j0 in 0..m, 128 at a time:
//!     p[i - i0, j - j0] = y[j, i]                for all i, j of the block
//!     kernel over i0..i0 + 64, j0..j0 + 128      which reads x and p
//! ```
//!
//! A kernel is compiled once, for arrays of any strides. Sequences depend on the extents and strides of a
//! call, so they are interpreted. A block has thousands of points, so that this takes no time. The names of
//! the transformations are those of Halide and TVM. [`legal`](super::legal) has the conditions for them.

use super::collapse::Collapse;
use super::fission::Fission;
use super::jam::Jam;
use super::lines::LINE;
use super::run::{CallPart, SCRATCH, Work};
use super::split::Split;
use super::stage::{Room, Stage};
use crate::kernel::{CompiledKernel, Status};
use smallvec::SmallVec;

/// Transformations, outermost first.
pub type Sequence = SmallVec<[Transform; 4]>;

/// A transformation. Loops and buffers are those of the kernel, by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transform {
    /// Runs a loop block by block.
    Split(Split),
    /// Copies a buffer's elements of a block to scratch memory.
    Stage(Stage),
    /// Makes one loop of two.
    Collapse(Collapse),
    /// Computes the points of rows before it combines them.
    Fission(Fission),
    /// Computes several rows at once.
    Jam(Jam),
}

impl Work<'_> {
    /// Runs a part of a call by a sequence.
    ///
    /// # Safety
    /// As [`run`](super::run), for a part of it, for which the sequence is legal.
    pub(super) unsafe fn in_sequence(&self, mut part: CallPart, sequence: &[Transform]) -> Status {
        if sequence.is_empty() {
            // SAFETY: passed on.
            return unsafe { part.call(self.kernel) };
        }
        let mut bytes: SmallVec<[usize; 6]> = SmallVec::new();
        self.room_bytes(sequence, &mut part.extents.clone(), &mut bytes);
        let mut scratch = SCRATCH.take();
        scratch.grow(bytes.iter().sum());
        let mut at = scratch.begin();
        let mut rooms: SmallVec<[Room; 6]> = SmallVec::new();
        for bytes in bytes {
            rooms.push(Room::new(at));
            at = at.wrapping_add(bytes);
        }
        // SAFETY: passed on; there is a room for each copy of a block.
        let status = unsafe { Rest { kernel: self.kernel, sequence, rooms: &mut rooms }.run(self, &mut part) };
        SCRATCH.set(scratch);
        status
    }

    /// The bytes of the rooms that a sequence needs, in the order of its transformations.
    fn room_bytes(&self, sequence: &[Transform], extents: &mut SmallVec<[u64; 4]>, bytes: &mut SmallVec<[usize; 6]>) {
        let Some((first, mut rest)) = sequence.split_first() else { return };
        match first {
            Transform::Split(split) => extents[split.along] = extents[split.along].min(split.by),
            Transform::Stage(stage) => bytes.push(stage.bytes(extents).next_multiple_of(LINE)),
            Transform::Collapse(collapse) => collapse.extents(extents),
            Transform::Jam(_) => {}
            Transform::Fission(fission) => {
                let points = (extents[fission.outer] * extents[fission.inner]) as usize;
                let sizes = self.fission.iter().flat_map(|kernels| &kernels.sizes);
                bytes.extend(sizes.map(|size| (points * size).next_multiple_of(LINE)));
                let (first, second) = rest.split_at(fission.first.min(rest.len()));
                self.room_bytes(first, &mut extents.clone(), bytes);
                rest = second;
            }
        }
        self.room_bytes(rest, extents, bytes);
    }
}

/// The transformations that follow one, with the kernel in the innermost block.
pub(super) struct Rest<'r> {
    pub kernel: &'r dyn CompiledKernel,
    pub sequence: &'r [Transform],
    /// One for each copy, in the order of the transformations.
    pub rooms: &'r mut [Room],
}

impl Rest<'_> {
    /// The same for another block.
    pub fn again(&mut self) -> Rest<'_> {
        Rest { kernel: self.kernel, sequence: self.sequence, rooms: self.rooms }
    }

    /// Runs a part, which is the same afterwards.
    ///
    /// # Safety
    /// As [`Work::in_sequence`], with a room for each copy.
    pub unsafe fn run(self, work: &Work<'_>, part: &mut CallPart) -> Status {
        let Some((first, sequence)) = self.sequence.split_first() else {
            // SAFETY: passed on.
            return unsafe { part.call(self.kernel) };
        };
        let rest = Rest { sequence, ..self };
        // SAFETY: passed on: each transformation keeps the points, and has room for its copies.
        unsafe {
            match first {
                Transform::Split(split) => split.run(work, part, rest),
                Transform::Stage(stage) => stage.run(work, part, rest),
                Transform::Collapse(collapse) => collapse.run(work, part, rest),
                Transform::Fission(fission) => fission.run(work, part, rest),
                Transform::Jam(jam) => jam.run(work, part, rest),
            }
        }
    }
}

/// The number of stages among transformations, each of which has a room.
pub(super) fn stages(sequence: &[Transform]) -> usize {
    sequence.iter().filter(|transform| matches!(transform, Transform::Stage(_))).count()
}
