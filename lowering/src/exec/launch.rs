//! Launches of kernels: a compiled expression, its variants, and calls with the contents of slots.

use super::cache::compile;
use super::frame::Frame;
use super::interleaved::interleaved;
use super::plan::{FuncPlan, Step, StepKind};
use super::value::{Held, Shape, Strides, Target, row_major};
use crate::bools::WORD;
use crate::interp::Interp;
use crate::kernel::{CodeGen, CompiledKernel, Interleaved, KInst, KOp, Kernel, Status};
use crate::lower::{Bound, Lowered, Order, Place, ResultShape, Space, Strided};
use crate::schedule::{
    Block, BlockKernels, Decision, FissionKernels, Halves, JAMMED_ROWS, JammedKernel, Kernels, LEAST_ITEMS,
    LEAST_POINTS, LEAST_ROWS, LEAST_TURNED, ResultLanes, Schedule, Searchers, Threads, Work, facts, is_much,
    packed_decision, row_blocks, run, run_packed, run_parts, written,
};
use rewright_ir::{EvalError, Loc, Name};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// A compiled expression.
pub struct Launch {
    /// The kernel, and the meaning of its loops, buffers and parameters.
    pub lowered: Lowered,
    /// The name of the code generator that compiled it.
    pub codegen: &'static str,
    generator: &'static dyn CodeGen,
    /// The compiled kernel.
    pub compiled: Arc<dyn CompiledKernel>,
    /// The kernel for the first interleaved buffers of a call.
    interleaved: OnceLock<ForInterleaved>,
    /// The variant with streaming stores, compiled on demand; none if it is not possible.
    streaming: OnceLock<Option<Arc<dyn CompiledKernel>>>,
    /// The variant that hoists no loads out of the innermost loop, without and with streaming stores;
    /// compiled on demand.
    by_point: [OnceLock<Option<Arc<dyn CompiledKernel>>>; 2],
    /// The kernels for parts of a row, compiled on demand; none if it is not possible.
    halves: OnceLock<Option<Halves>>,
    /// The kernels for block-wise search of long rows, compiled on demand; none if it is not possible.
    search: OnceLock<Option<Searchers>>,
    /// The kernels of the fission of map and reduction, compiled on demand; none if it is not possible.
    fission: OnceLock<Option<FissionKernels>>,
    /// The kernel that computes several rows at once, compiled on demand; none if it is not possible.
    jammed: OnceLock<Option<JammedKernel>>,
    /// The kernel that joins blocks of rows, compiled on demand.
    join: OnceLock<Arc<dyn CompiledKernel>>,
    /// The kernels for blocks of rows and for whole blocks, one for each variant of [`ResultLanes`],
    /// compiled on demand.
    blocks: [OnceLock<Option<Arc<dyn CompiledKernel>>>; ResultLanes::COUNT],
    whole_blocks: [OnceLock<Option<Arc<dyn CompiledKernel>>>; ResultLanes::COUNT],
    /// Whether the only result is wanted as words of bits, which [`run_packed`] makes of the kernel's bools.
    pub packed: bool,
    /// Whether a schedule was given by hand.
    scheduled: bool,
    /// Calls over fewer points run without a schedule.
    least_points: u64,
    /// The schedule of the latest call, if it is to be remembered.
    latest: Mutex<Option<Schedule>>,
    /// Whether there was a call.
    has_run: AtomicBool,
}

/// A kernel with a version for interleaved buffers.
struct ForInterleaved {
    buffers: Vec<Interleaved>,
    /// None if the code generator has none.
    compiled: Option<Arc<dyn CompiledKernel>>,
}

/// The address of the first point's element, for each buffer.
pub type Pointers = SmallVec<[*mut u8; 6]>;

/// Options for running kernels.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// The upper bound of threads.
    pub threads: u32,
    /// Whether to remember the schedule.
    pub remember: bool,
    /// The bytes that a band of rows should take.
    pub band: u64,
}

/// The kind of calls with the same loops.
pub(super) enum CallKind {
    /// A plain kernel call: the first kernel if the results' memory was not written before, otherwise the
    /// second.
    Kernel([Arc<dyn CompiledKernel>; 2]),
    /// As [`Launch::plain`] runs it.
    Plain,
    /// As [`Launch::in_row_blocks`] runs it.
    RowBlocks,
    /// The schedule is decided for each call.
    Decided,
}

