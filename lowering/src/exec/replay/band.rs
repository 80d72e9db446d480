//! Finds consecutive kernels that can run band by band, and their temporaries that need memory for one band
//! only. `schedule/band.rs` describes bands and runs them.
//!
//! The analysis compares the memory that kernels access: ranges of bytes, as offsets from the first elements
//! of arguments, results and temporaries. An iteration of a loop touches a *slab* of each buffer, and the
//! next iteration touches the same slab one stride further on. Two kernels can share a band if this holds for
//! each memory that at least one of them writes: they touch disjoint parts of it, or their slabs have the
//! same stride, and the slabs of an iteration never reach those of the next.

use super::{Action, Run, Where, feed, launch};
use crate::exec::launch::Pointers;
use crate::exec::plan::{FuncPlan, Step};
use crate::schedule::{self, Bands, Decision, LINE, Moved, Threads, Work, facts, is_apart, run_bands};
use rewright_ir::Scalar;
use smallvec::SmallVec;

/// The most kernels of a band.
const MOST: usize = 16;
/// The most bytes of rows that one iteration may touch, as a multiple of the bytes that a band has for rows.
/// A band is a quarter of the second-level cache.
const LONGEST: u64 = 3;

/// The kernels of a band share at least one byte in this number of bytes. Bands save the reloads of shared
/// bytes. With fewer, the calls for each band and the cuts through columns take longer than that saves.
const LEAST_SHARED: u64 = 20;

/// The room of a temporary in the memory of all temporaries: the offset of the first byte, and the number of
/// bytes.
pub(super) type Room = (isize, usize);

/// Kernels that run band by band.
#[derive(Debug)]
pub(super) struct Band {
    pub members: Vec<Member>,
    pub bands: Bands,
}

/// A kernel of a band.
#[derive(Debug)]
pub(super) struct Member {
    pub run: Run,
    /// The number of the kernel's loop, and how many of its iterations make one iteration of the shared loop.
    pub along: (usize, u64),
    /// The schedule of one band. It uses streaming stores if no other member touches the results, and all
    /// arrays together are too large for the caches.
    pub decision: Decision,
    /// The buffers that are in scratch memory.
    pub moved: SmallVec<[Moved; 2]>,
}

impl Band {
    /// Runs the kernels, with the addresses and scalars of a call; `None` if a point fails.
    ///
    /// # Safety
    /// The elements that the kernels' extents and strides reach from the addresses are valid to read, and
    /// valid to write where kernels write them. A memory that is written aliases no other memory.
    pub(super) unsafe fn run(
        &self,
        plan: &FuncPlan,
        at: &dyn Fn(Where) -> *mut u8,
        scalars: &[Scalar],
        threads: u32,
    ) -> Option<()> {
        let given = self.members.iter().map(|member| {
            let pointers = member.run.buffers.iter().map(|&place| at(place)).collect();
            let words = member.run.params.iter().map(|word| word.of(scalars)).collect();
            (pointers, words)
        });
        let given: SmallVec<[(Pointers, SmallVec<[u64; 4]>); 4]> = given.collect();
        let mut nanos = 0.0;
        let mut members: SmallVec<[schedule::Member<'_>; 4]> = SmallVec::new();
        for (Member { run, along, decision, moved }, (pointers, params)) in self.members.iter().zip(&given) {
            let launch = launch(&plan.steps[run.step])?;
            let (lowered, bound) = (&launch.lowered, &run.bound);
            nanos += lowered.nanos(bound);
            debug_assert_eq!(lowered.block_join, None, "members keep no totals in memory");
            let work = Work::of(launch.kernel_for(decision), lowered, bound, pointers, params);
            let work = Work { fission: launch.fission_for(decision), ..work };
            members.push(schedule::Member { work, along: *along, decision, moved });
        }
        let threads = Threads::now(nanos, threads).worth(nanos);
        // SAFETY: the addresses are the caller's promise. The iterations of the loops write disjoint
        // elements, and `Slab::fits` holds for each two kernels. Only these kernels use the moved buffers. In
        // scratch memory, a buffer has the same offset from the start of its room as without bands.
        let status = unsafe { run_bands(&members, &self.bands, threads) };
        (status.failed == 0).then_some(())
    }
}

/// The bytes of a memory that the iterations of a loop touch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slab {
    memory: usize,
    pub written: bool,
    /// The size of an element, in bytes.
    pub size: u64,
    /// The lowest byte that the first iteration touches.
    pub low: isize,
    /// One past the highest byte that the first iteration touches.
    pub high: isize,
    /// The distance from one iteration to the next, in bytes.
    pub stride: isize,
}

