//! `fission(i, k, ...)`: loop distribution. The values that points contribute to rows are computed by a
//! kernel of its own ([`Kernel::split_items`](crate::kernel::Kernel::split_items)), for a block of rows, and
//! combined by another one.
//!
//! A row of three points fills few lanes of a vector. The points of many rows, one after the other, fill
//! all of them; to combine them then is little work.

use super::run::{CallPart, Work};
use super::sequence::{Rest, stages};
use super::stage::Room;
use crate::kernel::{CompiledKernel, ItemWork, Packing, Status};
use std::sync::Arc;

/// A loop in two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fission {
    /// The loop over rows.
    pub outer: usize,
    /// The loop along rows.
    pub inner: usize,
    /// The number of transformations after this one that apply to the first kernel; the others apply to the
    /// second one.
    pub first: usize,
}

/// The kernels of a loop in two.
pub(crate) struct FissionKernels {
    pub items: Arc<dyn CompiledKernel>,
    pub fold: Arc<dyn CompiledKernel>,
    /// The buffers that the first one reads, and those that neither does.
    pub reads: Vec<usize>,
    pub unused: Vec<usize>,
    /// The bytes of each value that a point contributes.
    pub sizes: Vec<usize>,
    /// Whether positions are combined, which lanes of a row are slow at.
    pub positions: bool,
}

impl FissionKernels {
    /// True if they are fast: not if positions can't be combined a lane each.
    pub fn are_fast(&self, work: &ItemWork) -> bool {
        !work.positions || self.packing().is_some()
    }

    /// How the second kernel combines rows that are lanes, if it can.
    pub fn packing(&self) -> Option<Packing> {
        self.fold.packing().filter(|packing| packing.row_nanos.is_some())
    }
}

impl Fission {
    /// Runs both kernels on a part.
    ///
    /// # Safety
    /// As [`Rest::run`]; the first rooms are for the values of points.
    pub(super) unsafe fn run(&self, work: &Work<'_>, part: &mut CallPart, rest: Rest<'_>) -> Status {
        let Some(kernels) = work.fission else {
            // SAFETY: passed on.
            return unsafe { part.call(work.kernel) };
        };
        let points = part.extents[self.inner];
        let (values, rooms) = rest.rooms.split_at_mut(kernels.sizes.len());
        let mut fold = part.clone();
        for (&size, room) in kernels.sizes.iter().zip(values) {
            let buffer = fold.pointers.len();
            fold.add_buffer(room.begin(), size as i64);
            fold.strides_mut(buffer)[self.outer] = (points as usize * size) as i64;
        }
        for &buffer in &kernels.unused {
            fold.strides_mut(buffer).fill(0);
        }
        let (first, second) = rest.sequence.split_at(self.first.min(rest.sequence.len()));
        let (first_rooms, second_rooms) = rooms.split_at_mut(stages(first));
        let items = Rest { kernel: &*kernels.items, sequence: first, rooms: first_rooms };
        // SAFETY: these points; what they contribute goes to memory of this thread.
        let computed = unsafe { items.run(work, &mut fold) };
        debug_assert_eq!(computed.failed, 0, "it can't fail");
        // The values are others for each block.
        second_rooms.iter_mut().for_each(Room::forget);
        // SAFETY: these rows, whose values are there.
        unsafe { Rest { kernel: &*kernels.fold, sequence: second, rooms: second_rooms }.run(work, &mut fold) }
    }
}
