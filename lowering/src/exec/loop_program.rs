//! Steps that run loop programs: expressions without a kernel, and calls whose operands do not fit a kernel.
//!
//! A program has variants, which differ in the tests that they make at each point ([`Checks`]). A variant is
//! compiled when a call needs it.

use super::backend::CodeGens;
use super::by_reference::Why;
use super::fresh::Fresh;
use super::launch::{Pointers, operands, symbol};
use super::machine::{Activation, Machine};
use super::plan::{ArrayEval, Step};
use super::value::{Held, Shape, Strides, Target, fill_elements, row_major};
use crate::interp::Interp;
use crate::kernel::{CodeGen, CompiledKernel, Part};
use crate::lower::Strided;
use crate::lower::program::{LoweredProgram, ProgramBuffer, ProgramParam, ProgramSpace, Variant, bind, lower_program};
use crate::schedule::{Threads, share};
use rewright_ir::{ArrayExpr, DType, EvalError, Name, Type};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The loop program of an expression.
pub struct LoopProgram {
    pub(super) expr: Arc<ArrayExpr>,
    /// The types of the instruction's operands.
    types: Vec<Type>,
    codegens: CodeGens,
    /// By [`Variant`]; an error if no code generator compiles it.
    variants: [OnceLock<Box<Result<Compiled, String>>>; Variant::COUNT],
}

/// A variant that is ready to run.
pub(super) struct Compiled {
    pub lowered: LoweredProgram,
    codegen: &'static str,
    compiled: Box<dyn CompiledKernel>,
    /// About how long a point takes.
    point_nanos: f64,
}

/// The buffers of a call, which its threads share.
pub(super) struct CallBuffers<'c> {
    pub pointers: &'c [*mut u8],
    pub strides: &'c [i64],
}

// SAFETY: the threads of a call only copy the addresses; each writes elements of its own.
unsafe impl Sync for CallBuffers<'_> {}

impl CallBuffers<'_> {
    /// # Safety
    /// As [`CompiledKernel::call`].
    unsafe fn call(&self, compiled: &dyn CompiledKernel, params: &[u64]) -> bool {
        // SAFETY: passed on.
        unsafe { compiled.run(&[], self.pointers, self.strides, params) }.failed == 0
    }
}

impl Compiled {
    /// Runs the program over slices of the outermost axis, on this many threads at most. False if it failed.
    ///
    /// # Safety
    /// As [`CompiledKernel::call`], for any slice.
    pub(super) unsafe fn run(
        &self,
        buffers: &CallBuffers<'_>,
        params: &[u64],
        whole: (i64, i64),
        threads: usize,
    ) -> bool {
        let count = whole.1.saturating_sub(whole.0).max(0) as u64;
        let pieces = (threads as u64 * SLICES).min(count / u64::from(self.lowered.least_slice.max(1)));
        if threads < 2 || pieces < 2 {
            // SAFETY: passed on.
            return unsafe { buffers.call(&*self.compiled, params) };
        }
        let failed = AtomicBool::new(false);
        let place = |end: u64| whole.0 + (count as u128 * u128::from(end) / u128::from(pieces)) as i64;
        share(threads, pieces as usize, &|piece| {
            let mut own: SmallVec<[u64; 8]> = SmallVec::from_slice(params);
            for (word, param) in own.iter_mut().zip(&self.lowered.params) {
                match param {
                    ProgramParam::SliceStart => *word = place(piece as u64) as u64,
                    ProgramParam::SliceEnd => *word = place(piece as u64 + 1) as u64,
                    _ => {}
                }
            }
            // SAFETY: passed on.
            let succeeded = unsafe { buffers.call(&*self.compiled, &own) };
            failed.fetch_or(!succeeded, Ordering::Relaxed);
        });
        !failed.into_inner()
    }
}

/// Whether each element of a result is written, row-major.
pub(super) struct WriteFlags {
    /// The number of the result.
    result: u32,
    bytes: Vec<u8>,
    strides: Strides,
}

/// Values that the parameters of a program are made of.
pub(super) struct ParamSources<'c> {
    /// The operands.
    pub args: &'c [Strided<'c>],
    pub symbols: &'c dyn Fn(Name) -> Option<i64>,
    pub space: &'c ProgramSpace,
}

