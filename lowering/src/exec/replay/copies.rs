//! Copies in replayed calls: updates, and the parts of arrays that they and reads name.

use super::record::Recorder;
use super::{Action, Where};
use crate::exec::complement::complement;
use crate::exec::launch::{operands, place_of, symbol};
use crate::exec::parts::{ArrayPart, Update, part, part_of, stretched};
use crate::exec::plan::{Slot, Step, StepKind};
use crate::exec::value::{Held, Place, Shape, Strides, Target, copy_elements, fill_elements, row_major};
use crate::lower::program::bind;
use rewright_ir::{DType, Name, Scalar};

/// A copy of elements from one memory to another one.
#[derive(Debug)]
pub(super) struct CopyRun {
    pub from: Origin,
    pub to: Where,
    dtype: DType,
    shape: Shape,
    /// The strides of the target, in bytes.
    strides: Strides,
}

/// The source of a copy.
#[derive(Debug)]
pub(super) enum Origin {
    /// Elements with these strides in bytes.
    Memory(Where, Strides),
    /// A scalar, cast to the dtype, for all elements.
    Scalar(Slot),
}

/// The result of an update.
struct Updated {
    shape: Shape,
    whole: Target,
    part: ArrayPart,
    /// The target of the part.
    target: Target,
}

impl CopyRun {
    /// The places in memory of both ends.
    pub fn places_mut(&mut self) -> impl Iterator<Item = &mut Where> {
        let from = if let Origin::Memory(place, _) = &mut self.from { Some(place) } else { None };
        from.into_iter().chain([&mut self.to])
    }

    /// As [`places_mut`](CopyRun::places_mut).
    pub fn places(&self) -> impl Iterator<Item = Where> {
        let from = if let Origin::Memory(place, _) = &self.from { Some(*place) } else { None };
        from.into_iter().chain([self.to])
    }

    /// Copies the elements.
    ///
    /// # Safety
    /// As [`Band::run`](super::band::Band::run).
    pub unsafe fn run(&self, at: &dyn Fn(Where) -> *mut u8, scalars: &[Scalar]) {
        let CopyRun { from, to, dtype, shape, strides } = self;
        let to = Target { pointer: at(*to), strides: strides.clone(), used: true };
        // SAFETY: passed on: the elements are those of arrays of this dtype. A copy goes from one memory to
        // another one.
        unsafe {
            match from {
                Origin::Memory(from, strides) => {
                    let from = Place { dtype: *dtype, pointer: at(*from), shape, strides, unit: 1 };
                    copy_elements(&from, to.pointer, &to.strides);
                }
                Origin::Scalar(slot) => fill_elements(scalars[slot.0 as usize].cast(*dtype), *dtype, shape, &to),
            }
        }
    }
}

impl Recorder<'_, '_> {
    /// Records a copy of elements between arrays of one dtype and shape.
    fn copy(&mut self, from: &Place<'_>, to: Target) -> Option<()> {
        let strides = from.strides.iter().map(|stride| stride * from.unit).collect();
        let origin = Origin::Memory(Where::of(from.pointer)?, strides);
        self.copy_from(origin, (from.dtype, from.shape.into()), to)
    }

    fn copy_from(&mut self, from: Origin, (dtype, shape): (DType, Shape), to: Target) -> Option<()> {
        if !shape.contains(&0) {
            let run = CopyRun { from, to: Where::of(to.pointer)?, dtype, shape, strides: to.strides };
            self.push(Action::Copy(Box::new(run)));
        }
        Some(())
    }

    /// Whether the operands from `first` on are constants. Positions decide which memory is read or written,
    /// so all calls must have the same ones.
    fn have_constants(&self, step: &Step, first: usize) -> bool {
        let is_known = |slot: &Slot| self.plan.constants.iter().any(|(constant, _)| constant == slot);
        step.args.iter().skip(first).all(is_known)
    }

