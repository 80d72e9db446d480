//! Calls like the one before them: all that such a call decides is known, and only pointers are put in.
//!
//! Take a function whose steps are small kernels, views and scalar ops, one after the other. Calls of equal dtypes, extents and strides
//! do the same in it, but for where elements are and what they hold. After two calls in a row that are alike, and went well, the steps are
//! gone through once more with addresses that are made up: one for each argument, buffer and result, far from one another. What a kernel
//! is given then says which of these each of its buffers is in, and how far from the first element. That is a [`Replay`]. A later call that
//! is like those two fills in the addresses. Where it can't go on, since a kernel says that a point fails, the call begins anew without it,
//! for nothing was written but to temporaries and results.

use super::args::Arg;
use super::buffers::{Buffers, RawBuffer};
use super::frame::Frame;
use super::launch::{Extent, Launch};
use super::out::{ViewMut, span};
use super::plan::{Def, FuncPlan, KernelStep, Meaning, Slot, Step, StepKind};
use super::value::{Held, Lent, Place, Shape, Strides, Target, fill_elements};
use super::view::{ViewOp, element};
use crate::kernel::{KernelArgs, Part, Status};
use crate::lower::{Bound, Order, Param};
use crate::schedule::LEAST_POINTS;
use rewright_ir::{DType, Datum, Scalar};
use smallvec::SmallVec;

/// What the latest call looked like, and how one like it goes.
#[derive(Debug, Default)]
pub struct Again {
    look: Look,
    /// None if the latest call was unlike the one before, or can't be done like that.
    replay: Option<Box<Replay>>,
    /// The latest call was like the one before, so it was tried to make one.
    tried: bool,
}

/// Arrays of so many elements take long anyway.
const LARGE: usize = LEAST_POINTS as usize;

/// What is alike in calls that are: dtypes, ranks, extents and strides, in numbers.
type Look = SmallVec<[isize; 24]>;

impl Again {
    /// Does a call if it is like the latest: its results, none of those that go to the caller's buffers.
    #[inline]
    pub fn call(
        &mut self,
        plan: &FuncPlan,
        args: &[Arg<'_>],
        outs: &[ViewMut<'_>],
        buffers: &mut Buffers,
    ) -> Option<Vec<Datum>> {
        let replay = self.replay.as_mut()?;
        (looks_like(args, outs, &self.look) && replay.is_apart(args, outs)).then_some(())?;
        replay.run(plan, args, outs, buffers)
    }

    /// Remembers a call that went well.
    pub fn remember(&mut self, plan: &FuncPlan, args: &[Arg<'_>], outs: &[ViewMut<'_>]) {
        let arrays = args.iter().filter_map(Arg::place).map(|place| place.shape.iter().product());
        if !arrays.chain(outs.iter().map(|out| out.place().shape.iter().product())).all(|len: usize| len < LARGE) {
            return;
        }
        if looks_like(args, outs, &self.look) {
            if !self.tried {
                self.tried = true;
                self.replay = Recorder::record(plan, args, outs).map(Box::new);
            }
            return;
        }
        (self.replay, self.tried) = (None, false);
        self.look.clear();
        look(args, outs, |word| {
            self.look.push(word);
            true
        });
    }
}

/// Tells what a call looks like, until it is not to go on.
#[inline]
fn look(args: &[Arg<'_>], outs: &[ViewMut<'_>], mut tell: impl FnMut(isize) -> bool) -> bool {
    for arg in args {
        let (kind, place) = match arg {
            Arg::Scalar(scalar) => {
                if !tell(scalar.dtype() as isize * 4) {
                    return false;
                }
                continue;
            }
            Arg::Array(_) => (1, arg.place()),
            Arg::View(_) => (2, arg.place()),
        };
        let Some(place) = place else { return false };
        let mut words = place.shape.iter().map(|&n| n as isize).chain(place.strides.iter().copied());
        if !(tell(place.dtype as isize * 4 + kind) && tell(place.shape.len() as isize) && words.all(&mut tell)) {
            return false;
        }
    }
    outs.iter().map(ViewMut::place).all(|out| {
        let mut words = out.shape.iter().map(|&n| n as isize).chain(out.strides.iter().copied());
        tell(out.dtype as isize * 4 + 3) && tell(out.shape.len() as isize) && words.all(&mut tell)
    })
}

#[inline]
fn looks_like(args: &[Arg<'_>], outs: &[ViewMut<'_>], known: &Look) -> bool {
    let mut known = known.iter();
    look(args, outs, |word| known.next() == Some(&word)) && known.next().is_none()
}

/// Where something begins: in which of the call's memories, and how many bytes from its first element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Where {
    /// Arguments in order, buffers of the caller's for results, temporaries, new results.
    memory: usize,
    offset: isize,
}

/// The memory of addresses that are made up: this many bits apart.
const APART: u32 = 44;

impl Where {
    /// The address that stands for it; `None` on machines that have not so many.
    fn address(self) -> Option<*mut u8> {
        let base = (self.memory + 1).checked_shl(APART).filter(|base| base >> APART == self.memory + 1)?;
        Some(std::ptr::without_provenance_mut::<u8>(base).wrapping_offset(self.offset))
    }