impl Compiled {
    /// The parameters, those of scalar operands by a function of the operand, the part and the dtype. `None`
    /// if one is not there.
    pub(super) fn params<W>(
        &self,
        &ParamSources { args, symbols, space }: &ParamSources<'_>,
        known: impl Fn(u64) -> W,
        scalar: impl Fn(u32, Part, DType) -> Option<W>,
    ) -> Option<SmallVec<[W; 8]>>
    where
        [W; 8]: smallvec::Array<Item = W>,
    {
        let extent = |arg: u32, dim: usize| args.get(arg as usize).and_then(|a| a.shape.get(dim)).copied();
        let word = |(param, &dtype): (&ProgramParam, &DType)| -> Option<W> {
            Some(known(match param {
                ProgramParam::Scalar(number, part) => return scalar(*number, *part, dtype),
                ProgramParam::ArgExtent(arg, dim) => extent(*arg, *dim)? as u64,
                ProgramParam::ResultExtent(result, dim) => *space.results.get(*result as usize)?.0.get(*dim)? as u64,
                ProgramParam::Symbol(name) => symbols(*name)? as u64,
                ProgramParam::SliceStart => space.outermost.0 as u64,
                ProgramParam::SliceEnd => space.outermost.1 as u64,
                // They broadcast, as `bind` found.
                ProgramParam::Broadcast(sources) => {
                    let extents = sources.iter().map(|&(arg, dim)| extent(arg, dim).unwrap_or(1));
                    extents.fold(1, |all, extent| if all == 1 { extent } else { all }) as u64
                }
            }))
        };
        self.lowered.params.iter().zip(&self.lowered.program.params).map(word).collect()
    }

    /// The addresses of the buffers, and their strides in bytes. `held` gives operands, `target` the targets
    /// of results, and `flags` whether elements are written. `None` if one is not there.
    pub(super) fn buffers<'h>(
        &self,
        space: &ProgramSpace,
        held: impl Fn(u32) -> Option<&'h Held>,
        target: impl Fn(usize) -> Option<&'h Target>,
        flags: &mut [WriteFlags],
    ) -> Option<(Pointers, SmallVec<[i64; 16]>)> {
        let (mut pointers, mut strides) = (Pointers::new(), SmallVec::new());
        let mut add = |pointer: *mut u8, shape: &[usize], along: &mut dyn Iterator<Item = isize>| {
            pointers.push(pointer);
            strides.extend(shape.iter().zip(along).map(|(&n, stride)| if n == 1 { 0 } else { stride as i64 }));
        };
        let shape_of = |result: u32| space.results.get(result as usize).map(|(shape, _)| &shape[..]);
        let own = self.lowered.program.caller_buffers();
        let dtypes = own.map(|(number, _)| self.lowered.program.buffers[number].dtype);
        for (buffer, dtype) in self.lowered.buffers.iter().zip(dtypes) {
            match *buffer {
                ProgramBuffer::Arg(number) => {
                    let place = held(number)?.place().filter(|place| place.dtype == dtype)?;
                    let along = place.strides.iter().map(|stride| stride * place.unit);
                    add(place.pointer.cast_mut(), place.shape, &mut { along });
                }
                ProgramBuffer::Result(number) => {
                    let target = target(number as usize)?;
                    add(target.pointer, shape_of(number)?, &mut target.strides.iter().copied());
                }
                ProgramBuffer::Written(number) => {
                    let flags = flags.iter_mut().find(|flags| flags.result == number)?;
                    add(flags.bytes.as_mut_ptr(), shape_of(number)?, &mut flags.strides.iter().copied());
                }
            }
        }
        Some((pointers, strides))
    }

    /// Whether a call with this many points runs on one thread, whichever are awake.
    pub(super) fn is_alone(&self, points: u64, most: u32) -> bool {
        !self.lowered.sliced || Threads::are_one(points as f64 * self.point_nanos, most)
    }

    /// The threads of a call with this many points.
    pub(super) fn threads(&self, points: u64, most: u32) -> usize {
        let nanos = points as f64 * self.point_nanos;
        Threads::now(nanos, if self.lowered.sliced { most } else { 1 }).worth(nanos) as usize
    }
}

/// The slices of each thread, which even out threads of different speed.
const SLICES: u64 = 4;

