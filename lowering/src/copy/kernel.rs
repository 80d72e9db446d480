//! Kernels that only copy, as the ones that stage elements. Where the elements that a kernel loads are
//! adjacent along another loop than the innermost one, squares of them are transposed in registers.

use super::{Axis, copy_strided};
use crate::kernel::{CompiledKernel, KOp, Kernel, KernelArgs, Packing, Part};
use rewright_ir::DType;
use smallvec::SmallVec;

/// A compiled kernel, and the copy that it makes.
pub struct CopyKernel {
    compiled: Box<dyn CompiledKernel>,
    loops: usize,
    copied: Copied,
}

/// A copy from a buffer to another one, of real elements of this size.
struct Copied {
    size: usize,
    /// The number of each buffer, and the bytes of an element before the part that is copied.
    from: (usize, usize),
    to: (usize, usize),
}

impl CopyKernel {
    /// The kernel as a copy, or the compiled one if it does anything else, or has one loop.
    pub fn of(kernel: &Kernel, compiled: Box<dyn CompiledKernel>) -> Box<dyn CompiledKernel> {
        match copied(kernel) {
            Some(copied) if kernel.axes > 1 => Box::new(CopyKernel { compiled, loops: kernel.axes, copied }),
            _ => compiled,
        }
    }

    /// The axes of the copy, if squares are to be transposed: the source is adjacent along one loop and the
    /// target along another one, they do not overlap, and each point has an element of its own in the target.
    ///
    /// # Safety
    /// As [`CompiledKernel::call`].
    unsafe fn transposed(&self, args: &KernelArgs) -> Option<SmallVec<[Axis; 4]>> {
        let copied = &self.copied;
        // SAFETY: there are an extent for each loop, and a stride for each buffer and loop.
        let axis = |n: usize| unsafe {
            let stride = |buffer: usize| *args.strides.add(buffer * self.loops + n) as isize;
            Axis { extent: *args.extents.add(n) as usize, source: stride(copied.from.0), target: stride(copied.to.0) }
        };
        let axes: SmallVec<[Axis; 4]> = (0..self.loops).map(axis).collect();
        let size = copied.size as isize;
        let along = |stride: fn(&Axis) -> isize| axes.iter().position(|axis| axis.extent > 1 && stride(axis) == size);
        let (source, target) = (along(|axis| axis.source)?, along(|axis| axis.target)?);
        let is_apart = || {
            // SAFETY: there is an address for each buffer.
            let start = |buffer: usize| unsafe { *args.pointers.add(buffer) }.addr() as i128;
            let ends = |start: i128, stride: fn(&Axis) -> isize| {
                let moved = |axis: &Axis| axis.extent.saturating_sub(1) as i128 * stride(axis) as i128;
                let (low, high): (i128, i128) =
                    axes.iter().map(moved).fold((0, 0), |(low, high), by| (low + by.min(0), high + by.max(0)));
                (start + low, start + high + 16)
            };
            let (a, b) = (ends(start(copied.from.0), |axis| axis.source), ends(start(copied.to.0), |axis| axis.target));
            a.1 <= b.0 || b.1 <= a.0
        };
        (source != target && are_distinct(&axes, copied.size) && is_apart()).then_some(axes)
    }
}

/// The copy of a kernel that loads and stores one element for each point, and does nothing else.
fn copied(kernel: &Kernel) -> Option<Copied> {
    let place = |buffer: u32, part: Part| {
        let dtype = kernel.buffers[buffer as usize].dtype;
        (buffer as usize, if part == Part::Im { dtype.real().size() } else { 0 })
    };
    let [load, store] = &kernel.insts[..] else { return None };
    let (KOp::Load(from, part), KOp::Store(to, to_part)) = (&load.op, &store.op) else { return None };
    // Loads of bools make them 0 or 1.
    let is_copy = store.args.first() == Some(&load.first) && kernel.buffers[*from as usize].dtype != DType::Bool;
    let is_plain = kernel.fold.is_none() && kernel.steps.is_none();
    let size = kernel.dtype(load.first).size();
    (is_copy && is_plain).then(|| Copied { size, from: place(*from, *part), to: place(*to, *to_part) })
}

/// True if the target has another element of this size for each point: sorted by the distance along them, the
/// axes move beyond all elements of those before.
fn are_distinct(axes: &[Axis], size: usize) -> bool {
    let mut axes: SmallVec<[(u64, u64); 4]> = axes
        .iter()
        .filter(|axis| axis.extent > 1)
        .map(|axis| (axis.target.unsigned_abs() as u64, axis.extent as u64))
        .collect();
    axes.sort_unstable();
    let mut end = Some(size as u64);
    axes.iter().all(|&(distance, extent)| {
        let is_beyond = end.is_some_and(|end| distance >= end);
        end = end.and_then(|end| (extent - 1).checked_mul(distance)?.checked_add(end));
        is_beyond
    })
}

impl CompiledKernel for CopyKernel {
    unsafe fn call(&self, args: &KernelArgs) {
        // SAFETY: passed on.
        let Some(axes) = (unsafe { self.transposed(args) }) else {
            // SAFETY: passed on.
            return unsafe { self.compiled.call(args) };
        };
        let Copied { size, from, to } = &self.copied;
        // SAFETY: the elements are those that the kernel loads and stores, and there is an address for each
        // buffer. Both memories are apart, and no element is written twice, so the order of points does not
        // matter.
        unsafe {
            let pointer = |&(buffer, offset): &(usize, usize)| (*args.pointers.add(buffer)).wrapping_add(offset);
            copy_strided(*size, pointer(from), pointer(to), axes);
        }
    }

    fn schedule(&self) -> String {
        self.compiled.schedule()
    }
    fn unroll(&self) -> Option<u32> {
        self.compiled.unroll()
    }
    fn lanes(&self) -> Option<u32> {
        self.compiled.lanes()
    }
    fn stages(&self) -> Option<u32> {
        self.compiled.stages()
    }
    fn streams(&self) -> bool {
        self.compiled.streams()
    }
    fn packing(&self) -> Option<Packing> {
        self.compiled.packing()
    }
    fn disassembly(&self) -> Option<&str> {
        self.compiled.disassembly()
    }
}