    /// What an address stands for.
    fn of(address: *const u8) -> Option<Where> {
        let base = address.addr().checked_add(1usize.checked_shl(APART - 1)?)? >> APART;
        let offset = address.addr().wrapping_sub(base << APART) as isize;
        Some(Where { memory: base.checked_sub(1)?, offset })
    }
}

/// What is done, in order.
#[derive(Debug)]
enum Action {
    /// The kernel of this step.
    Kernel(Box<Run>),
    /// Reads an element.
    Load { from: Where, dtype: DType, slot: Slot },
    /// A scalar that is known.
    Set { slot: Slot, scalar: Scalar },
    /// The scalar op of this step.
    Scalar(usize),
}

/// One call of a kernel.
#[derive(Debug)]
struct Run {
    step: usize,
    bound: Bound,
    buffers: SmallVec<[Where; 6]>,
    params: SmallVec<[Word; 4]>,
    /// What is written to results first.
    fills: Vec<Fill>,
}

/// A parameter.
#[derive(Debug)]
enum Word {
    Known(u64),
    Scalar(Slot, Part),
}

#[derive(Debug)]
struct Fill {
    scalar: Scalar,
    dtype: DType,
    shape: Shape,
    strides: Strides,
    at: Where,
}

/// A result that is a new array.
#[derive(Debug)]
struct New {
    dtype: DType,
    shape: Shape,
    strides: Strides,
    order: Option<Order>,
}

/// What is given back.
#[derive(Clone, Copy, Debug)]
enum Back {
    /// A new array.
    New(usize),
    /// It is in the caller's buffer already.
    Written,
    Scalar(Slot),
}

/// Slots of arguments that are scalars, and which argument.
type Given = SmallVec<[(Slot, usize); 4]>;

/// The first byte of elements, and one past the last, from the first element; none without elements.
type Spans = SmallVec<[Option<(isize, isize)>; 6]>;

/// Temporaries are a multiple of this, so that elements of every dtype are aligned.
type Block = [u128; 4];

/// How calls that look like one another go.
#[derive(Debug)]
pub struct Replay {
    actions: Vec<Action>,
    /// The number of kernels among them.
    kernels: u64,
    /// Scalars of slots; constants have theirs from the beginning.
    scalars: Vec<Scalar>,
    given: Given,
    /// One for each argument and buffer of the caller's.
    spans: Spans,
    temporaries: Vec<Block>,
    temporary_buffers: u64,
    new: SmallVec<[New; 2]>,
    results: SmallVec<[Back; 2]>,
    /// The addresses of a call.
    memories: Vec<*mut u8>,
    /// Those that a kernel gets, and its parameters.
    pointers: Vec<*mut u8>,
    words: Vec<u64>,
}

// SAFETY: the pointers are of a call that has ended, or are written by the next one before they are used.
unsafe impl Send for Replay {}

impl Replay {
    /// True if no buffer of the caller's has elements of an argument, or of another one.
    #[inline]
    fn is_apart(&self, args: &[Arg<'_>], outs: &[ViewMut<'_>]) -> bool {
        if outs.is_empty() {
            return true;
        }
        let starts = args.iter().map(|arg| arg.place().map_or(0, |place| place.pointer.addr()));
        let starts = starts.chain(outs.iter().map(|out| out.place().pointer.addr()));
        let ends = |(start, span): (usize, &Option<(isize, isize)>)| {
            span.map(|(low, high)| (start.wrapping_add_signed(low), start.wrapping_add_signed(high)))
        };
        let all: SmallVec<[Option<(usize, usize)>; 8]> = starts.zip(&self.spans).map(ends).collect();
        let apart = |a: &Option<(usize, usize)>, b: &Option<(usize, usize)>| match (a, b) {
            (Some(a), Some(b)) => a.1 <= b.0 || b.1 <= a.0,
            _ => true,
        };
        (args.len()..all.len()).all(|out| all[..out].iter().all(|other| apart(other, &all[out])))
    }

