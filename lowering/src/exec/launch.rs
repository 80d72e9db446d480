//! Kernels of steps: what they are made from, and calling them with what slots hold.

use super::cache::compile;
use super::frame::Frame;
use super::plan::{FuncPlan, Step, StepKind};
use super::value::{Held, Shape, Strides, Target, row_major};
use crate::bools::WORD;
use crate::interp::Interp;
use crate::kernel::{CodeGen, CompiledKernel, KInst, KOp, Kernel, Status};
use crate::lower::{Bound, Lowered, Order, Place, ResultShape, Space, Strided};
use crate::schedule::{
    BlockKernels, Decision, FissionKernels, Halves, Kernels, LEAST_ITEMS, LEAST_POINTS, LEAST_ROWS, LEAST_TURNED,
    ResultLanes, Schedule, Searchers, Threads, Work, facts, is_much, packed_decision, row_blocks, run, run_packed,
    run_parts, written,
};
use rewright_ir::{EvalError, Loc, Name};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, OnceLock};

/// A compiled expression.
pub struct Launch {
    /// The kernel, and what its loops, buffers and parameters are.
    pub lowered: Lowered,
    /// Which code generator made it ready to run.
    pub codegen: &'static str,
    generator: &'static dyn CodeGen,
    /// The same, ready to run.
    pub compiled: Arc<dyn CompiledKernel>,
    /// The same with streaming stores, once they are asked for; none if there are none.
    streaming: OnceLock<Option<Arc<dyn CompiledKernel>>>,
    /// The same that reads nothing once a row, without and with streaming stores, once they are asked for; none if there are none.
    by_point: [OnceLock<Option<Arc<dyn CompiledKernel>>>; 2],
    /// The kernels for parts of a row, once they are asked for; none if there are none.
    halves: OnceLock<Option<Halves>>,
    /// What long rows are searched by, once it is asked for; none if they can't be.
    search: OnceLock<Option<Searchers>>,
    /// What computes the points of short rows first, once it is asked for; none if nothing can.
    fission: OnceLock<Option<FissionKernels>>,
    /// What joins blocks of rows, once it is asked for.
    join: OnceLock<Arc<dyn CompiledKernel>>,
    /// The kernels of blocks of rows, one for each kind of [`ResultLanes`], and the same of whole ones, once they are asked for; none if there are none.
    blocks: [OnceLock<Option<Arc<dyn CompiledKernel>>>; ResultLanes::COUNT],
    whole_blocks: [OnceLock<Option<Arc<dyn CompiledKernel>>>; ResultLanes::COUNT],
    /// The one result is wanted as words of bits; set for kernels of which [`run_packed`] makes these.
    pub packed: bool,
    /// A schedule was given by hand.
    scheduled: bool,
    /// Calls over fewer points run as they are.
    least_points: u64,
    /// How the latest call was run, if that is to be remembered.
    latest: Mutex<Option<Schedule>>,
}

/// Where buffers begin.
pub type Pointers = SmallVec<[*mut u8; 6]>;

/// How calls are run.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// The most threads.
    pub threads: u32,
    /// Whether to remember it.
    pub remember: bool,
    /// The bytes of a band.
    pub band: u64,
}

/// How calls that look alike go.
pub(super) enum Way {
    /// They call a kernel, and that is all: this one where results were not written to before, and this one where they were.
    Kernel([Arc<dyn CompiledKernel>; 2]),
    /// As [`Launch::plain`] does it.
    Plain,
    /// As [`Launch::in_row_blocks`] does it.
    RowBlocks,
    /// How the loops are run is decided for each call.
    Decided,
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Way::Kernel(_) => "Kernel",
            Way::Plain => "Plain",
            Way::RowBlocks => "RowBlocks",
            Way::Decided => "Decided",
        })
    }
}

/// What one call of a kernel covers.
pub struct Extent {
    /// The points.
    pub space: Space,
    /// The results.
    pub results: SmallVec<[ResultShape; 4]>,
    /// The order of axes in which new results had better lie in memory, if not row by row.
    pub order: Option<Order>,
}

