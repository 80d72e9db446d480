//! Running a call in parts: chunks that threads share, and tiles in which elements that lie across are turned.

use super::ahead::Ahead;
use super::crew::share;
use super::decide::{Chunks, Decision, Tile, bytes, is_turned};
use super::items_first::ItemKernels;
use super::lines::{LINE, Lines};
use super::machine::facts;
use super::row_blocks::BlockKernels;
use super::search::Searchers;
use super::turn::{squares, turn};
use crate::kernel::{CompiledKernel, KOp, Status};
use crate::lower::{Bound, Lowered, Param};
use smallvec::SmallVec;
use std::cell::Cell;
use std::sync::Mutex;

/// A call of a kernel, all of it.
pub(crate) struct Work<'a> {
    pub kernel: &'a dyn CompiledKernel,
    pub lowered: &'a Lowered,
    /// What runs rows in blocks, if there are several.
    pub blocks: Option<BlockKernels<'a>>,
    /// What long rows are searched by, if they are.
    pub search: Option<&'a Searchers>,
    /// What computes the points of short rows first, if anything does.
    pub items: Option<&'a ItemKernels>,
    pub bound: &'a Bound,
    /// One a buffer: the element at the first point.
    pub pointers: &'a [*mut u8],
    pub params: &'a [u64],
}

impl<'a> Work<'a> {
    /// Of a kernel that runs as it is.
    pub fn of(
        kernel: &'a dyn CompiledKernel,
        lowered: &'a Lowered,
        bound: &'a Bound,
        pointers: &'a [*mut u8],
        params: &'a [u64],
    ) -> Work<'a> {
        Work { kernel, lowered, blocks: None, search: None, items: None, bound, pointers, params }
    }
}

// SAFETY: parts of a call write to elements of their own, and what they read nobody writes meanwhile: the caller of `run` promises
// that, and `Decision` shares out only loops whose iterations write to different elements.
unsafe impl Sync for Work<'_> {}

/// A part of a call: some iterations of each loop.
#[derive(Clone)]
pub(super) struct Part {
    pub(super) extents: SmallVec<[u64; 4]>,
    pub(super) pointers: SmallVec<[*mut u8; 6]>,
    pub(super) strides: SmallVec<[i64; 16]>,
    params: SmallVec<[u64; 4]>,
}

impl Part {
    pub(super) fn whole(work: &Work<'_>) -> Part {
        Part {
            extents: work.bound.extents.clone(),
            pointers: work.pointers.into(),
            strides: work.bound.strides.clone(),
            params: work.params.into(),
        }
    }

    /// # Safety
    /// As [`CompiledKernel::call`], for a kernel of these loops, buffers and parameters.
    pub(super) unsafe fn call(&self, kernel: &dyn CompiledKernel) -> Status {
        // SAFETY: passed on.
        unsafe { kernel.run(&self.extents, &self.pointers, &self.strides, &self.params) }
    }
}

/// Runs a call as was decided.
///
/// # Safety
/// As [`CompiledKernel::call`], for a kernel of `work.lowered` and the arguments that `work` has; the buffers that are written are
/// apart from all others, and the iterations of loops along axes that `lowered.apart` names write to different elements.
pub(crate) unsafe fn run(work: &Work<'_>, decision: &Decision) -> Status {
    let whole = Part::whole(work);
    let Some((threads, chunks)) = decision.shared else {
        // SAFETY: passed on.
        return unsafe { work.decided(whole, decision) };
    };
    let whole = Shared(whole);
    let count = whole.get().extents[chunks.along];
    let failed: Mutex<Option<(usize, Status)>> = Mutex::new(None);
    share(threads as usize, chunks.count(count), &|number| {
        let (from, len) = chunks.get(number, count);
        let mut part = whole.get().clone();
        work.narrow(&mut part, chunks.along, from, len);
        // SAFETY: this part is inside of the whole, and writes to other elements than the other parts.
        let status = unsafe { work.decided(part, decision) };
        if status.failed != 0 {
            // The chunks are in the order of points wherever one can fail.
            let mut first = failed.lock().unwrap_or_else(|e| e.into_inner());
            if first.as_ref().is_none_or(|(other, _)| number < *other) {
                *first = Some((number, status));
            }
        }
    });
    let failed = failed.into_inner().unwrap_or_else(|e| e.into_inner());
    failed.map(|(_, status)| status).unwrap_or_default()
}

/// A part that several threads look at.
pub(super) struct Shared(pub Part);

// SAFETY: its pointers are those of `Work`.
unsafe impl Sync for Shared {}

impl Shared {
    pub fn get(&self) -> &Part {
        &self.0
    }
}