    /// Does a call that looks as it should, with buffers that are apart; `None` if it can't.
    fn run(
        &mut self,
        plan: &FuncPlan,
        args: &[Arg<'_>],
        outs: &[ViewMut<'_>],
        buffers: &mut Buffers,
    ) -> Option<Vec<Datum>> {
        for &(slot, arg) in &self.given {
            let Some(&Arg::Scalar(scalar)) = args.get(arg) else { return None };
            self.scalars[slot.0 as usize] = scalar;
        }
        let mut new: SmallVec<[RawBuffer; 2]> = SmallVec::new();
        for result in &self.new {
            new.push(buffers.get(result.dtype, &result.shape).ok()?);
        }
        self.memories.clear();
        self.memories.extend(args.iter().map(|arg| arg.place().map_or(std::ptr::null_mut(), |p| p.pointer.cast_mut())));
        self.memories.extend(outs.iter().map(|out| out.place().pointer));
        self.memories.push(self.temporaries.as_mut_ptr().cast());
        self.memories.extend(new.iter().map(RawBuffer::pointer));
        for action in &self.actions {
            let memories = &self.memories[..];
            let at = |place: Where| memories[place.memory].wrapping_offset(place.offset);
            match action {
                Action::Kernel(run) => {
                    for fill in &run.fills {
                        let to = Target { pointer: at(fill.at), strides: fill.strides.clone(), used: true };
                        // SAFETY: this is the place of a result of this shape and dtype, as below.
                        unsafe { fill_elements(fill.scalar, fill.dtype, &fill.shape, &to) };
                    }
                    self.pointers.clear();
                    self.pointers.extend(run.buffers.iter().map(|&place| at(place)));
                    self.words.clear();
                    self.words.extend(run.params.iter().map(|word| match *word {
                        Word::Known(word) => word,
                        Word::Scalar(slot, Part::Re) => self.scalars[slot.0 as usize].bits().0,
                        Word::Scalar(slot, Part::Im) => self.scalars[slot.0 as usize].bits().1,
                    }));
                    let launch = launch(&plan.steps[run.step])?;
                    let mut status = Status::default();
                    let call = KernelArgs {
                        extents: run.bound.extents.as_ptr(),
                        pointers: self.pointers.as_ptr(),
                        strides: run.bound.strides.as_ptr(),
                        params: self.words.as_ptr(),
                        status: &mut status,
                    };
                    // SAFETY: extents, strides and offsets are those of a call whose arguments and buffers look the same, for which they were
                    // found to stay inside of them. The temporaries' block has room for all, as when they were placed, and new
                    // results are got for their dtypes and shapes. What is written is apart from all that is read: the block and new
                    // results are this call's own, temporaries are apart from one another, and `is_apart` was asked about the
                    // caller's buffers.
                    unsafe { launch.compiled.call(&call) };
                    if status.failed != 0 {
                        return None;
                    }
                }
                &Action::Load { from, dtype, slot } => {
                    let place = Place { dtype, pointer: at(from), shape: &[], strides: &[], unit: 1 };
                    self.scalars[slot.0 as usize] = element(&place)?;
                }
                &Action::Set { slot, scalar } => self.scalars[slot.0 as usize] = scalar,
                &Action::Scalar(step) => scalar_step(&plan.steps[step], &mut self.scalars)?,
            }
        }
        buffers.stats.kernels += self.kernels;
        buffers.stats.reused += self.temporary_buffers;
        let mut arrays: SmallVec<[Option<Datum>; 2]> = SmallVec::new();
        for (buffer, made) in new.into_iter().zip(&self.new) {
            // SAFETY: the kernels, and what filled it before, have written every element with values of the dtype.
            let array = unsafe { buffer.into_array(made.dtype, &made.shape, made.order.as_deref()) };
            arrays.push(Some(Datum::Array(array)));
        }
        let mut results = Vec::with_capacity(if outs.is_empty() { self.results.len() } else { 0 });
        for (i, result) in self.results.iter().enumerate() {
            match (*result, outs.get(i)) {
                (Back::New(n), _) => results.push(arrays[n].take()?),
                (Back::Written, _) => {}
                (Back::Scalar(slot), Some(out)) => out.place().write_scalar(self.scalars[slot.0 as usize]),
                (Back::Scalar(slot), None) => results.push(Datum::Scalar(self.scalars[slot.0 as usize])),
            }
        }
        Some(results)
    }
}

fn launch(step: &Step) -> Option<&Launch> {
    if let StepKind::Kernel(kernel) = &step.kind { Some(&kernel.launch) } else { None }
}

/// A scalar op; `None` if it fails.
fn scalar_step(step: &Step, scalars: &mut [Scalar]) -> Option<()> {
    let StepKind::Scalar(scalar) = &step.kind else { return None };
    let args: SmallVec<[Scalar; 3]> =
        step.args.iter().zip(&scalar.ins).map(|(slot, &to)| scalars[slot.0 as usize].cast(to)).collect();
    let results = (scalar.scalar)(&args, &scalar.attrs).ok()?;
    for (def, result) in step.defs.iter().zip(results) {
        (result.dtype() == def.ty.dtype()).then_some(())?;
        scalars[def.slot.0 as usize] = result;
    }
    Some(())
}

/// Goes through the steps with addresses that are made up.
struct Recorder<'p> {
    plan: &'p FuncPlan,
    frame: Frame,
    /// How many arguments, and buffers of the caller's.
    given: (usize, usize),
    /// Bytes of temporaries.
    room: usize,
    temporary_buffers: u64,
    actions: Vec<Action>,
    new: SmallVec<[New; 2]>,
}

impl Recorder<'_> {
    /// How a call goes; `None` if it does more than can be done again.
    fn record(plan: &FuncPlan, args: &[Arg<'_>], outs: &[ViewMut<'_>]) -> Option<Replay> {
        let mut this = Recorder {
            plan,
            frame: Frame::new(plan),
            given: (args.len(), outs.len()),
            room: 0,
            temporary_buffers: 0,
            actions: Vec::new(),
            new: SmallVec::new(),
        };
        let (given, spans) = this.aim(args, outs)?;
        let mut results = None;
        for (number, step) in plan.steps.iter().enumerate() {
            match &step.kind {
                StepKind::Kernel(kernel) => this.kernel(number, step, kernel)?,
                StepKind::View(view) => this.view(step, view)?,
                StepKind::Scalar(_) => {
                    this.actions.push(Action::Scalar(number));
                    step.defs.iter().for_each(|def| this.hold_scalar(def));
                }
                StepKind::Dim(axis) => {
                    let (slot, def) = (step.args.first()?, step.defs.first()?);
                    let extent = *this.frame.slots[slot.0 as usize].shape().get(*axis)?;
                    let scalar = Scalar::I64(i64::try_from(extent).ok()?);
                    this.actions.push(Action::Set { slot: def.slot, scalar });
                    this.hold_scalar(def);
                }
                StepKind::Free => {}
                StepKind::Ret(_) => {
                    results = Some(this.results(step)?);
                    break;
                }
                _ => return None,
            }
            step.free.iter().for_each(|slot| this.frame.slots[slot.0 as usize] = Held::Empty);
        }
        let constant = |held: &Held| held.scalar().unwrap_or(Scalar::Bool(false));
        let kernels = this.actions.iter().filter(|action| matches!(action, Action::Kernel(_))).count();
        Some(Replay {
            kernels: kernels as u64,
            scalars: Frame::new(plan).slots.iter().map(constant).collect(),
            given,
            spans,
            temporaries: vec![Block::default(); this.room.div_ceil(size_of::<Block>())],
            temporary_buffers: this.temporary_buffers,
            results: results?,
            actions: this.actions,
            new: this.new,
            memories: Vec::new(),
            pointers: Vec::new(),
            words: Vec::new(),
        })
    }