impl Extent {
    /// Strides, in bytes, of a new result of this shape: dense, and in the best order.
    pub fn strides(&self, shape: &[usize], size: usize) -> Strides {
        let Some(order) = &self.order else { return row_major(shape, size) };
        let sorted: Shape = order.iter().map(|&axis| shape[axis]).collect();
        let mut strides = Strides::from_elem(0, shape.len());
        order.iter().zip(row_major(&sorted, size)).for_each(|(&axis, stride)| strides[axis] = stride);
        strides
    }
}

impl Launch {
    /// An expression and its kernel, by a code generator.
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
            streaming: OnceLock::new(),
            by_point: Default::default(),
            halves: OnceLock::new(),
            search: OnceLock::new(),
            fission: OnceLock::new(),
            join: OnceLock::new(),
            blocks: Default::default(),
            whole_blocks: Default::default(),
            packed: false,
            scheduled,
            least_points,
            latest: Mutex::new(None),
        }
    }

    /// How the latest call was run, if that was remembered.
    pub fn latest(&self) -> Option<Schedule> {
        self.latest.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// The kernel that reads nothing once a row.
    fn by_point(&self, streaming: bool) -> Option<&Arc<dyn CompiledKernel>> {
        let compile = || {
            let mut kernel = self.lowered.kernel.by_point();
            kernel.wishes.streaming = streaming;
            compile(self.generator, &kernel).ok()
        };
        self.by_point[usize::from(streaming)].get_or_init(compile).as_ref()
    }

    /// The kernel with streaming stores, if the code generator has any; none if it reads again what it wrote, as totals in memory are.
    fn streaming(&self) -> Option<&Arc<dyn CompiledKernel>> {
        let compile = || {
            let mut kernel = self.lowered.kernel.clone();
            let written = |inst: &KInst| matches!(inst.op, KOp::Load(n, _) if kernel.buffers[n as usize].written);
            if kernel.insts.iter().any(written) {
                return None;
            }
            kernel.wishes.streaming = true;
            compile(self.generator, &kernel).ok().filter(|compiled| compiled.streams())
        };
        self.streaming.get_or_init(compile).as_ref()
    }

    /// The kernels for parts of a row, if points are combined so that there are parts.
    pub(super) fn halves(&self) -> Option<&Halves> {
        let compile_both = || {
            let split = self.lowered.kernel.split_fold()?;
            let part = compile(self.generator, &split.part).ok()?;
            // It is run on a few points: every code generator will do, and the interpreter begins at once.
            let join = compile(&Interp, &split.join).ok()?;
            Some(Halves { part, join, totals: split.totals })
        };
        self.halves.get_or_init(compile_both).as_ref()
    }

    /// What long rows are searched by, if all that is combined is a value and its position.
    fn search(&self) -> Option<&Searchers> {
        let compile_all = || {
            let search = self.lowered.kernel.search()?;
            let compile_one = |kernel| compile(self.generator, kernel).ok();
            let (values, part) = (compile_one(&search.values)?, compile_one(&search.part)?);
            Some(Searchers { values, part, pick: compile_one(&search.pick)?, join: compile_one(&search.join)? })
        };
        self.search.get_or_init(compile_all).as_ref()
    }

    /// What computes what points give, and what combines it, if that can be done.
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

    /// The same, if that was decided.
    pub(super) fn fission_for(&self, decision: &Decision) -> Option<&FissionKernels> {
        if decision.has_fission() { self.fission() } else { None }
    }

    /// How a call runs, by threads that are ready.
    fn decide(&self, bound: &Bound, first: &[*mut u8], used: bool, threads: Threads) -> Decision {
        let kernels = Kernels { compiled: &*self.compiled, fission: &|| self.fission() };
        Decision::new(&self.lowered, &kernels, bound, first, used, threads, facts())
    }

    /// What runs rows in blocks, if a call with these loops has several.
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

    /// What a call with the operands that a frame holds covers; `None` if something does not fit.
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

    /// The loops of a call, and where each buffer begins: in the operands that a frame holds, and in the targets.
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
            // One after the other, as they are written before they are packed.
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
        Ok((bound, pointers))
    }

    /// True if calls over so many points run as they are, without a schedule.
    fn is_small(&self, bound: &Bound, points: u64) -> bool {
        let rows = points / bound.extents.last().map_or(1, |&extent| extent.max(1));
        points < self.least_points && rows < LEAST_ROWS && !self.scheduled
    }

    /// True if its calls may be run in parts, as goes with other kernels: nobody says how, and results are what the kernel writes.
    pub(super) fn is_plain(&self) -> bool {
        !self.scheduled && !self.packed
    }

    /// Why its bools can't become words where they are made; none if they can.
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

    /// True if a result may be written with these strides.
    pub(super) fn may_write(&self, strides: &[isize]) -> bool {
        !self.packed || strides == [size_of::<u64>() as isize]
    }

    /// The kernel, with streaming stores if these are wanted and the code generator has any.
    pub(super) fn kernel(&self, stream: bool) -> &dyn CompiledKernel {
        let streaming = if stream { self.streaming() } else { None };
        &**streaming.unwrap_or(&self.compiled)
    }

    /// Runs the kernel at every point, reading the operands in the frame and writing to `targets`, one a result.
    ///
    /// # Safety
    /// `extent` is what [`extent`](Launch::extent) gave for what the frame holds. Each target has a place, valid to write, for each
    /// element of its result's shape and dtype, and none of these is an element that is read, or of another target.
    pub unsafe fn run(
        &self,
        plan: &FuncPlan,
        frame: &Frame,
        step: &Step,
        extent: &Extent,
        targets: &[Target],
        how: How,
    ) -> Result<(), EvalError> {
        if extent.space.points == 0 {
            return Ok(());
        }
        let (bound, pointers) = self.prepare(plan, frame, step, extent, targets)?;
        let params = self.lowered.param_words(&extent.space, |arg| operand(frame, step, arg)?.scalar().ok());
        let params = params.ok_or_else(wrong_kind)?;
        // SAFETY: `bind` and `param_words` gave an entry for each loop, buffer and parameter. Operands have the dtypes that the kernel
        // reads, and `space` has admitted only positions inside of their extents, where elements are valid to read while the frame
        // holds them. The targets are the caller's promise: valid to write, and apart from all else.
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

    /// Runs the kernel as it is.
    ///
    /// # Safety
    /// As [`CompiledKernel::call`], with an entry for each loop, buffer and parameter.
    pub(super) unsafe fn plain(&self, bound: &Bound, pointers: &[*mut u8], params: &[u64]) -> Status {
        if self.packed {
            let work = Work::of(&*self.compiled, &self.lowered, bound, pointers, params);
            // SAFETY: passed on; the kernel is one that `not_to_pack` has nothing against.
            unsafe { run_packed(&work, 1) };
            return Status::default();
        }
        // SAFETY: passed on.
        unsafe { self.compiled.run(&bound.extents, pointers, &bound.strides, params) }
    }

    /// Runs the kernel as it is, on one block of rows after the other.
    ///
    /// # Safety
    /// As [`plain`](Launch::plain).
    pub(super) unsafe fn in_row_blocks(&self, bound: &Bound, pointers: &[*mut u8], params: &[u64]) -> Status {
        let (kernel, blocks) = (&*self.compiled, self.block_kernels(bound));
        let work = Work { blocks, ..Work::of(kernel, &self.lowered, bound, pointers, params) };
        // SAFETY: passed on.
        unsafe { run(&work, &Decision::default()) }
    }

    /// How calls with these loops go, wherever elements are.
    pub(super) fn way(&self, bound: &Bound, points: u64, how: How) -> Way {
        let in_blocks = row_blocks::has_blocks(&self.lowered, bound);
        if in_blocks && self.is_small(bound, points) && !how.remember {
            return Way::RowBlocks;
        }
        if self.is_small(bound, points) && !how.remember {
            let kernel = || self.compiled.clone();
            return if self.packed { Way::Plain } else { Way::Kernel([kernel(), kernel()]) };
        }
        let most = if Decision::may_share(&self.lowered, bound) { how.threads } else { 1 };
        let is_one = self.lowered.wish.threads.is_none() && Threads::are_one(self.lowered.nanos(bound), most);
        let kernel = |used| {
            // For one thread addresses do not matter.
            let decision = self.decide(bound, &[], used, Threads::ONE);
            let streams = Decision { stream: true, ..Decision::default() };
            match decision {
                _ if decision == Decision::default() => Some(self.compiled.clone()),
                _ if decision == streams => Some(self.streaming().unwrap_or(&self.compiled).clone()),
                _ => None,
            }
        };
        let kernels = || Some([kernel(false)?, kernel(true)?]);
        let kernels = if is_one && !self.packed && !how.remember { kernels() } else { None };
        match kernels {
            Some(_) if in_blocks => Way::RowBlocks,
            Some(kernels) => Way::Kernel(kernels),
            None => Way::Decided,
        }
    }

    /// Runs the kernel by the schedule that is decided for these loops; `used` says whether results were written to before.
    ///
    /// # Safety
    /// As [`CompiledKernel::call`], with an entry for each loop, buffer and parameter; buffers that are written are apart from the others.
    pub(super) unsafe fn scheduled(
        &self,
        bound: &Bound,
        pointers: &[*mut u8],
        params: &[u64],
        used: bool,
        how: How,
    ) -> Status {
        // Of one that can't be shared nobody need be ready.
        let most = if Decision::may_share(&self.lowered, bound) { how.threads } else { 1 };
        let threads = Threads::now(self.lowered.nanos(bound), most);
        if self.packed {
            // SAFETY: passed on.
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
        let work = Work { blocks, search, fission, ..Work::of(kernel, &self.lowered, bound, pointers, params) };
        // SAFETY: passed on. Loops along axes that `apart` names write to different elements, as their strides in results are not 0
        // and results are no views in which elements overlap.
        unsafe {
            match (decision.parts, halves) {
                (Some((threads, parts)), Some(halves)) => {
                    // Only kernels that can't fail are run in parts.
                    run_parts(&work, halves, parts, threads);
                    Status::default()
                }
                _ => run(&work, &decision),
            }
        }
    }

    /// How a part of a call with these loops is run, by one thread; `stream` says whether results go past the caches.
    pub(super) fn decide_part(&self, bound: &Bound, stream: bool) -> Decision {
        // For one thread addresses do not matter.
        let decision = self.decide(bound, &[], true, Threads::ONE);
        self.with_kernels(Decision { stream, search: None, ..decision })
    }

    /// Without what there is no kernel for.
    fn with_kernels(&self, mut decision: Decision) -> Decision {
        decision.stream = decision.stream && self.streaming().is_some();
        if decision.by_point && self.by_point(decision.stream).is_none() {
            (decision.by_point, decision.sequence) = Default::default();
        }
        decision
    }

    /// The kernel that a decision is for.
    pub(super) fn kernel_for(&self, decision: &Decision) -> &dyn CompiledKernel {
        let by_point = decision.by_point.then(|| self.by_point(decision.stream));
        match by_point.flatten() {
            Some(kernel) => &**kernel,
            None => self.kernel(decision.stream),
        }
    }

    /// The same of bools that become words.
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
        // SAFETY: passed on; the kernel is one that `not_to_pack` has nothing against.
        unsafe { run_packed(&work, threads) };
        Status::default()
    }

    /// The error of a failed instruction. A kernel is shared by equal ones, written elsewhere: the place is this one's.
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

/// The shapes of words of bools of these shapes; none if bools are filled in where the kernel writes none.
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

/// The operands as a kernel's binding sees them.
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
