//! Decides the schedule of a call from the kernel, the extents and strides of the arrays, the number of
//! threads that are awake, and the machine.

use super::fission::FissionKernels;
use super::jam::JammedKernel;
use super::legal;
use super::lines::LINE;
use super::policy::fission::is_most;
use super::policy::row_lanes::LEAST_TIMES;
use super::search::{Blocks, points_of_block};
use super::sequence::{Sequence, Transform};
use super::series::ready;
use super::{Block, Facts, Parts, Schedule, facts};
use crate::kernel::{Buffer, CompiledKernel, KOp, Kernel, Packing};
use crate::lower::{Bound, Lowered};
use rewright_ir::Name;

/// A call with fewer points and fewer rows than these gets no schedule: the loops run as they are.
pub const LEAST_POINTS: u64 = 4096;
pub const LEAST_ROWS: u64 = 256;
/// Replaces [`LEAST_POINTS`] for kernels that pack short rows which are read once: without packing, such a
/// row takes many times as long.
pub const LEAST_TURNED: u64 = 32;
/// The work of a thread that pays for waking it, in nanoseconds.
const WAKE_NANOS: f64 = 20_000.0;
/// The work that pays for notifying a thread that is awake, in nanoseconds: about three times the cost of
/// the notification.
const TELL_NANOS: f64 = 5_000.0;
/// The chunks per thread of a long call, for load balance at the end. A short call, with less than
/// [`WAKE_NANOS`] per thread, has one chunk per thread: transfers from the cache of another core cost more
/// than the wait for a thread.
pub(super) const CHUNKS: u64 = 4;
/// In long calls, chunks begin at page boundaries of a result where possible, so that no two threads write
/// to the same page.
const PAGE: u64 = 4096;
/// The least number of result bytes in a chunk of the innermost loop, where the chunk has a piece of several
/// rows. Shorter pieces do not pay for the loop overhead, and threads that write to one cache line cause
/// false sharing in each row.
const LEAST_PIECE: u64 = 1024;

/// A partition of a loop into chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunks {
    /// The number of the loop.
    pub along: usize,
    /// The iterations of the first chunk. After it, the elements of a result are aligned to a page or cache
    /// line.
    pub first: u64,
    /// The iterations of each further chunk.
    pub each: u64,
}

/// The schedule of one call. The order of its loops is part of [`Bound`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// The number of threads, and the chunks that they share.
    pub shared: Option<(u32, Chunks)>,
    /// The number of threads, and the parts of the only row that they share.
    pub parts: Option<(u32, Parts)>,
    /// The transformations of the loops of a chunk.
    pub sequence: Sequence,
    /// Whether to run the variant of the kernel that loads at each point the values that it otherwise loads
    /// once per row.
    pub by_point: bool,
    /// Whether stores bypass the caches (non-temporal stores).
    pub stream: bool,
    /// The blocks in which long rows are searched.
    pub search: Option<Blocks>,
    /// The reason why a given schedule is not legal for the call.
    pub refused: Option<String>,
}

/// The compiled kernel of a call, and functions that compile its variants on demand.
pub struct Kernels<'k> {
    pub compiled: &'k dyn CompiledKernel,
    pub fission: &'k dyn Fn() -> Option<&'k FissionKernels>,
    pub jammed: &'k dyn Fn() -> Option<&'k JammedKernel>,
}

