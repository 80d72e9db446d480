//! Calls like one of the latest: all that such a call decides is known, and only pointers are put in.
//!
//! Take a function whose steps are kernels, loop programs, views and scalar ops, one after the other. Calls of equal dtypes, extents and strides
//! do the same in it, but for where elements are and what they hold. After two of the latest calls that are alike, and went well, the steps are
//! gone through once more with addresses that are made up: one for each argument, buffer and result, far from one another. What a kernel
//! is given then says which of these each of its buffers is in, and how far from the first element. That is a [`Replay`]. A later call that
//! is like those two fills in the addresses. Where it can't go on, since a kernel says that a point fails, the call begins anew without it,
//! for nothing was written but to temporaries and results. Kernels that make rows out of rows are then run on some rows at a time
//! (`band.rs`), and so are those that make what comes to one number (`feed.rs`).

mod band;
mod feed;
mod program;
mod record;
#[cfg(test)]
mod testing;
mod whole;
#[cfg(test)]
pub use testing::compile;

use super::args::Arg;
use super::buffers::{Buffers, RawBuffer, block_bytes};
use super::launch::{How, Launch, Way};
use super::out::{ViewMut, apart};
use super::plan::{FuncPlan, Slot, Step, StepKind};
use super::small::{self, SMALL};
use super::value::{Place, Shape, Strides, Target, array_place, fill_elements, view_place};
use super::view::element;
use crate::kernel::Part;
use crate::lower::{Bound, Order};
use crate::schedule::Lines;
use band::Band;
use feed::Fed;
use program::ProgramRun;
use record::Recorder;
use rewright_ir::{Array, DType, Datum, Scalar, Styled, with_array};
use smallvec::SmallVec;
use std::sync::Arc;
use whole::Made;

/// What the latest calls that were unlike one another looked like, and how those like them go: the latest first.
#[derive(Debug, Default)]
pub struct Again {
    known: SmallVec<[Box<Known>; MOST_KNOWN]>,
}

/// So many different calls are known: arrays of a few lengths in turns.
const MOST_KNOWN: usize = 8;

/// What a call looked like, and how one like it goes.
#[derive(Debug)]
struct Known {
    look: Look,
    /// None if no other call was like it yet, or it can't be done like that.
    replay: Option<Box<Replay>>,
    /// Another call was like it, so it was tried to make one.
    tried: bool,
}

/// The most bytes of temporaries, which have a place of their own each: larger ones had better share theirs. What is only there
/// band by band does not count.
const MOST_TEMPORARY: usize = 256 << 10;

/// What is alike in calls that are: dtypes, ranks, extents and strides, in numbers.
type Look = SmallVec<[isize; 24]>;

impl Again {
    /// How calls like the latest one go.
    #[cfg(test)]
    pub fn latest(&self) -> Option<&Replay> {
        self.known.first()?.replay.as_deref()
    }

