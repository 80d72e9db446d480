//! Replay cache: a call with the dtypes, extents and strides of a recent call reuses its cached plan, and
//! only patches pointers and scalars.
//!
//! The cache is for functions whose steps are a straight line of kernels, loop programs, updates, views and
//! scalar ops. Calls with equal dtypes, extents and strides take the same decisions in them. Only the
//! addresses and the values of elements differ.
//!
//! After two successful calls with the same signature, the recorder interprets the steps once more, with
//! made-up addresses: one for each argument, buffer and result, far from one another. The address of each
//! kernel buffer then tells which of these memories the buffer is in, and its offset from the first element.
//! The recorded plan is a [`Replay`]. A later call with the same signature puts its own addresses in. If a
//! kernel reports that a point fails, the call starts again without the plan. This is safe because only
//! temporaries and results were written.
//!
//! The plan also fuses kernels. Kernels that compute rows from rows run band by band (`band.rs`), and so do
//! kernels whose result is reduced to one number (`feed.rs`).

mod band;
mod copies;
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
use super::launch::{CallKind, How, Launch};
use super::out::{ViewMut, apart};
use super::plan::{Def, FuncPlan, Slot, Step, StepKind};
use super::small::{self, SMALL};
use super::value::{Place, Shape, Strides, Target, array_place, fill_elements, view_place};
use super::view::element;
use crate::kernel::Part;
use crate::lower::{Bound, Order};
use crate::schedule::Lines;
use band::Band;
use copies::CopyRun;
use feed::Fed;
use program::ProgramRun;
use record::Recorder;
use rewright_ir::{Array, DType, Datum, Scalar, Styled, with_array};
use smallvec::SmallVec;
use std::sync::Arc;
use whole::Made;

/// The replay cache of a function: the signatures of recent calls and their plans, most recently used first.
#[derive(Debug, Default)]
pub struct ReplayCache {
    known: SmallVec<[Box<Known>; MOST_KNOWN]>,
}

/// The most signatures in the cache: enough for callers that alternate between arrays of a few lengths.
const MOST_KNOWN: usize = 8;

/// The signature of a call, and its plan.
#[derive(Debug)]
struct Known {
    look: Look,
    /// The plan; none before the second call with this signature, or if such calls can't be replayed.
    replay: Option<Box<Replay>>,
    /// Whether recording was attempted: there was a second call with this signature.
    tried: bool,
}

/// The most bytes of a plan's temporaries. Each has memory of its own. Larger ones had better share memory,
/// so calls that need more are not replayed. Temporaries that only exist band by band do not count.
const MOST_TEMPORARY: usize = 256 << 10;

/// The signature of a call: dtypes, ranks, extents and strides, encoded as integers.
type Look = SmallVec<[isize; 24]>;

impl ReplayCache {
    /// The plan for the signature of the latest call.
    #[cfg(test)]
    pub fn latest(&self) -> Option<&Replay> {
        self.known.first()?.replay.as_deref()
    }

    /// Replays a call if its signature is in the cache, and returns whether it did. If so, `given` has the
    /// results, except for those in the caller's buffers.
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
            if at > 0 {
                self.known[..=at].rotate_right(1);
            }
            return done;
        }
        false
    }

    /// Adds the signature of a successful call, or records its plan at the second such call.
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
        // The new entry reuses the memory of the evicted one.
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

/// Passes the signature of a call to `tell`, one integer after the other, until `tell` returns false. Passes
/// the address of each memory of the call to `begin`. Returns whether `tell` never returned false.
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
                // Names are interned, so the address of the text identifies a name.
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

/// [`look`] for one array that is read.
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

/// Whether a call has this signature. If it has, `begin` has got the addresses of all its memories.
#[inline]
fn looks_like(args: &[Arg<'_>], outs: &[ViewMut<'_>], known: &Look, begin: impl FnMut(*mut u8)) -> bool {
    let mut known = known.iter();
    look(args, outs, begin, |word| known.next() == Some(&word)) && known.next().is_none()
}

/// An address relative to one of the call's memories: the memory, and the offset in bytes from its first
/// element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Where {
    /// The number of the memory, in this order: the arguments (an argument of a storage style has one memory
    /// for each component), the caller's buffers for results, the temporaries (one memory for all), the new
    /// results.
    memory: usize,
    offset: isize,
}