impl Slab {
    /// The range of bytes that all iterations touch.
    fn all(&self, count: u64) -> (isize, isize) {
        let moved = self.stride.saturating_mul(count as isize - 1);
        (self.low.saturating_add(moved.min(0)), self.high.saturating_add(moved.max(0)))
    }

    /// Whether the byte ranges of the two loops, over all iterations, overlap.
    fn overlaps(&self, other: &Slab, count: u64) -> bool {
        let (a, b) = (self.all(count), other.all(count));
        self.memory == other.memory && a.0 < b.1 && b.0 < a.1
    }

    /// Whether the byte ranges of different iterations are disjoint.
    fn is_row(&self) -> bool {
        (self.high - self.low).unsigned_abs() <= self.stride.unsigned_abs()
    }

    /// Whether different iterations of the two loops touch disjoint bytes, or both loops only read. The
    /// iterations of the same number may touch the same bytes.
    fn fits(&self, other: &Slab, count: u64) -> bool {
        if self.memory != other.memory || !(self.written || other.written) {
            return true;
        }
        let (a, b) = (self.all(count), other.all(count));
        if a.1 <= b.0 || b.1 <= a.0 {
            return true;
        }
        let reach = self.high.max(other.high) - self.low.min(other.low);
        self.stride == other.stride && reach.unsigned_abs() <= self.stride.unsigned_abs()
    }
}

/// A kernel, and the loop to run in bands.
pub(super) struct Candidate {
    pub along: (usize, u64),
    pub slabs: SmallVec<[Slab; 6]>,
}

impl Candidate {
    /// Takes the first loop with these properties, if there is one: its extent is a multiple of `count` (the
    /// iterations of the shared loop), its iterations write disjoint elements, and its slabs satisfy `fits`.
    pub fn new(run: &Run, step: &Step, count: u64, fits: impl Fn(&[Slab]) -> bool) -> Option<Candidate> {
        let lowered = &launch(step)?.lowered;
        (0..run.bound.extents.len()).find_map(|number| {
            let extent = run.bound.extents[number];
            if extent < count || !extent.is_multiple_of(count) || !is_apart(lowered, &run.bound, number) {
                return None;
            }
            let along = (number, extent / count);
            let slabs = slabs(run, step, along)?;
            fits(&slabs).then_some(Candidate { along, slabs })
        })
    }
}

/// The slab of each buffer. An iteration is `unit` iterations of the kernel's loop `along`. `None` on
/// overflow.
fn slabs(run: &Run, step: &Step, (along, unit): (usize, u64)) -> Option<SmallVec<[Slab; 6]>> {
    let kernel = &launch(step)?.lowered.kernel;
    let loops = run.bound.extents.len();
    let one = |(number, place): (usize, &Where)| {
        let buffer = &kernel.buffers[number];
        let strides = &run.bound.strides[number * loops..][..loops];
        let (mut low, mut high) = (place.offset, place.offset.checked_add_unsigned(buffer.dtype.size())?);
        for (at, (&extent, &stride)) in run.bound.extents.iter().zip(strides).enumerate() {
            let extent = if at == along { unit } else { extent };
            let moved = isize::try_from(stride).ok()?.checked_mul(isize::try_from(extent).ok()? - 1)?;
            low = low.checked_add(moved.min(0))?;
            high = high.checked_add(moved.max(0))?;
        }
        let stride = isize::try_from(strides[along]).ok()?.checked_mul(isize::try_from(unit).ok()?)?;
        let (written, size) = (buffer.written, buffer.dtype.size() as u64);
        Some(Slab { memory: place.memory, written, size, low, high, stride })
    };
    run.buffers.iter().enumerate().map(one).collect()
}

