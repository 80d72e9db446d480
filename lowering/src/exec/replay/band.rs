//! Finds consecutive kernels that can run band by band, and their temporaries that need memory for one band
//! only. `schedule/band.rs` describes bands and runs them.
//!
//! The analysis compares the memory that kernels access: ranges of bytes, as offsets from the first elements
//! of arguments, results and temporaries. An iteration of a loop touches a *slab* of each buffer, and the
//! next iteration touches the same slab one stride further on. Two kernels can share a band if, for each
//! memory that at least one of them writes, they touch disjoint parts of it, or their slabs have the same
//! stride. In the second case the later kernel is *shifted*: its iteration `i` runs in iteration `i + shift`
//! of the shared loop, after the iterations of the earlier kernel that touch the same bytes.

use super::{Action, Run, Where, feed, launch};
use crate::exec::launch::Pointers;
use crate::exec::plan::{FuncPlan, Step};
use crate::schedule::{
    self, Bands, Decision, Iterations, Kept, LINE, Moved, Threads, Work, exceeds_caches, facts, is_apart, run_bands,
};
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
    pub iterations: Iterations,
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
        for (Member { run, iterations, decision, moved }, (pointers, params)) in self.members.iter().zip(&given) {
            let launch = launch(&plan.steps[run.step])?;
            let (lowered, bound) = (&launch.lowered, &run.bound);
            nanos += lowered.nanos(bound);
            debug_assert_eq!(lowered.block_join, None, "members keep no totals in memory");
            let work = Work::of(launch.kernel_for(decision), lowered, bound, pointers, params);
            let work = Work { fission: launch.fission_for(decision), jammed: launch.jammed_for(decision), ..work };
            members.push(schedule::Member { work, iterations: *iterations, decision, moved });
        }
        let threads = Threads::now(nanos, threads).worth(nanos);
        // SAFETY: the addresses are the caller's promise. The iterations of the loops write disjoint
        // elements, and each kernel is shifted as `Slab::lag` requires. Only these kernels use the moved
        // buffers, and the scratch memory has room for the bytes that a band touches (`Window`).
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

    /// The number of iterations by which a later kernel's loop must be behind an earlier one's, so that an
    /// iteration of the later one (`self`) runs after all those of the earlier one that touch the same bytes.
    /// `None` if there is no such number.
    fn lag(&self, earlier: &Slab, count: u64) -> Option<i64> {
        if !(self.written || earlier.written) || !self.overlaps(earlier, count) {
            return Some(i64::MIN);
        }
        // Iteration `i` of the earlier loop and `j` of the later one overlap up to `i - j < reach / stride`.
        let reach = if self.stride > 0 { self.high - earlier.low } else { earlier.high - self.low };
        let same = self.stride == earlier.stride && self.stride != 0;
        same.then(|| ceil_div(reach as i64, self.stride.unsigned_abs() as i64) - 1)
    }
}

fn ceil_div(a: i64, b: i64) -> i64 {
    -(-a).div_euclid(b)
}

/// A kernel, and the loop to run in bands.
pub(super) struct Candidate {
    pub iterations: Iterations,
    /// Whether a point can fail.
    fallible: bool,
    pub slabs: SmallVec<[Slab; 6]>,
}

impl Candidate {
    /// The candidates of a kernel for a shared loop of `count` iterations: its loops whose iterations write
    /// disjoint elements, and whose number of iterations is a multiple of `count`, or nearly `count` (at most
    /// a quarter more or fewer). An iteration may have one of these strides in a memory, instead of that of
    /// the kernel's own loop, which may be several merged loops.
    pub fn all(run: &Run, step: &Step, count: u64, strides: &[(usize, u64)]) -> SmallVec<[Candidate; 2]> {
        let mut all = SmallVec::new();
        let Some(launch) = launch(step) else { return all };
        let loops = run.bound.extents.len();
        for (along, &extent) in run.bound.extents.iter().enumerate() {
            if !is_apart(&launch.lowered, &run.bound, along) {
                continue;
            }
            let mut units: SmallVec<[u64; 4]> = SmallVec::new();
            if extent >= count && extent.is_multiple_of(count) {
                units.push(extent / count);
            }
            units.push(1);
            for (number, place) in run.buffers.iter().enumerate() {
                let own = run.bound.strides[number * loops + along].unsigned_abs();
                let others = strides.iter().filter(|(memory, _)| *memory == place.memory);
                units.extend(others.filter_map(|(_, stride)| stride.checked_div(own)));
            }
            let mut known: SmallVec<[u64; 4]> = SmallVec::new();
            for unit in units {
                let own = extent.checked_div(unit).filter(|own| own * unit == extent).unwrap_or(0);
                if known.contains(&unit) || own < 2 || own.abs_diff(count) > count / 4 {
                    continue;
                }
                known.push(unit);
                let iterations = Iterations { along, unit, count: own, shift: 0, before: 0 };
                let slabs = slabs(run, step, (along, unit));
                let fallible = launch.lowered.fallible;
                all.extend(slabs.map(|slabs| Candidate { iterations, fallible, slabs }));
            }
        }
        all
    }

