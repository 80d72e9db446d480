//! `stage(x, i, j)`: the elements of an operand that a block needs are copied to scratch memory, where the
//! index of the last loop named moves to the next element. An element of a result goes back after the block.
//!
//! A copy transposes, removes gaps, reverses, or repeats an element that several iterations read. Copies that
//! are the same for several blocks are made once.

use super::run::{CallPart, Work};
use super::sequence::Rest;
use crate::copy::{Axis, copy_strided};
use crate::kernel::Status;
use smallvec::SmallVec;

/// A buffer whose elements are copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The buffer.
    pub buffer: usize,
    /// The bytes of an element.
    pub size: usize,
    /// Whether the block reads the elements, and whether it writes them.
    pub reads: bool,
    /// See `reads`.
    pub writes: bool,
    /// The loops along which the copy goes, outermost first.
    pub loops: SmallVec<[usize; 2]>,
    /// The elements from one iteration of the last loop but one to the next, if not as many as the last loop
    /// has iterations.
    pub pitch: Option<u64>,
}

/// Scratch memory for a copy.
pub(super) struct Room {
    at: *mut u8,
    /// The elements of which it holds a copy.
    held: Option<Elements>,
}

/// Elements of a buffer: those from an address on, along the loops of a stage.
struct Elements {
    pointer: *mut u8,
    along: SmallVec<[Along; 2]>,
}

/// The iterations of a loop, and how far apart elements are along it, in bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Along {
    extent: u64,
    stride: i64,
}

impl Elements {
    /// True if these are among others: fewer iterations of the outermost loop are.
    fn are_among(&self, others: &Elements) -> bool {
        let is_same = |(number, (one, other)): (usize, (&Along, &Along))| {
            one.stride == other.stride
                && if number == 0 { one.extent <= other.extent } else { one.extent == other.extent }
        };
        self.pointer == others.pointer && self.along.iter().zip(&others.along).enumerate().all(is_same)
    }
}

impl Room {
    pub(super) fn new(at: *mut u8) -> Room {
        Room { at, held: None }
    }

    /// Forgets the copy that it holds.
    pub(super) fn forget(&mut self) {
        self.held = None;
    }

    /// The first byte.
    pub(super) fn begin(&self) -> *mut u8 {
        self.at
    }
}

impl Stage {
    /// The bytes of a copy for loops with these extents.
    pub(super) fn bytes(&self, extents: &[u64]) -> usize {
        let outermost = self.loops.first().map_or(1, |&outermost| extents[outermost]);
        self.strides(extents).first().map_or(self.size, |&stride| outermost as usize * stride as usize)
    }

    /// The same for any extents and pitch; the greatest number if there are more.
    pub(super) fn most_bytes(&self, extents: &[u64]) -> u64 {
        let last = self.loops.len().saturating_sub(1);
        let count = |(number, &along): (usize, &usize)| match self.pitch.filter(|_| number == last) {
            Some(pitch) => pitch,
            None => extents[along],
        };
        self.loops.iter().enumerate().map(count).fold(self.size as u64, u64::saturating_mul)
    }

    /// The strides of the copy along its loops, in bytes.
    pub(super) fn strides(&self, extents: &[u64]) -> SmallVec<[i64; 2]> {
        let mut strides: SmallVec<[i64; 2]> = SmallVec::from_elem(0, self.loops.len());
        let mut next = self.size as i64;
        for (number, &along) in self.loops.iter().enumerate().rev() {
            strides[number] = next;
            let is_last = number + 1 == self.loops.len();
            next *= self.pitch.filter(|_| is_last).unwrap_or(extents[along]) as i64;
        }
        strides
    }

    /// Runs the following transformations on a copy.
    ///
    /// # Safety
    /// As [`Rest::run`]; the first room is that of the copy.
    pub(super) unsafe fn run(&self, work: &Work<'_>, part: &mut CallPart, rest: Rest<'_>) -> Status {
        let Some((room, rooms)) = rest.rooms.split_first_mut() else {
            debug_assert!(false, "a stage has a room");
            return Status::default();
        };
        // SAFETY: passed on.
        let (pointer, strides) = unsafe { self.copy_in(part, room) };
        // SAFETY: passed on, with the copy in place of the buffer.
        let status = unsafe { Rest { rooms, ..rest }.run(work, part) };
        let own = part.strides_mut(self.buffer);
        let copied: SmallVec<[i64; 2]> = self.loops.iter().map(|&along| own[along]).collect();
        own.copy_from_slice(&strides);
        part.pointers[self.buffer] = pointer;
        if self.writes {
            let axes = self.loops.iter().zip(&copied).map(|(&along, &source)| Axis {
                extent: part.extents[along] as usize,
                source: source as isize,
                target: strides[along] as isize,
            });
            // SAFETY: the elements of the block, which the kernel has written.
            unsafe { copy_strided(self.size, room.at, pointer, axes) };
        }
        status
    }

    /// Copies the elements of a part, which sees the copy then. Returns where the elements are, and their
    /// strides.
    ///
    /// # Safety
    /// The elements are valid to read, and the room has as many bytes as [`bytes`](Stage::bytes) says.
    pub(super) unsafe fn copy_in(&self, part: &mut CallPart, room: &mut Room) -> (*mut u8, SmallVec<[i64; 4]>) {
        let (pointer, strides) = (part.pointers[self.buffer], SmallVec::from_slice(part.strides(self.buffer)));
        let along = self.loops.iter().map(|&along| Along { extent: part.extents[along], stride: strides[along] });
        let elements = Elements { pointer, along: along.collect() };
        let target = self.strides(&part.extents);
        if self.reads && !room.held.as_ref().is_some_and(|held| elements.are_among(held)) {
            let axes = elements.along.iter().zip(&target).map(|(along, &target)| Axis {
                extent: along.extent as usize,
                source: along.stride as isize,
                target: target as isize,
            });
            // SAFETY: passed on.
            unsafe { copy_strided(self.size, pointer, room.at, axes) };
            // Elements that a block writes are others for the next block.
            let is_written =
                (0..part.pointers.len()).any(|other| other != self.buffer && part.pointers[other] == pointer);
            room.held = (!self.writes && !is_written).then_some(elements);
        }
        part.pointers[self.buffer] = room.at;
        let own = part.strides_mut(self.buffer);
        own.fill(0);
        for (&along, &stride) in self.loops.iter().zip(&target) {
            own[along] = stride;
        }
        (pointer, strides)
    }
}