/// Replaces consecutive kernels by bands of about `bytes` bytes where that is profitable. All temporaries are
/// in one memory, each in a room of its own. A temporary that is only used band by band loses its room.
/// Returns the bytes that the other temporaries need.
pub(super) fn find(
    actions: &mut Vec<Action>,
    steps: &[Step],
    temporaries: usize,
    mut rooms: Vec<Room>,
    bytes: u64,
) -> usize {
    feed::find(actions, steps, temporaries, &mut rooms, bytes);
    let mut first = 0;
    while first < actions.len() {
        if let Some(found) = longest(&actions[first..], steps, bytes) {
            let taken = actions.splice(first..first + found.members.len(), []);
            let run = |action| if let Action::Kernel(run) = action { Some(*run) } else { None };
            let runs: Vec<Run> = taken.filter_map(run).collect();
            let band = found.band(runs, actions, steps, temporaries, &mut rooms);
            actions.insert(first, Action::Band(Box::new(band)));
        }
        first += 1;
    }
    pack(actions, temporaries, &rooms)
}

/// Kernels that can run in bands.
struct Found {
    members: Vec<Candidate>,
    /// The number of iterations of the shared loop.
    count: u64,
    /// The iterations of a band.
    each: u64,
    /// Whether all arrays together are too large for the caches.
    large: bool,
}

/// The longest sequence of kernels, from the first action on, that can run in bands. It has at least two
/// kernels, and arrays that are larger than a band.
fn longest(actions: &[Action], steps: &[Step], bytes: u64) -> Option<Found> {
    let runs = actions.iter().take(MOST).map_while(|action| match action {
        Action::Kernel(run) if run.fills.is_empty() && launch(&steps[run.step]).is_some_and(|l| l.is_plain()) => {
            Some(&**run)
        }
        _ => None,
    });
    let runs: SmallVec<[&Run; MOST]> = runs.collect();
    // The number of iterations of the shared loop is the extent of a loop of the first or second kernel. In
    // other kernels it may be a divisor of an extent.
    let mut counts: SmallVec<[u64; 8]> =
        runs.iter().take(2).flat_map(|run| run.bound.extents.iter().copied()).collect();
    counts.retain(|count| *count > 1);
    counts.sort_unstable();
    counts.dedup();
    let found = counts.into_iter().filter_map(|count| together(&runs, steps, count, bytes));
    found.max_by_key(|found| found.members.len())
}

/// The longest prefix of the kernels that can run in bands of a shared loop with `count` iterations. `None`
/// if that is not profitable.
fn together(runs: &[&Run], steps: &[Step], count: u64, bytes: u64) -> Option<Found> {
    let mut members: Vec<Candidate> = Vec::new();
    for run in runs {
        let before = || members.iter().flat_map(|member| &member.slabs);
        let fits = |slabs: &[Slab]| slabs.iter().all(|slab| before().all(|other| slab.fits(other, count)));
        let Some(candidate) = Candidate::new(run, &steps[run.step], count, fits) else { break };
        let shares = |slab: &Slab| before().any(|other| slab.memory == other.memory && slab.stride != 0);
        if !members.is_empty() && !candidate.slabs.iter().any(shares) {
            break;
        }
        members.push(candidate);
    }
    let moving = || members.iter().flat_map(|member| &member.slabs).filter(|slab| slab.stride != 0);
    let rows = || moving().filter(|slab| slab.is_row());
    let of_one = span(rows().map(|slab| (slab.memory, (slab.low, slab.high))));
    let of_all = span(moving().map(|slab| (slab.memory, slab.all(count))));
    // Columns: the slabs of different iterations overlap, and reach from one end of an array to the other. So
    // each band touches all of these bytes, and at least half of the bytes of a band must be left for rows.
    let of_columns = span(moving().filter(|slab| !slab.is_row()).map(|slab| (slab.memory, slab.all(count))));
    let left = Some(bytes.saturating_sub(of_columns)).filter(|left| *left >= of_columns)?;
    // A row that is longer than a band is a band by itself if the cache still holds it.
    let each = if left < of_one && of_one <= LONGEST * left { 1 } else { left.checked_div(of_one)? };
    let large = of_all > facts().last_level / 3;
    let is_shared = |number: usize, slab: &Slab| {
        let others = members.iter().enumerate().filter(|(other, _)| *other != number);
        { others }.any(|(_, other)| other.slabs.iter().any(|other| other.overlaps(slab, count)))
    };
    let numbered = members.iter().enumerate().flat_map(|(n, member)| member.slabs.iter().map(move |slab| (n, slab)));
    let shared = numbered.filter(|(n, slab)| slab.stride != 0 && is_shared(*n, slab));
    let of_shared = span(shared.map(|(_, slab)| (slab.memory, slab.all(count))));
    let is_worth = each > 0 && each < count && of_all > bytes && of_shared >= of_all / LEAST_SHARED;
    (members.len() > 1 && is_worth).then_some(Found { members, count, each, large })
}