    /// Puts made-up arguments and buffers into the frame.
    fn aim(&mut self, args: &[Arg<'_>], outs: &[ViewMut<'_>]) -> Option<(Given, Spans)> {
        let (mut given, mut spans) = (Given::new(), Spans::new());
        let reach = |pointer: *const u8, shape: &[usize], strides: &[isize], dtype| {
            let (low, high) = span(pointer, shape, strides.iter().copied(), dtype)?;
            let start = pointer.addr();
            Some((low.wrapping_sub(start) as isize, high.wrapping_sub(start) as isize))
        };
        for (number, (def, arg)) in self.plan.params.iter().zip(args).enumerate() {
            let held = match arg.place() {
                Some(place) => {
                    let pointer = Where { memory: number, offset: 0 }.address()?;
                    let lent = Lent::at(&Place { pointer, ..place });
                    spans.push(reach(pointer, &lent.shape, &lent.strides, lent.dtype));
                    Held::Lent(lent)
                }
                None => {
                    spans.push(None);
                    given.push((def.slot, number));
                    Held::Scalar(Scalar::zero(def.ty.dtype()))
                }
            };
            self.frame.admits(&def.dims, held.shape(), Some(def.value)).then_some(())?;
            self.frame.slots[def.slot.0 as usize] = held;
        }
        for (number, out) in outs.iter().enumerate() {
            let mut place = out.place().clone();
            place.pointer = Where { memory: args.len() + number, offset: 0 }.address()?;
            place.direct = true;
            spans.push(reach(place.pointer, &place.shape, &place.strides, place.dtype));
            self.frame.into.push(place);
        }
        Some((given, spans))
    }

