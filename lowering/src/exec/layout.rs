//! Which results of kernels are laid out row by row, whatever the layout of what they are computed from is: those that are then combined along rows of
//! several axes, which need elements in that order, and would be copied otherwise.

use super::plan::{Slot, Step, StepKind};
use rustc_hash::FxHashMap;

/// Says so to the kernels, but to those whose results go to the caller.
pub(super) fn choose(steps: &mut [Step]) {
    let mut defined: FxHashMap<Slot, usize> = FxHashMap::default();
    for number in 0..steps.len() {
        let step = &steps[number];
        if let StepKind::Kernel(kernel) = &step.kind
            && kernel.launch.lowered.row + 1 < kernel.launch.lowered.kernel.axes
        {
            let makers: Vec<usize> = step.args.iter().filter_map(|slot| defined.get(slot).copied()).collect();
            for maker in makers {
                if let StepKind::Kernel(maker) = &mut steps[maker].kind {
                    maker.row_major = maker.exits.iter().all(Option::is_none);
                }
            }
        }
        defined.extend(steps[number].defs.iter().map(|def| (def.slot, number)));
    }
}
