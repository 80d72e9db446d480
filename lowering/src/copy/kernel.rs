//! Kernels that only copy, as the ones that stage elements. Where the elements that a kernel loads are
//! adjacent along another loop than the innermost one, squares of them are transposed in registers.

use super::{Axis, copy_strided};
use crate::kernel::{CompiledKernel, KOp, Kernel, KernelArgs, Packing, Part};
use rewright_ir::DType;
use smallvec::SmallVec;

/// A compiled kernel, and the copies that it makes.
pub struct CopyKernel {
    compiled: Box<dyn CompiledKernel>,
    loops: usize,
    copies: SmallVec<[Copied; 2]>,
}

/// A copy from a buffer to another one, of real elements of this size.
struct Copied {
    size: usize,
    /// The number of each buffer, and the bytes of an element before the part that is copied.
    from: (usize, usize),
    to: (usize, usize),
}

impl CopyKernel {
    /// The kernel as copies, or the compiled one if it does anything else.
    pub fn of(kernel: &Kernel, compiled: Box<dyn CompiledKernel>) -> Box<dyn CompiledKernel> {
        match copies(kernel) {
            Some(copies) if kernel.axes > 1 => Box::new(CopyKernel { compiled, loops: kernel.axes, copies }),
            _ => compiled,
        }
    }
}

/// The copies of a kernel that does nothing else.
fn copies(kernel: &Kernel) -> Option<SmallVec<[Copied; 2]>> {
    let mut loads: SmallVec<[_; 2]> = SmallVec::new();
    let mut copies: SmallVec<[Copied; 2]> = SmallVec::new();
    let place = |buffer: u32, part: Part| {
        let dtype = kernel.buffers[buffer as usize].dtype;
        (buffer as usize, if part == Part::Im { dtype.real().size() } else { 0 })
    };
    for inst in kernel.insts.iter() {
        match inst.op {
            // Loads of bools make them 0 or 1.
            KOp::Load(buffer, part) if kernel.buffers[buffer as usize].dtype != DType::Bool => {
                loads.push((inst.first, place(buffer, part)));
            }
            KOp::Store(buffer, part) => {
                let (value, from) = loads.iter().find(|(value, _)| inst.args.first() == Some(value))?;
                copies.push(Copied { size: kernel.dtype(*value).size(), from: *from, to: place(buffer, part) });
            }
            _ => return None,
        }
    }
    (kernel.fold.is_none() && kernel.steps.is_none() && !copies.is_empty()).then_some(copies)
}

impl CopyKernel {
    /// The axes of a copy, if it is worth transposing squares: the source is adjacent along one loop, the
    /// target along another one, and they do not overlap.
    ///
    /// # Safety
    /// As [`CompiledKernel::call`].
    unsafe fn transposed(&self, copied: &Copied, args: &KernelArgs) -> Option<SmallVec<[Axis; 4]>> {
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
        (source != target && is_apart()).then_some(axes)
    }
}

impl CompiledKernel for CopyKernel {
    unsafe fn call(&self, args: &KernelArgs) {
        let mut all: SmallVec<[SmallVec<[Axis; 4]>; 2]> = SmallVec::new();
        for copied in &self.copies {
            // SAFETY: passed on.
            match unsafe { self.transposed(copied, args) } {
                Some(axes) => all.push(axes),
                // SAFETY: passed on.
                None => return unsafe { self.compiled.call(args) },
            }
        }
        for (Copied { size, from, to }, axes) in self.copies.iter().zip(all) {
            // SAFETY: the elements are those that the kernel loads and stores, and there is an address for
            // each buffer. Both memories are apart.
            unsafe {
                let pointer = |(buffer, offset): (usize, usize)| (*args.pointers.add(buffer)).wrapping_add(offset);
                copy_strided(*size, pointer(*from), pointer(*to), axes);
            }
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