impl std::fmt::Debug for CallKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            CallKind::Kernel(_) => "Kernel",
            CallKind::Plain => "Plain",
            CallKind::RowBlocks => "RowBlocks",
            CallKind::Decided => "Decided",
        })
    }
}

/// The points and results of one call of a kernel.
pub struct Extent {
    /// The points.
    pub space: Space,
    /// The results.
    pub results: SmallVec<[ResultShape; 4]>,
    /// The axes in the preferred memory order of new results, if that is not row-major.
    pub order: Option<Order>,
}

impl Extent {
    /// The strides, in bytes, of a new contiguous result of this shape, in the preferred order of axes.
    pub fn strides(&self, shape: &[usize], size: usize) -> Strides {
        let Some(order) = &self.order else { return row_major(shape, size) };
        let sorted: Shape = order.iter().map(|&axis| shape[axis]).collect();
        let mut strides = Strides::from_elem(0, shape.len());
        order.iter().zip(row_major(&sorted, size)).for_each(|(&axis, stride)| strides[axis] = stride);
        strides
    }
}

impl Launch {
    /// A lowered expression with its compiled kernel.
    pub(super) fn new(lowered: Lowered, generator: &'static dyn CodeGen, compiled: Arc<dyn CompiledKernel>) -> Launch {
        let (codegen, scheduled) = (generator.name(), lowered.wish != Schedule::default());
        let turns = compiled.packing().is_some_and(|packing| packing.row_nanos.is_some());
        let computes = lowered.item_work.as_ref().is_some_and(is_much);
        let least_points = match (turns, computes) {
            (true, _) => LEAST_TURNED,
            (false, true) => LEAST_ITEMS,
            (false, false) => LEAST_POINTS,
        };
        Launch {
            lowered,
            codegen,
            generator,
            compiled,
            interleaved: OnceLock::new(),
            streaming: OnceLock::new(),
            by_point: Default::default(),
            halves: OnceLock::new(),
            search: OnceLock::new(),
            fission: OnceLock::new(),
            jammed: OnceLock::new(),
            join: OnceLock::new(),
            blocks: Default::default(),
            whole_blocks: Default::default(),
            packed: false,
            scheduled,
            least_points,
            latest: Mutex::new(None),
            has_run: AtomicBool::new(false),
        }
    }

    /// Whether [`run`](Launch::run) was called.
    pub fn has_run(&self) -> bool {
        self.has_run.load(Ordering::Relaxed)
    }

