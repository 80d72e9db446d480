//! The levels of values, which follow from what instructions read.

use super::{Buffer, KOp, Kernel};
use std::sync::Arc;

impl KOp {
    /// The level that an instruction has whatever its operands are.
    pub(super) fn own_level(&self, buffers: &[Buffer]) -> u32 {
        match self {
            KOp::Index(axis) => axis + 1,
            KOp::Load(buffer, _) => buffers[*buffer as usize].level(),
            _ => 0,
        }
    }
}

impl Kernel {
    /// Finds the levels of what instructions compute anew, after indices or what buffers vary along have changed.
    pub(super) fn find_levels(&mut self) {
        let values = Arc::make_mut(&mut self.values);
        for inst in self.insts.iter() {
            let own = inst.op.own_level(&self.buffers);
            let level = inst.args.iter().map(|arg| values[arg.0 as usize].level).fold(own, u32::max);
            let results = inst.first.0 as usize..(inst.first.0 + inst.results) as usize;
            values[results].iter_mut().for_each(|value| value.level = level);
        }
    }
}