/// The binary logarithm of the distance between the made-up addresses of memories.
const APART: u32 = 44;

impl Where {
    /// The made-up address; `None` if the address space of the machine is too small.
    fn address(self) -> Option<*mut u8> {
        let base = (self.memory + 1).checked_shl(APART).filter(|base| base >> APART == self.memory + 1)?;
        Some(std::ptr::without_provenance_mut::<u8>(base).wrapping_offset(self.offset))
    }

    /// The memory and offset that a made-up address stands for.
    fn of(address: *const u8) -> Option<Where> {
        let base = address.addr().checked_add(1usize.checked_shl(APART - 1)?)? >> APART;
        let offset = address.addr().wrapping_sub(base << APART) as isize;
        Some(Where { memory: base.checked_sub(1)?, offset })
    }
}

/// A step of a plan. Plans run their steps in order.
#[derive(Debug)]
enum Action {
    /// A kernel.
    Kernel(Box<Run>),
    /// Several kernels that run band by band.
    Band(Box<Band>),
    /// A producer kernel, fused with the kernel that reduces its result.
    Fed(Box<Fed>),
    /// A loop program.
    Program(Box<ProgramRun>),
    /// A copy of elements.
    Copy(Box<CopyRun>),
    /// Loads an element of an array to the slot of a scalar.
    Load { from: Where, dtype: DType, slot: Slot },
    /// Sets the slot of a scalar that all calls with this signature share.
    Set { slot: Slot, scalar: Scalar },
    /// The scalar op of the function's step of this number.
    Scalar(usize),
}

/// The results of a replayed call.
#[derive(Default)]
pub struct Given {
    pub values: SmallVec<[Datum; 1]>,
    /// Whether all arrays are small.
    pub small: bool,
    /// Whether the memory block of each array was allocated for an array of its size.
    pub whole: bool,
}

/// One call of a kernel.
#[derive(Debug)]
struct Run {
    step: usize,
    kind: CallKind,
    bound: Bound,
    buffers: SmallVec<[Where; 6]>,
    params: SmallVec<[Word; 4]>,
    /// Results that are filled with a scalar before the kernel runs.
    fills: Vec<Fill>,
}

/// A kernel parameter: a constant, or a part of the scalar in a slot.
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
    /// The fill of a result with this target.
    fn of(scalar: Scalar, def: &Def, shape: &[usize], target: &Target) -> Option<Fill> {
        let (shape, strides, at) = (Shape::from(shape), target.strides.clone(), Where::of(target.pointer)?);
        Some(Fill { scalar, dtype: def.ty.dtype(), shape, strides, at })
    }

    /// Fills a result with the scalar.
    ///
    /// # Safety
    /// The address is that of a result with this shape, strides and dtype.
    unsafe fn write(&self, pointer: *mut u8) {
        let to = Target { pointer, strides: self.strides.clone(), used: true };
        // SAFETY: by the caller's promise.
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
    /// If it is a component of a result of a storage style: the number in `Replay::made`, and the number of
    /// the component.
    within: Option<(usize, usize)>,
}

/// The source of a result.
#[derive(Clone, Copy, Debug)]
enum Back {
    /// A new array.
    New(usize),
    /// An array of a storage style, assembled from components.
    Made(usize),
    /// The actions have written it to the caller's buffer.
    Written,
    Scalar(Slot),
}

/// The slots of scalar arguments, and the numbers of these arguments.
type ScalarArgs = SmallVec<[(Slot, usize); 4]>;

/// The range of bytes that the elements of each array touch: the lowest byte, and one past the highest, as
/// offsets from the first element. None without elements.
type Spans = SmallVec<[Option<(isize, isize)>; 6]>;

/// The cached plan for calls with the same signature.
#[derive(Debug)]
pub struct Replay {
    actions: Vec<Action>,
    /// The number of kernels in the actions.
    kernels: u64,
    /// The number of kernels that run band by band.
    banded: u64,
    /// The scalars by slot. Those of constants are set when the plan is recorded.
    scalars: Vec<Scalar>,
    scalar_args: ScalarArgs,
    /// The span of each memory of arguments, and of each buffer of the caller.
    spans: Spans,
    /// The memory of all temporaries. Each begins at a cache line.
    temporaries: Lines,
    temporary_buffers: u64,
    new: SmallVec<[New; 2]>,
    /// Whether all new results are small.
    small: bool,
    results: SmallVec<[Back; 2]>,
    made: Vec<Made>,
    /// The addresses of the memories in a call.
    memories: Vec<*mut u8>,
    /// The pointers that a kernel gets.
    pointers: Vec<*mut u8>,
    /// The parameters that a kernel gets.
    words: Vec<u64>,
}

