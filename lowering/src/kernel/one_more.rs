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
        let values = Arc::make_mut(&mut kernel.values);
        values.iter_mut().for_each(|value| value.level += u32::from(value.level as usize > at));
        for inst in Arc::make_mut(&mut kernel.insts) {
            let own = match &mut inst.op {
                KOp::Index(axis) => {
                    *axis += u32::from(*axis as usize >= at);
                    *axis + 1
                }
                KOp::Load(buffer, _) => kernel.buffers[*buffer as usize].level(),
                _ => 0,
            };
            let level = inst.args.iter().map(|arg| values[arg.0 as usize].level).fold(own, u32::max);
            let results = inst.first.0 as usize..(inst.first.0 + inst.results) as usize;
            values[results].iter_mut().for_each(|value| value.level = level);
        }
        kernel
    }
}
