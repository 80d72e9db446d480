//! Rows that share more elements than the first-level cache holds beside their own, such as the vector of a
//! product with a matrix: each row would load them from the second-level cache.

use crate::schedule::decide::{Call, Kernels, is_apart};
use crate::schedule::jam::Jam;
use crate::schedule::sequence::{Sequence, Transform};
use smallvec::smallvec;

/// The rows that are computed at once, the best number first.
pub const ROWS: [u64; 3] = [4, 3, 2];
/// The bytes of shared elements that are worth it: half of a first-level cache.
const NEAR: u64 = 16 << 10;
/// The instructions of a point for longer than which it computes than it loads.
const MOST_INSTS: usize = 16;

impl Call<'_> {
    /// Computes several rows at once, if the code generator keeps their accumulators in registers.
    pub fn jammed(&self, kernels: &Kernels<'_>) -> Option<Sequence> {
        let (along, inner) = self.last_two().filter(|(outer, inner)| outer + 1 == *inner)?;
        self.kernel.fold.as_ref().filter(|_| !self.lowered.fallible && is_apart(self.lowered, self.bound, along))?;
        let buffers = self.kernel.buffers.iter().enumerate();
        let shared = buffers.filter(|(n, buffer)| !buffer.varies[along] && self.stride(*n, inner) != 0);
        let bytes: u64 = shared.map(|(_, buffer)| buffer.dtype.size() as u64 * self.extent(inner)).sum();
        let is_worth = bytes > NEAR && self.kernel.insts.len() <= MOST_INSTS && kernels.compiled.holds_totals();
        let by = is_worth.then(kernels.jammed)??.by;
        (self.extent(along) >= by).then(|| smallvec![Transform::Jam(Jam { along, by })])
    }
}
