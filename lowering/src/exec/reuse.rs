//! In-place reuse of buffers: a result overwrites an operand that dies, or the destination of its store.

use super::launch::{Extent, Launch};
use super::machine::Activation;
use super::plan::{KernelStep, Meaning, Slot, Step};
use super::value::{Held, Lent, Strides, array_place};
use crate::kernel::KOp;
use crate::lower::{Place, Strided};
use rewright_ir::{Array, Name, with_array};
use smallvec::SmallVec;

/// An array that a result overwrites.
pub struct ReusedBuffer {
    pub array: Array,
    /// The first element.
    pub pointer: *mut u8,
    /// The strides in bytes.
    pub strides: Strides,
    /// Whether the array was an operand that dies, and not the destination of a store.
    pub died: bool,
    /// The operand's slot, which holds a borrowed view of the array meanwhile.
    pub slot: Slot,
}

/// Takes an array out of its slot, if the kernel's result may overwrite it. The array is the destination of
/// the result's store, or an operand that dies with the step. No other value shares its buffer, and it has
/// the result's dtype, shape and strides. The kernel reads it only at the point where it writes the result.
/// The kernel continues to read it through the slot.
pub fn reuse_buffer(
    act: &mut Activation<'_, '_>,
    step: &Step,
    kernel: &KernelStep,
    extent: &Extent,
) -> Option<ReusedBuffer> {
    let launch = &kernel.launch;
    let ([def], [result]) = (&step.defs[..], &extent.results[..]) else { return None };
    if launch.packed || !(def.ty.is_array() && result.fill.is_none() && extent.space.points > 0) {
        return None;
    }
    let dtype = def.ty.dtype();
    let own = |act: &Activation<'_, '_>, slot: Slot| match &act.frame.slots[slot.0 as usize] {
        Held::Array(array) if array.dtype() == dtype && *array.shape() == *result.shape => {
            let place = array_place(array);
            let strides: Strides = place.strides.iter().map(|stride| stride * place.unit).collect();
            with_array!(array, |a| a.is_unique()).then_some(strides)
        }
        _ => None,
    };
    if let Meaning::Assign(_, to) = kernel.meaning
        && !launch.lowered.fallible
        && let Some(strides) = own(act, to.slot)
    {
        let free = !step.args.contains(&to.slot) && is_spread(&result.shape, &strides);
        let read = || may_overwrite(launch) && is_read_where_written(act, step, launch, extent, to.slot, &strides);
        if free || read() {
            return lend(act, to.slot, strides, false);
        }
    }
    if !may_overwrite(launch) {
        return None;
    }
    let strides = extent.strides(&result.shape, dtype.size());
    let dies = |slot: &Slot| step.free.contains(slot) || def.slot == *slot;
    let fits = |slot: &&Slot| dies(slot) && own(act, **slot).is_some_and(|own| own == strides);
    let mut fitting = step.args.iter().filter(fits);
    let slot = *fitting.find(|slot| is_read_where_written(act, step, launch, extent, **slot, &strides))?;
    lend(act, slot, strides, true)
}

/// Takes an unshared array out of a slot, and puts a borrowed view of it in the slot.
fn lend(act: &mut Activation<'_, '_>, slot: Slot, strides: Strides, died: bool) -> Option<ReusedBuffer> {
    let held = &mut act.frame.slots[slot.0 as usize];
    let Held::Array(mut array) = std::mem::take(held) else { return None };
    // The array is not shared, so nothing is copied.
    let pointer = with_array!(&mut array, |a| a.as_mut_ptr().cast::<u8>());
    let (dtype, shape) = (array.dtype(), array.shape().into());
    *held = Held::Lent(Lent { dtype, pointer, shape, strides: strides.clone(), keep: None });
    Some(ReusedBuffer { array, pointer, strides, died, slot })
}

/// Whether different indices are different addresses.
fn is_spread(shape: &[usize], strides: &[isize]) -> bool {
    shape.iter().zip(strides).all(|(&extent, &stride)| extent < 2 || stride != 0)
}

/// Whether the elements that a kernel reads may alias those that it writes: it has one store per point,
/// which depends on everything that is read there.
fn may_overwrite(launch: &Launch) -> bool {
    let (lowered, kernel) = (&launch.lowered, &launch.lowered.kernel);
    let stores = kernel.insts.iter().filter(|inst| matches!(inst.op, KOp::Store(..))).count();
    // An error message shows the operands, so a kernel that may fail must not overwrite them.
    launch.compiled.overwrites() && kernel.fold.is_none() && !lowered.fallible && stores == 1
}

/// Whether all accesses to an operand have the addresses of a result with these strides, point by point.
fn is_read_where_written(
    act: &Activation<'_, '_>,
    step: &Step,
    launch: &Launch,
    extent: &Extent,
    slot: Slot,
    strides: &[isize],
) -> bool {
    let lowered = &launch.lowered;
    let Some(result) = extent.results.first() else { return false };
    let result = Strided { shape: &result.shape, strides, unit: 1 };
    let args: SmallVec<[Strided<'_>; 4]> = super::launch::operands(act.frame, step);
    let symbols = |name: Name| super::launch::symbol(act.plan, act.frame, name);
    let Some(bound) = lowered.bind(&extent.space, &args, &[result], &symbols) else { return false };
    let loops = bound.extents.len();
    let way = |buffer: usize| (bound.offsets[buffer], &bound.strides[buffer * loops..][..loops]);
    let Some(written) = lowered.accesses.iter().position(|access| matches!(access.place, Place::Result(_))) else {
        return false;
    };
    let moves = (0..loops).all(|number| bound.extents[number] == 1 || way(written).1[number] != 0);
    let mut reads = lowered.accesses.iter().enumerate().filter(|(_, access)| match access.place {
        Place::Arg(n) => step.args.get(n as usize) == Some(&slot),
        Place::Result(_) => false,
    });
    moves && reads.all(|(buffer, _)| way(buffer) == way(written))
}
