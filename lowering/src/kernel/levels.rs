//! Computes the levels of values from their operands.

use super::{Buffer, KOp, Kernel};
use std::sync::Arc;

impl KOp {
    /// The least level of an instruction, whatever its operands are.
    pub(super) fn own_level(&self, buffers: &[Buffer]) -> u32 {
        match self {
            KOp::Index(axis) => axis + 1,
            KOp::Load(buffer, _) => buffers[*buffer as usize].level(),
            _ => 0,
        }
    }
}

impl Kernel {
    /// Recomputes the levels of all values, after changes to indices or to the axes along which buffers
    /// vary.
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
