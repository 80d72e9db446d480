//! Finds producer kernels whose result the next kernel reduces to one number. `schedule/feed.rs` fuses them.

use super::band::{Candidate, Room, Slab, is_in, uses};
use super::{Action, Run, Where, launch};
use crate::exec::launch::Pointers;
use crate::exec::plan::{FuncPlan, Step};
use crate::lower::Lowered;
use crate::schedule::{Feed, LINE, Parts, Passed, Sequence, Threads, Work, part_of_row, run_fed, transposed};
use rewright_ir::Scalar;
use smallvec::SmallVec;

/// The scratch memory for passed arrays, in bands. A band is a quarter of the second-level cache.
const ROOM: u64 = 3;
/// The least size of all arrays together, in bands. Smaller arrays stay in the cache anyway.
const LARGE: u64 = 4;
/// The least number of adjacent cache lines that are read of a transposed operand at once. Each line has
/// elements of several iterations, and with fewer lines more reads miss.
const TURNED_LINES: u64 = 4;

/// A producer kernel, and the reduction of its result.
#[derive(Debug)]
pub(super) struct Fed {
    pub maker: Run,
    pub fold: Run,
    pub feed: Feed,
}

impl Fed {
    /// Runs both, with the addresses and scalars of a call. No point can fail. Returns `None` before any
    /// work if one has no kernel.
    ///
    /// # Safety
    /// As [`Band::run`](super::band::Band::run).
    pub(super) unsafe fn run(
        &self,
        plan: &FuncPlan,
        at: &dyn Fn(Where) -> *mut u8,
        scalars: &[Scalar],
        threads: u32,
    ) -> Option<()> {
        let given = |run: &Run| -> (Pointers, SmallVec<[u64; 4]>) {
            let pointers = run.buffers.iter().map(|&place| at(place)).collect();
            (pointers, run.params.iter().map(|word| word.of(scalars)).collect())
        };
        let (maker, fold) = (launch(&plan.steps[self.maker.step])?, launch(&plan.steps[self.fold.step])?);
        let ((pointers, params), (fold_pointers, fold_params)) = (given(&self.maker), given(&self.fold));
        let totals = [maker, fold].map(|launch| launch.lowered.block_join.is_some());
        debug_assert_eq!(totals, [false; 2], "neither keeps totals in memory");
        let bound = &self.maker.bound;
        let making = Work::of(maker.kernel(false), &maker.lowered, bound, &pointers, &params);
        let bound = &self.fold.bound;
        let folding = Work::of(fold.kernel(false), &fold.lowered, bound, &fold_pointers, &fold_params);
        let nanos = [&making, &folding].map(|work| work.lowered.nanos(work.bound)).iter().sum();
        let threads = Threads::now(nanos, threads).worth(nanos);
        // SAFETY: the caller promises the addresses, and `find` checked the loops and the passed arrays.
        unsafe { run_fed(&making, &folding, fold.halves()?, &self.feed, threads) };
        Some(())
    }
}

/// Fuses such kernels, for bands of this number of bytes. A passed array then needs no room among the
/// temporaries.
pub(super) fn find(actions: &mut Vec<Action>, steps: &[Step], temporaries: usize, rooms: &mut [Room], bytes: u64) {
    let mut first = 0;
    while first + 1 < actions.len() {
        if let Some(feed) = feed(actions, first, steps, temporaries, rooms, bytes) {
            let runs: Vec<Action> = actions.splice(first..first + 2, []).collect();
            let Ok([Action::Kernel(maker), Action::Kernel(fold)]) = <[Action; 2]>::try_from(runs) else { return };
            actions.insert(first, Action::Fed(Box::new(Fed { maker: *maker, fold: *fold, feed })));
        }
        first += 1;
    }
}

/// The feed of the next action by the first one, if it is possible and profitable.
fn feed(
    actions: &[Action],
    first: usize,
    steps: &[Step],
    temporaries: usize,
    rooms: &mut [Room],
    bytes: u64,
) -> Option<Feed> {
    let [Action::Kernel(maker), Action::Kernel(fold)] = actions.get(first..first + 2)? else { return None };
    let pair = Pair::new(maker, fold, steps)?;
    let (candidate, rows) = pair.rows(&steps[maker.step])?;
    let others = || actions[..first].iter().chain(&actions[first + 2..]);
    let between = |place: Where| {
        let room = rooms.iter().position(|room| is_in(place, temporaries, *room))?;
        let alone = place.offset == rooms[room].0 && !others().any(|action| uses(action, temporaries, rooms[room]));
        alone.then_some(room)
    };
    let mut taken: SmallVec<[usize; 2]> = SmallVec::new();
    let mut arrays: SmallVec<[Between; 2]> = SmallVec::new();
    for (made, slab) in candidate.slabs.iter().enumerate().filter(|(_, slab)| slab.written) {
        let room = between(maker.buffers[made])?;
        arrays.push(pair.between(made, slab, |place| is_in(place, temporaries, rooms[room]))?);
        taken.push(room);
    }
    let feed = pair.feed(&candidate, rows, &arrays, bytes)?;
    launch(&steps[fold.step])?.halves()?;
    taken.iter().for_each(|&room| rooms[room].1 = 0);
    Some(feed)
}