/// The sum of the lengths of byte ranges of memories. Equal ranges count once.
fn span(parts: impl Iterator<Item = (usize, (isize, isize))>) -> u64 {
    let mut parts: Vec<(usize, (isize, isize))> = parts.collect();
    parts.sort_unstable();
    parts.dedup();
    parts.iter().map(|(_, (low, high))| (high - low).unsigned_abs() as u64).sum()
}

impl Found {
    /// The band of these kernels. Moves temporaries to scratch memory, unless one of `rest`, all other
    /// actions, uses them.
    fn band(self, runs: Vec<Run>, rest: &[Action], steps: &[Step], temporaries: usize, rooms: &mut [Room]) -> Band {
        let streams: Vec<bool> = (0..runs.len()).map(|number| self.large && self.is_read_by_none(number)).collect();
        let members = runs.into_iter().zip(&self.members).zip(streams);
        let members = members.map(|((run, member), stream)| {
            let mut bound = run.bound.clone();
            bound.extents[member.along.0] = self.each * member.along.1;
            let decision = launch(&steps[run.step]).map(|launch| launch.decide_part(&bound, stream));
            Member { run, along: member.along, decision: decision.unwrap_or_default(), moved: SmallVec::new() }
        });
        let mut members: Vec<Member> = members.collect();
        let mut scratch = 0;
        for room in rooms {
            let Some(stride) = self.stride_in(temporaries, *room) else { continue };
            if rest.iter().any(|action| uses(action, temporaries, *room)) {
                continue;
            }
            for member in &mut members {
                let buffers = member.run.buffers.iter().enumerate();
                let own = buffers.filter(|(_, place)| is_in(**place, temporaries, *room));
                let at = |place: &Where| scratch + (place.offset - room.0).unsigned_abs();
                let moved = own.map(|(buffer, place)| Moved { buffer, at: at(place) });
                member.moved.extend(moved);
            }
            scratch += (stride * self.each as usize).next_multiple_of(LINE);
            room.1 = 0;
        }
        Band { members, bands: Bands { count: self.count, each: self.each, scratch } }
    }

    /// Whether no other kernel of the band touches the memories that this kernel writes.
    fn is_read_by_none(&self, number: usize) -> bool {
        let others = || self.members.iter().enumerate().filter(|(other, _)| *other != number);
        let mut written = self.members[number].slabs.iter().filter(|slab| slab.written);
        written.all(|slab| others().all(|(_, other)| other.slabs.iter().all(|s| s.memory != slab.memory)))
    }

    /// The stride of iterations in a temporary, if all members have the same positive stride there, and an
    /// iteration touches no bytes beyond its own stride.
    fn stride_in(&self, temporaries: usize, room: Room) -> Option<usize> {
        let slabs = self.members.iter().flat_map(|member| &member.slabs);
        let slabs: SmallVec<[&Slab; 8]> =
            slabs.filter(|slab| slab.memory == temporaries && within(slab.low, room)).collect();
        let stride = slabs.first()?.stride;
        let end = room.0.checked_add(stride)?;
        let even = slabs.iter().all(|slab| slab.stride == stride && slab.high <= end);
        usize::try_from(stride).ok().filter(|stride| even && *stride > 0)
    }
}

fn within(offset: isize, room: Room) -> bool {
    offset >= room.0 && ((offset - room.0) as usize) < room.1
}

pub(super) fn is_in(place: Where, temporaries: usize, room: Room) -> bool {
    place.memory == temporaries && within(place.offset, room)
}

/// Whether an action uses the temporary of a room.
pub(super) fn uses(action: &Action, temporaries: usize, room: Room) -> bool {
    let mut found = false;
    places(action, &mut |place| found |= is_in(place, temporaries, room));
    found
}