impl Decision {
    /// Decides the schedule of a call. `first` holds the address of the first point's element in each
    /// buffer. `used` says whether the memory of the results was written before; if not, the system has just
    /// cleared it, and it is in the caches.
    pub fn new(
        lowered: &Lowered,
        kernels: &Kernels<'_>,
        bound: &Bound,
        first: &[*mut u8],
        used: bool,
        threads: Threads,
        facts: &Facts,
    ) -> Decision {
        let compiled = kernels.compiled;
        let call = Call { lowered, kernel: &lowered.kernel, bound, facts };
        let wish = &lowered.wish;
        let threads = wish.threads.unwrap_or_else(|| threads.worth(lowered.nanos(bound)));
        let lie_beside = compiled.rows_beside().is_some_and(|least| call.lie_beside(least));
        let is_free = wish.blocks.is_none() && !lie_beside;
        let computes_first = is_free
            && lowered.item_work.as_ref().is_some_and(is_most)
            && call.is_worth_fission(compiled.lanes())
            && (kernels.fission)().is_some();
        let packing = compiled.packing().filter(|_| is_free && !computes_first);
        let mut lanes = packing.and_then(|packing| Some((packing, call.row_lanes(&packing)?)));
        let packing = lanes.as_ref().map(|(packing, _)| *packing);
        let shared = call.shared(first, threads, packing.as_ref());
        let parts = if shared.is_none() { call.parts(threads) } else { None };
        // The largest chunk of a thread.
        let chunk = shared.map(|(_, chunks)| {
            let mut chunk = bound.clone();
            chunk.extents[chunks.along] = chunks.each.max(chunks.first).min(chunk.extents[chunks.along]);
            chunk
        });
        let chunk = chunk.as_ref().unwrap_or(bound);
        let call = Call { bound: chunk, ..call };
        if shared.is_some() {
            lanes = packing.and_then(|packing| Some((packing, call.row_lanes(&packing)?)));
        }
        let mut refused = None;
        let mut sequence = match &wish.blocks {
            Some(blocks) => {
                let has_fission = blocks.iter().any(|block| matches!(block, Block::Fission { .. }));
                let fission = if has_fission { (kernels.fission)() } else { None };
                let values = fission.map(|kernels| &kernels.sizes[..]).unwrap_or_default();
                lowered.given(blocks, chunk, values).unwrap_or_else(|why| {
                    refused = Some(why);
                    Sequence::new()
                })
            }
            None => lanes
                .map(|(_, sequence)| sequence)
                .or_else(|| call.tiled().filter(|_| is_free && packing.is_none()))
                .or_else(|| call.collapsed().filter(|_| packing.is_none()))
                .unwrap_or_default(),
        };
        let search = (!lie_beside && sequence.is_empty() && may_search(lowered)).then(|| {
            let each = wish.rfactor.unwrap_or_else(|| points_of_block(lowered, bound))?;
            Some(Blocks { each, threads: if shared.is_none() { threads } else { 1 } })
        });
        let search = search.flatten();
        if is_free && sequence.is_empty() && search.is_none() && parts.is_none() {
            sequence = call.fission(kernels).or_else(|| call.jammed(kernels)).unwrap_or_default();
        }
        debug_assert_eq!(legal::check(lowered, chunk, &sequence), Ok(()), "{sequence:?}");
        let stream = wish.stream.unwrap_or_else(|| Call { bound, ..call }.is_worth_streaming(used));
        // Staged results are read again at once, so they stay in the caches.
        let stages_results = |transform: &Transform| matches!(transform, Transform::Stage(stage) if stage.writes);
        let stream = stream && !sequence.iter().any(stages_results);
        let by_point = call.needs_by_point(&sequence);
        Decision { search, shared, parts, sequence, by_point, stream, refused }
    }

    /// Whether the sequence computes the points of rows before it combines them.
    pub fn has_fission(&self) -> bool {
        self.sequence.iter().any(|transform| matches!(transform, Transform::Fission(_)))
    }

    /// Whether the sequence computes several rows at once.
    pub fn has_jam(&self) -> bool {
        self.sequence.iter().any(|transform| matches!(transform, Transform::Jam(_)))
    }

    /// Whether threads can share such a call.
    pub fn may_share(lowered: &Lowered, bound: &Bound) -> bool {
        let long = |&number: &usize| bound.extents[number] > 1 && is_apart(lowered, bound, number);
        lowered.wish.threads.is_none()
            && ((0..bound.extents.len()).any(|number| long(&number))
                || part_of_row(lowered, bound).is_some()
                || may_search(lowered) && points_of_block(lowered, bound).is_some())
    }

    /// The decision as a schedule with names, for printing, together with the choices of the code generator.
    pub fn schedule(&self, lowered: &Lowered, bound: &Bound, kernel: &dyn CompiledKernel) -> Schedule {
        let names = |number| -> Vec<Name> { bound.axes(number).map(|axis| lowered.names[axis as usize]).collect() };
        let loops = (0..bound.extents.len()).map(names).filter(|names| !names.is_empty());
        Schedule {
            order: Some(loops.collect()),
            threads: Some(
                self.shared
                    .map(|(threads, _)| threads)
                    .or(self.parts.map(|(n, _)| n))
                    .or(self.search.map(|blocks| blocks.threads))
                    .unwrap_or(1),
            ),
            chunk: self.shared.map(|(_, chunks)| chunks.each).or(self.parts.map(|(_, parts)| parts.each)),
            rfactor: may_search(lowered).then(|| self.search.map(|blocks| blocks.each)),
            blocks: Some(lowered.blocks(&self.sequence, bound)),
            unroll: kernel.unroll(),
            stages: kernel.stages(),
            stream: Some(self.stream),
        }
    }
}

