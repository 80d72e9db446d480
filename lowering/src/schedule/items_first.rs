//! Short rows of which the points are combined, after what they give was computed.
//!
//! In `sum(sin(points))` along rows of three, a vector of the innermost loop has as many lanes in use as a row has points, and the instructions of one row
//! wait for each other. So what points give is computed by a kernel of its own (`kernel/items.rs`), some 2,000 points of rows that follow one another as one
//! long row, to memory that the nearest cache holds, and combined there by another one. What is read need not lie as one row: it is put so, as of long
//! rows ([`long_rows`](super::long_rows)).

use super::decide::is_apart;
use super::lines::LINE;
use super::long_rows::{Elsewhere, LONG, Role, role};
use super::run::{Part, SCRATCH, Work};
use crate::copy::{Axis, copy_strided};
use crate::kernel::{Buffer, CompiledKernel, ItemWork, Packing, Status};
use crate::lower::{Bound, Lowered};
use smallvec::SmallVec;
use std::sync::Arc;

/// Fewer rows are not worth it.
const LEAST_ROWS: u64 = 64;
/// Rows of so many vectors, if their elements are not adjacent; and if they are, in reverse.
const GAPS: u64 = 6;
const REVERSED: u64 = 4;
/// The most points of a row that is turned.
const MOST_TURNED: u64 = 12;
/// The most points of a row for which it can be asked for.
const MOST_POINTS: u64 = LONG / 2;

/// So many instructions at a point, and more, are worth it for longer and longer rows; measured on an Intel Xeon, of AVX-512 and AVX2.
const FEW: u32 = 6;
const MANY: u32 = 21;
const LOTS: u32 = 60;
/// The bytes of what is made for so many rows as are computed at once: the first-level cache has room for it.
const NEAR: usize = 32 << 10;
/// Below so many points nothing is worth deciding of kernels that compute much at a point.
pub const LEAST_ITEMS: u64 = 128;

/// The kernels of such a call.
pub(crate) struct ItemKernels {
    pub items: Arc<dyn CompiledKernel>,
    pub fold: Arc<dyn CompiledKernel>,
    /// The buffers that the first one reads, and those that neither does.
    pub reads: Vec<usize>,
    pub unused: Vec<usize>,
    /// The bytes of what is between them, a point each.
    pub sizes: Vec<usize>,
    /// Whether positions are combined, which lanes of a row are slow at.
    pub positions: bool,
}

impl ItemKernels {
    /// True if they are what is faster, or all the same: not if positions can't be combined a lane each.
    pub fn are_fast(&self, work: &ItemWork) -> bool {
        !work.positions || self.packing().is_some()
    }

    fn packing(&self) -> Option<Packing> {
        self.fold.packing().filter(|packing| packing.row_nanos.is_some())
    }

    /// True if so many rows of so many points had better be combined a lane each, for which they are turned.
    fn turns(&self, rows: u64, points: u64) -> bool {
        let most = |packing: &Packing| if self.positions { packing.points } else { MOST_TURNED };
        self.packing().is_some_and(|packing| rows >= packing.rows && points <= most(&packing))
    }
}

/// True if what is computed at a point is enough to be worth it for some rows.
pub fn is_much(work: &ItemWork) -> bool {
    work.insts >= FEW
}

/// True if what is computed at a point takes longer, of short rows a lane each, than to put the points of rows that are computed first so.
pub fn is_most(work: &ItemWork) -> bool {
    work.insts >= LOTS
}

/// The loops around and along rows of which points are computed first, if that can be done; unless it is `asked` for, if so many rows are handed out at once, and a
/// kernel with so many lanes is slower.
pub fn items_first(
    lowered: &Lowered,
    bound: &Bound,
    ([outer, inner], rows): ([usize; 2], u64),
    (lanes, asked): (Option<u32>, bool),
) -> Option<[usize; 2]> {
    let work = lowered.item_work.filter(|_| !lowered.fallible && lowered.block_join.is_none())?;
    let points = bound.extents[inner];
    let fits = is_apart(lowered, bound, outer) && (1..=MOST_POINTS).contains(&points);
    let longest =
        |lanes: u32| most_points(&work, lanes.into(), if points > 1 { apart(lowered, bound, inner) } else { 0 });
    let is_worth = || rows >= LEAST_ROWS && lanes.is_some_and(|lanes| points <= longest(lanes));
    (fits && (asked || is_worth())).then_some([outer, inner])
}

/// The most points of a row that it is worth it for, by a kernel of vectors of so many lanes: what takes a row longer is that its last vector is not full,
/// and that its instructions wait for each other, which short ones are too few for; and that rows whose elements lie `apart` are copied one by one.
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

/// The vectors of a row that is worth it because elements of one that is read are not adjacent.
fn apart(lowered: &Lowered, bound: &Bound, inner: usize) -> u64 {
    let buffers = lowered.kernel.buffers.iter().zip(bound.strides.chunks_exact(bound.extents.len()));
    let moving = buffers.filter(|(buffer, _)| !buffer.written && buffer.varies.last() == Some(&true));
    let of = |(buffer, strides): (&Buffer, &[i64])| match buffer.dtype.size() as i64 {
        size if strides[inner] == size => 0,
        size if strides[inner] == -size => REVERSED,
        _ => GAPS,
    };
    moving.map(of).max().unwrap_or(0)
}

