//! Short rows of a result that lie side by side: the last two loops are collapsed.
//!
//! In `image * gains`, of shapes `[n, 3]` and `[3]`, the innermost loop has three points, and a vector of
//! it as many lanes in use. For all arrays except `gains`, both loops are one, in memory. So `gains` is
//! staged: repeated for the rows of a block. Arrays that are reversed, transposed or have gaps are staged,
//! too, and so are arrays with one element a row, for a kernel that reads them at each point
//! (`kernel/by_point.rs`).

use crate::kernel::KOp;
use crate::schedule::collapse::Collapse;
use crate::schedule::decide::Call;
use crate::schedule::sequence::{Sequence, Transform};
use crate::schedule::split::Split;

/// The points of a collapsed loop: enough to make the loop around it cost nothing, few enough for the
/// first-level cache.
pub const LONG: u64 = 2048;
/// The most bytes of repeated elements, which stay in the first-level cache while those of other arrays pass
/// through it. With four times as many, sums of products of rows of 12 and more take 1.3 to 1.7 times as
/// long. Blocks with copies are longer, as each begins with them.
const NEAR: u64 = 8 << 10;
/// The most points of a short row. Vectors of longer ones are mostly full.
const SHORT: u64 = 64;
/// The most points, and bytes, of a short row for which elements are copied that are adjacent; that are
/// reversed; in another layout; and of which each row has one.
const COPIED: [u64; 2] = [8, 48];
const REVERSED: [u64; 2] = [48, 192];
const TRANSPOSED: [u64; 2] = [SHORT, 256];
const ONE: [u64; 2] = [8, 32];
/// Repeated elements are at most this part of all points.
const LEAST_TIMES: u64 = 8;
/// The fewest rows of a block whose elements are copied: where short rows are quick, as their elements are
/// adjacent or a vector in reverse, and where they are not.
const LEAST_QUICK: u64 = 64;
const LEAST_SLOW: u64 = 16;
const VECTOR: u64 = 64;

/// What an array is to the two loops.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Evenly spaced along both together.
    Flat,
    /// The same for each row.
    Repeated,
    /// Copied for each block.
    Copied,
}

impl Call<'_> {
    /// What a buffer is to two loops, if they can be collapsed.
    pub fn role(&self, number: usize, [outer, inner]: [usize; 2]) -> Option<Role> {
        let fixed = (0..outer).all(|around| self.stride(number, around) == 0 || self.extent(around) == 1);
        let written = self.kernel.buffers[number].written;
        let reach = (self.extent(inner) as i64).checked_mul(self.stride(number, inner))?;
        match self.stride(number, outer) {
            // Points are combined in it, or the last one stays.
            0 if written => None,
            // The loop around it goes on for the one point.
            _ if self.extent(inner) == 1 => Some(Role::Flat),
            stride if stride == reach => Some(Role::Flat),
            _ if written => None,
            0 if fixed => Some(Role::Repeated),
            _ => Some(Role::Copied),
        }
    }

    /// Collapses the last two loops.
    pub fn collapsed(&self) -> Option<Sequence> {
        let (outer, inner) = self.last_two()?;
        let (kernel, loops, points) = (self.kernel, [outer, inner], self.extent(inner));
        (kernel.fold.is_none() && !self.lowered.fallible && (1..=SHORT).contains(&points)).then_some(())?;
        let is_within = |[most, bytes]: [u64; 2], size: u64| points <= most && points * size <= bytes;
        let (mut repeated, mut copies, mut worth, mut once, mut quick) = (0, false, false, false, true);
        let mut staged = Sequence::new();
        for (number, buffer) in kernel.buffers.iter().enumerate() {
            let role = self.role(number, loops)?;
            let (stride, size) = (self.stride(number, inner), buffer.dtype.size() as u64);
            once |= (buffer.level() as usize) < kernel.axes && self.stride(number, outer) != 0;
            repeated += if role == Role::Repeated { size } else { 0 };
            if role != Role::Flat {
                staged.push(self.stage(number, &loops, None));
            }
            if role == Role::Copied {
                copies = true;
                quick &= match stride {
                    step if step == -(size as i64) => points * size >= VECTOR,
                    step => step == 0 || step == size as i64,
                };
                let most = match stride {
                    step if step == size as i64 => COPIED,
                    step if step == -(size as i64) => REVERSED,
                    _ => TRANSPOSED,
                };
                worth |= is_within(most, size);
            }
        }
        let widest = kernel.buffers.iter().map(|buffer| buffer.dtype.size() as u64).max().unwrap_or(1);
        let is_worth = match (once, copies) {
            (true, _) => is_within(ONE, widest),
            (false, true) => points > 1 && worth,
            (false, false) => points > 1 && repeated > 0,
        };
        let counts = kernel.insts.iter().any(|inst| matches!(inst.op, KOp::Index(_)));
        (is_worth && !counts).then_some(())?;

        let least = match (copies, quick) {
            (false, _) => 2,
            (true, false) => LEAST_SLOW,
            (true, true) => LEAST_QUICK,
        };
        let rows = self.extent(outer);
        let long = if copies { LONG } else { LONG.min(NEAR / repeated.max(1)) };
        let most = (long / points).min(rows);
        let times = self.bound.extents[..outer].iter().product::<u64>().saturating_mul(rows);
        let most = if copies { most } else { most.min(times / LEAST_TIMES) };
        (most >= least).then_some(())?;
        let mut sequence: Sequence = if copies { self.one_by_one(0..outer).collect() } else { Sequence::new() };
        // About even blocks.
        sequence.push(Transform::Split(Split { along: outer, by: rows.div_ceil(rows.div_ceil(most)) }));
        sequence.extend(staged);
        sequence.push(Transform::Collapse(Collapse { outer, inner }));
        Some(sequence)
    }

    /// True if a sequence needs a kernel that reads all elements at each point: it collapses rows for which
    /// this one reads an element once.
    pub fn needs_by_point(&self, sequence: &[Transform]) -> bool {
        let has_fission = sequence.iter().any(|transform| matches!(transform, Transform::Fission(_)));
        let rows = sequence.iter().find_map(|transform| match transform {
            Transform::Collapse(both) if both.inner + 1 == self.kernel.axes && !has_fission => Some(both.outer),
            _ => None,
        });
        rows.is_some_and(|outer| {
            let buffers = self.kernel.buffers.iter().enumerate();
            buffers
                .into_iter()
                .any(|(n, buffer)| (buffer.level() as usize) < self.kernel.axes && self.stride(n, outer) != 0)
        })
    }
}
