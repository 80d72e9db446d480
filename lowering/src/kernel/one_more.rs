//! The same kernel with one more loop.

use super::{Buffer, KOp, Kernel};
use std::sync::Arc;

impl Kernel {
    /// One more loop, which is the `at`-th from the outermost one on; `varies` says which buffers' addresses change along it. No index along
    /// it is a value.
    pub fn with_loop(&self, at: usize, varies: impl Fn(&Buffer) -> bool) -> Kernel {
        let mut kernel = self.clone();
        kernel.axes += 1;
        for (buffer, own) in kernel.buffers.iter_mut().zip(&self.buffers) {
            buffer.varies.insert(at, varies(own));
        }
        // Accumulators, which no instruction computes, are inside of it as of the others.
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
