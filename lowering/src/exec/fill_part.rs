//! Kernels and loop programs whose result is used once, by an `update`: one step with it.
//!
//! The kernel writes its elements to the part of the result, and only the elements outside of the part are
//! copied. There is no array of the new elements. The array that is updated is overwritten if it dies, no
//! other value shares its buffer, and the kernel does not read it. Otherwise the result is a new array.
//!
//! The plan keeps both steps. Both run, one after the other, in calls whose operands do not fit, or if that
//! costs less: an update in place of few elements, or a reduction whose results would be apart in memory.

use super::complement::complement;
use super::fresh::Fresh;
use super::launch::{Extent, place_of};
use super::loop_program::LoopProgram;
use super::machine::{Activation, Machine};
use super::parts::{ArrayPart, Update, part, part_of};
use super::plan::{KernelStep, Meaning, Slot, Step, StepKind};
use super::value::{Held, Strides, Target, array_place};
use crate::lower::program::ProgramSpace;
use rewright_ir::{Array, EvalError, with_array};

/// The run of a step with one result.
#[expect(clippy::large_enum_variant, reason = "one lives on the stack during a call")]
enum Maker<'s> {
    Kernel(&'s KernelStep, Extent),
    Program(&'s LoopProgram, ProgramSpace),
}

impl Step {
    /// Whether the step may write its result to this part without a loss. Reductions and loop programs keep
    /// totals there, which should be adjacent.
    pub(super) fn may_fill(&self, part: &ArrayPart) -> bool {
        let size = part.dtype.size();
        let mut axes = part.shape.iter().zip(&part.strides).filter(|(extent, _)| **extent > 1).peekable();
        let is_adjacent = axes.peek().is_none() || axes.any(|(_, stride)| stride.unsigned_abs() == size);
        match &self.kind {
            StepKind::Kernel(kernel) => is_adjacent || kernel.launch.lowered.kernel.fold.is_none(),
            _ => is_adjacent,
        }
    }
}

impl Maker<'_> {
    fn points(&self) -> u64 {
        match self {
            Maker::Kernel(_, extent) => extent.space.points,
            Maker::Program(_, space) => space.points,
        }
    }

    fn shape(&self) -> Option<&[usize]> {
        match self {
            Maker::Kernel(_, extent) => extent.results.first().map(|result| &*result.shape),
            Maker::Program(_, space) => space.results.first().map(|(shape, _)| &**shape),
        }
    }
}

/// The memory of an updated array.
enum Whole {
    /// The array that is updated, and its slot.
    Own(Array, Slot),
    New(Fresh),
}