impl LoopProgram {
    /// The program of an expression whose instruction has operands of these types.
    pub(super) fn new(expr: Arc<ArrayExpr>, types: Vec<Type>, codegens: CodeGens) -> LoopProgram {
        LoopProgram { expr, types, codegens, variants: std::array::from_fn(|_| OnceLock::new()) }
    }

    /// The name of the code generator that compiles it; else the reason that none does.
    pub(super) fn codegen(&self) -> Result<&'static str, String> {
        self.variant(Variant::default()).map(|variant| variant.codegen).map_err(Clone::clone)
    }

    /// The variant without tests: the name of the code generator, and the compiled program.
    pub fn compiled(&self) -> Result<(&'static str, &dyn CompiledKernel), &str> {
        self.variant(Variant::default()).map(|variant| (variant.codegen, &*variant.compiled)).map_err(|why| &**why)
    }

    /// The variant without tests, compiled by another code generator.
    pub fn compiled_by(&self, codegen: &dyn CodeGen) -> Result<Box<dyn CompiledKernel>, String> {
        let lowered = lower_program(&self.expr, &self.types, Variant::default()).map_err(|why| why.reason)?;
        codegen.compile_program(&lowered.program).map_err(|why| why.to_string())
    }

    pub(super) fn variant(&self, variant: Variant) -> Result<&Compiled, &String> {
        (**self.variants[variant.number()].get_or_init(|| Box::new(self.compile(variant)))).as_ref()
    }

    fn compile(&self, variant: Variant) -> Result<Compiled, String> {
        let lowered = lower_program(&self.expr, &self.types, variant).map_err(|why| why.reason)?;
        let mut refused = "there is no code generator".to_string();
        // The interpreter takes every program that the others refuse.
        let interp: &dyn CodeGen = &Interp;
        let last = (!self.codegens.is_empty()).then_some(interp);
        for codegen in self.codegens.iter().copied().chain(last) {
            match codegen.compile_program(&lowered.program) {
                Ok(compiled) => {
                    let insts = lowered.insts as f64;
                    let point_nanos = if lowered.is_columns { 0.1 + 0.02 * insts } else { 2.0 + 0.3 * insts };
                    return Ok(Compiled { lowered, codegen: codegen.name(), compiled, point_nanos });
                }
                Err(why) => refused = why.to_string(),
            }
        }
        Err(refused)
    }
}

impl std::fmt::Debug for LoopProgram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoopProgram").finish_non_exhaustive()
    }
}

/// A step that runs a loop program.
#[derive(Debug)]
pub struct ProgramStep {
    /// The program.
    pub program: LoopProgram,
    /// For each result, its position among the function's results if the block ends by returning it.
    pub exits: SmallVec<[Option<u32>; 1]>,
    /// Operands and dims of them whose extents must be equal, though no type says that they are.
    pub equal: SmallVec<[[(usize, usize); 2]; 1]>,
    /// The meaning of the step, which finds the error of operands that break a rule.
    pub meaning: ArrayEval,
}

/// Why the reference evaluator runs a step that has a loop program.
pub(super) const UNFIT: Why =
    Why::Unfit("its operands break a rule of the expression, or its index space is too large");