impl Work<'_> {
    /// Runs a part of a call whose loops are such as [`items_first`] gave.
    ///
    /// # Safety
    /// As [`run`](super::run), for a part of it.
    pub(super) unsafe fn items_first(&self, part: &Part, kernels: &ItemKernels, [outer, inner]: [usize; 2]) -> Status {
        let (loops, points, count) = (part.extents.len(), part.extents[inner], part.extents[outer]);
        let mut elsewhere: SmallVec<[Elsewhere; 4]> = SmallVec::new();
        for &number in &kernels.reads {
            let role = role(self.lowered, (&part.extents, &part.strides), number, [outer, inner]);
            let Some(role) = role.filter(|role| *role != Role::Flat) else { continue };
            let strides = [outer, inner].map(|along| part.strides[number * loops + along] as isize);
            let size = self.lowered.kernel.buffers[number].dtype.size();
            elsewhere.push(Elsewhere { number, role, size, strides, room: std::ptr::null_mut() });
        }
        let between = kernels.sizes.iter().chain(&kernels.sizes).copied();
        let sizes: SmallVec<[usize; 8]> = elsewhere.iter().map(|other| other.size).chain(between).collect();
        let near = NEAR as u64 / (points * sizes.iter().sum::<usize>() as u64);
        let rows = near.min(LONG / points).clamp(1, count);
        let room = |size: usize| ((rows * points) as usize * size).next_multiple_of(LINE);
        let mut scratch = SCRATCH.take();
        scratch.grow(sizes.into_iter().map(room).sum());
        let mut at = scratch.begin();
        for other in &mut elsewhere {
            other.room = at;
            at = at.wrapping_add(room(other.size));
            if other.role == Role::Repeated {
                // SAFETY: the elements of the first row, and a room for so many.
                unsafe { other.fill(part.pointers[other.number], rows, points) };
            }
        }
        let mut index: SmallVec<[u64; 4]> = SmallVec::from_elem(0, outer);
        let status = loop {
            let mut all = part.clone();
            for (number, &index) in index.iter().enumerate() {
                self.narrow(&mut all, number, index, 1);
            }
            // SAFETY: some of the rows; rooms are there.
            let status = unsafe { self.rows_of_items(&all, kernels, (&elsewhere, at), [outer, inner], rows) };
            let next = (0..outer).rev().find(|&number| index[number] + 1 < part.extents[number]);
            let Some(next) = next.filter(|_| status.failed == 0) else { break status };
            index[next] += 1;
            index[next + 1..].fill(0);
        };
        SCRATCH.set(scratch);
        status
    }

    /// The rows of one loop, so many at a time; what is between the kernels is in memory from an address on.
    ///
    /// # Safety
    /// As [`run`](super::run), for a part of it.
    unsafe fn rows_of_items(
        &self,
        all: &Part,
        kernels: &ItemKernels,
        (elsewhere, between): (&[Elsewhere], *mut u8),
        [outer, inner]: [usize; 2],
        rows: u64,
    ) -> Status {
        let (loops, points, count) = (all.extents.len(), all.extents[inner], all.extents[outer]);
        for first in (0..count).step_by(rows as usize) {
            let mut fold = all.clone();
            let rows_now = rows.min(count - first);
            self.narrow(&mut fold, outer, first, rows_now);
            let mut at = between;
            for &size in &kernels.sizes {
                fold.pointers.push(at);
                at = at.wrapping_add(((rows * points) as usize * size).next_multiple_of(LINE));
                let strides = fold.strides.len()..fold.strides.len() + loops;
                fold.strides.resize(strides.end, 0);
                fold.strides[strides.start + outer] = (points as usize * size) as i64;
                fold.strides[strides.start + inner] = size as i64;
            }
            let mut items = fold.clone();
            if points == 1 {
                items.strides.chunks_exact_mut(loops).for_each(|strides| strides[inner] = strides[outer]);
            }
            for &number in &kernels.unused {
                fold.strides[number * loops..][..loops].fill(0);
                items.strides[number * loops..][..loops].fill(0);
            }
            for other in elsewhere {
                if other.role == Role::Copied {
                    // SAFETY: the elements of these rows, which the kernel reads, and a room for them.
                    unsafe { other.fill(fold.pointers[other.number], rows_now, points) };
                }
                items.pointers[other.number] = other.room;
                items.strides[other.number * loops + inner] = other.size as i64;
            }
            (items.extents[outer], items.extents[inner]) = (1, rows_now * points);
            // SAFETY: these points, with copies in place of what is elsewhere; what they give goes to memory of this thread.
            let computed = unsafe { items.call(&*kernels.items) };
            debug_assert_eq!(computed.failed, 0, "it can't fail");
            if kernels.turns(rows_now, points) {
                // A point of adjacent rows in adjacent elements, behind what was computed.
                for (number, &size) in (self.lowered.kernel.buffers.len()..).zip(&kernels.sizes) {
                    let axis = |extent: u64, source: u64, target: u64| Axis {
                        extent: extent as usize,
                        source: source as isize * size as isize,
                        target: target as isize * size as isize,
                    };
                    // SAFETY: what was computed, and a room of the same size.
                    unsafe {
                        copy_strided(
                            size,
                            fold.pointers[number],
                            at,
                            [axis(points, 1, rows), axis(rows_now, points, 1)],
                        );
                    }
                    fold.pointers[number] = at;
                    fold.strides[number * loops + outer] = size as i64;
                    fold.strides[number * loops + inner] = (rows as usize * size) as i64;
                    at = at.wrapping_add(((rows * points) as usize * size).next_multiple_of(LINE));
                }
            }
            // SAFETY: these rows, of which the points are there.
            let status = unsafe { fold.call(&*kernels.fold) };
            if status.failed != 0 {
                return status;
            }
        }
        Status::default()
    }
}