/// A call, or a chunk of a call, whose schedule is to be decided.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub lowered: &'a Lowered,
    pub kernel: &'a Kernel,
    pub bound: &'a Bound,
    pub facts: &'a Facts,
}

impl Call<'_> {
    pub(super) fn extent(&self, number: usize) -> u64 {
        self.bound.extents[number]
    }
    pub(super) fn stride(&self, buffer: usize, number: usize) -> i64 {
        self.bound.strides[buffer * self.bound.extents.len() + number]
    }

    /// The innermost loop, and the next loop outside of it with several iterations.
    pub(super) fn last_two(&self) -> Option<(usize, usize)> {
        let inner = self.bound.extents.len().checked_sub(1)?;
        let outer = (0..inner).rev().find(|&number| self.extent(number) > 1)?;
        Some((outer, inner))
    }

    /// The fission of map and reduction of short rows, if it is profitable.
    fn fission(&self, kernels: &Kernels<'_>) -> Option<Sequence> {
        self.is_worth_fission(kernels.compiled.lanes()).then_some(())?;
        let (kernels, work) = ((kernels.fission)()?, self.lowered.item_work.as_ref()?);
        kernels.are_fast(work).then_some(())?;
        self.fissioned(kernels)
    }

    /// The chunks for several threads; none if one thread is enough.
    fn shared(&self, first: &[*mut u8], threads: u32, packing: Option<&Packing>) -> Option<(u32, Chunks)> {
        if threads < 2 {
            return None;
        }
        let wide = self.chunks(threads);
        let long = |number: &usize| self.extent(*number) > 1;
        let mut loops = (0..self.bound.extents.len()).filter(long);
        let pieces = |number: usize| self.extent(number) / self.least_chunk(number);
        let along = match self.lowered.fallible {
            // The call reports the first point that fails. It is in the first chunk that fails if the chunks
            // are in the order of points.
            true => loops.next().filter(|&number| self.may_share(number))?,
            false => {
                let candidates = || loops.clone().filter(|&number| self.may_share(number));
                let roomy = candidates().find(|&number| pieces(number) >= wide);
                roomy.or_else(|| candidates().max_by_key(|&number| pieces(number)))?
            }
        };
        let count = self.extent(along);
        let by_hand = self.lowered.wish.threads.is_some() || self.lowered.wish.chunk.is_some();
        let threads = if by_hand { threads } else { threads.min(pieces(along).try_into().unwrap_or(u32::MAX)) };
        if threads < 2 {
            return None;
        }
        // Chunks with fewer iterations are not packed.
        let least =
            packing.map_or(1, |packing| if along + 2 < self.bound.extents.len() { LEAST_TIMES } else { packing.rows });
        let least = least.max(if by_hand { 1 } else { self.least_chunk(along) });
        let each = self.lowered.wish.chunk.unwrap_or_else(|| count.div_ceil(wide).max(least)).min(count);
        // Long calls: threads write to different pages. Short calls: they write to different cache lines,
        // since pages would make their shares uneven.
        let unit = if wide > u64::from(threads) { PAGE } else { LINE as u64 };
        Some((threads, self.in_units(unit, first, along, each)))
    }

    /// The least number of iterations of a loop that is worth a chunk.
    fn least_chunk(&self, number: usize) -> u64 {
        let is_inner = (0..number).any(|outer| self.extent(outer) > 1)
            && (number + 1..self.bound.extents.len()).all(|inner| self.extent(inner) == 1);
        let results = self.kernel.buffers.iter().enumerate().filter(|(_, buffer)| buffer.written);
        let step = results.map(|(result, _)| self.stride(result, number).unsigned_abs()).filter(|&step| step > 0).min();
        step.filter(|_| is_inner).map_or(1, |step| LEAST_PIECE.div_ceil(step))
    }

    /// The number of chunks for this number of threads.
    fn chunks(&self, threads: u32) -> u64 {
        let is_short = self.lowered.nanos(self.bound) < f64::from(threads) * WAKE_NANOS;
        u64::from(threads) * if is_short { 1 } else { CHUNKS }
    }

    /// The parts of the only row, if it is long enough. Parts do not tell which point fails first, so
    /// fallible kernels have none.
    fn parts(&self, threads: u32) -> Option<(u32, Parts)> {
        let part = part_of_row(self.lowered, self.bound).filter(|_| threads > 1)?;
        let points = *self.bound.extents.last()?;
        let each = self.lowered.wish.chunk.unwrap_or(points / self.chunks(threads)).max(part);
        // A power of two times the smallest part.
        let each = part << (each / part).ilog2();
        (each < points).then_some((threads, Parts { each }))
    }

    /// Whether the iterations of a loop write disjoint elements.
    fn may_share(&self, number: usize) -> bool {
        is_apart(self.lowered, self.bound, number)
    }

    /// Chunks of about `each` iterations that begin at multiples of `unit` bytes (a page or cache line) of
    /// the first result, where possible.
    fn in_units(&self, unit: u64, first: &[*mut u8], along: usize, each: u64) -> Chunks {
        let whole = Chunks { along, first: each, each };
        let Some(result) = self.kernel.buffers.iter().position(|b| b.written) else { return whole };
        let stride = self.stride(result, along).unsigned_abs();
        let (start, count) = (first[result].addr() as u64, self.extent(along));
        if self.lowered.wish.chunk.is_some() || stride == 0 || self.stride(result, along) < 0 {
            return whole;
        }
        // The least number of iterations that spans whole units. Where a chunk has too few of them for
        // pages, the unit is a cache line.
        let whole_units = |unit: u64| unit >> stride.trailing_zeros().min(unit.trailing_zeros());
        let unit = if whole_units(unit) > each { LINE as u64 } else { unit };
        let units = whole_units(unit);
        let ahead = start.next_multiple_of(unit) - start;
        if units > each || !ahead.is_multiple_of(stride) {
            return whole;
        }
        let each = each.next_multiple_of(units);
        // A short run of iterations before the first unit is no chunk of its own; it joins the next one.
        let ahead = (ahead / stride) % each;
        let first = if ahead < each / 2 { ahead + each } else { ahead };
        Chunks { along, first: first.clamp(1, count), each }
    }

    /// Whether there are at least `least` rows that are interleaved: each row begins one element after the
    /// row before it.
    fn lie_beside(&self, least: u64) -> bool {
        let buffers = || self.kernel.buffers.iter().enumerate();
        let one_by_one = |outer| {
            let along = |&(_, buffer): &(usize, &Buffer)| buffer.varies[outer];
            buffers().filter(along).all(|(n, buffer)| self.stride(n, outer) == buffer.dtype.size() as i64)
        };
        self.last_two()
            .is_some_and(|(outer, inner)| outer + 1 == inner && self.extent(outer) >= least && one_by_one(outer))
    }
}

