//! Which results of kernels are laid out row by row, whatever the layout of what they are computed from is: those that are then combined along rows of
//! several axes, in the order of their dims, which need elements in that order, and would be copied otherwise.

use super::plan::{Slot, Step, StepKind};
use crate::lower::{Access, Lowered, Place, Position};
use rustc_hash::FxHashMap;

/// Says so to the kernels, but to those whose results go to the caller.
pub(super) fn choose(steps: &mut [Step]) {
    let mut defined: FxHashMap<Slot, usize> = FxHashMap::default();
    for number in 0..steps.len() {
        let step = &steps[number];
        if let StepKind::Kernel(kernel) = &step.kind {
            let slots = in_order(&kernel.launch.lowered).filter_map(|arg| step.args.get(arg as usize));
            let makers: Vec<usize> = slots.filter_map(|slot| defined.get(slot).copied()).collect();
            for maker in makers {
                if let StepKind::Kernel(maker) = &mut steps[maker].kind {
                    maker.row_major = maker.exits.iter().all(Option::is_none);
                }
            }
        }
        defined.extend(steps[number].defs.iter().map(|def| (def.slot, number)));
    }
}

/// The operands whose dims go along rows of several axes, one after the other.
fn in_order(lowered: &Lowered) -> impl Iterator<Item = u32> {
    let several = lowered.row + 1 < lowered.kernel.axes;
    let axis = |position: &Position| match position {
        Position::At(affine) => affine.as_axis(),
        Position::Stretched(axis) => Some(*axis),
        Position::Only => None,
    };
    let ascends =
        move |access: &&Access| several && access.positions.iter().map(axis).is_sorted_by(|a, b| a.is_some() && a < b);
    lowered.accesses.iter().filter(ascends).filter_map(|access| match access.place {
        Place::Arg(arg) => Some(arg),
        Place::Result(_) => None,
    })
}