/// Calls `see` with each address that an action reads or writes.
fn places(action: &Action, see: &mut impl FnMut(Where)) {
    let mut of_run = |run: &Run| {
        run.buffers.iter().for_each(|&place| see(place));
        run.fills.iter().for_each(|fill| see(fill.at));
    };
    match action {
        Action::Kernel(run) => of_run(run),
        Action::Band(band) => band.members.iter().for_each(|member| of_run(&member.run)),
        Action::Fed(fed) => [&fed.maker, &fed.fold].into_iter().for_each(of_run),
        Action::Program(program) => {
            program.buffers.iter().for_each(|&place| see(place));
            program.fills.iter().for_each(|fill| see(fill.at));
        }
        Action::Load { from, .. } => see(*from),
        Action::Set { .. } | Action::Scalar(_) => {}
    }
}

/// Assigns new offsets to the temporaries that still have a room, one after the other, each at a cache line.
/// Returns the bytes of all.
fn pack(actions: &mut [Action], temporaries: usize, rooms: &[Room]) -> usize {
    let mut end = 0;
    let placed: Vec<(Room, isize)> = rooms
        .iter()
        .map(|&room| {
            let at = end;
            end += room.1.next_multiple_of(LINE);
            (room, at as isize)
        })
        .collect();
    let put = |place: &mut Where| {
        if let Some((room, at)) = placed.iter().find(|(room, _)| is_in(*place, temporaries, *room)) {
            place.offset += at - room.0;
        }
    };
    let of_run = |run: &mut Run| {
        run.buffers.iter_mut().for_each(put);
        run.fills.iter_mut().for_each(|fill| put(&mut fill.at));
    };
    for action in actions {
        match action {
            Action::Kernel(run) => of_run(run),
            Action::Band(band) => band.members.iter_mut().for_each(|member| of_run(&mut member.run)),
            Action::Fed(fed) => [&mut fed.maker, &mut fed.fold].into_iter().for_each(of_run),
            Action::Program(program) => {
                program.buffers.iter_mut().for_each(put);
                program.fills.iter_mut().for_each(|fill| put(&mut fill.at));
            }
            Action::Load { from, .. } => put(from),
            Action::Set { .. } | Action::Scalar(_) => {}
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::replay::testing::{array, call, replay};
    use crate::exec::{Arg, Backend, Executable, Options};
    use ndarray::s;
    use std::num::NonZeroU32;

    fn compile(body: &str, options: Options) -> Executable {
        crate::exec::replay::testing::compile(&format!("func @f(%x: f64[m, n], %y: f64[m, n]) -> {body}"), options)
    }

    /// For calls after the second: each band's number of kernels, iterations and bytes of scratch memory, and
    /// the bytes of other temporaries.
    fn bands(f: &Executable) -> (Vec<(usize, u64, usize)>, usize) {
        replay(f, |replay| {
            let bands = replay.actions.iter().filter_map(|action| match action {
                Action::Band(band) => Some((band.members.len(), band.bands.each, band.bands.scratch)),
                _ => None,
            });
            (bands.collect(), replay.temporaries.bytes())
        })
        .unwrap()
    }

    const SOFTMAX: &str = "f64[m, n] {
entry:
  %0 = max %x, axes=[1], keepdims=true
  %1 = sub %x, %0
  %2 = exp %1
  %3 = sum %2, axes=[1], keepdims=true
  %4 = div %2, %3
  %5 = mul %4, %y
  ret %5
}";

    #[test]
    fn kernels_that_make_rows_of_rows_are_run_band_by_band() {
        let (x, y) = (array(50, 33), array(50, 33).mapv(|x| 1.0 / (x + 0.1)));
        let threads = |n| NonZeroU32::new(n);
        let apart = compile(SOFTMAX, Options { band_bytes: Some(0), ..Options::default() });
        for n in [1, 3] {
            let together =
                compile(SOFTMAX, Options { band_bytes: Some(4000), threads: threads(n), ..Options::default() });
            for (x, y) in [
                (x.view(), y.view()),
                (x.slice(s![..;-1, ..]), y.view()),
                (x.slice(s![1.., ..;-2]), y.slice(s![1.., ..17])),
                (x.view(), x.view()),
            ] {
                let expected = call(&apart, x, y);
                (0..3).for_each(|_| assert_eq!(call(&apart, x, y)[0], expected[0]));
                (0..4).for_each(|_| assert_eq!(call(&together, x, y)[0], expected[0]));
                let (found, temporaries) = bands(&together);
                let [(kernels, each, scratch)] = found[..] else { panic!("{found:?}") };
                assert!(kernels > 4 && (1..10).contains(&each) && scratch > 0, "{found:?}");
                assert_eq!(temporaries, 0, "nothing is kept for all rows");
                assert!(bands(&apart).0.is_empty() && bands(&apart).1 > 0);
            }
        }
    }

    #[test]
    fn what_a_band_holds_whole_is_not_cut_in_columns() {
        let body = "f64[m, n], f64[m, n] {
entry:
  %0 = mul %x, %y
  %1 = add %x, %y
  ret %0, %1
}";
        // The rows are not adjacent, so the two loops are not merged.
        let x = array(10, 2_001);
        let f = compile(body, Options { band_bytes: Some(660_000), ..Options::default() });
        (0..4).for_each(|_| drop(call(&f, x.slice(s![.., 1..]), x.slice(s![.., 1..]))));
        assert_eq!(bands(&f).0, []);
    }

    #[test]
    fn few_columns_are_no_band() {
        let body = "f64[m, n] {
entry:
  %0 = exp %y
  %1 = mul %x, %0
  ret %1
}";
        let text = format!("func @f(%x: f64[m, n], %y: f64[1, n]) -> {body}");
        let (x, y) = (array(3, 1_000), array(1, 1_000));
        for bytes in [10_000, 20_000, 30_000, 50_000, 60_000] {
            let options = Options { band_bytes: Some(bytes), ..Options::default() };
            let f = crate::exec::replay::testing::compile(&text, options);
            (0..4).for_each(|_| drop(call(&f, x.view(), y.view())));
            assert_eq!(bands(&f).0, [], "{bytes}");
        }
    }

    #[test]
    fn a_row_that_is_longer_than_a_band_is_one() {
        let f = compile(SOFTMAX, Options { band_bytes: Some(10_000), ..Options::default() });
        let each = |columns: usize| {
            let x = array(20, columns);
            (0..4).for_each(|_| drop(call(&f, x.view(), x.view())));
            replay(&f, |replay| {
                let bands = replay.actions.iter().filter_map(|action| match action {
                    Action::Band(band) => Some(band.bands.each),
                    _ => None,
                });
                bands.collect::<Vec<u64>>()
            })
        };
        assert_eq!(each(100), Some(vec![2]));
        assert_eq!(each(400), Some(vec![1]));
        assert_eq!(each(2_000).unwrap_or_default(), Vec::<u64>::new(), "one takes more than the cache");
    }

    #[test]
    fn loops_of_a_band_are_collapsed() {
        let f = compile(SOFTMAX, Options { band_bytes: Some(20_000), ..Options::default() });
        let apart = compile(SOFTMAX, Options { band_bytes: Some(0), ..Options::default() });
        let (x, y) = (array(1_000, 2), array(1_000, 2).mapv(|x| 1.0 / (x + 0.1)));
        let expected = call(&apart, x.view(), y.view());
        (0..4).for_each(|_| assert_eq!(call(&f, x.view(), y.view())[0], expected[0]));
        let collapsed = |replay: &crate::exec::replay::Replay| {
            let bands = replay.actions.iter().filter_map(|action| match action {
                Action::Band(band) => {
                    Some(band.members.iter().filter(|member| !member.decision.sequence.is_empty()).count())
                }
                _ => None,
            });
            bands.collect::<Vec<usize>>()
        };
        assert_eq!(replay(&f, collapsed), Some(vec![2]), "the difference and the quotient");
    }

    #[test]
    fn rows_that_differ_from_band_to_band_are_staged_for_each() {
        // In a band of one iteration, all rows of the result use the same row of `x`. In the whole call they
        // do not.
        let body = "f64[m, m, n], f64[m, n] {
entry:
  %0 = expand_dims %x, axes=[1]
  %1 = add %0, %y
  %2 = mul %x, 2.0
  ret %1, %2
}";
        let (x, y) = (array(17, 2), array(17, 2).mapv(|x| 1.0 / (x + 0.1)));
        for threads in [1, 3].map(NonZeroU32::new) {
            let [apart, together] =
                [0, 400].map(|bytes| compile(body, Options { band_bytes: Some(bytes), threads, ..Options::default() }));
            let expected = call(&apart, x.view(), y.view());
            for _ in 0..4 {
                let found = call(&together, x.view(), y.view());
                assert_eq!((&found[0], &found[1]), (&expected[0], &expected[1]));
            }
            let staged = |replay: &crate::exec::replay::Replay| {
                let bands = replay.actions.iter().filter_map(|action| match action {
                    Action::Band(band) => Some((band.bands.each, band.members[0].decision.sequence.len())),
                    _ => None,
                });
                bands.collect::<Vec<_>>()
            };
            // The sequence is a split, a stage and a collapse. The loop over
            // the band's single iteration is not split.
            assert_eq!(replay(&together, staged), Some(vec![(1, 3)]));
        }
    }

    #[test]
    fn rows_that_others_need_are_made_before() {
        // The second kernel reads columns of the first kernel's result, and the third kernel reads all of it.
        let body = "f64[n, m], f64 {
entry:
  %0 = exp %x
  %1 = transpose %0, perm=[1, 0]
  %2 = sum %1, axes=[0], keepdims=true
  %3 = div %1, %2
  %4 = sum %0
  ret %3, %4
}";
        let (x, y) = (array(40, 40), array(40, 40));
        let [apart, together] =
            [0, 2000].map(|bytes| compile(body, Options { band_bytes: Some(bytes), ..Options::default() }));
        let expected = call(&apart, x.view(), y.view());
        for _ in 0..4 {
            let found = call(&together, x.view(), y.view());
            assert_eq!((&found[0], &found[1]), (&expected[0], &expected[1]));
        }
        let (found, temporaries) = bands(&together);
        assert!(found.iter().all(|(kernels, ..)| *kernels < 4), "{found:?}");
        assert!(temporaries >= 40 * 40 * 8, "what the sum of all needs is there as a whole");
    }

    #[test]
    fn a_failing_point_is_told_as_without_bands() {
        let body = "f64[m, n] {
entry:
  %0 = exp %x
  %1 = max %0, axes=[1], keepdims=true
  %2 = cast %y, to=i64
  %3 = power %2, %2
  %4 = mul %1, %3
  ret %4
}";
        let (x, mut y) = (array(30, 20), array(30, 20).mapv(f64::abs));
        for backend in [Backend::Interp, Backend::Auto] {
            let [apart, together] = [0, 1000]
                .map(|bytes| compile(body, Options { band_bytes: Some(bytes), backend, ..Options::default() }));
            let expected = call(&apart, x.view(), y.view());
            (0..4).for_each(|_| assert_eq!(call(&together, x.view(), y.view())[0], expected[0]));
            assert_eq!(bands(&together).0.len(), 1);
            let whole = y[[17, 3]];
            y[[17, 3]] = -3.0;
            let [wanted, found] = [&apart, &together].map(|f| f.call(&[Arg::from(&x), Arg::from(&y)]).map(|_| ()));
            assert!(wanted.is_err(), "a negative power");
            assert_eq!(wanted, found);
            y[[17, 3]] = whole;
        }
    }

    #[test]
    fn slabs_fit_that_move_on_together() {
        let slab = |written, low, high, stride| Slab { memory: 1, written, size: 8, low, high, stride };
        let (rows, cells) = (slab(true, 0, 80, 80), slab(false, 16, 24, 80));
        assert!(rows.fits(&cells, 10) && cells.fits(&rows, 10) && rows.fits(&rows, 10));
        assert!(!rows.fits(&slab(false, 0, 80, 8), 10), "of columns");
        assert!(!rows.fits(&slab(false, 0, 800, 0), 10), "of everything");
        assert!(!rows.fits(&slab(false, 40, 120, 80), 10), "of the next row too");
        assert!(rows.fits(&slab(false, 800, 880, 0), 10), "elsewhere");
        assert!(slab(false, 0, 80, 80).fits(&slab(false, 0, 800, 0), 10), "both only read");
        let backwards = slab(true, 720, 800, -80);
        assert!(backwards.fits(&backwards, 10) && !backwards.fits(&rows, 10));
    }
}
