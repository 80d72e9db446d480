//! Fission of short rows: the values of points are computed first, several rows as one loop.
//!
//! In `sum(sin(points))` along rows of three, a vector of the innermost loop has as many lanes in use as a
//! row has points, and the instructions of one row wait for each other.

use super::collapse::{LONG, Role};
use crate::kernel::{Buffer, ItemWork};
use crate::schedule::collapse::Collapse;
use crate::schedule::decide::{Call, is_apart};
use crate::schedule::fission::{Fission, FissionKernels};
use crate::schedule::sequence::{Sequence, Transform};
use crate::schedule::split::Split;
use crate::schedule::stage::Stage;
use smallvec::smallvec;

/// The fewest rows that are worth it.
const LEAST_ROWS: u64 = 64;
/// The limit of a row in vectors, if elements are not adjacent; and if they are, in reverse.
const GAPS: u64 = 6;
const REVERSED: u64 = 4;
/// The most points of a row that is staged across.
const MOST_ACROSS: u64 = 12;
/// The most points of a row.
const MOST_POINTS: u64 = LONG / 2;

/// Instructions at a point, from which on longer and longer rows are worth it; measured on an Intel Xeon,
/// with AVX-512 and AVX2.
const FEW: u32 = 6;
const MANY: u32 = 21;
const LOTS: u32 = 60;
/// The bytes of the values of a block: the first-level cache has room for them.
const NEAR: u64 = 32 << 10;
/// The fewest points of a call that are worth a decision, for kernels that compute much at a point.
pub const LEAST_ITEMS: u64 = 128;

/// True if a point has enough instructions for fission of some rows.
pub fn is_much(work: &ItemWork) -> bool {
    work.insts >= FEW
}

/// True if a point takes longer, with lanes of rows, than staging its values.
pub fn is_most(work: &ItemWork) -> bool {
    work.insts >= LOTS
}

impl Call<'_> {
    /// True if fission is worth it, for a kernel with this number of lanes.
    pub fn is_worth_fission(&self, lanes: Option<u32>) -> bool {
        let Some((outer, inner)) = self.last_two() else { return false };
        let work = self.lowered.item_work.filter(|_| !self.lowered.fallible && self.lowered.block_join.is_none());
        let (Some(work), Some(lanes)) = (work, lanes) else { return false };
        let (points, rows) = (self.extent(inner), self.extent(outer));
        let longest = most_points(&work, lanes.into(), if points > 1 { self.apart(inner) } else { 0 });
        is_apart(self.lowered, self.bound, outer)
            && (1..=MOST_POINTS).contains(&points)
            && rows >= LEAST_ROWS
            && points <= longest
    }

    /// Computes the points of rows first, by these kernels.
    pub fn fissioned(&self, kernels: &FissionKernels) -> Option<Sequence> {
        let (outer, inner) = self.last_two()?;
        let (points, rows) = (self.extent(inner), self.extent(outer));
        let mut first = Sequence::new();
        let mut bytes: u64 = 2 * kernels.sizes.iter().sum::<usize>() as u64;
        for &number in &kernels.reads {
            if self.role(number, [outer, inner])? != Role::Flat {
                first.push(self.stage(number, &[outer, inner], None));
                bytes += self.kernel.buffers[number].dtype.size() as u64;
            }
        }
        first.push(Transform::Collapse(Collapse { outer, inner }));
        let by = (NEAR / (points * bytes)).min(LONG / points).clamp(1, rows);
        let mut sequence: Sequence = self.one_by_one(0..outer).collect();
        sequence.push(Transform::Split(Split { along: outer, by }));
        sequence.push(Transform::Fission(Fission { outer, inner, first: first.len() }));
        sequence.extend(first);
        // Rows are combined a lane each.
        let most = |most: u64| if kernels.positions { most } else { MOST_ACROSS };
        if kernels.packing().is_some_and(|packing| by >= packing.rows && points <= most(packing.points)) {
            let values = (self.kernel.buffers.len()..).zip(&kernels.sizes);
            sequence.extend(values.map(|(buffer, &size)| {
                let loops = smallvec![inner, outer];
                Transform::Stage(Stage { buffer, size, reads: true, writes: false, loops, pitch: None })
            }));
        }
        Some(sequence)
    }

    /// The limit of a row in vectors because elements of an operand are not adjacent.
    fn apart(&self, inner: usize) -> u64 {
        let moving = |(_, buffer): &(usize, &Buffer)| !buffer.written && buffer.varies.last() == Some(&true);
        let of = |(number, buffer): (usize, &Buffer)| match buffer.dtype.size() as i64 {
            size if self.stride(number, inner) == size => 0,
            size if self.stride(number, inner) == -size => REVERSED,
            _ => GAPS,
        };
        self.kernel.buffers.iter().enumerate().filter(moving).map(of).max().unwrap_or(0)
    }
}

/// The most points of a row for which fission is worth it. A row takes longer because its last vector is
/// not full, because its few instructions wait for each other, and because elements that are `apart` are
/// copied one by one.
fn most_points(work: &ItemWork, lanes: u64, apart: u64) -> u64 {
    let by_work = match work.insts {
        0..FEW => 0,
        FEW..MANY => lanes * 5 / 8,
        MANY..LOTS => 4 * lanes,
        _ => 8 * lanes,
    };
    // Positions are combined a lane each, which rows of pairs can't be.
    let by_pairs = match work.pairs.filter(|_| work.positions) {
        Some(4) => 4 * lanes,
        Some(_) => lanes * 5 / 8,
        None => 0,
    };
    let most = by_work.max(apart * lanes).max(by_pairs);
    if work.positions { most.min(4 * lanes) } else { most }
}