    /// The schedule of the latest call, if it was remembered.
    pub fn latest(&self) -> Option<Schedule> {
        self.latest.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// The variant of the kernel that hoists no loads out of the innermost loop.
    fn by_point(&self, streaming: bool) -> Option<&Arc<dyn CompiledKernel>> {
        let compile = || {
            let mut kernel = self.lowered.kernel.by_point();
            kernel.wishes.streaming = streaming;
            compile(self.generator, &kernel).ok()
        };
        self.by_point[usize::from(streaming)].get_or_init(compile).as_ref()
    }

    /// The variant with streaming stores, if the code generator has them. There is none if the kernel loads
    /// what it stored, as accumulators in memory do.
    fn streaming(&self) -> Option<&Arc<dyn CompiledKernel>> {
        let compile = || {
            let mut kernel = self.lowered.kernel.clone();
            kernel.interleaved = self.interleaved.get().map_or_else(Vec::new, |version| version.buffers.clone());
            let written = |inst: &KInst| matches!(inst.op, KOp::Load(n, _) if kernel.buffers[n as usize].written);
            if kernel.insts.iter().any(written) {
                return None;
            }
            kernel.wishes.streaming = true;
            compile(self.generator, &kernel).ok().filter(|compiled| compiled.streams())
        };
        self.streaming.get_or_init(compile).as_ref()
    }

    /// The kernels for parts of a row, if the order of combination has parts.
    pub(super) fn halves(&self) -> Option<&Halves> {
        let compile_both = || {
            let split = self.lowered.kernel.split_fold()?;
            let part = compile(self.generator, &split.part).ok()?;
            // It joins a few points only: any code generator will do, and the interpreter needs no
            // compilation.
            let join = compile(&Interp, &split.join).ok()?;
            Some(Halves { part, join, totals: split.totals })
        };
        self.halves.get_or_init(compile_both).as_ref()
    }

    /// The kernels for block-wise search of long rows, if the reduction combines only a value and its
    /// position.
    fn search(&self) -> Option<&Searchers> {
        let compile_all = || {
            let search = self.lowered.kernel.search()?;
            let compile_one = |kernel| compile(self.generator, kernel).ok();
            let (values, part) = (compile_one(&search.values)?, compile_one(&search.part)?);
            Some(Searchers { values, part, pick: compile_one(&search.pick)?, join: compile_one(&search.join)? })
        };
        self.search.get_or_init(compile_all).as_ref()
    }

    /// The kernels of the fission of map and reduction, if it is possible.
    fn fission(&self) -> Option<&FissionKernels> {
        let compile_both = || {
            let split = self.lowered.kernel.split_items()?;
            let compile_one = |kernel| compile(self.generator, kernel).ok();
            let (items, fold) = (compile_one(&split.items)?, compile_one(&split.fold)?);
            let positions = self.lowered.item_work.is_some_and(|work| work.positions);
            let sizes = split.dtypes.iter().map(|dtype| dtype.size()).collect();
            let [read, combined] = [&split.items, &split.fold].map(Kernel::used_buffers);
            let own = 0..self.lowered.kernel.buffers.len();
            let reads = own.clone().filter(|&number| read[number]).collect();
            let unused = own.filter(|&number| !read[number] && !combined[number]).collect();
            Some(FissionKernels { items, fold, reads, unused, sizes, positions })
        };
        self.fission.get_or_init(compile_both).as_ref()
    }

    /// The fission kernels, if the decision uses them.
    pub(super) fn fission_for(&self, decision: &Decision) -> Option<&FissionKernels> {
        if decision.has_fission() { self.fission() } else { None }
    }

    /// The kernel that computes several rows at once: as many as a given schedule says, or as the code
    /// generator has registers for.
    fn jammed(&self) -> Option<&JammedKernel> {
        let compile_one = |by: u64| {
            let jammed = self.lowered.kernel.jammed(self.lowered.kernel.axes.checked_sub(2)?, by as usize)?;
            Some(JammedKernel { by, compiled: compile(self.generator, &jammed).ok()? })
        };
        let given = self.lowered.wish.blocks.iter().flatten();
        let given = { given }.find_map(|block| if let Block::Jam { by, .. } = block { Some(*by) } else { None });
        let compile_some = || match given {
            Some(by) => compile_one(by),
            None => JAMMED_ROWS.into_iter().filter_map(compile_one).find(|jammed| jammed.compiled.holds_totals()),
        };
        self.jammed.get_or_init(compile_some).as_ref()
    }

    /// The kernel that computes several rows at once, if the decision uses it.
    pub(super) fn jammed_for(&self, decision: &Decision) -> Option<&dyn CompiledKernel> {
        if decision.has_jam() { Some(&*self.jammed()?.compiled) } else { None }
    }

    /// Decides the schedule of a call for the available threads.
    fn decide(&self, bound: &Bound, first: &[*mut u8], used: bool, threads: Threads) -> Decision {
        let kernels = Kernels { compiled: &*self.compiled, fission: &|| self.fission(), jammed: &|| self.jammed() };
        Decision::new(&self.lowered, &kernels, bound, first, used, threads, facts())
    }

    /// The kernels for blocks of rows, if a call with these loops has several blocks.
    fn block_kernels(&self, bound: &Bound) -> Option<BlockKernels<'_>> {
        let join = &self.lowered.block_join.as_ref()?.join;
        if !row_blocks::has_blocks(&self.lowered, bound) {
            return None;
        }
        let lanes = ResultLanes::of(&self.lowered, bound);
        let compile_some = |kernel: Option<Kernel>| compile(self.generator, &kernel?).ok();
        let compile_blocks = || compile_some(row_blocks::of_blocks(&self.lowered, lanes));
        let compile_whole = || compile_some(row_blocks::of_whole_blocks(&self.lowered, lanes));
        let compile_join = || {
            let compiled = compile(self.generator, join).or_else(|_| compile(&Interp, join));
            compiled.expect("the interpreter takes every kernel that is well formed")
        };
        let number = lanes.number();
        Some(BlockKernels {
            blocks: self.blocks[number].get_or_init(compile_blocks).as_ref(),
            whole_blocks: self.whole_blocks[number].get_or_init(compile_whole).as_ref(),
            narrow: lanes == ResultLanes::Narrow,
            join: self.join.get_or_init(compile_join),
        })
    }