/// The bytes of the distinct elements that a kernel accesses, for these extents and strides of its loops.
pub fn bytes(kernel: &Kernel, extents: &[u64], strides: &[i64]) -> u64 {
    let of = |(n, buffer): (usize, &Buffer)| bytes_of_buffer(buffer, extents, &strides[n * extents.len()..]);
    kernel.buffers.iter().enumerate().map(of).fold(0, u64::saturating_add)
}

/// The bytes of the distinct elements of a buffer with these strides.
pub(super) fn bytes_of_buffer(buffer: &Buffer, extents: &[u64], strides: &[i64]) -> u64 {
    let moving = extents.iter().zip(strides).filter(|&(_, &stride)| stride != 0).map(|(&extent, _)| extent);
    moving.fold(buffer.dtype.size() as u64, u64::saturating_mul)
}

/// Whether the iterations of a loop write disjoint elements.
pub fn is_apart(lowered: &Lowered, bound: &Bound, number: usize) -> bool {
    bound.axes(number).all(|axis| lowered.apart[axis as usize])
}

/// Whether rows may be searched block by block. This is a cheap necessary condition.
fn may_search(lowered: &Lowered) -> bool {
    let fold = lowered.kernel.fold.as_ref().filter(|_| !lowered.fallible);
    fold.is_some_and(|fold| fold.alone.is_some() && fold.items.len() == 2)
}

/// The least number of points of a part, if the call has one row and may combine it in parts.
pub fn part_of_row(lowered: &Lowered, bound: &Bound) -> Option<u64> {
    let fold = lowered.kernel.fold.as_ref().filter(|_| !lowered.fallible)?;
    let (_, around) = bound.extents.split_last()?;
    // An index along a row counts from its beginning, so a kernel that uses it has no parts.
    let inner = KOp::Index(around.len() as u32);
    let indexed = lowered.kernel.insts.iter().any(|inst| inst.op == inner);
    fold.part().filter(|_| !indexed && around.iter().all(|&extent| extent == 1))
}

