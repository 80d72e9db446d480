//! Arrays of storage styles in replayed calls: the components of arguments are memories of their own, and
//! results are assembled from components.

use super::record::Recorder;
use super::{New, Where};
use crate::exec::args::Arg;
use crate::exec::assemble::Assemble;
use crate::exec::plan::{FuncPlan, Slot, Step, StepKind};
use crate::exec::small;
use crate::exec::value::{Held, Lent, Shape};
use rewright_ir::{Array, Components, Styled, StyledLayout};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;
use std::sync::Arc;

/// An array of a storage style while a call is recorded.
pub(super) struct Whole {
    pub shape: Shape,
    pub components: SmallVec<[Lent; 2]>,
    /// Its layout; none for an argument.
    pub layout: Option<Arc<StyledLayout>>,
}

/// A result of a storage style.
#[derive(Debug)]
pub(super) struct Made {
    layout: Arc<StyledLayout>,
    pub parts: SmallVec<[Component; 2]>,
    /// Whether all components are small new arrays, so that a dropped result with the same layout can be
    /// overwritten.
    pub all_new: bool,
}

/// A component of a result.
#[derive(Clone, Copy, Debug)]
pub(super) enum Component {
    /// A new array.
    New(usize),
    /// An argument, or a component of one, which the result shares.
    Given { arg: usize, component: usize },
}

impl Made {
    /// A dropped result with the same layout, whose components are to be overwritten.
    pub fn dropped(&self, new: &[New]) -> Option<Arc<Styled>> {
        let same = |(part, component): (&Component, &Array)| match *part {
            Component::New(nth) => small::is_like(component, new[nth].dtype, &new[nth].shape, &new[nth].strides),
            Component::Given { .. } => false,
        };
        let is_like = |whole: &Styled| self.layout.fits(whole) && self.parts.iter().zip(whole.components()).all(same);
        if self.all_new { small::take_whole(is_like) } else { None }
    }

    /// The result of a call; `new` returns new arrays. `None` if the style refuses the elements of the
    /// components.
    pub fn cast(&self, args: &[Arg<'_>], mut new: impl FnMut(usize) -> Option<Array>) -> Option<Styled> {
        let part = |part: &Component| match *part {
            Component::New(nth) => new(nth),
            Component::Given { arg, component } => match args.get(arg)? {
                Arg::Array(array) => Some((*array).clone()),
                Arg::Styled(styled) => styled.components().get(component).cloned(),
                Arg::Scalar(_) | Arg::View(_) => None,
            },
        };
        let components: Components = self.parts.iter().map(part).collect::<Option<_>>()?;
        self.layout.assemble(components).ok()
    }
}

/// The steps, and the numbers of their results, that compute components of results.
pub(super) fn makers(plan: &FuncPlan) -> FxHashSet<(usize, usize)> {
    let mut makers = FxHashSet::default();
    if !plan.steps.iter().any(|step| matches!(step.kind, StepKind::Assemble(_))) {
        return makers;
    }
    // The slots of results, and of their components, at the current position of the backward walk.
    let (mut results, mut components): (FxHashSet<Slot>, FxHashSet<Slot>) = Default::default();
    for (number, step) in plan.steps.iter().enumerate().rev() {
        if let StepKind::Ret(_) = step.kind {
            results = step.args.iter().copied().collect();
            components.clear();
        }
        for (nth, def) in step.defs.iter().enumerate() {
            if components.remove(&def.slot) {
                makers.insert((number, nth));
            }
            if results.remove(&def.slot)
                && let StepKind::Assemble(_) = step.kind
            {
                components.extend(&step.args);
            }
        }
    }
    makers
}

impl Recorder<'_, '_> {
    /// Records a component: it is at its place in the argument.
    pub(super) fn component(&mut self, step: &Step, number: usize) -> Option<()> {
        let (slot, def) = (step.args.first()?, step.defs.first()?);
        let component = self.wholes.get(slot)?.components.get(number)?.clone();
        self.frame.admits(&def.dims, &component.shape, Some(def.value)).then_some(())?;
        self.frame.slots[def.slot.0 as usize] = Held::Lent(component);
        Some(())
    }

    /// Records an assembled array: its components stay in place. Whether they fit the style, as far as types
    /// tell, is checked once.
    pub(super) fn assemble(&mut self, step: &Step, assemble: &Assemble) -> Option<()> {
        let def = step.defs.first()?;
        let layout = assemble.layout(def, &self.frame)?;
        let lent = |slot: &Slot| match &self.frame.slots[slot.0 as usize] {
            Held::Lent(lent) => Some(lent.clone()),
            _ => None,
        };
        let components: SmallVec<[Lent; 2]> = step.args.iter().map(lent).collect::<Option<_>>()?;
        let admitted = |(number, part): (usize, &Lent)| layout.admits(number, part.dtype, &part.shape);
        (components.len() == layout.count() && components.iter().enumerate().all(admitted)).then_some(())?;
        self.frame.slots[def.slot.0 as usize] = Held::Empty;
        let shape = Shape::from(layout.shape());
        self.wholes.insert(def.slot, Whole { shape, components, layout: Some(layout) });
        Some(())
    }

    /// The parts of a result of a storage style.
    pub(super) fn made(&self, slot: Slot) -> Option<Made> {
        let whole = self.wholes.get(&slot)?;
        let layout = whole.layout.clone()?;
        let parts: SmallVec<[Component; 2]> =
            whole.components.iter().map(|lent| self.part(lent)).collect::<Option<_>>()?;
        let all_new = parts.iter().all(|part| matches!(part, Component::New(_)));
        Some(Made { layout, parts, all_new })
    }

    /// The new array or argument that has exactly these elements, in the same order.
    fn part(&self, lent: &Lent) -> Option<Component> {
        let at = Where::of(lent.pointer).filter(|at| at.offset == 0)?;
        if let Some(nth) = self.new_at(at) {
            let New { shape, strides, .. } = &self.new[nth];
            return (*shape == lent.shape && *strides == lent.strides).then_some(Component::New(nth));
        }
        let mut places =
            self.args.iter().enumerate().flat_map(|(arg, given)| given.places().enumerate().map(move |p| (arg, p)));
        let (arg, (component, place)) = places.nth(at.memory)?;
        let place = place.filter(|_| !matches!(self.args[arg], Arg::View(_)))?;
        let strides = place.strides.iter().map(|stride| stride * place.unit);
        let same = place.dtype == lent.dtype && *place.shape == *lent.shape && strides.eq(lent.strides.iter().copied());
        same.then_some(Component::Given { arg, component })
    }
}
