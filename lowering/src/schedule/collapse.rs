//! `collapse(i, j)`: two loops become one, which runs over all points of both.
//!
//! A short innermost loop fills few lanes of a vector; several of its runs that lie one after the other in
//! all arrays are one long run. Arrays that do not lie so are staged first.

use super::run::{CallPart, Work};
use super::sequence::Rest;
use crate::kernel::Status;
use smallvec::SmallVec;

/// Two loops that become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collapse {
    /// The outer loop, which has one iteration then.
    pub outer: usize,
    /// The inner loop, which has all points.
    pub inner: usize,
}

impl Collapse {
    /// Runs the following transformations on one loop.
    ///
    /// # Safety
    /// As [`Rest::run`].
    pub(super) unsafe fn run(&self, work: &Work<'_>, part: &mut CallPart, rest: Rest<'_>) -> Status {
        let (extents, strides) = (SmallVec::from_slice(&part.extents), SmallVec::from_slice(&part.strides));
        self.apply(part);
        // SAFETY: passed on: the same points.
        let status = unsafe { rest.run(work, part) };
        (part.extents, part.strides) = (extents, strides);
        status
    }

    /// Changes the loops of a part.
    pub(super) fn apply(&self, part: &mut CallPart) {
        if part.extents[self.inner] == 1 {
            for buffer in 0..part.pointers.len() {
                let strides = part.strides_mut(buffer);
                strides[self.inner] = strides[self.outer];
            }
        }
        self.extents(&mut part.extents);
    }

    /// Changes the extents of loops.
    pub(super) fn extents(&self, extents: &mut SmallVec<[u64; 4]>) {
        extents[self.inner] *= extents[self.outer];
        extents[self.outer] = 1;
    }

    /// True if the elements of a buffer with these strides are evenly spaced along both loops together.
    pub(super) fn is_even(&self, extents: &[u64], strides: &[i64]) -> bool {
        let reach = (extents[self.inner] as i64).checked_mul(strides[self.inner]);
        extents[self.outer] == 1 || extents[self.inner] == 1 || reach == Some(strides[self.outer])
    }
}