    /// The extent of a call with the operands in a frame; `None` if operands do not fit.
    pub fn extent(&self, plan: &FuncPlan, frame: &Frame, step: &Step) -> Option<Extent> {
        let symbols = |name: Name| symbol(plan, frame, name);
        let args = operands(frame, step);
        let space = self.lowered.space(&args, &symbols)?;
        if !self.lowered.has_even_rows(&space, &args, &symbols)? {
            return None;
        }
        let results = 0..self.lowered.results.len();
        let results = results.map(|r| self.lowered.result_shape(r, &space, &symbols)).collect::<Option<_>>()?;
        let results = if self.packed { words(results)? } else { results };
        let row_major = matches!(&step.kind, StepKind::Kernel(kernel) if kernel.row_major);
        let order = if row_major { None } else { self.lowered.memory_order(&space, &args) };
        Some(Extent { space, results, order })
    }

    /// The loops of a call, and the address of each buffer, in the operands of the frame or in the targets.
    pub fn prepare(
        &self,
        plan: &FuncPlan,
        frame: &Frame,
        step: &Step,
        extent: &Extent,
        targets: &[Target],
    ) -> Result<(Bound, Pointers), EvalError> {
        let symbols = |name: Name| symbol(plan, frame, name);
        let bools = if self.packed { self.lowered.result_shape(0, &extent.space, &symbols) } else { None };
        let results: SmallVec<[Strided<'_>; 4]> = match &bools {
            // The kernel writes contiguous bools before they are packed.
            Some(bools) => SmallVec::from_iter([Strided { shape: &bools.shape, strides: &[1], unit: 1 }]),
            None => targets
                .iter()
                .zip(&extent.results)
                .map(|(target, result)| Strided { shape: &result.shape, strides: &target.strides, unit: 1 })
                .collect(),
        };
        let bound = self.lowered.bind(&extent.space, &operands(frame, step), &results, &symbols);
        let bound = bound.ok_or_else(|| EvalError::shape("an operand can't be addressed"))?;
        let mut pointers = Pointers::new();
        for ((access, &offset), buffer) in
            self.lowered.accesses.iter().zip(&bound.offsets).zip(&self.lowered.kernel.buffers)
        {
            let (dtype, start) = match access.place {
                Place::Result(n) => (self.lowered.results[n as usize].dtype, targets[n as usize].pointer),
                Place::Arg(n) => match operand(frame, step, n).and_then(Held::place) {
                    Some(place) => (place.dtype, place.pointer.cast_mut()),
                    None => return Err(wrong_kind()),
                },
            };
            if dtype != buffer.dtype {
                return Err(wrong_kind());
            }
            pointers.push(start.wrapping_offset(offset));
        }
        if self.interleaved.get().is_none() {
            let buffers = interleaved(&self.lowered.kernel, &bound, &pointers);
            if !buffers.is_empty() {
                let kernel = Kernel { interleaved: buffers.clone(), ..self.lowered.kernel.clone() };
                let compile = || compile(self.generator, &kernel).ok();
                self.interleaved.get_or_init(|| ForInterleaved { buffers, compiled: compile() });
            }
        }
        Ok((bound, pointers))
    }

    /// The kernel, with a version for interleaved buffers if calls have some.
    fn compiled(&self) -> &Arc<dyn CompiledKernel> {
        self.interleaved.get().and_then(|version| version.compiled.as_ref()).unwrap_or(&self.compiled)
    }

    /// Whether calls over this number of points run without a schedule.
    fn is_small(&self, bound: &Bound, points: u64) -> bool {
        let rows = points / bound.extents.last().map_or(1, |&extent| extent.max(1));
        points < self.least_points && rows < LEAST_ROWS && !self.scheduled
    }