// SAFETY: the pointers belong to a call that has ended. The next call writes them before it uses them.
unsafe impl Send for Replay {}

impl Replay {
    /// Whether the caller's buffers for results (`outs` of them) alias no argument, and not one another.
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

    /// Runs a call with the signature of the plan. `memories` has the addresses of its arguments and buffers,
    /// and the buffers alias nothing. `None` if the call can't be replayed.
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
                    // SAFETY: the addresses are those of results, for the reasons below.
                    run.fills.iter().for_each(|fill| unsafe { fill.write(at(fill.at)) });
                    self.pointers.clear();
                    self.pointers.extend(run.buffers.iter().map(|&place| at(place)));
                    self.words.clear();
                    self.words.extend(run.params.iter().map(|word| word.of(&self.scalars)));
                    // SAFETY: extents, strides and offsets are those of a call with the same signature, for
                    // which they were checked to stay inside of its arguments and buffers. The block of
                    // temporaries has the size that their offsets need, and new results are allocated for
                    // their dtypes and shapes. Memory that is written does not alias other memory: this call
                    // owns the block and the new results, temporaries do not overlap, and `is_apart` checked
                    // the caller's buffers.
                    let status = unsafe {
                        match &run.kind {
                            CallKind::Kernel(kernels) => {
                                let Bound { extents, strides, .. } = &run.bound;
                                kernels[usize::from(used)].run(extents, &self.pointers, strides, &self.words)
                            }
                            CallKind::Plain => {
                                launch(&plan.steps[run.step])?.plain(&run.bound, &self.pointers, &self.words)
                            }
                            CallKind::RowBlocks => {
                                let launch = launch(&plan.steps[run.step])?;
                                launch.in_row_blocks(&run.bound, &self.pointers, &self.words)
                            }
                            CallKind::Decided => {
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
                    // SAFETY: as above. The recorder found that bands are legal for the same extents, strides
                    // and offsets.
                    unsafe { band.run(plan, &at, &self.scalars, how.threads) }?;
                }
                Action::Fed(fed) => {
                    // SAFETY: as above.
                    unsafe { fed.run(plan, &at, &self.scalars, how.threads) }?;
                }
                Action::Program(program) => {
                    // SAFETY: as above.
                    unsafe { program.run(plan, at, &self.scalars, (&mut self.pointers, &mut self.words), how) }?;
                }
                Action::Copy(copy) => {
                    // SAFETY: as above.
                    unsafe { copy.run(&at, &self.scalars) };
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
            // SAFETY: the actions and their fills have written every element with a value of the dtype.
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

/// The memory of a new result.
enum Room {
    /// A dropped result of the same dtype, shape and strides, which is overwritten.
    Array(Array),
    /// A block of memory.
    Block(RawBuffer),
    /// A component of a dropped result, which is overwritten: the address of its first element.
    Within(*mut u8),
    /// The caller has got the result.
    Taken,
}

impl Room {
    /// The memory of a component that is not shared.
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

    /// Whether the memory has the size that is allocated for this result, and not a larger one.
    fn is_whole(&self, new: &New) -> bool {
        match self {
            Room::Array(_) | Room::Within(_) | Room::Taken => true,
            Room::Block(block) => block.bytes() == block_bytes(new.bytes),
        }
    }

    /// The address of the first element.
    fn pointer(&mut self) -> *mut u8 {
        match self {
            // Kept arrays are not shared, so this copies nothing.
            Room::Array(array) => with_array!(array, |a| a.as_mut_ptr().cast()),
            Room::Block(block) => block.pointer(),
            Room::Within(pointer) => *pointer,
            Room::Taken => std::ptr::null_mut(),
        }
    }

    /// The result; none for a component, or if it was taken before.
    ///
    /// # Safety
    /// As [`RawBuffer::into_array`]: the room was obtained for `new`, and every element was initialized with
    /// a valid value of its dtype.
    unsafe fn into_array(self, new: &New) -> Option<Array> {
        match self {
            Room::Array(array) => Some(array),
            // SAFETY: by the caller's promise.
            Room::Block(block) => Some(unsafe { block.into_array(new.dtype, &new.shape, new.order.as_deref()) }),
            Room::Within(_) | Room::Taken => None,
        }
    }
}

fn launch(step: &Step) -> Option<&Launch> {
    if let StepKind::Kernel(kernel) = &step.kind { Some(&kernel.launch) } else { None }
}

/// Computes a scalar op; `None` if it fails.
fn scalar_step(step: &Step, scalars: &mut [Scalar]) -> Option<()> {
    let StepKind::Scalar(scalar) = &step.kind else { return None };
    let results = scalar.compute(step, |slot| Ok(scalars[slot.0 as usize])).ok()?;
    step.defs.iter().zip(results).for_each(|(def, result)| scalars[def.slot.0 as usize] = result);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::testing::compile;
    use crate::exec::frame::Frame;
    use crate::exec::{Arg, Options};
    use ndarray::Array1;

    /// Whether calls with an argument of this length are replayed from the third call on.
    fn is_replayed(body: &str, len: usize) -> bool {
        let text = format!("func @f(%a: f64[n]) -> {body}");
        let f = compile(&text, Options::default());
        let a = Array1::<f64>::ones(len);
        for _ in 0..3 {
            f.call(&[Arg::from(&a)]).unwrap();
        }
        let mut is_replayed = true;
        f.inner.pools[0].each(|frame| is_replayed &= frame.replays.latest().is_some());
        is_replayed
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
    fn large_arrays_are_replayed_but_not_large_temporaries() {
        let double = "f64[n] {\nentry:\n  %0 = mul %a, 2.0\n  ret %0\n}";
        assert!(is_replayed(double, 10_000));
        // The sum needs all products before the next kernel begins, so they are a temporary.
        let twice = "f64[n] {\nentry:\n  %0 = mul %a, 2.0\n  %1 = sum %0\n  %2 = add %0, %1\n  ret %2\n}";
        // 64 bytes are left for the sum.
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
            let count = |frame: &mut Frame| frame.replays.known.iter().filter(|known| known.replay.is_some()).count();
            f.inner.pools[0].with_used(count).unwrap()
        };
        for _ in 0..3 {
            known.iter().for_each(call);
        }
        assert_eq!(replayed(), super::MOST_KNOWN);
        // A further length evicts the least recently used one.
        call(left_out);
        assert_eq!(replayed(), super::MOST_KNOWN - 1);
        call(&known[0]);
        assert_eq!(replayed(), super::MOST_KNOWN - 2);
    }

    #[test]
    fn updates_are_replayed_but_not_at_positions_that_change() {
        let part = "f64[n] {\nentry:\n  %0 = slice %a, at=[1:-1]\n  %1 = exp %0\n  %2 = update %a, ";
        assert!(is_replayed(&format!("{part}%1, at=[1:-1]\n  ret %2\n}}"), 1000));
        assert!(is_replayed(&format!("{part}%0, at=[2:]\n  ret %2\n}}"), 1000));
        assert!(is_replayed(&format!("{part}0.5, 3\n  ret %2\n}}"), 1000));
        let row = "f64[n] {\nentry:\n  %0 = getitem %a, 3\n  %1 = mul %a, %0\n  %2 = add %1, %0\n  ret %2\n}";
        assert!(is_replayed(row, 1000));
        // An array of another dtype is cast first.
        let cast = part.replace("exp %0", "cast %0, to=f32");
        assert!(!is_replayed(&format!("{cast}%1, at=[1:-1]\n  ret %2\n}}"), 1000));
        assert!(!is_replayed(
            "f64[n] {\nentry:\n  %0 = dim %a, axis=0\n  %1 = sub %0, 2\n  %2 = update %a, 0.5, %1\n  ret %2\n}",
            8
        ));
    }

    #[test]
    fn stores_to_arguments_and_prints_are_not_replayed() {
        assert!(!is_replayed("f64[n] {\nentry:\n  store %a, 2.0\n  ret %a\n}", 8));
        assert!(!is_replayed("f64[n] {\nentry:\n  print %a\n  %0 = neg %a\n  ret %0\n}", 8));
    }
}