impl Machine<'_> {
    /// Runs a loop program. If the operands break a rule, the reference evaluator finds the error.
    pub(super) fn program(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        (program, exits): (&LoopProgram, &[Option<u32>]),
        (eval, why): (ArrayEval, Why),
    ) -> Result<(), EvalError> {
        let steps = self.steps_left();
        let results = match self.space(act, step, program) {
            Some(space) => self.run_program(act, step, program, &space, (exits, None))?,
            None => None,
        };
        match results {
            Some(results) => {
                for (def, held) in step.defs.iter().zip(results) {
                    self.put(act.frame, def.slot, held)?;
                }
                if why != UNFIT {
                    let codegen = program.codegen().unwrap_or_default();
                    self.exec.by_reference.add_program(act.number, step.inst, why, codegen);
                }
                Ok(())
            }
            None => {
                self.undone::<()>(steps);
                self.array(act, step, eval, why)
            }
        }
    }

    /// The index space of a loop program; `None` if the operands break a rule.
    pub(super) fn space(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        program: &LoopProgram,
    ) -> Option<ProgramSpace> {
        let space = bind(&program.expr, &operands(act.frame, step), &|name: Name| symbol(act.plan, act.frame, name))?;
        let fits = step.defs.iter().zip(&space.results);
        { fits }.all(|(def, (shape, _))| act.frame.admits(&def.dims, shape, Some(def.value))).then_some(space)
    }

    /// The results of a loop program; `None` if the operands break a rule. `exits` are their positions among
    /// the function's results, and `into` is the target of the only result, if that is given.
    pub(super) fn run_program(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        program: &LoopProgram,
        space: &ProgramSpace,
        (exits, mut into): (&[Option<u32>], Option<Target>),
    ) -> Result<Option<Vec<Held>>, EvalError> {
        let Ok(variant) = program.variant(space.variant) else { return Ok(None) };
        self.points(space.points)?;
        let mut rooms: Vec<Fresh> = Vec::new();
        for (number, (out, (shape, fill))) in program.expr.outs.iter().zip(&space.results).enumerate() {
            let exit = exits.get(number).copied().flatten();
            let own_shape = Shape::from(&shape[..]);
            let fresh = match into.take() {
                Some(target) => Fresh::within(out.dtype, own_shape, target),
                None => self.fresh(act, exit, out.dtype, own_shape)?,
            };
            if let Some(fill) = fill {
                // SAFETY: the room is that of an array of this shape and dtype.
                unsafe { fill_elements(*fill, out.dtype, shape, &fresh.target) };
            }
            rooms.push(fresh);
        }
        let mut flags: Vec<WriteFlags> = Vec::new();
        for buffer in &variant.lowered.buffers {
            if let ProgramBuffer::Written(result) = *buffer {
                let shape = &space.results[result as usize].0;
                self.room(shape, 1)?;
                let (bytes, strides) = (vec![0; shape.iter().product()], row_major(shape, 1));
                flags.push(WriteFlags { result, bytes, strides });
            }
        }
        let args = operands(act.frame, step);
        let slot = |number: u32| Some(&act.frame.slots[step.args.get(number as usize)?.0 as usize]);
        let scalar = |number: u32, part: Part, dtype: DType| {
            let scalar = slot(number)?.scalar().ok()?;
            (scalar.dtype().real() == dtype).then_some(())?;
            Some(if part == Part::Re { scalar.bits().0 } else { scalar.bits().1 })
        };
        let symbols = |name: Name| symbol(act.plan, act.frame, name);
        let sources = ParamSources { args: &args, symbols: &symbols, space };
        let Some(params) = variant.params(&sources, |word| word, scalar) else { return Ok(None) };
        let target = |number: usize| rooms.get(number).map(|room| &room.target);
        let found = variant.buffers(space, slot, target, &mut flags);
        let Some((pointers, strides)) = found else { return Ok(None) };
        let buffers = CallBuffers { pointers: &pointers, strides: &strides };
        let threads = variant.threads(space.points, self.how.threads);
        // SAFETY: there are an address for each buffer, a stride for each dim and a word for each
        // parameter. Operands have the dtypes that the program reads, and are valid to read while the frame
        // holds them; results and flags have room for all elements of their shapes, and overlap nothing.
        // `bind` proved that positions are in bounds, or the variant tests them; the extents are those that
        // both know. Slices of the outermost axis write different elements.
        if !unsafe { variant.run(&buffers, &params, space.outermost, threads) } {
            return Ok(None);
        }
        self.buffers.borrow_mut().stats.kernels += 1;
        let mut results = Vec::new();
        for (room, def) in rooms.into_iter().zip(&step.defs) {
            // SAFETY: elements that the program does not write are filled: `bind` proved that it writes the
            // others, or the variant has tested that it did.
            let held = unsafe { room.into_held() };
            results.push(match &held {
                Held::Array(array) if def.ty.is_scalar() => match array.get(&[]) {
                    Some(scalar) => Held::Scalar(scalar),
                    None => return Ok(None),
                },
                _ => held,
            });
        }
        Ok(Some(results))
    }

    /// Runs the loop program of a step; otherwise, the step's reference meaning.
    pub(super) fn program_step(
        &self,
        act: &mut Activation<'_, '_>,
        step: &Step,
        program: &ProgramStep,
    ) -> Result<(), EvalError> {
        if !self.are_equal(act, step, &program.equal) {
            return self.array(act, step, program.meaning, Why::WRONG);
        }
        self.program(act, step, (&program.program, &program.exits), (program.meaning, UNFIT))
    }
}
