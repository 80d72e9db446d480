//! Finding kernels that make an array which the next one combines to one number (`schedule/feed.rs` says how both are run then).

use super::band::{Candidate, Room, Slab, is_in, uses};
use super::{Action, Run, Where, launch};
use crate::exec::launch::Pointers;
use crate::exec::plan::{FuncPlan, Step};
use crate::lower::Lowered;
use crate::schedule::{Feed, LINE, Parts, Passed, Threads, Work, leaf_of_row, run_fed, tile_for};
use rewright_ir::Scalar;
use smallvec::SmallVec;

/// What is passed at once may take as many bands, each a quarter of the cache.
const ROOM: u64 = 3;
/// All arrays together take more bands: in the cache they can as well stay where they are.
const LARGE: u64 = 4;
/// What is turned is read so many adjacent cache lines at a time, each with elements of several iterations: with fewer of these more reads miss.
const TURNED_LINES: u64 = 4;

/// A kernel, and the one that combines what it makes.
#[derive(Debug)]
pub(super) struct Fed {
    pub maker: Run,
    pub fold: Run,
    pub feed: Feed,
}

impl Fed {
    /// Runs both, with addresses and scalars of a call; `None` if a point fails.
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
        let bound = &self.maker.bound;
        let making =
            Work { kernel: maker.kernel(false), lowered: &maker.lowered, bound, pointers: &pointers, params: &params };
        let bound = &self.fold.bound;
        let folding = Work {
            kernel: fold.kernel(false),
            lowered: &fold.lowered,
            bound,
            pointers: &fold_pointers,
            params: &fold_params,
        };
        let nanos = [&making, &folding].map(|work| work.lowered.nanos(work.bound)).iter().sum();
        let threads = Threads::now(nanos, threads).worth(nanos);
        // SAFETY: the addresses are the caller's promise, and `find` looked at the loops and at what is passed.
        let status = unsafe { run_fed(&making, &folding, fold.halves()?, &self.feed, threads) };
        (status.failed == 0).then_some(())
    }
}

/// Puts such kernels together, for bands of so many bytes. What is passed has no room any more.
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

/// How the first action feeds the next one, if it does.
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
    let (candidate, count) = pair.iterations(&steps[maker.step])?;
    let others = || actions[..first].iter().chain(&actions[first + 2..]);
    let between = |place: Where| {
        let room = rooms.iter().position(|room| is_in(place, temporaries, *room))?;
        let alone = place.offset == rooms[room].0 && !others().any(|action| uses(action, temporaries, rooms[room]));
        alone.then_some(room)
    };
    let mut taken: SmallVec<[usize; 2]> = SmallVec::new();
    let mut passed: SmallVec<[Passed; 2]> = SmallVec::new();
    for (made, slab) in candidate.slabs.iter().enumerate().filter(|(_, slab)| slab.written) {
        let room = between(maker.buffers[made])?;
        passed.push(pair.passed(made, slab, |place| is_in(place, temporaries, rooms[room]))?);
        taken.push(room);
    }
    let feed = pair.feed(&candidate, count, passed, bytes)?;
    launch(&steps[fold.step])?.halves()?;
    taken.iter().for_each(|&room| rooms[room].1 = 0);
    Some(feed)
}

/// A kernel, and one of a single row.
struct Pair<'a> {
    maker: &'a Run,
    making: &'a Lowered,
    fold: &'a Run,
    folding: &'a Lowered,
    /// The points of a leaf of the row, and all.
    leaf: u64,
    points: u64,
}