    /// Does a call if it is like one of the latest, and says whether it did: its results, but for those that go to the caller's buffers, are then in
    /// `given`.
    #[inline]
    pub fn call(
        &mut self,
        plan: &FuncPlan,
        args: &[Arg<'_>],
        outs: &[ViewMut<'_>],
        buffers: &mut Buffers,
        how: How,
        given: &mut Given,
    ) -> bool {
        for at in 0..self.known.len() {
            let Known { look, replay: Some(replay), .. } = &mut *self.known[at] else { continue };
            replay.memories.clear();
            if !looks_like(args, outs, look, |memory| replay.memories.push(memory)) {
                continue;
            }
            let done = replay.is_apart(outs.len()) && replay.run(plan, args, outs, buffers, how, given).is_some();
            if !done {
                given.values.clear();
            }
            self.known[..=at].rotate_right(1);
            return done;
        }
        false
    }

    /// Remembers a call that went well.
    pub fn remember(&mut self, plan: &FuncPlan, args: &[Arg<'_>], outs: &[ViewMut<'_>], how: How) {
        if let Some(at) = self.known.iter().position(|known| looks_like(args, outs, &known.look, |_| ())) {
            self.known[..=at].rotate_right(1);
            let known = &mut self.known[0];
            if !known.tried {
                known.tried = true;
                known.replay = Recorder::record(plan, args, outs, how).map(Box::new);
            }
            return;
        }
        // The memory of the one that is given up is used again.
        let mut known = match self.known.len() {
            MOST_KNOWN => self.known.pop(),
            _ => None,
        }
        .unwrap_or_else(|| Box::new(Known { look: Look::new(), replay: None, tried: false }));
        (known.replay, known.tried) = (None, false);
        known.look.clear();
        let keep = |word| {
            known.look.push(word);
            true
        };
        look(args, outs, |_| (), keep);
        self.known.insert(0, known);
    }
}

/// Tells what a call looks like, until it is not to go on, and where the memories begin that it is given.
#[inline]
fn look(
    args: &[Arg<'_>],
    outs: &[ViewMut<'_>],
    mut begin: impl FnMut(*mut u8),
    mut tell: impl FnMut(isize) -> bool,
) -> bool {
    for arg in args {
        let goes_on = match arg {
            Arg::Scalar(scalar) => {
                begin(std::ptr::null_mut());
                tell(scalar.dtype() as isize * 4)
            }
            Arg::Array(array) => look_at(&array_place(array), 1, &mut begin, &mut tell),
            Arg::View(view) => look_at(&view_place(view), 2, &mut begin, &mut tell),
            Arg::Styled(styled) => {
                // A name is the place of its text.
                let name = styled.style().name().as_str().as_ptr().addr() as isize;
                let (dtype, shape, components) = (styled.dtype() as isize, styled.shape(), styled.components());
                let head = [-1 - dtype, name, shape.len() as isize, components.len() as isize];
                head.into_iter().all(&mut tell)
                    && shape.iter().all(|&n| tell(n as isize))
                    && components.iter().all(|component| look_at(&array_place(component), 1, &mut begin, &mut tell))
            }
        };
        if !goes_on {
            return false;
        }
    }
    outs.iter().map(ViewMut::place).all(|out| {
        begin(out.pointer);
        let mut words = out.shape.iter().map(|&n| n as isize).chain(out.strides.iter().copied());
        tell(out.dtype as isize * 4 + 3) && tell(out.shape.len() as isize) && words.all(&mut tell)
    })
}

/// The same of one memory that is read.
#[inline]
fn look_at(
    place: &Place<'_>,
    kind: isize,
    begin: &mut impl FnMut(*mut u8),
    tell: &mut impl FnMut(isize) -> bool,
) -> bool {
    begin(place.pointer.cast_mut());
    tell(place.dtype as isize * 4 + kind)
        && tell(place.shape.len() as isize)
        && place.shape.iter().all(|&n| tell(n as isize))
        && place.strides.iter().all(|&stride| tell(stride))
}

/// Whether a call looks like this; if it does, all its memories are told.
#[inline]
fn looks_like(args: &[Arg<'_>], outs: &[ViewMut<'_>], known: &Look, begin: impl FnMut(*mut u8)) -> bool {
    let mut known = known.iter();
    look(args, outs, begin, |word| known.next() == Some(&word)) && known.next().is_none()
}

/// Where something begins: in which of the call's memories, and how many bytes from its first element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Where {
    /// Arguments in order, each component of those of storage styles, buffers of the caller's for results, temporaries, new results.
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
    /// Several kernels.
    Band(Box<Band>),
    /// Two kernels, of which one makes what the other combines.
    Fed(Box<Fed>),
    /// The loop program of a step.
    Program(Box<ProgramRun>),
    /// Reads an element.
    Load { from: Where, dtype: DType, slot: Slot },
    /// A scalar that is known.
    Set { slot: Slot, scalar: Scalar },
    /// The scalar op of this step.
    Scalar(usize),
}

/// What a call gives back.
#[derive(Default)]
pub struct Given {
    pub values: SmallVec<[Datum; 1]>,
    /// All arrays are small.
    pub small: bool,
    /// The block of each array was made for an array of its size.
    pub whole: bool,
}

/// One call of a kernel.
#[derive(Debug)]
struct Run {
    step: usize,
    way: Way,
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

impl Word {
    fn of(&self, scalars: &[Scalar]) -> u64 {
        match *self {
            Word::Known(word) => word,
            Word::Scalar(slot, Part::Re) => scalars[slot.0 as usize].bits().0,
            Word::Scalar(slot, Part::Im) => scalars[slot.0 as usize].bits().1,
        }
    }
}

#[derive(Debug)]
struct Fill {
    scalar: Scalar,
    dtype: DType,
    shape: Shape,
    strides: Strides,
    at: Where,
}

impl Fill {
    /// Fills a result.
    ///
    /// # Safety
    /// The address is that of a result of this shape and dtype.
    unsafe fn write(&self, pointer: *mut u8) {
        let to = Target { pointer, strides: self.strides.clone(), used: true };
        // SAFETY: passed on.
        unsafe { fill_elements(self.scalar, self.dtype, &self.shape, &to) };
    }
}

/// A result that is a new array.
#[derive(Debug)]
struct New {
    dtype: DType,
    bytes: usize,
    shape: Shape,
    strides: Strides,
    order: Option<Order>,
    /// Which array of a storage style it is a component of, and which one.
    within: Option<(usize, usize)>,
}

/// What is given back.
#[derive(Clone, Copy, Debug)]
enum Back {
    /// A new array.
    New(usize),
    /// An array of a storage style.
    Made(usize),
    /// It is in the caller's buffer already.
    Written,
    Scalar(Slot),
}

/// Slots of arguments that are scalars, and which argument.
type ScalarArgs = SmallVec<[(Slot, usize); 4]>;

/// The first byte of elements, and one past the last, from the first element; none without elements.
type Spans = SmallVec<[Option<(isize, isize)>; 6]>;

/// How calls that look like one another go.
#[derive(Debug)]
pub struct Replay {
    actions: Vec<Action>,
    /// The number of kernels among them, and of those in bands.
    kernels: u64,
    banded: u64,
    /// Scalars of slots; constants have theirs from the beginning.
    scalars: Vec<Scalar>,
    scalar_args: ScalarArgs,
    /// One for each memory of arguments, and buffer of the caller's.
    spans: Spans,
    /// Each begins at a cache line.
    temporaries: Lines,
    temporary_buffers: u64,
    new: SmallVec<[New; 2]>,
    /// All of these are small.
    small: bool,
    results: SmallVec<[Back; 2]>,
    made: Vec<Made>,
    /// The addresses of a call.
    memories: Vec<*mut u8>,
    /// Those that a kernel gets, and its parameters.
    pointers: Vec<*mut u8>,
    words: Vec<u64>,
}

// SAFETY: the pointers are of a call that has ended, or are written by the next one before they are used.
unsafe impl Send for Replay {}

impl Replay {
    /// True if no buffer of the caller's, of which there are so many, has elements of an argument, or of another one.
    #[inline]
    fn is_apart(&self, outs: usize) -> bool {
        let (memories, spans) = (&self.memories[..], &self.spans[..]);
        let ends = |n: usize| {
            let start = memories[n].addr();
            spans[n].map(|(low, high)| (start.wrapping_add_signed(low), start.wrapping_add_signed(high)))
        };
        (memories.len() - outs..memories.len()).all(|out| {
            let own = ends(out);
            (0..out).all(|other| apart(ends(other), own))
        })
    }

    /// Does a call that looks as it should, with buffers that are apart, of which the memories are known that it is given; `None` if it can't.
    fn run(
        &mut self,
        plan: &FuncPlan,
        args: &[Arg<'_>],
        outs: &[ViewMut<'_>],
        buffers: &mut Buffers,
        how: How,
        given: &mut Given,
    ) -> Option<()> {
        for &(slot, arg) in &self.scalar_args {
            let Some(&Arg::Scalar(scalar)) = args.get(arg) else { return None };
            self.scalars[slot.0 as usize] = scalar;
        }
        let mut new: SmallVec<[Room; 1]> = SmallVec::with_capacity(self.new.len());
        let dropped: SmallVec<[Option<Arc<Styled>>; 1]> =
            self.made.iter().map(|made| made.dropped(&self.new)).collect();
        let within = |&(made, nth): &(usize, usize)| Some(Room::within(dropped[made].as_ref()?.components().get(nth)?));
        for result in &self.new {
            new.push(match result.within.as_ref().and_then(within) {
                Some(room) => room,
                None => Room::get(result, buffers)?,
            });
        }
        let used = new.iter().all(Room::is_used);
        self.memories.push(self.temporaries.begin());
        self.memories.extend(new.iter_mut().map(Room::pointer));
        for action in &self.actions {
            let memories = &self.memories[..];
            let at = |place: Where| memories[place.memory].wrapping_offset(place.offset);
            match action {
                Action::Kernel(run) => {
                    // SAFETY: these are places of results, as below.
                    run.fills.iter().for_each(|fill| unsafe { fill.write(at(fill.at)) });
                    self.pointers.clear();
                    self.pointers.extend(run.buffers.iter().map(|&place| at(place)));
                    self.words.clear();
                    self.words.extend(run.params.iter().map(|word| word.of(&self.scalars)));
                    // SAFETY: extents, strides and offsets are those of a call whose arguments and buffers look the same, for which they were
                    // found to stay inside of them. The temporaries' block has room for all, as when they were placed, and new
                    // results are got for their dtypes and shapes. What is written is apart from all that is read: the block and new
                    // results are this call's own, temporaries are apart from one another, and `is_apart` was asked about the
                    // caller's buffers.
                    let status = unsafe {
                        match &run.way {
                            Way::Kernel(kernels) => {
                                let Bound { extents, strides, .. } = &run.bound;
                                kernels[usize::from(used)].run(extents, &self.pointers, strides, &self.words)
                            }
                            Way::Plain => launch(&plan.steps[run.step])?.plain(&run.bound, &self.pointers, &self.words),
                            Way::RowBlocks => {
                                let launch = launch(&plan.steps[run.step])?;
                                launch.in_row_blocks(&run.bound, &self.pointers, &self.words)
                            }
                            Way::Decided => {
                                let launch = launch(&plan.steps[run.step])?;
                                launch.scheduled(&run.bound, &self.pointers, &self.words, used, how)
                            }
                        }
                    };
                    if status.failed != 0 {
                        return None;
                    }
                }
                Action::Band(band) => {
                    // SAFETY: as above; that kernels go together in bands was found from the same extents, strides and offsets.
                    unsafe { band.run(plan, &at, &self.scalars, how.threads) }?;
                }
                Action::Fed(fed) => {
                    // SAFETY: as above.
                    unsafe { fed.run(plan, &at, &self.scalars, how.threads) }?;
                }
                Action::Program(program) => {
                    // SAFETY: as above.
                    unsafe { program.run(plan, &at, &self.scalars, how) }?;
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
        buffers.stats.banded += self.banded;
        buffers.stats.reused += self.temporary_buffers;
        let whole = new.iter().zip(&self.new).all(|(room, new)| room.is_whole(new));
        let mut written = |n: usize| {
            let room = std::mem::replace(&mut new[n], Room::Taken);
            // SAFETY: the kernels, and what filled it before, have written every element with values of the dtype.
            unsafe { room.into_array(&self.new[n]) }
        };
        given.values.clear();
        given.values.reserve_exact(if outs.is_empty() { self.results.len() } else { 0 });
        let mut dropped = dropped;
        for (i, result) in self.results.iter().enumerate() {
            match (*result, outs.get(i)) {
                (Back::New(n), _) => given.values.push(Datum::Array(written(n)?)),
                (Back::Made(n), _) => given.values.push(match dropped[n].take() {
                    Some(whole) => {
                        whole.check().ok()?;
                        Datum::Styled(whole)
                    }
                    None => Datum::from(self.made[n].cast(args, &mut written)?),
                }),
                (Back::Written, _) => {}
                (Back::Scalar(slot), Some(out)) => out.place().write_scalar(self.scalars[slot.0 as usize]),
                (Back::Scalar(slot), None) => given.values.push(Datum::Scalar(self.scalars[slot.0 as usize])),
            }
        }
        (given.small, given.whole) = (self.small, whole);
        Some(())
    }
}

/// Where a new result is written.
enum Room {
    /// Over a result like it that was dropped.
    Array(Array),
    /// To a block.
    Block(RawBuffer),
    /// Over a component of a result that was dropped, which begins here.
    Within(*mut u8),
    /// It is given to the caller.
    Taken,
}

impl Room {
    /// A component in which nobody else has a share.
    fn within(component: &Array) -> Room {
        Room::Within(array_place(component).pointer.cast_mut())
    }

    fn get(new: &New, buffers: &mut Buffers) -> Option<Room> {
        let dropped = match new.bytes <= SMALL {
            true => small::take(new.dtype, &new.shape, &new.strides),
            false => buffers.kept.as_ref().and_then(|kept| kept.array(new.dtype, &new.shape, &new.strides)),
        };
        match dropped {
            Some(array) => {
                buffers.stats.reused += 1;
                Some(Room::Array(array))
            }
            None => buffers.get(new.dtype, &new.shape).ok().map(Room::Block),
        }
    }

    fn is_used(&self) -> bool {
        match self {
            Room::Array(_) | Room::Within(_) | Room::Taken => true,
            Room::Block(block) => block.is_used(),
        }
    }

    /// True if the block has no other room but for the elements.
    fn is_whole(&self, new: &New) -> bool {
        match self {
            Room::Array(_) | Room::Within(_) | Room::Taken => true,
            Room::Block(block) => block.bytes() == block_bytes(new.bytes),
        }
    }

    /// The first element.
    fn pointer(&mut self) -> *mut u8 {
        match self {
            // What is kept has no other share, so nothing is copied.
            Room::Array(array) => with_array!(array, |a| a.as_mut_ptr().cast()),
            Room::Block(block) => block.pointer(),
            Room::Within(pointer) => *pointer,
            Room::Taken => std::ptr::null_mut(),
        }
    }

    /// The result; none if it was taken before.
    ///
    /// # Safety
    /// As [`RawBuffer::into_array`], for the dtype and shape of `new`, which is what the room was got for.
    unsafe fn into_array(self, new: &New) -> Option<Array> {
        match self {
            Room::Array(array) => Some(array),
            // SAFETY: passed on.
            Room::Block(block) => Some(unsafe { block.into_array(new.dtype, &new.shape, new.order.as_deref()) }),
            Room::Within(_) | Room::Taken => None,
        }
    }
}

fn launch(step: &Step) -> Option<&Launch> {
    if let StepKind::Kernel(kernel) = &step.kind { Some(&kernel.launch) } else { None }
}

/// A scalar op; `None` if it fails.
fn scalar_step(step: &Step, scalars: &mut [Scalar]) -> Option<()> {
    let StepKind::Scalar(scalar) = &step.kind else { return None };
    let results = scalar.compute(step, |slot| Ok(scalars[slot.0 as usize])).ok()?;
    step.defs.iter().zip(results).for_each(|(def, result)| scalars[def.slot.0 as usize] = result);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::testing::compile;
    use crate::exec::{Arg, Options};
    use ndarray::Array1;

    /// Whether calls with this argument are replayed from the third on.
    fn is_replayed(body: &str, len: usize) -> bool {
        let text = format!("func @f(%a: f64[n]) -> {body}");
        let f = compile(&text, Options::default());
        let a = Array1::<f64>::ones(len);
        for _ in 0..3 {
            f.call(&[Arg::from(&a)]).unwrap();
        }
        let frames = f.inner.pools[0].frames();
        frames.iter().all(|frame| frame.again.latest().is_some())
    }

    #[test]
    fn small_kernels_views_and_scalars_are_replayed() {
        assert!(is_replayed("f64[n] {\nentry:\n  %0 = mul %a, 2.0\n  ret %0\n}", 8));
        let steps = "f64[n], f64 {
entry:
  %0 = flip %a, axes=[0]
  %1 = exp %0
  %2 = sum %1
  %3 = dim %a, axis=0
  %4 = div %2, %3
  %5 = sub %1, %4
  ret %5, %4
}";
        assert!(is_replayed(steps, 8));
    }

    #[test]
    fn what_is_large_is_too_but_not_with_large_temporaries() {
        let double = "f64[n] {\nentry:\n  %0 = mul %a, 2.0\n  ret %0\n}";
        assert!(is_replayed(double, 10_000));
        // The sum needs all of them before the next kernel begins.
        let twice = "f64[n] {\nentry:\n  %0 = mul %a, 2.0\n  %1 = sum %0\n  %2 = add %0, %1\n  ret %2\n}";
        // With room for the sum.
        let most = super::MOST_TEMPORARY / 8 - 8;
        assert!(is_replayed(twice, most));
        assert!(!is_replayed(twice, most + 8));
    }

    #[test]
    fn calls_of_several_lengths_are_replayed_in_turns() {
        let f = compile("func @f(%a: f64[n]) -> f64[n] {\nentry:\n  %0 = mul %a, 2.0\n  ret %0\n}", Options::default());
        let arrays: Vec<Array1<f64>> = (0..=super::MOST_KNOWN).map(|len| Array1::from_elem(len, 1.5)).collect();
        let (left_out, known) = arrays.split_first().unwrap();
        let call = |a: &Array1<f64>| {
            f.call(&[Arg::from(a)]).unwrap();
        };
        let replayed = || {
            let again = &f.inner.pools[0].frames()[0].again;
            again.known.iter().filter(|known| known.replay.is_some()).count()
        };
        for _ in 0..3 {
            known.iter().for_each(call);
        }
        assert_eq!(replayed(), super::MOST_KNOWN);
        // One more takes the place of that which was called longest ago.
        call(left_out);
        assert_eq!(replayed(), super::MOST_KNOWN - 1);
        call(&known[0]);
        assert_eq!(replayed(), super::MOST_KNOWN - 2);
    }

    #[test]
    fn what_does_more_than_that_is_not() {
        assert!(!is_replayed("f64[n] {\nentry:\n  store %a, 2.0\n  ret %a\n}", 8));
        assert!(!is_replayed("f64[n] {\nentry:\n  print %a\n  %0 = neg %a\n  ret %0\n}", 8));
    }
}
