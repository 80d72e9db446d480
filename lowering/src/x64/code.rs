//! Compiled kernels: the driver of the code generator, and machine code in memory.

use super::allocate::Writer;
use super::asm::Asm;
use super::bytes::ByteSums;
use super::call::Cold;
use super::copies::Copies;
use super::fold::Folding;
use super::frame::Frame;
use super::interleaved::{Guard, has_vectors};
use super::listing::Listing;
use super::machine::Segment;
use super::memory::CodeMemory;
use super::nest::Places;
use super::pieces::Pieces;
use super::prepared::Prepared;
use super::round_plan::RoundPlan;
use super::select::steps::StepSegments;
use super::select::{Rows, Selector};
use super::stages::Stages;
use super::steps::Stepping;
use super::{Level, together, unsupported};
use crate::kernel::{CompiledKernel, Interleaved, Kernel, KernelArgs, KernelError, Packing, fence};
use std::sync::OnceLock;

/// A compiled kernel.
pub struct Code {
    memory: CodeMemory,
    /// The offsets in the memory at which the code begins and is entered.
    start: usize,
    entry: usize,
    schedule: RoundPlan,
    pieces: Pieces,
    axes: usize,
    packing: Option<Packing>,
    rows_beside: Option<u64>,
    holds_totals: bool,
    /// The address at which the code of each instruction of the kernel begins, and the kernel, for the
    /// listing.
    marks: Vec<(u64, u32)>,
    kernel: Kernel,
    listing: OnceLock<String>,
    /// The version for calls that this one is not for.
    _otherwise: Option<Box<Code>>,
}

impl Code {
    /// Compiles a kernel; if buffers may be interleaved, in a version for that as well.
    pub fn new(level: Level, kernel: &Kernel) -> Result<Code, KernelError> {
        let code = Code::version(level, kernel, &[], None)?;
        let mut interleaved = kernel.interleaved_reads();
        interleaved.retain(|group| has_vectors(&code.schedule, group));
        if interleaved.is_empty() {
            return Ok(code);
        }
        match Code::version(level, kernel, &interleaved, Some(code.address().addr() as u64)) {
            Ok(version) => Ok(Code { _otherwise: Some(Box::new(code)), ..version }),
            Err(_) => Ok(code),
        }
    }

    /// Compiles a version of a kernel for interleaved buffers, with the address of the version for all calls.
    fn version(
        level: Level,
        kernel: &Kernel,
        interleaved: &[&Interleaved],
        otherwise: Option<u64>,
    ) -> Result<Code, KernelError> {
        let live = live(kernel);
        let sums = if level.is_evex() { ByteSums::of(kernel, &live) } else { ByteSums::default() };
        let stages = Stages::new(kernel, &live, level, interleaved);
        let mut schedule = RoundPlan::new(kernel, &live, (&sums, &stages), level);
        let rows = Rows::new(kernel, &live, interleaved);
        let mut frame = Frame::default();
        let mut selector = Selector::new(kernel, (&live, &sums), (&rows, &stages), schedule, &mut frame);
        let segments = selector.segments()?;
        let folded = kernel.fold.as_ref().map(|fold| selector.fold(fold)).transpose()?;
        let stepped = kernel.steps.as_ref().map(|steps| selector.steps(steps)).transpose()?;
        let mut pool = selector.pool;
        let inner = segments.get(kernel.axes..).unwrap_or_default();
        let calls = folded.iter().flat_map(|of| [&of.points, &of.items]).chain(inner).any(Segment::calls)
            || stepped.as_ref().is_some_and(StepSegments::calls);
        let registers = level.values();
        let mut levels: Vec<Prepared> = segments.into_iter().map(Prepared::new).collect();
        let inner = levels.get_mut(kernel.axes..).unwrap_or_default();
        if kernel.fold.is_none() && kernel.steps.is_none() && kernel.wishes.unroll.is_none() {
            schedule.groups = together::groups(inner, schedule, registers);
        }
        inner.iter_mut().for_each(|inner| inner.pin_for(schedule.groups, [registers, together::MASKS]));
        let leaf = kernel.fold.as_ref().map_or(0, Folding::leaf_points);
        let pieces = Pieces::new(&rows.list, &stages, schedule, leaf);
        let places = Places::new(kernel, (&rows.list, &stages.sizes), (schedule, pieces), calls, &mut frame, &mut pool);
        let copies = Copies::new(&rows.list, level.is_evex(), &mut pool);
        let mut bytes = pool.into_bytes();
        bytes.resize(bytes.len().next_multiple_of(64), 0);
        let start = bytes.len();
        let asm = Asm::new(start as u64);
        let folding = kernel.fold.as_ref().zip(folded);
        let folding =
            folding.map(|(fold, of)| Folding::new((kernel, fold), of, (&rows.list, schedule, registers), &mut frame));
        let stepping = stepped.map(|of| Stepping::new(of, (schedule, registers), &mut frame));
        schedule.groups = stepping.as_ref().map_or(schedule.groups, Stepping::groups);
        let masks = places.tail.clone();
        let mut writer = Writer {
            asm,
            frame,
            places,
            rows: &rows.list,
            schedule,
            streaming: false,
            at_bases: false,
            masked_group: 0,
            held: Vec::new(),
            masks,
            multiple: None,
            marks: Vec::new(),
            cold: Cold::default(),
            copies,
        };
        let guard = otherwise.map(|otherwise| Guard { groups: interleaved, otherwise });
        let entry = writer.kernel(kernel, &levels, (folding.as_ref(), stepping.as_ref()), guard.as_ref())? as usize;
        let marks = writer.marks;
        bytes.extend(writer.asm.finish()?);
        let memory = CodeMemory::new(&bytes).map_err(|why| unsupported(format!("no memory for code: {why}")))?;
        let listing = OnceLock::new();
        let holds_totals = folding.as_ref().is_some_and(|folding| folding.in_registers);
        let batch = folding.and_then(|folding| folding.batch);
        let packing = batch.as_ref().and_then(|batch| batch.packing);
        let rows_beside = batch.and_then(|batch| batch.beside).map(|_| schedule.lanes as u64);
        Ok(Code {
            memory,
            start,
            entry,
            schedule,
            pieces,
            axes: kernel.axes,
            packing,
            rows_beside,
            holds_totals,
            marks,
            kernel: kernel.clone(),
            listing,
            _otherwise: None,
        })
    }