    /// Whether calls may be split or fused with other kernels: no schedule is given, and the kernel writes
    /// the results themselves.
    pub(super) fn is_plain(&self) -> bool {
        !self.scheduled && !self.packed
    }

    /// The reason for which the kernel's bools can't be packed as they are computed; none if they can.
    pub(super) fn not_to_pack(&self) -> Option<&'static str> {
        let (lowered, kernel) = (&self.lowered, &self.lowered.kernel);
        let stores = kernel.insts.iter().filter(|inst| matches!(inst.op, KOp::Store(..))).count();
        let one = matches!(&lowered.results[..], [only] if only.fill.is_none() && only.axes[..] == [Some(0)]);
        if self.scheduled {
            Some("a schedule is given for them")
        } else if lowered.fallible {
            Some("a point may fail")
        } else if kernel.fold.is_some() || kernel.axes != 1 {
            Some("they are computed in several loops")
        } else if !one || stores != 1 || written(kernel).is_none() {
            Some("they are not written one after the other, each once")
        } else {
            None
        }
    }

    /// Whether a result may be written with these strides.
    pub(super) fn may_write(&self, strides: &[isize]) -> bool {
        !self.packed || strides == [size_of::<u64>() as isize]
    }

    /// The kernel, with streaming stores if they are wanted and the code generator has them.
    pub(super) fn kernel(&self, stream: bool) -> &dyn CompiledKernel {
        let streaming = if stream { self.streaming() } else { None };
        &**streaming.unwrap_or(self.compiled())
    }

    /// Runs the kernel at every point. It reads the operands in the frame, and writes each result to its
    /// target.
    ///
    /// # Safety
    /// `extent` is the result of [`extent`](Launch::extent) for this frame. Each target is valid to write
    /// for each element of its result's shape and dtype, and aliases neither elements that are read nor
    /// another target.
    pub unsafe fn run(
        &self,
        plan: &FuncPlan,
        frame: &Frame,
        step: &Step,
        extent: &Extent,
        targets: &[Target],
        how: How,
    ) -> Result<(), EvalError> {
        self.has_run.store(true, Ordering::Relaxed);
        if extent.space.points == 0 {
            return Ok(());
        }
        let (bound, pointers) = self.prepare(plan, frame, step, extent, targets)?;
        let params = self.lowered.param_words(&extent.space, |arg| operand(frame, step, arg)?.scalar().ok());
        let params = params.ok_or_else(wrong_kind)?;
        // SAFETY: `bind` and `param_words` gave an entry for each loop, buffer and parameter. Operands have
        // the dtypes that the kernel reads. `space` has admitted only positions inside of their extents,
        // where elements are valid to read while the frame holds them. The caller promises that the targets
        // are valid to write and alias nothing else.
        let status = unsafe {
            if self.is_small(&bound, extent.space.points) && !how.remember {
                match row_blocks::has_blocks(&self.lowered, &bound) {
                    true => self.in_row_blocks(&bound, &pointers, &params),
                    false => self.plain(&bound, &pointers, &params),
                }
            } else {
                let used = targets.iter().all(|target| target.used);
                self.scheduled(&bound, &pointers, &params, used, how)
            }
        };
        match status.failed {
            0 => Ok(()),
            failed => Err(self.failure(failed, status.error)),
        }
    }

    /// Runs the kernel without a schedule.
    ///
    /// # Safety
    /// As [`CompiledKernel::call`], with an entry for each loop, buffer and parameter.
    pub(super) unsafe fn plain(&self, bound: &Bound, pointers: &[*mut u8], params: &[u64]) -> Status {
        if self.packed {
            let work = Work::of(&*self.compiled, &self.lowered, bound, pointers, params);
            // SAFETY: forwarded; `not_to_pack` has no objection to the kernel.
            unsafe { run_packed(&work, 1) };
            return Status::default();
        }
        // SAFETY: forwarded.
        unsafe { self.compiled().run(&bound.extents, pointers, &bound.strides, params) }
    }

    /// Runs the kernel without a schedule, in blocks of rows.
    ///
    /// # Safety
    /// As [`plain`](Launch::plain).
    pub(super) unsafe fn in_row_blocks(&self, bound: &Bound, pointers: &[*mut u8], params: &[u64]) -> Status {
        let (kernel, blocks) = (&*self.compiled, self.block_kernels(bound));
        let work = Work { blocks, ..Work::of(kernel, &self.lowered, bound, pointers, params) };
        // SAFETY: forwarded.
        unsafe { run(&work, &Decision::default()) }
    }

    /// The kind of calls with these loops, for any addresses.
    pub(super) fn call_kind(&self, bound: &Bound, points: u64, how: How) -> CallKind {
        let in_blocks = row_blocks::has_blocks(&self.lowered, bound);
        if in_blocks && self.is_small(bound, points) && !how.remember {
            return CallKind::RowBlocks;
        }
        if self.is_small(bound, points) && !how.remember {
            let kernel = || self.compiled().clone();
            return if self.packed { CallKind::Plain } else { CallKind::Kernel([kernel(), kernel()]) };
        }
        let most = if Decision::may_share(&self.lowered, bound) { how.threads } else { 1 };
        let is_one = self.lowered.wish.threads.is_none() && Threads::are_one(self.lowered.nanos(bound), most);
        let kernel = |used| {
            // Addresses do not matter for one thread.
            let decision = self.decide(bound, &[], used, Threads::ONE);
            let streams = Decision { stream: true, ..Decision::default() };
            match decision {
                _ if decision == Decision::default() => Some(self.compiled().clone()),
                _ if decision == streams => Some(self.streaming().unwrap_or(self.compiled()).clone()),
                _ => None,
            }
        };
        let kernels = || Some([kernel(false)?, kernel(true)?]);
        let kernels = if is_one && !self.packed && !how.remember { kernels() } else { None };
        match kernels {
            Some(_) if in_blocks => CallKind::RowBlocks,
            Some(kernels) => CallKind::Kernel(kernels),
            None => CallKind::Decided,
        }
    }

    /// Decides a schedule for these loops and runs it. `used` says whether the results' memory was written
    /// before.
    ///
    /// # Safety
    /// As [`CompiledKernel::call`], with an entry for each loop, buffer and parameter. Written buffers alias
    /// no other buffer.
    pub(super) unsafe fn scheduled(
        &self,
        bound: &Bound,
        pointers: &[*mut u8],
        params: &[u64],
        used: bool,
        how: How,
    ) -> Status {
        // A call that can't be shared needs no other thread.
        let most = if Decision::may_share(&self.lowered, bound) { how.threads } else { 1 };
        let threads = Threads::now(self.lowered.nanos(bound), most);
        if self.packed {
            // SAFETY: forwarded.
            return unsafe { self.scheduled_packed(bound, pointers, params, threads, how) };
        }
        let mut decision = self.decide(bound, pointers, used, threads);
        if let Some(why) = decision.refused {
            return Status { failed: u64::MAX, error: Some(Box::new(EvalError::value(why))) };
        }
        let halves = if decision.parts.is_some() { self.halves() } else { None };
        decision.parts = decision.parts.filter(|_| halves.is_some());
        let search = if decision.search.is_some() { self.search() } else { None };
        decision.search = decision.search.filter(|_| search.is_some());
        let decision = self.with_kernels(decision);
        let kernel = self.kernel_for(&decision);
        if how.remember {
            let schedule = decision.schedule(&self.lowered, bound, kernel);
            *self.latest.lock().unwrap_or_else(|e| e.into_inner()) = Some(schedule);
        }
        let blocks = self.block_kernels(bound);
        let fission = self.fission_for(&decision);
        let jammed = self.jammed_for(&decision);
        let work = Work { blocks, search, fission, jammed, ..Work::of(kernel, &self.lowered, bound, pointers, params) };
        // SAFETY: forwarded. The iterations of loops along axes that `apart` names write disjoint elements:
        // their strides in results are not 0, and results are not views with overlapping elements.
        unsafe {
            match (decision.parts, halves) {
                (Some((threads, parts)), Some(halves)) => {
                    // Only kernels that can't fail run in parts.
                    run_parts(&work, halves, parts, threads);
                    Status::default()
                }
                _ => run(&work, &decision),
            }
        }
    }

    /// The schedule of a part of a call with these loops on one thread. `stream` says whether to use
    /// streaming stores.
    pub(super) fn decide_part(&self, bound: &Bound, stream: bool) -> Decision {
        // Addresses do not matter for one thread.
        let decision = self.decide(bound, &[], true, Threads::ONE);
        self.with_kernels(Decision { stream, search: None, ..decision })
    }

    /// Removes from a decision the variants that have no kernel.
    fn with_kernels(&self, mut decision: Decision) -> Decision {
        decision.stream = decision.stream && self.streaming().is_some();
        if decision.by_point && self.by_point(decision.stream).is_none() {
            (decision.by_point, decision.sequence) = Default::default();
        }
        decision
    }

    /// The kernel for a decision.
    pub(super) fn kernel_for(&self, decision: &Decision) -> &dyn CompiledKernel {
        let by_point = decision.by_point.then(|| self.by_point(decision.stream));
        match by_point.flatten() {
            Some(kernel) => &**kernel,
            None => self.kernel(decision.stream),
        }
    }

    /// As [`scheduled`](Launch::scheduled), for bools that become words.
    ///
    /// # Safety
    /// As [`scheduled`](Launch::scheduled).
    unsafe fn scheduled_packed(
        &self,
        bound: &Bound,
        pointers: &[*mut u8],
        params: &[u64],
        threads: Threads,
        how: How,
    ) -> Status {
        let threads = threads.worth(self.lowered.nanos(bound));
        if how.remember {
            let schedule = packed_decision(threads).schedule(&self.lowered, bound, &*self.compiled);
            *self.latest.lock().unwrap_or_else(|e| e.into_inner()) = Some(schedule);
        }
        let work = Work::of(&*self.compiled, &self.lowered, bound, pointers, params);
        // SAFETY: forwarded; `not_to_pack` has no objection to the kernel.
        unsafe { run_packed(&work, threads) };
        Status::default()
    }

    /// The error of a failed instruction. Equal kernels share their code, so the source location is taken
    /// from this kernel.
    #[cold]
    fn failure(&self, failed: u64, error: Option<Box<EvalError>>) -> EvalError {
        let error = error.map_or_else(|| EvalError::value("can't be computed"), |e| *e);
        let inst = usize::try_from(failed - 1).ok().and_then(|n| self.lowered.kernel.insts.get(n));
        match inst.map(|inst| (&inst.op, inst.loc)) {
            Some((KOp::Reference(r), loc)) => EvalError { op: None, loc: Loc::default(), ..error }.at(r.op.name, loc),
            _ => error,
        }
    }
}

