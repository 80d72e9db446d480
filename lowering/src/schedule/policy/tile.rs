//! Tiles for arrays that lie across one another: adjacent elements of some are along the second innermost
//! loop, and those of others along the innermost one. In a tile that the second-level cache holds, the
//! former are staged, that is transposed.

use crate::schedule::decide::{Call, is_turned};
use crate::schedule::lines::LINE;
use crate::schedule::sequence::{Sequence, Transform};
use crate::schedule::split::Split;

/// The shortest side of tiles that are worth it, and the fewest results with which rows are combined, of
/// which a block of rows has few.
const LEAST_SIDE: u64 = 8;
const LEAST_TOTALS: u64 = 48;

/// Rows and columns of a tile: full cache lines both ways, so few that the second-level cache holds them, and
/// rows that are long enough to be worth a loop.
const TILE: [u64; 2] = [64, 128];

impl Call<'_> {
    /// Tiles whose transposed arrays are staged.
    pub fn tiled(&self) -> Option<Sequence> {
        let (outer, inner) = self.last_two().filter(|_| !self.lowered.fallible)?;
        let is_combined = self.bound.axes(outer).any(|axis| self.lowered.reduced[axis as usize]);
        let least = if is_combined { LEAST_TOTALS } else { LEAST_SIDE };
        (self.extent(outer) >= LEAST_SIDE && self.extent(inner) >= least).then_some(())?;
        let buffers = &self.kernel.buffers;
        let is_transposed = |&buffer: &usize| {
            let strides = [outer, inner].map(|number| self.stride(buffer, number));
            is_turned(strides, buffers[buffer].dtype.size())
        };
        let transposed = || (0..buffers.len()).filter(is_transposed);
        let bytes: u64 = transposed().map(|buffer| buffers[buffer].dtype.size() as u64).sum();
        // Rows that are combined are whole.
        let most = if self.kernel.fold.is_some() { u64::MAX } else { TILE[1] };
        let columns = most.min(self.extent(inner));
        // Rows that the second-level cache can't hold are staged in the last-level one: a row by itself would
        // read a cache line for each element.
        let room = |rows: u64| match self.kernel.fold.is_some() && rows == LEAST_SIDE {
            true => self.facts.last_level / 2,
            false => self.facts.level2 / 2,
        };
        let fits = |&rows: &u64| rows.saturating_mul(columns).saturating_mul(bytes) <= room(rows);
        let sides = [TILE[0], TILE[0] / 2, TILE[0] / 4, LEAST_SIDE].map(|rows| rows.min(self.extent(outer)));
        let rows = sides.into_iter().find(fits).filter(|_| bytes > 0)?;

        // Outer loops along which no staged array moves are in the block, so that copies serve all of them.
        let moves = |&number: &usize| transposed().any(|buffer| self.stride(buffer, number) != 0);
        let mut sequence: Sequence = self.one_by_one((0..outer).filter(moves)).collect();
        let splits = [(outer, rows), (inner, columns)].map(|(along, by)| Split { along, by });
        sequence.extend(splits.into_iter().filter(|split| split.by < self.extent(split.along)).map(Transform::Split));
        for buffer in transposed() {
            let line = LINE as u64 / buffers[buffer].dtype.size() as u64;
            // Rows that are a power of two apart would share few places of the cache.
            let pitch = columns.next_multiple_of(line) + line;
            sequence.push(self.stage(buffer, &[outer, inner], Some(pitch)));
        }
        Some(sequence)
    }
}