    /// The least shift with which the kernel can run after these members; `None` if it can't.
    fn shift(&self, members: &[Candidate]) -> Option<u64> {
        let mut shift = 0;
        for member in members {
            let count = self.iterations.count.max(member.iterations.count);
            for (own, other) in self.slabs.iter().flat_map(|own| member.slabs.iter().map(move |other| (own, other))) {
                shift = shift.max(own.lag(other, count)?.saturating_add(member.iterations.shift as i64));
            }
        }
        u64::try_from(shift).ok()
    }

    /// The bytes that an iteration of the shared loop touches of a buffer, as an offset from the bytes of
    /// iteration 0.
    fn window(&self, slab: &Slab) -> Window {
        let back = slab.stride * self.iterations.shift as isize;
        Window { low: slab.low - back, high: slab.high - back }
    }
}

/// The bytes that the first iteration of a shared loop touches, if members are not clipped to their own
/// iterations.
#[derive(Clone, Copy, Debug)]
struct Window {
    low: isize,
    high: isize,
}

impl Window {
    fn union(self, other: Window) -> Window {
        Window { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// The bytes that an iteration shares with the one before it.
    fn kept(self, stride: isize) -> u64 {
        (self.high - self.low).unsigned_abs().saturating_sub(stride.unsigned_abs()) as u64
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
    // The number of iterations of the shared loop is about the extent of a loop of one of the kernels. In
    // other kernels it may be a divisor of an extent.
    let mut counts: SmallVec<[u64; 8]> = runs.iter().flat_map(|run| run.bound.extents.iter().copied()).collect();
    counts.retain(|count| *count > 1);
    counts.sort_unstable();
    counts.dedup();
    let strides = |run: &&Run| {
        let (loops, memories) = (run.bound.extents.len(), run.buffers.iter().map(|place| place.memory));
        let all = memories.zip(run.bound.strides.chunks_exact(loops.max(1)));
        all.flat_map(|(memory, own)| own.iter().map(move |stride| (memory, stride.unsigned_abs()))).collect::<Vec<_>>()
    };
    let mut strides: Vec<(usize, u64)> = runs.iter().flat_map(strides).filter(|(_, stride)| *stride > 0).collect();
    strides.sort_unstable();
    strides.dedup();
    let found = counts.into_iter().filter_map(|count| together(&runs, steps, (count, &strides), bytes));
    found.max_by_key(|found| found.members.len())
}

/// The longest prefix of the kernels that can run in bands of a shared loop with about `count` iterations, of
/// which one may have one of these strides. `None` if that is not profitable.
fn together(runs: &[&Run], steps: &[Step], (count, strides): (u64, &[(usize, u64)]), bytes: u64) -> Option<Found> {
    let mut members: Vec<Candidate> = Vec::new();
    for run in runs {
        let near: Vec<Slab> = members.iter().flat_map(|member| member.slabs.iter().copied()).collect();
        let shifted = |mut candidate: Candidate| {
            candidate.iterations.shift = candidate.shift(&members)?;
            Some(candidate)
        };
        let candidates = Candidate::all(run, &steps[run.step], count, strides).into_iter().filter_map(shifted);
        let Some(candidate) = candidates.min_by_key(|candidate| candidate.iterations.shift) else { break };
        let shares = |slab: &Slab| near.iter().any(|other| slab.memory == other.memory && slab.stride != 0);
        if !members.is_empty() && !candidate.slabs.iter().any(shares) {
            break;
        }
        members.push(candidate);
        // At least half of the cache that a band may take is left for new rows.
        if RowBytes::of(&members).kept > LONGEST * bytes / 2 {
            members.pop();
            break;
        }
    }
    let moving = || {
        let slabs = members.iter().flat_map(|member| member.slabs.iter().map(move |slab| (member, slab)));
        slabs.filter(|(_, slab)| slab.stride != 0)
    };
    let all = |(member, slab): (&Candidate, &Slab)| (slab.memory, slab.all(member.iterations.count));
    let of_all = span(moving().map(all));
    // Columns: the slabs of different iterations overlap, and reach from one end of an array to the other. So
    // each band touches all of these bytes, and at least half of the bytes of a band must be left for rows.
    let of_columns = span(moving().filter(|(_, slab)| !slab.is_row()).map(all));
    let left = Some(bytes.saturating_sub(of_columns)).filter(|left| *left >= of_columns)?;
    // A row that is longer than a band is a band by itself if the cache still holds it.
    let rows = RowBytes::of(&members);
    let least = rows.new + rows.kept;
    let each = if left < least && least <= LONGEST * left {
        1
    } else {
        left.saturating_sub(rows.kept).checked_div(rows.new)?
    };
    let large = exceeds_caches(facts(), of_all);
    let is_shared = |number: usize, slab: &Slab| {
        let others = members.iter().enumerate().filter(|(other, _)| *other != number);
        { others }.any(|(_, other)| other.slabs.iter().any(|other| other.overlaps(slab, count)))
    };
    let numbered = members.iter().enumerate();
    let shared = numbered.flat_map(|(n, member)| {
        let shared = member.slabs.iter().filter(move |slab| slab.stride != 0 && is_shared(n, slab));
        shared.map(move |slab| all((member, slab)))
    });
    let of_shared = span(shared);
    let is_worth = each > 0 && each < count && of_all > bytes && of_shared >= of_all / LEAST_SHARED;
    (members.len() > 1 && is_worth).then_some(Found { members, each, large })
}

/// The bytes of rows.
#[derive(Clone, Copy, Default)]
struct RowBytes {
    /// Those that an iteration of the shared loop is the first to touch.
    new: u64,
    /// Those that it shares with earlier iterations.
    kept: u64,
}

impl RowBytes {
    /// The rows that these members touch. Slabs that overlap are of one array, which counts once.
    fn of(members: &[Candidate]) -> RowBytes {
        /// The rows of an array: a slab of them and its number of iterations, the bytes that an iteration of
        /// the shared loop touches, and the rows of the first iteration of each member.
        struct Rows<'m> {
            slab: &'m Slab,
            count: u64,
            window: Window,
            first: Vec<(usize, (isize, isize))>,
        }
        let mut arrays: SmallVec<[Rows<'_>; 8]> = SmallVec::new();
        for member in members {
            for slab in member.slabs.iter().filter(|slab| slab.stride != 0 && slab.is_row()) {
                let (count, window) = (member.iterations.count, member.window(slab));
                let row = (slab.memory, (slab.low, slab.high));
                let is_same = |rows: &&mut Rows<'_>| {
                    rows.slab.stride == slab.stride && slab.overlaps(rows.slab, count.max(rows.count))
                };
                match arrays.iter_mut().find(is_same) {
                    Some(rows) => {
                        rows.window = rows.window.union(window);
                        rows.first.push(row);
                    }
                    None => arrays.push(Rows { slab, count, window, first: vec![row] }),
                }
            }
        }
        let bytes = arrays.into_iter().map(|Rows { slab, window, first, .. }| RowBytes {
            new: span(first.into_iter()).min(slab.stride.unsigned_abs() as u64),
            kept: window.kept(slab.stride),
        });
        bytes.fold(RowBytes::default(), |all, one| RowBytes { new: all.new + one.new, kept: all.kept + one.kept })
    }
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
    fn band(mut self, runs: Vec<Run>, rest: &[Action], steps: &[Step], temporaries: usize, rooms: &mut [Room]) -> Band {
        let (mut scratch, mut kept, mut taken) = (0, Vec::new(), Vec::new());
        let mut moved: Vec<SmallVec<[Moved; 2]>> = vec![SmallVec::new(); runs.len()];
        for room in rooms {
            let Some((stride, window)) = self.window_in(temporaries, *room) else { continue };
            if rest.iter().any(|action| uses(action, temporaries, *room)) {
                continue;
            }
            for (run, moved) in runs.iter().zip(&mut moved) {
                let buffers = run.buffers.iter().enumerate();
                let own = buffers.filter(|(_, place)| is_in(**place, temporaries, *room));
                let at = |place: &Where| scratch as isize + place.offset - window.low;
                moved.extend(own.map(|(buffer, place)| Moved { buffer, at: at(place), stride }));
            }
            let (band, bytes) = (stride * self.each as usize, window.kept(stride as isize) as usize);
            if bytes > 0 {
                kept.push(Kept { at: scratch, band, bytes });
            }
            scratch += (band + bytes).next_multiple_of(LINE);
            taken.push(std::mem::take(room));
        }
        // Temporaries are in the order of the kernels that compute them.
        taken.iter().rev().for_each(|&room| self.compute_before(temporaries, room));
        let parallel = self.is_parallel(&moved);
        let members = runs.into_iter().zip(moved).enumerate().map(|(number, (run, moved))| {
            let iterations = self.members[number].iterations;
            let mut bound = run.bound.clone();
            bound.extents[iterations.along] = self.each * iterations.unit;
            let stream = self.large && self.is_read_by_none(number);
            let decision = launch(&steps[run.step]).map(|launch| launch.decide_part(&bound, stream));
            Member { run, iterations, decision: decision.unwrap_or_default(), moved }
        });
        let members: Vec<Member> = members.collect();
        let ends = members.iter().map(|member| member.iterations.count + member.iterations.shift);
        let count = ends.max().unwrap_or(0);
        Band { bands: Bands { count, each: self.each, scratch, kept, parallel }, members }
    }

    /// The slabs in a temporary, and the numbers of the members that they belong to.
    fn slabs_in(&self, temporaries: usize, room: Room) -> SmallVec<[(usize, Slab); 8]> {
        let slabs = self.members.iter().enumerate().flat_map(|(n, member)| member.slabs.iter().map(move |s| (n, *s)));
        slabs.filter(|(_, slab)| slab.memory == temporaries && within(slab.low, room)).collect()
    }

    /// The stride of iterations in a temporary, and the bytes that an iteration of the shared loop touches,
    /// if all members have the same positive stride there.
    fn window_in(&self, temporaries: usize, room: Room) -> Option<(usize, Window)> {
        let slabs = self.slabs_in(temporaries, room);
        let stride = slabs.first()?.1.stride;
        let even = slabs.iter().all(|(_, slab)| slab.stride == stride);
        let windows = slabs.iter().map(|(n, slab)| self.members[*n].window(slab));
        let stride = usize::try_from(stride).ok().filter(|stride| even && *stride > 0)?;
        Some((stride, windows.reduce(Window::union)?))
    }

    /// Sets how many iterations before its own a piece computes of a temporary in scratch memory: as many as
    /// its readers need, whose numbers are final.
    fn compute_before(&mut self, temporaries: usize, room: Room) {
        let slabs = self.slabs_in(temporaries, room);
        for (reader, read) in slabs.iter().filter(|(_, slab)| !slab.written) {
            for (writer, written) in slabs.iter().filter(|(_, slab)| slab.written) {
                let [early, late] = [*writer, *reader].map(|n| self.members[n].iterations);
                // The first of the writer's iterations that touches bytes of the reader's iteration 0.
                let first = (read.low - written.high).div_euclid(written.stride) as i64 + 1;
                let back = late.shift as i64 - early.shift as i64 - first;
                let before = &mut self.members[*writer].iterations.before;
                *before = (*before).max(late.before.saturating_add_signed(back));
            }
        }
    }

    /// Whether threads may share the loop: iterations in which two members touch the same bytes of a memory
    /// that is not scratch memory are the same iteration of the shared loop. A member that a piece runs
    /// before its own iterations writes scratch memory only, reads no other memory that a member writes, and
    /// can't fail.
    fn is_parallel(&self, moved: &[SmallVec<[Moved; 2]>]) -> bool {
        let stays = |n: usize, buffer: usize| moved[n].iter().all(|moved| moved.buffer != buffer);
        let slabs = |n: usize| self.members[n].slabs.iter().enumerate().filter(move |(b, _)| stays(n, *b));
        let pairs = || (0..moved.len()).flat_map(|n| (0..n).map(move |earlier| (earlier, n)));
        let together = |(earlier, later): (usize, usize)| {
            let [a, b] = [earlier, later].map(|n| &self.members[n]);
            let count = a.iterations.count.max(b.iterations.count);
            slabs(earlier).all(|(_, one)| {
                slabs(later).all(|(_, other)| {
                    let apart = !(one.written || other.written) || !one.overlaps(other, count);
                    apart || a.window(one).union(b.window(other)).kept(one.stride) == 0
                })
            })
        };
        // Rows that a piece computes again may not be those that another piece computes, nor come from them.
        let writes = |n: usize, read: &Slab| {
            slabs(n).any(|(_, slab)| slab.written && slab.overlaps(read, self.members[n].iterations.count))
        };
        let private = |n: usize| {
            let member = &self.members[n];
            let others = || (0..moved.len()).filter(|other| *other != n);
            let alone = || slabs(n).all(|(_, slab)| !slab.written && !others().any(|other| writes(other, slab)));
            member.iterations.before == 0 || !member.fallible && alone()
        };
        pairs().all(together) && (0..moved.len()).all(private)
    }

    /// Whether no other kernel of the band touches the memories that this kernel writes.
    fn is_read_by_none(&self, number: usize) -> bool {
        let others = || self.members.iter().enumerate().filter(|(other, _)| *other != number);
        let mut written = self.members[number].slabs.iter().filter(|slab| slab.written);
        written.all(|slab| others().all(|(_, other)| other.slabs.iter().all(|s| s.memory != slab.memory)))
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
        Action::Copy(copy) => copy.places().for_each(see),
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
            Action::Copy(copy) => copy.places_mut().for_each(put),
            Action::Load { from, .. } => put(from),
            Action::Set { .. } | Action::Scalar(_) => {}
        }
    }
    end
}

#[cfg(test)]
mod tests;
