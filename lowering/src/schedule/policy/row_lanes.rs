//! Rows as lanes: where a kernel combines the points of short rows, blocks of rows are staged so that a
//! point of adjacent rows lies in adjacent elements. A vector then has a point of several rows, and nothing
//! is combined across its lanes (`x64/lanes.rs`).
//!
//! That is worth it where outer loops read the same rows again, as in distances of all points of one set to
//! all of another; where the rows lie so already; and by an estimate where any order of combination does.

use crate::kernel::{Buffer, Packing};
use crate::schedule::decide::Call;
use crate::schedule::sequence::{Sequence, Transform};
use crate::schedule::split::Split;
use smallvec::SmallVec;

/// The fewest iterations that read staged rows again.
pub const LEAST_TIMES: u64 = 8;

/// The time to stage rows and combine them then, and for each element, in nanoseconds.
const START_NANOS: f64 = 150.0;
const ELEMENT_NANOS: f64 = 0.45;
/// The part of the estimated time without staging that is worth it.
const SURE: f64 = 0.8;

/// Whether a buffer that is read varies along the loop over rows, and along the loop of a row.
fn goes(buffer: &Buffer) -> [bool; 2] {
    match buffer.varies[..] {
        [.., across, along] if !buffer.written => [across, along],
        _ => [false; 2],
    }
}

impl Call<'_> {
    /// Stages the rows of a kernel that likes them packed.
    pub fn row_lanes(&self, packing: &Packing) -> Option<Sequence> {
        let loops = self.bound.extents.len();
        let (across, along) = (loops.checked_sub(2)?, loops - 1);
        let rows = self.extent(across);
        // What the kernel asks for when it is called, with the strides that buffers have then.
        let is_right = |(number, buffer): (usize, &Buffer)| {
            let size = buffer.dtype.size() as i64;
            match goes(buffer) {
                [true, true] => true,
                [false, true] => self.stride(number, along) == size,
                _ => !buffer.written || self.stride(number, across) == size,
            }
        };
        // A row of one point is one, too, if combining it takes so long.
        let least = if packing.row_nanos.is_some() { 1 } else { 2 };
        let fits = !self.lowered.fallible
            && rows >= packing.rows
            && (least..=packing.points).contains(&self.extent(along))
            && self.kernel.buffers.iter().enumerate().all(is_right);
        fits.then_some(())?;

        let crossing: SmallVec<[usize; 4]> =
            (0..self.kernel.buffers.len()).filter(|&number| goes(&self.kernel.buffers[number]) == [true; 2]).collect();
        // Loops along which rows are others.
        let is_own =
            |&outer: &usize| self.extent(outer) > 1 && crossing.iter().any(|&number| self.stride(number, outer) != 0);
        let own: SmallVec<[usize; 4]> = (0..across).filter(is_own).collect();
        let times: u64 = (0..across).filter(|outer| !own.contains(outer)).map(|outer| self.extent(outer)).product();
        let is_saved = |nanos: f64| {
            let staged = (rows.next_multiple_of(packing.rows) * self.extent(along)) as f64;
            START_NANOS + ELEMENT_NANOS * staged < SURE * nanos * rows as f64
        };
        let is_worth = times >= LEAST_TIMES || self.lie_across(&crossing) || packing.row_nanos.is_some_and(is_saved);
        is_worth.then_some(())?;

        let mut sequence: Sequence = self.one_by_one(own.iter().copied()).collect();
        let by = rows_of_block(rows, packing);
        if by < rows {
            sequence.push(Transform::Split(Split { along: across, by }));
        }
        sequence.extend(crossing.iter().map(|&number| self.stage(number, &[along, across], Some(packing.pitch))));
        Some(sequence)
    }

    /// True if points of adjacent rows are adjacent, and those of a row are apart: they are copied line by
    /// line, in less time than rows that lie so take.
    fn lie_across(&self, crossing: &[usize]) -> bool {
        let loops = self.bound.extents.len();
        crossing.iter().all(|&number| {
            let size = self.kernel.buffers[number].dtype.size() as i64;
            self.stride(number, loops - 2) == size && self.stride(number, loops - 1) != size
        })
    }
}

/// The rows of a block: about even, and the last block has as many as are computed at once.
fn rows_of_block(rows: u64, packing: &Packing) -> u64 {
    let even = rows.div_ceil(rows.div_ceil(packing.pitch)).next_multiple_of(packing.rows);
    let sizes = (1..=even / packing.rows).rev().map(|n| n * packing.rows);
    let leaves_enough = |&by: &u64| rows.is_multiple_of(by) || rows % by >= packing.rows;
    sizes.take_while(|by| 2 * by >= even).find(leaves_enough).unwrap_or(even).min(packing.pitch)
}