/// A producer kernel, and a reduction of a single row.
struct Pair<'a> {
    maker: &'a Run,
    making: &'a Lowered,
    fold: &'a Run,
    folding: &'a Lowered,
    /// The points of a part of the long row, and of the whole row.
    part: u64,
    points: u64,
}

/// The rows that the iterations of a loop compute.
#[derive(Clone, Copy)]
struct Rows {
    /// The number of rows.
    count: u64,
    /// The points of each row.
    each: u64,
}

/// An array that the producer writes and the reduction reads: its buffer numbers there, and the bytes of an
/// element.
struct Between {
    made: usize,
    used: usize,
    size: usize,
}

impl<'a> Pair<'a> {
    fn new(maker: &'a Run, fold: &'a Run, steps: &'a [Step]) -> Option<Pair<'a>> {
        let plain = |run: &Run| {
            let launch = launch(&steps[run.step])?;
            (run.fills.is_empty() && launch.is_plain()).then_some(&launch.lowered)
        };
        let (making, folding) = (plain(maker)?, plain(fold)?);
        let (part, points) = (part_of_row(folding, &fold.bound)?, *fold.bound.extents.last()?);
        (!making.fallible).then_some(Pair { maker, making, fold, folding, part, points })
    }

    /// A loop whose iterations each compute one row of each array, with rows contiguous.
    fn rows(&self, step: &Step) -> Option<(Candidate, Rows)> {
        let mut counts = self.maker.bound.extents.iter().copied();
        counts.find_map(|count| {
            let each = self.points.checked_div(count).filter(|each| count > 1 && each * count == self.points)?;
            let whole = |slab: &Slab| {
                u64::try_from(slab.stride).is_ok_and(|stride| each.checked_mul(slab.size) == Some(stride))
                    && slab.high - slab.low == slab.stride
            };
            let written = |slabs: &[Slab]| slabs.iter().filter(|slab| slab.written).all(whole);
            let mut candidates = Candidate::all(self.maker, step, count, &[]).into_iter();
            let is_exact = |c: &Candidate| c.iterations.unit == 1 && c.iterations.count == count;
            let candidate = candidates.find(|c| is_exact(c) && written(&c.slabs))?;
            Some((candidate, Rows { count, each }))
        })
    }

    /// The array between the kernels, if the reduction reads the elements in the order in which the producer
    /// writes them. `is_there` tells whether a place is in the array's room.
    fn between(&self, made: usize, slab: &Slab, is_there: impl Fn(Where) -> bool) -> Option<Between> {
        let only = |run: &Run| {
            let mut there = (0..run.buffers.len()).filter(|&number| is_there(run.buffers[number]));
            there.next().filter(|_| there.next().is_none())
        };
        let (made, used) = (only(self.maker).filter(|&number| number == made)?, only(self.fold)?);
        let [from, to] = [(self.making, made), (self.folding, used)].map(|(of, number)| &of.kernel.buffers[number]);
        let (size, begin) = (from.dtype.size(), self.maker.buffers[made]);
        let step = *self.fold.bound.strides.chunks_exact(self.fold.bound.extents.len()).nth(used)?.last()?;
        let same = self.fold.buffers[used] == begin && step == size as i64 && to.dtype.size() == size && !to.written;
        (same && slab.low == begin.offset).then_some(Between { made, used, size })
    }

    /// The feed in profitable parts, for bands of this number of bytes.
    fn feed(&self, candidate: &Candidate, rows: Rows, arrays: &[Between], bytes: u64) -> Option<Feed> {
        let along = candidate.iterations.along;
        let touched = self.touched(candidate, along);
        let (parts, iterations) = self.parts(rows, arrays, touched, along, bytes)?;
        let room = |between: &Between| (iterations * rows.each) as usize * between.size;
        let large = touched.saturating_mul(rows.count) > bytes.saturating_mul(LARGE);
        if arrays.is_empty() || !large || arrays.iter().map(room).sum::<usize>() as u64 > bytes.saturating_mul(ROOM) {
            return None;
        }
        let mut scratch = 0;
        let passed = arrays.iter().map(|between| {
            let at = scratch;
            scratch += room(between).next_multiple_of(LINE);
            Passed { made: between.made, used: between.used, size: between.size, at }
        });
        let passed = passed.collect();
        Some(Feed { parts, along, points: rows.each, sequence: self.sequence(along, iterations), passed, scratch })
    }

    /// Parts whose working set fits in a band, but with enough lines of transposed operands; and the most
    /// iterations that overlap a part.
    fn parts(&self, rows: Rows, arrays: &[Between], touched: u64, along: usize, bytes: u64) -> Option<(Parts, u64)> {
        let fitting = (bytes / touched.max(1)).checked_mul(rows.each)? / self.part;
        let point: usize = arrays.iter().map(|between| between.size).sum();
        let turned = TURNED_LINES * (LINE * arrays.len()).checked_div(point)? as u64;
        let least = if !self.sequence(along, turned).is_empty() {
            turned.checked_mul(rows.each)?.div_ceil(self.part)
        } else {
            1
        };
        let parts = (1 << fitting.max(1).ilog2()).max(least.checked_next_power_of_two()?);
        let each = self.part.checked_mul(parts).filter(|&each| each <= self.points / 2)?;
        // A part begins and ends inside of an iteration, so two partial ones are added.
        Some((Parts { each }, each / rows.each + 2))
    }

    /// The bytes that an iteration reads and writes, without those that all iterations share.
    fn touched(&self, candidate: &Candidate, along: usize) -> u64 {
        let bound = &self.maker.bound;
        let loops = bound.extents.len();
        let elements = |number: usize| -> u64 {
            let moving = (0..loops).filter(|&l| l != along && bound.strides[number * loops + l] != 0);
            moving.map(|l| bound.extents[l]).product()
        };
        let moving = candidate.slabs.iter().enumerate().filter(|(_, slab)| slab.stride != 0);
        let bytes = moving.map(|(number, slab)| {
            let span = (slab.high - slab.low).unsigned_abs() as u64;
            span.min(elements(number).saturating_mul(slab.size))
        });
        bytes.fold(0, u64::saturating_add)
    }

    /// The transformations of this number of iterations of the loop, if an operand is transposed.
    fn sequence(&self, along: usize, iterations: u64) -> Sequence {
        let mut bound = self.maker.bound.clone();
        bound.extents[along] = iterations.min(bound.extents[along]);
        transposed(self.making, &bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::replay::testing::{array, call, compile, replay};
    use crate::exec::{Backend, Executable, Options};
    use ndarray::s;
    use std::num::NonZeroU32;

    const FAST: [Backend; 2] = [Backend::Cranelift, Backend::Auto];

    /// The points per part of each fed row, and the bytes of other temporaries, in calls after the second
    /// one.
    fn fed(f: &Executable) -> Option<(Vec<u64>, usize)> {
        replay(f, |replay| {
            let fed = replay.actions.iter().filter_map(|action| match action {
                Action::Fed(fed) => Some(fed.feed.parts.each),
                _ => None,
            });
            (fed.collect(), replay.temporaries.bytes())
        })
    }

    /// A function of two matrices.
    fn function(results: &str, body: &str) -> String {
        format!("func @f(%x: f64[m, n], %y: f64[n, m]) -> {results} {{\nentry:\n{body}\n}}")
    }

    /// A reduction of a product with a transposed operand.
    fn reduction(result: &str, of: &str) -> String {
        function(result, &format!("  %0 = transpose %y, perm=[1, 0]\n  %1 = mul %x, %0\n  {of}"))
    }

    /// Checks that fused and unfused calls have equal results for these shapes, and that the fused ones are
    /// fed.
    fn is_fed(text: &str, backends: &[Backend], shapes: &[(usize, usize)]) {
        for (&backend, &(rows, columns)) in backends.iter().flat_map(|b| shapes.iter().map(move |shape| (b, shape))) {
            let (x, y) = (array(rows, columns), array(columns, rows));
            let options = |bytes, threads| Options {
                band_bytes: Some(bytes),
                threads: NonZeroU32::new(threads),
                backend,
                ..Options::default()
            };
            let apart = compile(text, options(0, 1));
            for threads in [1, 3] {
                let together = compile(text, options(128_000, threads));
                for (x, y) in [(x.view(), y.view()), (x.slice(s![..;-1, ..]), y.slice(s![..;-1, ..]))] {
                    let expected = call(&apart, x, y);
                    (0..3).for_each(|_| assert_eq!(call(&apart, x, y), expected));
                    (0..4).for_each(|_| assert_eq!(call(&together, x, y), expected));
                    let Some((each, temporaries)) = fed(&together) else {
                        panic!("{rows} {columns} {backend:?} {text}")
                    };
                    assert!(each.len() == 1 && each[0] >= 128, "{each:?} {rows} {columns} {text}");
                    let before = fed(&apart).map_or(usize::MAX, |(_, bytes)| bytes);
                    assert!(temporaries < before, "{temporaries}: arrays that are passed need no room");
                }
            }
        }
    }

    #[test]
    fn what_one_number_comes_of_is_made_part_by_part() {
        for (result, of) in [
            ("f64", "%2 = sum %1\n  ret %2"),
            ("f64", "%2 = max %1\n  ret %2"),
            ("f64", "%2 = min %1, axes=[0, 1]\n  ret %2"),
        ] {
            is_fed(&reduction(result, of), &FAST, &[(1600, 100), (2400, 66), (3, 20_000), (20_808, 7)]);
            is_fed(&reduction(result, of), &[Backend::Interp], &[(1600, 100)]);
        }
        for (result, dtype, of) in [("f32", "f32", "sum"), ("i64", "i16", "prod")] {
            let body = format!(
                "  %0 = arrayexpr [i: m, j: n] (x = %x[i, j], y = %y[j, i]) {{
    t0 = mul x, y
    t1 = cast t0, to={dtype}
    yield t1
  }} : {dtype}[m, n]
  %1 = {of} %0
  ret %1"
            );
            is_fed(&function(result, &body), &FAST, &[(1600, 100), (2400, 66), (3, 20_000), (20_808, 7)]);
        }
        // Three rows of complex elements do not fit in the scratch memory.
        let complex = "  %0 = transpose %y, perm=[1, 0]\n  %1 = complex %x, %0\n  %2 = sum %1\n  ret %2";
        is_fed(&function("c128", complex), &FAST, &[(1600, 100), (2400, 66), (20_808, 7)]);
    }

    #[test]
    fn several_arrays_are_passed_and_several_reductions_fed() {
        let makers = [("f64", "t1 = add x, y"), ("f32", "t2 = add x, y\n    t1 = cast t2, to=f32")];
        for (dtype, second) in makers {
            let body = format!(
                "  %0, %1 = arrayexpr [i: m, j: n] (x = %x[i, j], y = %y[j, i]) {{
    t0 = mul x, y
    {second}
    yield t0, t1
  }} : f64[m, n], {dtype}[m, n]
  %2, %3 = arrayexpr [i: reduce m, j: reduce n] (a = %0[i, j], b = %1[i, j]) {{
    t0 = cast b, to=f64
    t1 = mul a, t0
    yield t1, a
  }} reduce (sum f64) reduce (max f64) finish (s, most) {{
    t0 = sub s, most
    yield t0, most
  }} : f64[], f64[]
  %4 = item %2
  %5 = item %3
  ret %4, %5"
            );
            is_fed(&function("f64, f64", &body), &[Backend::Auto], &[(1600, 100), (2400, 66), (20_808, 7)]);
        }
    }

    #[test]
    fn the_fold_has_other_operands_and_the_maker_its_indices() {
        let body = "  %0 = arrayexpr [i: m, j: n] (x = %x[i, j], y = %y[j, i]) {
    t0 = mul x, y
    t1 = cast i, to=f64
    t2 = cast j, to=f64
    t3 = mul t0, t1
    t4 = sub t3, t2
    yield t4
  } : f64[m, n]
  %1 = arrayexpr [i: reduce m, j: reduce n] (a = %0[i, j], b = %x[i, j]) {
    t0 = sub a, b
    yield t0
  } reduce (sum f64) : f64[]
  %2 = item %1
  ret %2";
        for (rows, columns) in [(1600, 100), (3, 20_000), (20_808, 7)] {
            let (x, y) = (array(rows, columns), array(columns, rows));
            let [apart, together] = [0, 128_000].map(|bytes| {
                compile(&function("f64", body), Options { band_bytes: Some(bytes), ..Options::default() })
            });
            let expected = call(&apart, x.view(), y.view());
            (0..4).for_each(|_| assert_eq!(call(&together, x.view(), y.view()), expected));
            assert_eq!(fed(&together).map(|(each, _)| each.len()), Some(1));
        }
    }

    #[test]
    fn arrays_that_others_need_are_computed_before() {
        let body = "  %0 = transpose %y, perm=[1, 0]
  %1 = mul %x, %0
  %2 = sum %1
  %3 = sub %1, %2
  ret %2, %3";
        let (x, y) = (array(300, 100), array(100, 300));
        let [apart, together] = [0, 50_000].map(|bytes| {
            compile(&function("f64, f64[m, n]", body), Options { band_bytes: Some(bytes), ..Options::default() })
        });
        let expected = call(&apart, x.view(), y.view());
        (0..4).for_each(|_| assert_eq!(call(&together, x.view(), y.view()), expected));
        assert!(fed(&together).is_some_and(|(each, _)| each.is_empty()));
    }
}