    fn list(&self) -> String {
        let (bytes, start, entry) = (self.memory.bytes(), self.start, self.entry);
        Listing { bytes, start, entry, marks: &self.marks, kernel: &self.kernel }.text()
    }
}

impl Code {
    fn address(&self) -> *const u8 {
        self.memory.bytes()[self.entry..].as_ptr()
    }
}

impl CompiledKernel for Code {
    // A group loads all elements before the stores that depend on them, and no point is in two groups.
    fn overwrites(&self) -> bool {
        true
    }

    unsafe fn call(&self, args: &KernelArgs) {
        let entry = self.address();
        // SAFETY: the code at the entry is a function of this type and calling convention, and preserves the
        // callee-saved registers.
        let entry = unsafe { std::mem::transmute::<*const u8, unsafe extern "sysv64" fn(*const KernelArgs)>(entry) };
        // SAFETY: the caller vouches for the memory behind `args`, as the trait demands. The code lives as
        // long as `self`, the processor supports its instructions, and it changes only its own frame,
        // registers, and the elements of written buffers.
        unsafe { entry(args) };
        if self.streams() {
            fence();
        }
    }

    fn entry(&self) -> Option<*const u8> {
        Some(self.address())
    }

    fn schedule(&self) -> String {
        self.schedule.describe(self.axes, self.pieces)
    }

    fn unroll(&self) -> Option<u32> {
        Some(self.schedule.groups as u32)
    }

    fn lanes(&self) -> Option<u32> {
        Some(self.schedule.lanes as u32)
    }

    fn stages(&self) -> Option<u32> {
        Some(self.schedule.stages as u32).filter(|&stages| stages > 1)
    }

    fn packing(&self) -> Option<Packing> {
        self.packing
    }

    fn rows_beside(&self) -> Option<u64> {
        self.rows_beside
    }
    fn holds_totals(&self) -> bool {
        self.holds_totals
    }

    fn streams(&self) -> bool {
        self.schedule.streams
    }

    fn disassembly(&self) -> Option<&str> {
        Some(self.listing.get_or_init(|| self.list()))
    }
}

/// Whether a store, the reduction as it is combined here, or a carried value depends on each instruction.
fn live(kernel: &Kernel) -> Vec<bool> {
    let combined = kernel.fold.iter().flat_map(|fold| fold.items.iter().chain(&fold.both));
    let onward = kernel.fold.iter().flat_map(|fold| &fold.onward).flat_map(|onward| &onward.both);
    let carried = kernel.steps.iter().flat_map(|steps| steps.first.iter().chain(&steps.after));
    kernel.live(combined.chain(onward).chain(carried).copied())
}
