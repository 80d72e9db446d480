//! Staging: copies of rows whose elements are not adjacent, to contiguous areas on the stack and back.

use super::emit::Emitter;
use super::vector_plan::VectorPlan;
use crate::kernel::{KOp, Kernel, KernelError, Part};
use cranelift_codegen::ir::{InstBuilder, StackSlot, Value, types};

/// The most bytes of stack for copies.
const ROOM: usize = 32 << 10;
/// The points of a tile, unless `ROOM` limits them.
const POINTS: usize = 256;
/// The same for reductions, which copy leaf by leaf.
const LEAF_POINTS: usize = 1024;

/// The layout of the copies.
#[derive(Clone, Debug, Default)]
pub struct Staging {
    /// The points of a tile; 0 if there is no room for a round of the vector loop.
    pub points: usize,
    /// The offset of each buffer's copy in the slot.
    offsets: Vec<usize>,
    /// The bytes of all copies.
    bytes: usize,
    /// Whether a buffer's elements must be copied in before the tile is computed.
    read: Vec<bool>,
    slot: Option<StackSlot>,
}

fn sizes(kernel: &Kernel) -> impl Iterator<Item = usize> {
    let moving = |b: &crate::kernel::Buffer| b.varies.last().copied().unwrap_or(false);
    kernel.buffers.iter().map(move |b| if moving(b) { b.dtype.size() } else { 0 })
}

/// The points of rows that there is room for.
pub fn room(kernel: &Kernel) -> usize {
    let points = if kernel.fold.is_some() { LEAF_POINTS } else { POINTS };
    points.min(ROOM / sizes(kernel).sum::<usize>().max(1))
}

impl Staging {
    /// The layout for a kernel.
    pub fn new(kernel: &Kernel, plan: &VectorPlan) -> Self {
        let round = plan.lanes * plan.groups;
        let points = room(kernel) / round * round;
        let mut offsets = Vec::new();
        let mut bytes = 0;
        for size in sizes(kernel) {
            offsets.push(bytes);
            bytes = (bytes + size * points).next_multiple_of(16);
        }
        let read = (0..kernel.buffers.len() as u32).map(|n| is_read(kernel, n)).collect();
        Staging { points, offsets, bytes, read, slot: None }
    }
}

/// Whether elements of a buffer are loaded, or only one part of them is stored, so that the other part must
/// be preserved.
fn is_read(kernel: &Kernel, buffer: u32) -> bool {
    let uses = |wanted: fn(&KOp) -> Option<(u32, Part)>, part: Option<Part>| {
        kernel.insts.iter().filter_map(|i| wanted(&i.op)).any(|(n, p)| n == buffer && part.is_none_or(|part| part == p))
    };
    let load: fn(&KOp) -> _ = |op| if let KOp::Load(n, p) = op { Some((*n, *p)) } else { None };
    let store: fn(&KOp) -> _ = |op| if let KOp::Store(n, p) = op { Some((*n, *p)) } else { None };
    let complex = kernel.buffers[buffer as usize].dtype.is_complex();
    let written = uses(store, Some(Part::Re)) && (!complex || uses(store, Some(Part::Im)));
    uses(load, None) || !written
}

impl Emitter<'_> {
    /// The addresses of the contiguous elements of `count` points from `start` on: the copies, or the
    /// elements themselves if they are contiguous.
    pub fn stage_in(
        &mut self,
        moving: &[usize],
        axis: usize,
        start: Value,
        count: Value,
    ) -> Result<Vec<Value>, KernelError> {
        let mut places = Vec::new();
        for &n in moving {
            let (from, stride) = (self.element(n, axis, start)?, self.stride(n, axis)?);
            let (copy, size) = (self.copy(n)?, self.int(types::I64, self.kernel.buffers[n].dtype.size() as i64));
            let wanted = if self.staging.read[n] { count } else { self.int(types::I64, 0) };
            let signature = self.signature("gather", &[types::I64; 5], Some(types::I64));
            let callee = self.int(types::I64, gather as *const () as i64);
            let call = self.b.ins().call_indirect(signature, callee, &[from, stride, wanted, copy, size]);
            places.push(self.b.inst_results(call)[0]);
        }
        Ok(places)
    }

    /// Copies results back.
    pub fn stage_out(&mut self, moving: &[usize], axis: usize, start: Value, count: Value) -> Result<(), KernelError> {
        for &n in moving.iter().filter(|&&n| self.kernel.buffers[n].written) {
            let (to, stride) = (self.element(n, axis, start)?, self.stride(n, axis)?);
            let (copy, size) = (self.copy(n)?, self.int(types::I64, self.kernel.buffers[n].dtype.size() as i64));
            let signature = self.signature("scatter", &[types::I64; 5], None);
            let callee = self.int(types::I64, scatter as *const () as i64);
            self.b.ins().call_indirect(signature, callee, &[to, stride, count, copy, size]);
        }
        Ok(())
    }

    fn copy(&mut self, buffer: usize) -> Result<Value, KernelError> {
        let slot = match self.staging.slot {
            Some(slot) => slot,
            None => self.slot(self.staging.bytes)?,
        };
        self.staging.slot = Some(slot);
        Ok(self.b.ins().stack_addr(types::I64, slot, self.staging.offsets[buffer] as i32))
    }
}

/// Copies elements to a contiguous area, unless they are contiguous; returns the address of the contiguous
/// elements.
///
/// # Safety
/// There are `count` elements of `size` bytes, a power of two up to 16, `stride` apart from `from` on, and
/// room for them at `copy`, which does not overlap them.
unsafe extern "C" fn gather(from: *const u8, stride: i64, count: u64, copy: *mut u8, size: u64) -> *const u8 {
    if stride == size as i64 {
        return from;
    }
    // SAFETY: the caller's promise, for a type of this size without invalid values.
    unsafe {
        match size {
            1 => copy_apart::<u8>(from, stride, copy, 1, count),
            2 => copy_apart::<u16>(from, stride, copy, 2, count),
            4 => copy_apart::<u32>(from, stride, copy, 4, count),
            8 => copy_apart::<u64>(from, stride, copy, 8, count),
            _ => copy_apart::<u128>(from, stride, copy, 16, count),
        }
    }
    copy
}

/// Copies elements back from a contiguous area, unless they are contiguous themselves.
///
/// # Safety
/// As for [`gather`], the elements being writable.
unsafe extern "C" fn scatter(to: *mut u8, stride: i64, count: u64, copy: *const u8, size: u64) {
    if stride == size as i64 {
        return;
    }
    // SAFETY: the caller's promise, for a type of this size without invalid values.
    unsafe {
        match size {
            1 => copy_apart::<u8>(copy, 1, to, stride, count),
            2 => copy_apart::<u16>(copy, 2, to, stride, count),
            4 => copy_apart::<u32>(copy, 4, to, stride, count),
            8 => copy_apart::<u64>(copy, 8, to, stride, count),
            _ => copy_apart::<u128>(copy, 16, to, stride, count),
        }
    }
}

/// Copies elements that are `from_stride` bytes apart to places that are `to_stride` bytes apart.
///
/// # Safety
/// All elements are valid to read, and all places valid to write, at any alignment; the two do not overlap.
unsafe fn copy_apart<T: Copy>(from: *const u8, from_stride: i64, to: *mut u8, to_stride: i64, count: u64) {
    for n in 0..count as i64 {
        // SAFETY: element n of both.
        unsafe {
            let element = from.offset((n * from_stride) as isize).cast::<T>().read_unaligned();
            to.offset((n * to_stride) as isize).cast::<T>().write_unaligned(element);
        }
    }
}