impl Machine<'_> {
    /// Runs a step, and the `update` after it that replaces a part by its result, and empties the slots that
    /// the step frees. Returns false, and has done nothing, if the two must run one after the other.
    pub(super) fn fill_part(&self, act: &mut Activation<'_, '_>, step: &Step, next: &Step) -> Result<bool, EvalError> {
        let (StepKind::Update(update), [made], [def]) = (&next.kind, &step.defs[..], &next.defs[..]) else {
            return Ok(false);
        };
        let part = part(act.frame, next, 2, &update.slices);
        let fits = |part: &ArrayPart| part.dtype == made.ty.dtype() && step.may_fill(part);
        let Some(part) = part.filter(fits) else { return Ok(false) };
        let base = self.operand(act, next, 0);
        let len = base.shape().iter().product::<usize>() as u64;
        let is_own = |array: &Array| !step.args.contains(&next.args[0]) && with_array!(array, |a| a.is_unique());
        let own = match base {
            Held::Array(array) if update.in_place => Some(is_own(array)),
            _ => None,
        };
        // A view that the kernel reads may be the reason that the array is shared. After the kernel, the
        // update may be in place.
        let new = part.shape.iter().product::<usize>() as u64;
        if own == Some(false) && len > 2 * new {
            return Ok(false);
        }
        let maker = self.maker(act, step).filter(|maker| maker.shape() == Some(&part.shape));
        let Some(maker) = maker else { return Ok(false) };
        // If a limit is too low, the step that exceeds it reports the error.
        let (points, left) = (maker.points(), self.steps_left());
        if points.saturating_add(len).saturating_add(1) > left {
            return Ok(false);
        }
        let Some((whole, target)) = self.whole(act, next, update, &part, own == Some(true))? else { return Ok(false) };
        self.spend(len + 1)?;
        let done = match maker {
            Maker::Kernel(kernel, extent) => self.run_kernel(act, step, kernel, extent, Some(target)).map(|()| true),
            Maker::Program(program, space) => {
                self.run_program(act, step, program, &space, (&[], Some(target))).map(|results| results.is_some())
            }
        };
        // The slot may hold a view of the part, which now belongs to the result.
        act.frame.slots[made.slot.0 as usize] = Held::Empty;
        if !matches!(done, Ok(true)) {
            if let Whole::Own(array, slot) = whole {
                self.put(act.frame, slot, Held::Array(array))?;
            }
            self.undone::<()>(left);
            return done;
        }
        let held = match whole {
            Whole::Own(array, _) => Held::Array(array),
            // SAFETY: the step has written the part, and the other elements were copied.
            Whole::New(fresh) => unsafe { fresh.into_held() },
        };
        // A slot that is empty after the step may be that of the updated array.
        step.free.iter().try_for_each(|&slot| self.put(act.frame, slot, Held::Empty))?;
        self.put(act.frame, def.slot, held)?;
        Ok(true)
    }

    /// The run of a step; `None` if the operands do not fit.
    fn maker<'s>(&self, act: &mut Activation<'_, '_>, step: &'s Step) -> Option<Maker<'s>> {
        let (program, equal) = match &step.kind {
            StepKind::Kernel(kernel) => {
                let extent = self.extent(act, step, kernel)?;
                let Meaning::Array(_) = kernel.meaning else { return None };
                if !kernel.runs_program(extent.space.points, |arg| place_of(act.frame, step, arg)) {
                    return Some(Maker::Kernel(kernel, extent));
                }
                (&kernel.program, &kernel.equal)
            }
            StepKind::Program(program) => (&program.program, &program.equal),
            _ => return None,
        };
        if !self.are_equal(act, step, equal) {
            return None;
        }
        let space = self.space(act, step, program)?;
        Some(Maker::Program(program, space))
    }

    /// The memory of the updated array, with all elements outside of the part, and the target of the part.
    /// `None` if there is no room.
    fn whole(
        &self,
        act: &mut Activation<'_, '_>,
        next: &Step,
        update: &Update,
        part: &ArrayPart,
        in_place: bool,
    ) -> Result<Option<(Whole, Target)>, EvalError> {
        let Some(&slot) = next.args.first() else { return Ok(None) };
        if in_place {
            let Held::Array(mut array) = self.take(act.frame, slot) else { return Ok(None) };
            let place = array_place(&array);
            let strides: Strides = place.strides.iter().map(|stride| stride * place.unit).collect();
            // The array is not shared, so nothing is copied.
            let pointer = with_array!(&mut array, |a| a.as_mut_ptr().cast::<u8>());
            let target = part.target(&Target { pointer, strides, used: true });
            return Ok(Some((Whole::Own(array, slot), target)));
        }
        let Some(place) = act.frame.slots[slot.0 as usize].place() else { return Ok(None) };
        if self.room(place.shape, place.dtype.size()).is_err() {
            return Ok(None);
        }
        let fresh = self.fresh(act, update.exit, place.dtype, place.shape.into())?;
        let Some(to) = part_of(&fresh.place(), act.frame, next, 2, &update.slices) else { return Ok(None) };
        // SAFETY: the array is held, and the boxes are inside of it. The new memory has its shape and dtype
        // and aliases no operand.
        let kept = complement(place.shape, &part.along, place.dtype.size());
        kept.iter().for_each(|slab| unsafe { slab.copy(&place, &fresh.target) });
        let target = to.target(&fresh.target);
        Ok(Some((Whole::New(fresh), target)))
    }
}
