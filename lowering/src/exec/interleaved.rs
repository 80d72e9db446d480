//! Interleaved operands: arrays of a call whose elements take turns in memory, such as the columns of an
//! array of few columns, or `x[0::2]` and `x[1::2]`.

use crate::kernel::{Interleaved, Kernel, PlacedBuffer};
use crate::lower::Bound;
use rewright_ir::DType;

/// The fewest points of rows for which vectors of interleaved elements are worth a compilation.
const FEWEST_POINTS: u64 = 4;

/// The interleaved buffers of a call, if vectors of them can be loaded.
pub(super) fn interleaved(kernel: &Kernel, bound: &Bound, pointers: &[*mut u8]) -> Vec<Interleaved> {
    let loops = bound.extents.len();
    if bound.extents.last().is_none_or(|&points| points < FEWEST_POINTS) {
        return Vec::new();
    }
    let placed = |(number, buffer): (u32, &crate::kernel::Buffer)| -> Option<PlacedBuffer<(DType, &[i64], usize)>> {
        let strides = bound.strides.get(number as usize * loops..)?.get(..loops)?;
        let (size, address) = (buffer.dtype.size() as i64, pointers.get(number as usize)?.addr());
        let step = strides.last().filter(|stride| **stride > size && **stride % size == 0)? / size;
        let key = (buffer.dtype, strides, address % size as usize);
        (!buffer.written).then_some(PlacedBuffer { number, key, step: Some(step), offset: address as i64 / size })
    };
    let placed: Vec<_> = (0..).zip(&kernel.buffers).filter_map(placed).collect();
    let found = if placed.is_empty() { Vec::new() } else { Interleaved::find(&placed) };
    if found.is_empty() {
        return found;
    }
    let kernel = Kernel { interleaved: found, ..kernel.clone() };
    kernel.interleaved_reads().into_iter().cloned().collect()
}
