//! Which transformations a call gets, one file a policy.
//!
//! A policy looks at the extents and strides of a call, or of the chunk of it that a thread takes at once,
//! and returns a sequence, or none if it is not worth its copies. The first policy that returns one wins.

pub(super) mod collapse;
pub(super) mod fission;
pub(super) mod jam;
pub(super) mod row_lanes;
pub(super) mod stream;
pub(super) mod tile;

use super::decide::Call;
use super::sequence::Transform;
use super::split::Split;
use smallvec::SmallVec;

impl Call<'_> {
    /// The stage of a buffer along these loops.
    fn stage(&self, buffer: usize, loops: &[usize], pitch: Option<u64>) -> Transform {
        Transform::Stage(self.lowered.stage(buffer, SmallVec::from_slice(loops), pitch))
    }

    /// Splits these loops into single iterations, if they have several.
    fn one_by_one(&self, loops: impl IntoIterator<Item = usize>) -> impl Iterator<Item = Transform> {
        let several = loops.into_iter().filter(|&along| self.extent(along) > 1);
        several.map(|along| Transform::Split(Split { along, by: 1 }))
    }
}