    /// What a slot holds from here on is only known when it is done.
    fn hold_scalar(&mut self, def: &Def) {
        self.frame.slots[def.slot.0 as usize] = Held::Scalar(Scalar::zero(def.ty.dtype()));
    }

    /// Views of what is elsewhere are elsewhere too.
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

    fn kernel(&mut self, number: usize, step: &Step, kernel: &KernelStep) -> Option<()> {
        matches!(kernel.meaning, Meaning::Array(_)).then_some(())?;
        let launch = &kernel.launch;
        let extent = launch.extent(self.plan, &self.frame, step)?;
        launch.is_small(extent.space.points).then_some(())?;
        let (mut targets, mut fills): (SmallVec<[Target; 4]>, Vec<Fill>) = (SmallVec::new(), Vec::new());
        for (nth, def) in step.defs.iter().enumerate() {
            let shape = &extent.results[nth].shape;
            self.frame.admits(&def.dims, shape, Some(def.value)).then_some(())?;
            let exit = kernel.exits.get(nth).copied().flatten();
            let target = self.target(&extent, nth, def, exit)?;
            if let Some(scalar) = extent.results[nth].fill {
                let (dtype, shape) = (def.ty.dtype(), Shape::from(&**shape));
                fills.push(Fill {
                    scalar,
                    dtype,
                    shape,
                    strides: target.strides.clone(),
                    at: Where::of(target.pointer)?,
                });
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
        if extent.space.points > 0 {
            self.actions.push(Action::Kernel(Box::new(Run { step: number, bound, buffers, params, fills })));
        }
        for ((def, target), result) in step.defs.iter().zip(targets).zip(&extent.results) {
            let (dtype, shape) = (def.ty.dtype(), Shape::from(&*result.shape));
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

    /// Where a result of a kernel goes: to the caller's buffer, a new array if it is returned, or among the temporaries.
    fn target(&mut self, extent: &Extent, nth: usize, def: &Def, exit: Option<u32>) -> Option<Target> {
        let (dtype, shape) = (def.ty.dtype(), &extent.results[nth].shape);
        let place = exit.and_then(|at| self.frame.into.get(at as usize));
        if let Some(place) = place.filter(|place| place.dtype == dtype && place.shape == *shape) {
            return Some(Target { pointer: place.pointer, strides: place.strides.clone(), used: true });
        }
        let (args, outs) = self.given;
        let strides = extent.strides(shape, dtype.size());
        if outs == 0 && exit.is_some() && def.ty.is_array() {
            let at = Where { memory: args + outs + 1 + self.new.len(), offset: 0 };
            let new =
                New { dtype, shape: Shape::from(&**shape), strides: strides.clone(), order: extent.order.clone() };
            self.new.push(new);
            return Some(Target { pointer: at.address()?, strides, used: true });
        }
        let at = Where { memory: args + outs, offset: isize::try_from(self.room).ok()? };
        let bytes = rewright_ir::array::checked_len(shape)?.checked_mul(dtype.size())?;
        self.room = self.room.checked_add(bytes)?.checked_next_multiple_of(size_of::<Block>())?;
        self.temporary_buffers += 1;
        Some(Target { pointer: at.address()?, strides, used: true })
    }

    /// What is returned: scalars, and arrays that are where they are wanted.
    fn results(&self, step: &Step) -> Option<SmallVec<[Back; 2]>> {
        let (args, outs) = self.given;
        let mut returned: SmallVec<[usize; 2]> = SmallVec::new();
        let back = |(number, slot): (usize, &Slot)| {
            let lent = match &self.frame.slots[slot.0 as usize] {
                Held::Scalar(_) => return Some(Back::Scalar(*slot)),
                Held::Lent(lent) => lent,
                _ => return None,
            };
            let at = Where::of(lent.pointer).filter(|at| at.offset == 0)?;
            let is = |shape: &Shape, strides: &Strides| *shape == lent.shape && *strides == lent.strides;
            if returned.contains(&at.memory) {
                return None;
            }
            returned.push(at.memory);
            if let Some(out) = self.frame.into.get(number) {
                return (at.memory == args + number && is(&out.shape, &out.strides)).then_some(Back::Written);
            }
            let nth = at.memory.checked_sub(args + outs + 1)?;
            let new = self.new.get(nth)?;
            is(&new.shape, &new.strides).then_some(Back::New(nth))
        };
        let back: SmallVec<[Back; 2]> = step.args.iter().enumerate().map(back).collect::<Option<_>>()?;
        // Each new array is somebody's.
        let new = back.iter().filter(|back| matches!(back, Back::New(_))).count();
        (new == self.new.len()).then_some(back)
    }
}
