//! Records a call for the replay cache: interprets the steps with made-up addresses.

use super::band::{self, Room};
use super::whole::{Component, Made, Whole, makers};
use super::{APART, Action, Back, Fill, MOST_TEMPORARY, New, Replay, Run, ScalarArgs, Spans, Where, Word};
use crate::exec::args::Arg;
use crate::exec::frame::Frame;
use crate::exec::launch::{How, place_of};
use crate::exec::out::{ViewMut, span};
use crate::exec::plan::{Def, FuncPlan, KernelStep, Meaning, Slot, Step, StepKind};
use crate::exec::small::SMALL;
use crate::exec::value::{Held, Lent, Place, Shape, Strides, Target};
use crate::exec::view::ViewOp;
use crate::lower::{Order, Param};
use crate::schedule::{LINE, Lines};
use rewright_ir::Scalar;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Interprets the steps with made-up addresses.
pub(super) struct Recorder<'p, 'a> {
    pub plan: &'p FuncPlan,
    pub args: &'p [Arg<'a>],
    pub(super) how: How,
    pub frame: Frame,
    /// Arrays of storage styles, by slot.
    pub wholes: FxHashMap<Slot, Whole>,
    /// The step results that are components of results.
    makers: FxHashSet<(usize, usize)>,
    /// The number of memories of arguments, and of the caller's buffers.
    given: (usize, usize),
    /// The room of each temporary, and the bytes of all.
    rooms: Vec<Room>,
    room: usize,
    temporary_buffers: u64,
    actions: Vec<Action>,
    pub new: SmallVec<[New; 2]>,
}

impl<'p, 'a> Recorder<'p, 'a> {
    /// Records a call; `None` if it does something that can't be replayed.
    pub(super) fn record(plan: &'p FuncPlan, args: &'p [Arg<'a>], outs: &[ViewMut<'_>], how: How) -> Option<Replay> {
        let given = (args.iter().flat_map(Arg::places).count(), outs.len());
        let mut this = Recorder {
            plan,
            args,
            how,
            frame: Frame::new(plan),
            wholes: FxHashMap::default(),
            makers: makers(plan),
            given,
            rooms: Vec::new(),
            room: 0,
            temporary_buffers: 0,
            actions: Vec::new(),
            new: SmallVec::new(),
        };
        let (scalar_args, spans) = this.aim(args, outs)?;
        let mut results = None;
        let mut steps = plan.steps.iter().enumerate().peekable();
        while let Some((number, step)) = steps.next() {
            if step.fills_part
                && let Some(&(after, next)) = steps.peek()
                && this.fill_part(after, step, next)?
            {
                steps.next();
                continue;
            }
            match &step.kind {
                StepKind::Kernel(kernel) => this.kernel(number, step, kernel, None)?,
                StepKind::Program(program) => this.program(number, step, &program.exits, None)?,
                StepKind::GetItem => this.getitem(step)?,
                StepKind::Update(update) => this.update(number, step, update)?,
                StepKind::View(view) => this.view(step, view)?,
                StepKind::Scalar(_) => {
                    this.actions.push(Action::Scalar(number));
                    step.defs.iter().for_each(|def| this.hold_scalar(def));
                }
                StepKind::Dim(axis) => {
                    let (slot, def) = (step.args.first()?, step.defs.first()?);
                    let shape = match &this.frame.slots[slot.0 as usize] {
                        Held::Empty => &this.wholes.get(slot)?.shape,
                        held => held.shape(),
                    };
                    let extent = *shape.get(*axis)?;
                    let scalar = Scalar::I64(i64::try_from(extent).ok()?);
                    this.actions.push(Action::Set { slot: def.slot, scalar });
                    this.hold_scalar(def);
                }
                StepKind::Component(nth) => this.component(step, *nth)?,
                StepKind::Assemble(assemble) => this.assemble(step, assemble)?,
                StepKind::Free => {}
                StepKind::Ret(_) => {
                    results = Some(this.results(step)?);
                    break;
                }
                _ => return None,
            }
            this.release(step);
        }
        // The pointers and parameters of each kernel and loop program.
        let runs = || {
            this.actions.iter().filter_map(|action| match action {
                Action::Kernel(run) => Some((run.buffers.len(), run.params.len())),
                Action::Program(run) => Some((run.buffers.len(), run.params.len())),
                _ => None,
            })
        };
        let (pointers, words) = runs().fold((0, 0), |most, run| (most.0.max(run.0), most.1.max(run.1)));
        let kernels = runs().count() as u64;
        let constant = |held: &Held| held.scalar().unwrap_or(Scalar::Bool(false));
        let temporaries = given.0 + given.1;
        let (results, mut made) = results?;
        let small = this.new.iter().all(|new| new.bytes <= SMALL);
        for (number, made) in made.iter_mut().enumerate() {
            made.all_new &= small;
            for (component, part) in made.parts.iter().enumerate() {
                if let Component::New(nth) = *part {
                    this.new[nth].within = Some((number, component));
                }
            }
        }
        let room = band::find(&mut this.actions, &plan.steps, temporaries, this.rooms, how.band);
        let is_alone = |action: &&Action| matches!(action, Action::Kernel(_) | Action::Program(_));
        let alone = this.actions.iter().filter(is_alone).count() as u64;
        (room <= MOST_TEMPORARY).then_some(())?;
        Some(Replay {
            kernels,
            banded: kernels - alone,
            memories: Vec::with_capacity(temporaries + 1 + this.new.len()),
            scalars: Frame::new(plan).slots.iter().map(constant).collect(),
            scalar_args,
            spans,
            temporaries: Lines::new(room),
            temporary_buffers: this.temporary_buffers,
            results,
            made,
            actions: this.actions,
            small,
            new: this.new,
            pointers: Vec::with_capacity(pointers),
            words: Vec::with_capacity(words),
        })
    }