impl<'a> Pair<'a> {
    fn new(maker: &'a Run, fold: &'a Run, steps: &'a [Step]) -> Option<Pair<'a>> {
        let plain = |run: &Run| {
            let launch = launch(&steps[run.step])?;
            (run.fills.is_empty() && !launch.is_scheduled()).then_some(&launch.lowered)
        };
        let (making, folding) = (plain(maker)?, plain(fold)?);
        let (leaf, points) = (leaf_of_row(folding, &fold.bound)?, *fold.bound.extents.last()?);
        (!making.fallible).then_some(Pair { maker, making, fold, folding, leaf, points })
    }

    /// The loop whose iterations write one row each, and how many they are.
    fn iterations(&self, step: &Step) -> Option<(Candidate, u64)> {
        let of_row = |slabs: &[Slab]| slabs.iter().filter(|slab| slab.written).all(|s| s.stride == s.high - s.low);
        let mut counts = self.maker.bound.extents.iter().copied();
        counts.find_map(|count| {
            let may_be = count > 1 && self.points.is_multiple_of(count);
            let candidate = Candidate::new(self.maker, step, count, of_row).filter(|c| may_be && c.along.1 == 1)?;
            Some((candidate, count))
        })
    }

    /// How what one writes, a row of it an iteration, is what the other reads, in the same order; both are in a room that is told.
    fn passed(&self, made: usize, slab: &Slab, is_there: impl Fn(Where) -> bool) -> Option<Passed> {
        let only = |run: &Run| {
            let mut there = (0..run.buffers.len()).filter(|&number| is_there(run.buffers[number]));
            there.next().filter(|_| there.next().is_none())
        };
        let (made, used) = (only(self.maker).filter(|&number| number == made)?, only(self.fold)?);
        let [from, to] = [(self.making, made), (self.folding, used)].map(|(of, number)| &of.kernel.buffers[number]);
        let size = from.dtype.size();
        let begin = self.maker.buffers[made];
        let step = *self.fold.bound.strides.chunks_exact(self.fold.bound.extents.len()).nth(used)?.last()?;
        let same = self.fold.buffers[used] == begin && step == size as i64 && to.dtype.size() == size && !to.written;
        (same && slab.low == begin.offset && slab.stride >= size as isize).then_some(Passed { made, used, size, at: 0 })
    }

    /// In parts that are worth it, for bands of so many bytes.
    fn feed(&self, candidate: &Candidate, count: u64, mut passed: SmallVec<[Passed; 2]>, bytes: u64) -> Option<Feed> {
        let each = self.points / count;
        let whole = |slab: &&Slab| u64::try_from(slab.stride).ok() == each.checked_mul(slab.size);
        if passed.is_empty() || !candidate.slabs.iter().filter(|slab| slab.written).all(|slab| whole(&slab)) {
            return None;
        }
        // What an iteration reads and writes, but for what all do.
        let moving = candidate.slabs.iter().filter(|slab| slab.stride != 0);
        let touched: u64 = moving.map(|s| ((s.high - s.low).unsigned_abs() as u64).min(each * s.size)).sum();
        let along = candidate.along.0;
        let tile = |iterations: u64| {
            let mut bound = self.maker.bound.clone();
            bound.extents[along] = iterations.min(count);
            tile_for(self.making, &bound)
        };
        // What a part touches should fit in a band, and be enough of what is turned.
        let fitting = (bytes / touched.max(1)).checked_mul(each)? / self.leaf;
        let point: u64 = passed.iter().map(|passed| passed.size as u64).sum();
        let turned = TURNED_LINES * LINE as u64 * passed.len() as u64 / point;
        let least = if tile(turned).is_some() { (turned * each).div_ceil(self.leaf) } else { 1 };
        let leaves = (1 << fitting.max(1).ilog2()).max(least.next_power_of_two());
        let parts = Parts { each: self.leaf.checked_mul(leaves)? };
        // A part begins and ends within an iteration.
        let iterations = parts.each / each + 2;
        let room = iterations.checked_mul(each)?.checked_mul(point)?;
        let worth = touched.saturating_mul(count) > bytes.saturating_mul(LARGE) && parts.each <= self.points / 2;
        if !worth || room > bytes.saturating_mul(ROOM) {
            return None;
        }
        let mut scratch = 0;
        for passed in &mut passed {
            passed.at = scratch;
            scratch += ((iterations * each) as usize * passed.size).next_multiple_of(LINE);
        }
        Some(Feed { parts, along, points: each, tile: tile(iterations), passed, scratch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::{Arg, Backend, Executable, Options, Results};
    use ndarray::{Array2, ArrayView2, s};
    use rewright_ir::text::parse_module;
    use std::num::NonZeroU32;

    fn compile(body: &str, options: Options) -> Executable {
        let text = format!("func @f(%x: f64[m, n], %y: f64[n, m]) -> {body}");
        let module = parse_module(&text, "test").unwrap_or_else(|e| panic!("{}", e.render(false)));
        Executable::compile(&module, "f", options).unwrap()
    }

    fn call(f: &Executable, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Results {
        f.call(&[Arg::from(x), Arg::from(y)]).unwrap_or_else(|e| panic!("{e}"))
    }

    /// The points of a part of each long row that is fed, and the bytes of other temporaries, of calls after the second.
    fn fed(f: &Executable) -> (Vec<u64>, usize) {
        let frames = f.inner.pools[0].frames();
        let replay = frames[0].again.replay.as_ref().unwrap_or_else(|| panic!("it is not replayed"));
        let fed = replay.actions.iter().filter_map(|action| match action {
            Action::Fed(fed) => Some(fed.feed.parts.each),
            _ => None,
        });
        (fed.collect(), replay.temporaries.bytes())
    }

    /// A reduction of a product with what is turned.
    fn reduction(result: &str, of: &str) -> String {
        format!("{result} {{\nentry:\n  %0 = transpose %y, perm=[1, 0]\n  %1 = mul %x, %0\n  {of}\n}}")
    }

    fn array(rows: usize, columns: usize) -> Array2<f64> {
        Array2::from_shape_fn((rows, columns), |(i, j)| ((i * 31 + j * 17) % 101) as f64 / 7.0 + 0.5)
    }

    #[test]
    fn what_one_number_comes_of_is_made_part_by_part() {
        let reductions = [
            reduction("f64", "%2 = sum %1\n  ret %2"),
            reduction("f64", "%2 = max %1\n  ret %2"),
            reduction("f32", "%2 = cast %1, to=f32\n  %3 = sum %2\n  ret %3"),
            reduction("i64", "%2 = cast %1, to=i16\n  %3 = prod %2\n  ret %3"),
            reduction("f64", "%2 = min %1, axes=[0, 1]\n  ret %2"),
        ];
        for (rows, columns) in [(400, 50), (600, 33), (3, 2500), (2601, 7)] {
            let (x, y) = (array(rows, columns), array(columns, rows));
            for (body, backend) in reductions
                .iter()
                .flat_map(|body| [Backend::Interp, Backend::Cranelift, Backend::Auto].map(|backend| (body, backend)))
            {
                let options = |bytes, threads| Options {
                    band_bytes: Some(bytes),
                    threads: NonZeroU32::new(threads),
                    backend,
                    ..Options::default()
                };
                let apart = compile(body, options(0, 1));
                for threads in [1, 3] {
                    let together = compile(body, options(16_000, threads));
                    for (x, y) in [(x.view(), y.view()), (x.slice(s![..;-1, ..]), y.slice(s![..;-1, ..]))] {
                        let expected = call(&apart, x, y);
                        (0..3).for_each(|_| assert_eq!(call(&apart, x, y), expected));
                        (0..4).for_each(|_| assert_eq!(call(&together, x, y), expected));
                        let (each, temporaries) = fed(&together);
                        assert!(each.len() == 1 && each[0] >= 512, "{each:?} {rows} {columns} {body}");
                        assert!(temporaries < fed(&apart).1, "{temporaries}: what is passed needs no place");
                    }
                }
            }
        }
    }

    #[test]
    fn what_others_need_too_is_made_before() {
        let body = "f64, f64[m, n] {
entry:
  %0 = transpose %y, perm=[1, 0]
  %1 = mul %x, %0
  %2 = sum %1
  %3 = sub %1, %2
  ret %2, %3
}";
        let (x, y) = (array(590, 50), array(50, 590));
        let [apart, together] =
            [0, 20_000].map(|bytes| compile(body, Options { band_bytes: Some(bytes), ..Options::default() }));
        let expected = call(&apart, x.view(), y.view());
        (0..4).for_each(|_| assert_eq!(call(&together, x.view(), y.view()), expected));
        assert!(fed(&together).0.is_empty());
    }
}
