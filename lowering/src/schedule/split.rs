//! `split(i, n)`: a loop runs in blocks of `n` iterations, one after the other, to which the following
//! transformations apply.
//!
//! Splits of several loops, one after the other, are tiles.

use super::collapse::Collapse;
use super::run::{CallPart, Work};
use super::sequence::{Rest, Transform};
use super::stage::Stage;
use crate::kernel::Status;
use smallvec::SmallVec;

/// A loop in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// The loop.
    pub along: usize,
    /// The iterations of a block, at least 1; the last block may have fewer.
    pub by: u64,
}

impl Split {
    /// Runs the blocks of a part.
    ///
    /// # Safety
    /// As [`Rest::run`].
    pub(super) unsafe fn run(&self, work: &Work<'_>, part: &mut CallPart, mut rest: Rest<'_>) -> Status {
        let count = part.extents[self.along];
        if count <= self.by {
            // SAFETY: passed on.
            return unsafe { rest.run(work, part) };
        }
        // SAFETY: passed on.
        let mut from = match unsafe { self.whole_blocks(work, part, rest.again()) } {
            Some((_, status)) if status.failed != 0 => return status,
            Some((done, _)) => done,
            None => 0,
        };
        let mut block = part.clone();
        work.narrow(&mut block, self.along, from, 0);
        while from < count {
            block.extents[self.along] = self.by.min(count - from);
            // SAFETY: a part of the part.
            let status = unsafe { rest.again().run(work, &mut block) };
            if status.failed != 0 {
                return status;
            }
            from += self.by;
            work.narrow(&mut block, self.along, self.by, 0);
        }
        Status::default()
    }

    /// Runs all whole blocks by one call of the kernel, whose loop goes from block to block, if a block
    /// and the next loop are collapsed, and its copies are the same for all blocks. Returns the
    /// number of iterations that are done.
    ///
    /// # Safety
    /// As [`Rest::run`].
    unsafe fn whole_blocks(&self, work: &Work<'_>, part: &CallPart, rest: Rest<'_>) -> Option<(u64, Status)> {
        let (Transform::Collapse(collapse), stages) = rest.sequence.split_last()? else { return None };
        let Collapse { outer, .. } = *collapse;
        let mut own: SmallVec<[&Stage; 4]> = SmallVec::new();
        for transform in stages {
            let Transform::Stage(stage) = transform else { return None };
            own.push(stage);
        }
        let stages = own;
        let is_same = |stage: &&Stage| !stage.writes && part.strides(stage.buffer)[outer] == 0;
        (outer == self.along && stages.iter().all(is_same)).then_some(())?;
        let mut block = part.clone();
        work.narrow(&mut block, outer, 0, self.by);
        for (stage, room) in stages.iter().zip(rest.rooms) {
            // SAFETY: the elements of a block, and the room for them.
            unsafe { stage.copy_in(&mut block, room) };
        }
        collapse.apply(&mut block);
        let blocks = part.extents[outer] / self.by;
        block.extents[outer] = blocks;
        for buffer in 0..block.pointers.len() {
            let is_staged = stages.iter().any(|stage| stage.buffer == buffer);
            block.strides_mut(buffer)[outer] = if is_staged { 0 } else { part.strides(buffer)[outer] * self.by as i64 };
        }
        // SAFETY: the points of all whole blocks, with copies in place of staged arrays.
        Some((blocks * self.by, unsafe { block.call(rest.kernel) }))
    }
}