    /// Puts made-up arguments and buffers into the frame.
    fn aim(&mut self, args: &[Arg<'_>], outs: &[ViewMut<'_>]) -> Option<(ScalarArgs, Spans)> {
        let (mut scalar_args, mut spans) = (ScalarArgs::new(), Spans::new());
        let reach = |pointer: *const u8, shape: &[usize], strides: &[isize], dtype| {
            let (low, high) = span(pointer, shape, strides.iter().copied(), dtype)?;
            let start = pointer.addr();
            Some((low.wrapping_sub(start) as isize, high.wrapping_sub(start) as isize))
        };
        for (number, (def, arg)) in self.plan.params.iter().zip(args).enumerate() {
            let mut lend = |place: Place<'_>| {
                let pointer = Where { memory: spans.len(), offset: 0 }.address()?;
                let lent = Lent::at(&Place { pointer, ..place });
                spans.push(reach(pointer, &lent.shape, &lent.strides, lent.dtype));
                Some(lent)
            };
            let held = match (arg, arg.place()) {
                (Arg::Styled(styled), _) => {
                    let components = arg.places().map(|place| lend(place?)).collect::<Option<_>>()?;
                    let shape = Shape::from(styled.shape());
                    self.frame.admits(&def.dims, &shape, Some(def.value)).then_some(())?;
                    self.wholes.insert(def.slot, Whole { shape, components, layout: None });
                    continue;
                }
                (_, Some(place)) => Held::Lent(lend(place)?),
                (_, None) => {
                    spans.push(None);
                    scalar_args.push((def.slot, number));
                    Held::Scalar(Scalar::zero(def.ty.dtype()))
                }
            };
            self.frame.admits(&def.dims, held.shape(), Some(def.value)).then_some(())?;
            self.frame.slots[def.slot.0 as usize] = held;
        }
        for (number, out) in outs.iter().enumerate() {
            let mut place = out.place().clone();
            place.pointer = Where { memory: self.given.0 + number, offset: 0 }.address()?;
            place.direct = true;
            spans.push(reach(place.pointer, &place.shape, &place.strides, place.dtype));
            self.frame.into.push(place);
        }
        Some((scalar_args, spans))
    }

    /// Whether the n-th result of a step is a component of a result of a storage style.
    pub(super) fn is_made_of(&self, step: usize, nth: usize) -> bool {
        self.makers.contains(&(step, nth))
    }

    /// Empties the slots that a step frees.
    pub(super) fn release(&mut self, step: &Step) {
        for slot in &step.free {
            self.frame.slots[slot.0 as usize] = Held::Empty;
            self.wholes.remove(slot);
        }
    }

    /// Appends an action.
    pub(super) fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// Marks a slot whose scalar is known only in the replayed call.
    fn hold_scalar(&mut self, def: &Def) {
        self.frame.slots[def.slot.0 as usize] = Held::Scalar(Scalar::zero(def.ty.dtype()));
    }

    /// Records a view: its address derives from that of its operand.
    fn view(&mut self, step: &Step, view: &ViewOp) -> Option<()> {
        let (slot, def) = (step.args.first()?, step.defs.first()?);
        let held = &self.frame.slots[slot.0 as usize];
        if *view == ViewOp::Item {
            let place = held.place().filter(|place| place.shape.iter().all(|&n| n == 1))?;
            let load = Action::Load { from: Where::of(place.pointer)?, dtype: place.dtype, slot: def.slot };
            self.actions.push(load);
            self.hold_scalar(def);
            return Some(());
        }
        held.place()?;
        let held = view.apply(held, &def.dims, &self.frame)?;
        self.frame.admits(&def.dims, held.shape(), Some(def.value)).then_some(())?;
        self.frame.slots[def.slot.0 as usize] = held;
        Some(())
    }

    /// Records a kernel. `into` is the target of the only result, if that is given.
    pub(super) fn kernel(
        &mut self,
        number: usize,
        step: &Step,
        kernel: &KernelStep,
        mut into: Option<Target>,
    ) -> Option<()> {
        matches!(kernel.meaning, Meaning::Array(_) | Meaning::Packed(..)).then_some(())?;
        let launch = &kernel.launch;
        let extent = launch.extent(self.plan, &self.frame, step)?;
        if kernel.runs_program(extent.space.points, |arg| place_of(&self.frame, step, arg)) {
            return self.program(number, step, &kernel.exits, into);
        }
        let (mut targets, mut fills): (SmallVec<[Target; 4]>, Vec<Fill>) = (SmallVec::new(), Vec::new());
        for (nth, def) in step.defs.iter().enumerate() {
            let shape = &extent.results[nth].shape;
            self.frame.admits(&def.dims, shape, Some(def.value)).then_some(())?;
            let exit = kernel.exits.get(nth).copied().flatten();
            let stays = exit.is_some() || self.is_made_of(number, nth);
            let strides = extent.strides(shape, def.ty.dtype().size());
            let order = extent.order.clone();
            let target = match into.take() {
                Some(target) => target,
                None => self.target((&Shape::from(&**shape), strides, order), def, exit, stays)?,
            };
            launch.may_write(&target.strides).then_some(())?;
            if let Some(scalar) = extent.results[nth].fill {
                fills.push(Fill::of(scalar, def, shape, &target)?);
            }
            targets.push(target);
        }
        let (bound, pointers) = launch.prepare(self.plan, &self.frame, step, &extent, &targets).ok()?;
        let param = |param: &Param| match *param {
            Param::Arg(n, part) => Some(Word::Scalar(*step.args.get(n as usize)?, part)),
            Param::Start(axis) => Some(Word::Known(extent.space.starts[axis as usize] as u64)),
        };
        let params = launch.lowered.params.iter().map(param).collect::<Option<_>>()?;
        let buffers = pointers.iter().map(|&pointer| Where::of(pointer)).collect::<Option<_>>()?;
        // A step that only fills has no action, so calls with such a step are not replayed.
        (extent.space.points > 0 || fills.is_empty()).then_some(())?;
        if extent.space.points > 0 {
            let kind = launch.call_kind(&bound, extent.space.points, self.how);
            self.actions.push(Action::Kernel(Box::new(Run { step: number, kind, bound, buffers, params, fills })));
        }
        self.hold_results(step, extent.results.iter().map(|result| &*result.shape), targets)
    }

    /// Holds the results of a step from here on, given their shapes and targets.
    pub(super) fn hold_results<'s>(
        &mut self,
        step: &Step,
        shapes: impl Iterator<Item = &'s [usize]>,
        targets: SmallVec<[Target; 4]>,
    ) -> Option<()> {
        for ((def, target), shape) in step.defs.iter().zip(targets).zip(shapes) {
            let (dtype, shape) = (def.ty.dtype(), Shape::from(shape));
            if def.ty.is_scalar() {
                let from = Where::of(target.pointer)?;
                self.actions.push(Action::Load { from, dtype, slot: def.slot });
                self.hold_scalar(def);
                continue;
            }
            let lent = Lent { dtype, pointer: target.pointer, shape, strides: target.strides, keep: None };
            self.frame.slots[def.slot.0 as usize] = Held::Lent(lent);
        }
        Some(())
    }

    /// The target of a kernel's result: the caller's buffer, a new array if it `stays` after the call, or a
    /// temporary.
    pub(super) fn target(
        &mut self,
        (shape, strides, order): (&Shape, Strides, Option<Order>),
        def: &Def,
        exit: Option<u32>,
        stays: bool,
    ) -> Option<Target> {
        let dtype = def.ty.dtype();
        let place = exit.and_then(|at| self.frame.into.get(at as usize));
        if let Some(place) = place.filter(|place| place.dtype == dtype && place.shape == *shape) {
            return Some(Target { pointer: place.pointer, strides: place.strides.clone(), used: true });
        }
        let (args, outs) = self.given;
        if outs == 0 && stays && def.ty.is_array() {
            let at = Where { memory: args + outs + 1 + self.new.len(), offset: 0 };
            let bytes = rewright_ir::value::checked_len(shape)?.checked_mul(dtype.size())?;
            self.new.push(New { dtype, bytes, shape: shape.clone(), strides: strides.clone(), order, within: None });
            return Some(Target { pointer: at.address()?, strides, used: true });
        }
        let at = Where { memory: args + outs, offset: isize::try_from(self.room).ok()? };
        let bytes = rewright_ir::value::checked_len(shape)?.checked_mul(dtype.size())?;
        self.rooms.push((at.offset, bytes));
        self.room = self.room.checked_add(bytes)?.checked_next_multiple_of(LINE)?;
        (self.room >> (APART - 1) == 0).then_some(())?;
        self.temporary_buffers += 1;
        Some(Target { pointer: at.address()?, strides, used: true })
    }

    /// The number of the new array that begins at an address.
    pub(super) fn new_at(&self, at: Where) -> Option<usize> {
        let (args, outs) = self.given;
        at.memory.checked_sub(args + outs + 1).filter(|&nth| nth < self.new.len())
    }

    /// The returned values: scalars, arrays at their destination, and arrays of storage styles with such
    /// components.
    fn results(&self, step: &Step) -> Option<(SmallVec<[Back; 2]>, Vec<Made>)> {
        let mut returned: SmallVec<[usize; 2]> = SmallVec::new();
        let mut made: Vec<Made> = Vec::new();
        let mut back = |(number, slot): (usize, &Slot)| {
            let lent = match &self.frame.slots[slot.0 as usize] {
                Held::Scalar(_) => return Some(Back::Scalar(*slot)),
                Held::Lent(lent) => lent,
                _ => {
                    made.push(self.made(*slot)?);
                    return Some(Back::Made(made.len() - 1));
                }
            };
            let at = Where::of(lent.pointer).filter(|at| at.offset == 0)?;
            let is = |shape: &Shape, strides: &Strides| *shape == lent.shape && *strides == lent.strides;
            if returned.contains(&at.memory) {
                return None;
            }
            returned.push(at.memory);
            if let Some(out) = self.frame.into.get(number) {
                return (at.memory == self.given.0 + number && is(&out.shape, &out.strides)).then_some(Back::Written);
            }
            let nth = self.new_at(at)?;
            let new = &self.new[nth];
            is(&new.shape, &new.strides).then_some(Back::New(nth))
        };
        let back: SmallVec<[Back; 2]> = step.args.iter().enumerate().map(&mut back).collect::<Option<_>>()?;
        // Each new array belongs to exactly one result.
        let whole = back.iter().filter_map(|back| if let Back::New(nth) = back { Some(*nth) } else { None });
        let part = |part: &Component| if let Component::New(nth) = part { Some(*nth) } else { None };
        let mut new: Vec<usize> = whole.chain(made.iter().flat_map(|made| &made.parts).filter_map(part)).collect();
        new.sort_unstable();
        new.into_iter().eq(0..self.new.len()).then_some((back, made))
    }
}
