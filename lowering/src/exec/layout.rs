//! Chooses the layout of kernels' results. A result has the layout of the operands, unless a later kernel
//! reduces rows of the result, and is faster if the result is row-major:
//!
//! - A row along several axes is one loop only if the axes are in memory in the order of the dims. Otherwise
//!   the result would be copied.
//! - A row that is combined with several rows of the result is read once for each of them. A row-major
//!   result makes its elements contiguous, at the cost of one transposed copy.

use super::plan::{Slot, Step, StepKind};
use crate::lower::{Access, Lowered, Place, Position};
use rustc_hash::FxHashMap;

/// Chooses the layout of all results of kernels but those that the function returns.
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

/// The operands of a kernel that should be row-major.
fn in_order(lowered: &Lowered) -> impl Iterator<Item = u32> {
    let (axes, row) = (lowered.kernel.axes, lowered.row);
    let axis = |position: &Position| match position {
        Position::At(affine) => affine.as_axis(),
        Position::Stretched(axis) => Some(*axis),
        Position::Only => None,
    };
    let is_read = move |access: &&Access| {
        let has_several = row + 1 < axes;
        let is_shared = access.positions.len() < axes;
        let goes_along_row = row < axes && access.positions.last().and_then(axis) == Some(axes as u32 - 1);
        let ascends = access.positions.iter().map(axis).is_sorted_by(|a, b| a.is_some() && a < b);
        ascends && (has_several || (is_shared && goes_along_row))
    };
    lowered.accesses.iter().filter(is_read).filter_map(|access| match access.place {
        Place::Arg(arg) => Some(arg),
        Place::Result(_) => None,
    })
}