/// The shapes of the packed words for these shapes of bools; none if a result is filled where the kernel
/// writes nothing.
fn words(bools: SmallVec<[ResultShape; 4]>) -> Option<SmallVec<[ResultShape; 4]>> {
    let word = |mut result: ResultShape| {
        let last = result.shape.last_mut().filter(|_| result.fill.is_none())?;
        *last = last.div_ceil(WORD);
        Some(result)
    };
    bools.into_iter().map(word).collect()
}

#[cold]
fn wrong_kind() -> EvalError {
    EvalError::value("an operand holds no value of its type")
}

pub(super) fn symbol(plan: &FuncPlan, frame: &Frame, name: Name) -> Option<i64> {
    i64::try_from(frame.symbols[plan.symbol(name)?]?.0).ok()
}

fn operand<'f>(frame: &'f Frame, step: &Step, number: u32) -> Option<&'f Held> {
    Some(&frame.slots[step.args.get(number as usize)?.0 as usize])
}

/// The place of the elements of an operand that is an array.
pub(super) fn place_of<'f>(frame: &'f Frame, step: &Step, number: u32) -> Option<super::value::Place<'f>> {
    operand(frame, step, number)?.place()
}

/// The operands as the kernel's `bind` takes them.
pub(super) fn operands<'f>(frame: &'f Frame, step: &Step) -> SmallVec<[Strided<'f>; 4]> {
    let strided = |held: &'f Held| match held.place() {
        Some(place) => Strided { shape: place.shape, strides: place.strides, unit: place.unit },
        None => Strided::default(),
    };
    step.args.iter().map(|slot| strided(&frame.slots[slot.0 as usize])).collect()
}

impl std::fmt::Debug for Launch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Launch").field("lowered", &self.lowered).finish_non_exhaustive()
    }
}