/// The sequence of a call that needs only transposes of operands whose unit stride is along an outer loop.
pub fn transposed(lowered: &Lowered, bound: &Bound) -> Sequence {
    Call { lowered, kernel: &lowered.kernel, bound, facts: facts() }.tiled().unwrap_or_default()
}

/// The threads that are available to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// The upper bound.
    pub most: u32,
    /// The threads besides the caller that begin without delay.
    pub ready: u32,
}

impl Threads {
    /// The caller alone.
    pub const ONE: Threads = Threads { most: 1, ready: 0 };

    /// Whether a call of about `nanos`, on at most `most` threads, runs on one thread whichever threads are
    /// awake.
    pub fn are_one(nanos: f64, most: u32) -> bool {
        most.min((nanos / TELL_NANOS) as u32) <= 1
    }

    /// The threads that are available now to a call of about `nanos` on at most `most` threads.
    pub fn now(nanos: f64, most: u32) -> Threads {
        // The threads besides the caller for which there is enough work.
        let wanted = most.min((nanos / TELL_NANOS) as u32).saturating_sub(1);
        Threads { most, ready: if wanted == 0 { 0 } else { ready(nanos, wanted) } }
    }

    /// The number of threads that is profitable for this work.
    pub fn worth(self, nanos: f64) -> u32 {
        let enough = |each: f64| self.most.min((nanos / each) as u32).max(1);
        enough(WAKE_NANOS).max(enough(TELL_NANOS).min(self.ready.saturating_add(1)))
    }
}

/// Whether an operand is contiguous along the outer of the last two loops and has a longer stride along the
/// inner one.
pub fn is_turned([outer, inner]: [i64; 2], size: usize) -> bool {
    outer == size as i64 && inner != 0 && inner.unsigned_abs() > size as u64
}

/// An estimate of the time of one point, in nanoseconds; it decides whether threads pay.
pub fn nanos(kernel: &Kernel) -> f64 {
    // Only one of the alternatives to combine points is executed.
    let spare = kernel.fold.as_ref().and_then(|fold| fold.alone.as_ref()).map_or(0..0, |alone| alone.combine.clone());
    let numbered = kernel.insts.iter().enumerate().filter(|(number, _)| !spare.contains(number));
    let inner = numbered.map(|(_, inst)| inst).filter(|inst| kernel.level(inst) as usize == kernel.axes);
    let one = |inst: &crate::kernel::KInst| match &inst.op {
        KOp::Const(_) | KOp::Param(_) => 0.0,
        KOp::Load(buffer, _) | KOp::Store(buffer, _) => {
            let buffer = &kernel.buffers[*buffer as usize];
            let moves = buffer.varies.last() == Some(&true);
            if moves { buffer.dtype.real().size() as f64 * 0.012 } else { 0.0 }
        }
        KOp::Math(_) => 15.0,
        KOp::Reference(_) => 100.0,
        _ => inst.args.first().map_or(8, |&arg| kernel.dtype(arg).size()) as f64 * 0.003,
    };
    inner.map(one).sum()
}

impl Lowered {
    /// An estimate of the time of a call on one thread, in nanoseconds.
    pub(crate) fn nanos(&self, bound: &Bound) -> f64 {
        bound.extents.iter().map(|&extent| extent as f64).product::<f64>() * self.point_nanos
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_enough_to_do() {
        let worth = |nanos, ready| Threads { most: 16, ready }.worth(nanos);
        // Each thread needs 20 us of work if it has to be woken, and 5 us if it is awake.
        assert_eq!([9e3, 39e3, 60e3, 1e6].map(|nanos| worth(nanos, 0)), [1, 1, 3, 16]);
        assert_eq!([9e3, 11e3, 39e3, 60e3].map(|nanos| worth(nanos, 15)), [1, 2, 7, 12]);
        // One thread that is awake does not justify waking all others.
        assert_eq!([39e3, 60e3, 90e3].map(|nanos| worth(nanos, 1)), [2, 3, 4]);
        assert_eq!(Threads { most: 1, ready: 5 }.worth(1e9), 1);
        for nanos in [0.0, 9e3, 11e3, 60e3, 1e6] {
            for most in [1, 2, 16] {
                let worth = (0..16).map(|ready| Threads { most, ready }.worth(nanos));
                assert_eq!(Threads::are_one(nanos, most), worth.max() == Some(1), "{nanos} {most}");
            }
        }
    }
}