    /// Records the read of an element, or a view of the axes without a position.
    pub(super) fn getitem(&mut self, step: &Step) -> Option<()> {
        self.have_constants(step, 1).then_some(())?;
        let ArrayPart { dtype, pointer, shape, strides, .. } = part(&self.frame, step, 1, &[])?;
        let target = Target { pointer: pointer.cast_mut(), strides, used: true };
        let def = step.defs.first()?;
        self.frame.admits(&def.dims, &shape, Some(def.value)).then_some(())?;
        (def.ty.dtype() == dtype).then_some(())?;
        self.hold_results(step, std::iter::once(&shape[..]), [target].into_iter().collect())
    }

    /// Records an update, without the new elements.
    fn kept(&mut self, number: usize, step: &Step, update: &Update) -> Option<Updated> {
        self.have_constants(step, 2).then_some(())?;
        let (&base, def) = (step.args.first()?, step.defs.first()?);
        let held = self.frame.slots[base.0 as usize].clone();
        let from = held.place()?;
        let shape = Shape::from(from.shape);
        let stays = update.exit.is_some() || self.is_made_of(number, 0);
        let strides = row_major(&shape, from.dtype.size());
        let whole = self.target((&shape, strides, None), def, update.exit, stays)?;
        let place = Place { pointer: whole.pointer, strides: &whole.strides, unit: 1, ..from };
        let part = part_of(&place, &self.frame, step, 2, &update.slices)?;
        for slab in complement(&shape, &part.along, from.dtype.size()) {
            let (from, to) = slab.ends(&from, &whole);
            self.copy(&from, to)?;
        }
        let target = part.target(&whole);
        Some(Updated { shape, whole, part, target })
    }

    /// Holds the result of an update from here on.
    fn hold_updated(&mut self, step: &Step, updated: (Shape, Target)) -> Option<()> {
        self.hold_results(step, std::iter::once(&updated.0[..]), [updated.1].into_iter().collect())
    }

    /// Records an update by a value.
    pub(super) fn update(&mut self, number: usize, step: &Step, update: &Update) -> Option<()> {
        let new = *step.args.get(1)?;
        let held = self.frame.slots[new.0 as usize].clone();
        let Updated { shape, whole, part, target } = self.kept(number, step, update)?;
        match held {
            Held::Scalar(_) => self.copy_from(Origin::Scalar(new), (part.dtype, part.shape), target)?,
            held => {
                let new = stretched(&held, &part.shape)?;
                (new.dtype == part.dtype).then_some(())?;
                self.copy(&new.place(), target)?;
            }
        }
        self.hold_updated(step, (shape, whole))
    }

    /// Records a step together with the update after it, which is step `number`, and returns whether it did.
    /// If so, both have freed their slots.
    pub(super) fn fill_part(&mut self, number: usize, step: &Step, next: &Step) -> Option<bool> {
        let StepKind::Update(update) = &next.kind else { return Some(false) };
        let part = part(&self.frame, next, 2, &update.slices)?;
        let def = step.defs.first()?;
        if def.ty.dtype() != part.dtype || !step.may_fill(&part) || self.made_shape(step)? != part.shape {
            return Some(false);
        }
        let Updated { shape, whole, target, .. } = self.kept(number, next, update)?;
        match &step.kind {
            StepKind::Kernel(kernel) => self.kernel(number - 1, step, kernel, Some(target))?,
            StepKind::Program(program) => self.program(number - 1, step, &program.exits, Some(target))?,
            _ => return None,
        }
        // The slot of the result may be one that the first step frees.
        self.release(step);
        self.hold_updated(next, (shape, whole))?;
        self.release(next);
        Some(true)
    }

    /// The shape of the only result of a kernel or loop program.
    fn made_shape(&self, step: &Step) -> Option<Shape> {
        let program = match &step.kind {
            StepKind::Kernel(kernel) => {
                let extent = kernel.launch.extent(self.plan, &self.frame, step)?;
                if !kernel.runs_program(extent.space.points, |arg| place_of(&self.frame, step, arg)) {
                    return Some(Shape::from(&*extent.results.first()?.shape));
                }
                &kernel.program
            }
            StepKind::Program(program) => &program.program,
            _ => return None,
        };
        let symbols = |name: Name| symbol(self.plan, &self.frame, name);
        let space = bind(&program.expr, &operands(&self.frame, step), &symbols)?;
        Some(Shape::from(&space.results.first()?.0[..]))
    }
}
