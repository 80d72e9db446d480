//! The layout of results of kernels. It is that of the operands, unless a later kernel combines rows of the
//! result, and is faster if the result is row-major:
//!
//! - Rows along several axes are one loop only in the order of the dims; the result would be copied.
//! - A row that several rows of the result are combined with is read again for each. Its elements are adjacent
//!   then, for the price of one transposed copy.

use super::plan::{Slot, Step, StepKind};
use crate::lower::{Access, Lowered, Place, Position};
use rustc_hash::FxHashMap;

/// Chooses the layout of all results of kernels but those of the function.
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

/// The operands of a kernel that are to be row-major.
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
