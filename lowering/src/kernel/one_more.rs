//! Adds a loop to a kernel.

use super::{Buffer, KOp, Kernel};
use std::sync::Arc;

impl Kernel {
    /// The kernel with one more loop, at position `at` from the outermost one. `varies` tells which buffers'
    /// addresses vary along it. No value is an index along it.
    pub fn with_loop(&self, at: usize, varies: impl Fn(&Buffer) -> bool) -> Kernel {
        let mut kernel = self.clone();
        kernel.axes += 1;
        for (buffer, own) in kernel.buffers.iter_mut().zip(&self.buffers) {
            buffer.varies.insert(at, varies(own));
        }
        // Accumulators, which no instruction defines, are inside of the new loop as of the others.
        let values = Arc::make_mut(&mut kernel.values);
        values.iter_mut().for_each(|value| value.level += u32::from(value.level as usize > at));
        for inst in Arc::make_mut(&mut kernel.insts) {
            if let KOp::Index(axis) = &mut inst.op {
                *axis += u32::from(*axis as usize >= at);
            }
        }
        kernel.find_levels();
        kernel
    }
}