impl Chunks {
    fn count(&self, of: u64) -> usize {
        1 + (of - self.first.min(of)).div_ceil(self.each) as usize
    }
    /// The first iteration of a chunk, and how many it has.
    fn get(&self, number: usize, of: u64) -> (u64, u64) {
        match number as u64 {
            0 => (0, self.first.min(of)),
            number => {
                let from = self.first + (number - 1) * self.each;
                (from, self.each.min(of - from))
            }
        }
    }
}

/// Buffers that are turned: the number, the bytes of an element, where in the scratch memory its tile is, and how far apart rows are there.
type Turned = SmallVec<[(usize, usize, usize, usize); 2]>;

impl Work<'_> {
    /// Only so many iterations of a loop, from one on.
    pub(super) fn narrow(&self, part: &mut Part, along: usize, from: u64, count: u64) {
        let loops = part.extents.len();
        part.extents[along] = count;
        for (pointer, strides) in part.pointers.iter_mut().zip(part.strides.chunks_exact(loops)) {
            *pointer = pointer.wrapping_offset(strides[along].wrapping_mul(from as i64) as isize);
        }
        for (word, param) in part.params.iter_mut().zip(&self.lowered.params) {
            if matches!(param, Param::Start(axis) if self.bound.axes(along).any(|a| a == *axis)) {
                *word = word.wrapping_add(from);
            }
        }
    }

    /// # Safety
    /// As [`run`], for a part of it.
    pub(super) unsafe fn decided(&self, part: Part, decision: &Decision) -> Status {
        if let (Some(blocks), Some(searchers)) = (decision.search, self.search) {
            // SAFETY: passed on: threads share whole rows.
            return unsafe { self.in_search(&part, searchers, blocks) };
        }
        if let (Some(loops), Some(kernels)) = (decision.items, self.items) {
            // SAFETY: passed on.
            return unsafe { self.items_first(&part, kernels, loops) };
        }
        let run = |part: Part| match (&decision.packing, decision.long) {
            // SAFETY: passed on.
            (Some(packing), _) => unsafe { self.in_blocks(&part, packing) },
            // SAFETY: passed on.
            (None, Some(long)) => unsafe { self.in_long_rows(&part, &long) },
            // SAFETY: passed on.
            (None, None) => unsafe { self.part(part, decision.tile) },
        };
        let Some(kernels) = &self.blocks else { return run(part) };
        let plain = decision.packing.is_none() && decision.long.is_none() && decision.tile.is_none();
        let kernels = BlockKernels { blocks: kernels.blocks.filter(|_| plain), ..*kernels };
        let again = self.lowered.fallible.then(|| part.clone());
        // SAFETY: passed on.
        let status = unsafe { self.in_row_blocks(part, &kernels, &run) };
        match again.filter(|_| status.failed != 0) {
            // The first point that fails is told, in the order of points.
            Some(again) => Some(run(again)).filter(|first| first.failed != 0).unwrap_or(status),
            None => status,
        }
    }

    /// # Safety
    /// As [`run`], for a part of it.
    pub(super) unsafe fn part(&self, part: Part, tile: Option<Tile>) -> Status {
        let last = part.extents.len().checked_sub(1);
        let outer = last.and_then(|last| (0..last).rev().find(|&number| self.bound.extents[number] > 1));
        match (tile, outer, last) {
            // SAFETY: passed on.
            (Some(tile), Some(outer), Some(inner)) => unsafe { self.tiles(&part, tile, [outer, inner]) },
            // SAFETY: passed on.
            _ => unsafe { self.call(&part) },
        }
    }

    /// # Safety
    /// As [`run`], for a part of it.
    unsafe fn call(&self, part: &Part) -> Status {
        // SAFETY: passed on.
        unsafe { part.call(self.kernel) }
    }

    /// # Safety
    /// As [`run`], for a part of it.
    unsafe fn tiles(&self, part: &Part, tile: Tile, [outer, inner]: [usize; 2]) -> Status {
        let loops = part.extents.len();
        let mut turned = Turned::new();
        let mut room = 0;
        for (number, (buffer, strides)) in
            self.lowered.kernel.buffers.iter().zip(part.strides.chunks_exact(loops)).enumerate()
        {
            let size = buffer.dtype.size();
            if is_turned([strides[outer], strides[inner]], size) {
                // Rows that are a power of two apart would share few places of the cache.
                let pitch = (tile.columns as usize * size).next_multiple_of(LINE) + LINE;
                turned.push((number, size, room, pitch));
                room += tile.rows as usize * pitch;
            }
        }
        let mut scratch = SCRATCH.take();
        scratch.grow(room);
        let start = scratch.begin();
        // What the caches hold is there soon enough.
        let far = bytes(&self.lowered.kernel, &part.extents, &part.strides) > facts().last_level / 2;
        let mut at: SmallVec<[u64; 4]> = SmallVec::from_elem(0, outer);
        loop {
            let mut row = part.clone();
            for (number, &index) in at.iter().enumerate() {
                self.narrow(&mut row, number, index, 1);
            }
            // SAFETY: a part of the part; the scratch memory has room for the tiles.
            unsafe { self.panels(&row, tile, [outer, inner], (&turned, start), far) };
            let Some(next) = (0..outer).rev().find(|&number| at[number] + 1 < part.extents[number]) else { break };
            at[next] += 1;
            at[next + 1..].fill(0);
        }
        SCRATCH.set(scratch);
        // Kernels that can fail have no tiles.
        Status::default()
    }

    /// The tiles of the last two loops; `far` says that their elements are in memory.
    ///
    /// # Safety
    /// As [`run`], for a part of it; `scratch` is as large as `turned` says.
    unsafe fn panels(
        &self,
        part: &Part,
        tile: Tile,
        [outer, inner]: [usize; 2],
        (turned, scratch): (&Turned, *mut u8),
        far: bool,
    ) {
        let loops = part.extents.len();
        let mut from = [0, 0];
        while from[0] < part.extents[outer] {
            let rows = tile.rows.min(part.extents[outer] - from[0]);
            let columns = tile.columns.min(part.extents[inner] - from[1]);
            let mut piece = part.clone();
            self.narrow(&mut piece, outer, from[0], rows);
            self.narrow(&mut piece, inner, from[1], columns);
            let (rows_now, columns_now) = (rows as usize, columns as usize);
            let mut ahead = if far { self.straight(&piece, [outer, inner], turned) } else { Ahead::default() };
            for &(number, size, at, pitch) in turned {
                let there = (piece.pointers[number], part.strides[number * loops + inner] as isize);
                let here = (scratch.wrapping_add(at), pitch as isize);
                piece.pointers[number] = here.0;
                piece.strides[number * loops + outer] = pitch as i64;
                piece.strides[number * loops + inner] = size as i64;
                if self.is_read(number) {
                    // SAFETY: the elements of the piece, and the scratch memory of this buffer.
                    unsafe { turn((there.0, there.1), here, (columns_now, rows_now), size, &mut ahead) };
                }
            }
            // SAFETY: a part of the part, with copies in place of what is turned.
            unsafe { self.call(&piece) };
            for &(number, size, at, pitch) in turned.iter().filter(|(number, ..)| self.is_written(*number)) {
                let strides = &part.strides[number * loops..][..loops];
                let moved = strides[outer] * from[0] as i64 + strides[inner] * from[1] as i64;
                let there = (part.pointers[number].wrapping_offset(moved as isize), strides[inner] as isize);
                let here = (scratch.wrapping_add(at).cast_const(), pitch as isize);
                // SAFETY: as above.
                unsafe { turn(here, there, (rows_now, columns_now), size, &mut Ahead::default()) };
            }
            from[1] += columns;
            if from[1] == part.extents[inner] {
                from = [from[0] + rows, 0];
            }
        }
    }

    /// What a piece reads without turning it, to be asked for while the rest is turned.
    fn straight(&self, piece: &Part, [outer, inner]: [usize; 2], turned: &Turned) -> Ahead {
        let loops = piece.extents.len();
        let (rows, columns) = (piece.extents[outer] as usize, piece.extents[inner] as usize);
        let mut ahead = Ahead::default();
        let mut turns = 0;
        for (number, buffer) in
            self.lowered.kernel.buffers.iter().enumerate().filter(|(number, _)| self.is_read(*number))
        {
            let (strides, size) = (&piece.strides[number * loops..][..loops], buffer.dtype.size());
            if turned.iter().any(|(other, ..)| *other == number) {
                turns += squares((columns, rows), size);
            } else if strides[inner] == size as i64 && strides[outer] != 0 {
                ahead.add(piece.pointers[number], strides[outer] as isize, rows, columns * size);
            }
        }
        ahead.share(turns);
        ahead
    }

    fn is_written(&self, buffer: usize) -> bool {
        self.lowered.kernel.buffers[buffer].written
    }

    fn is_read(&self, buffer: usize) -> bool {
        let reads = |op: &KOp| matches!(op, KOp::Load(b, _) if *b as usize == buffer);
        !self.is_written(buffer) || self.lowered.kernel.insts.iter().any(|inst| reads(&inst.op))
    }
}

thread_local! {
    /// Memory for tiles, or for what is packed, kept from call to call.
    pub(super) static SCRATCH: Cell<Lines> = Cell::default();
}
