//! The same kernel with nothing that is read once a row.

use super::{KOp, Kernel};
use std::sync::Arc;

impl Kernel {
    /// Reads at each point what is read once for the points of the innermost loop, and computes there what was computed of that once.
    /// What does not change along any loop stays outside.
    pub fn by_point(&self) -> Kernel {
        let mut kernel = self.clone();
        let Some(inner) = kernel.axes.checked_sub(1) else { return kernel };
        for buffer in kernel.buffers.iter_mut().filter(|buffer| buffer.level() > 0) {
            buffer.varies[inner] = true;
        }
        let values = Arc::make_mut(&mut kernel.values);
        for inst in self.insts.iter() {
            let own = match inst.op {
                KOp::Index(axis) => axis + 1,
                KOp::Load(buffer, _) => kernel.buffers[buffer as usize].level(),
                _ => 0,
            };
            let level = inst.args.iter().map(|arg| values[arg.0 as usize].level).fold(own, u32::max);
            let results = inst.first.0 as usize..(inst.first.0 + inst.results) as usize;
            values[results].iter_mut().for_each(|value| value.level = level);
        }
        kernel
    }
}
