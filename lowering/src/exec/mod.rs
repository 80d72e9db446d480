//! Executables: a function and its callees, compiled once. It can be called many times, from any number of
//! threads, with any shapes that fit its types.
//!
//! ```
//! use ndarray::{Array1, array};
//! use rewright_ir::text::parse_module;
//! use rewright_lowering::exec::{Executable, Options};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let text = "func @axpy(%a: f64, %x: f64[n], %y: f64[n]) -> f64[n] {
//! entry:
//!   %0 = arrayexpr [i: n] (s = %a, u = %x[i], v = %y[i]) {
//!     t0 = mul s, u
//!     t1 = add t0, v
//!     yield t1
//!   } : f64[n]
//!   ret %0
//! }";
//! let module = parse_module(text, "axpy.ir").map_err(|e| e.render(false))?;
//! let axpy = Executable::compile(&module, "axpy", Options::default())?;
//! // Arrays and views of any strides are read where they are.
//! let (x, y) = (array![1.0, 2.0, 3.0], array![10.0, 20.0, 30.0]);
//! let results = axpy.call(&[2.0.into(), (&x).into(), y.slice(ndarray::s![..;-1]).into()])?;
//! assert_eq!(results[0].to_string(), "[32. 24. 16.]");
//! // Results may go to the caller's buffers.
//! let mut out = Array1::<f64>::zeros(3);
//! axpy.call_into(&[2.0.into(), (&x).into(), (&y).into()], &mut [(&mut out).into()])?;
//! assert_eq!(out, array![12.0, 24.0, 36.0]);
//! // Nothing ran but kernels.
//! assert!(axpy.remarks().is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! Compiling makes a [`Plan`]: a list of steps on numbered slots. A step runs in one of these ways:
//!
//! - Kernels compute array expressions. Elementwise ops, `ufunc`s, constructors and stores that were not
//!   fused are wrapped as expressions of their own. A result whose only use is a store is written in place.
//!   Equal kernels are compiled once in a process.
//! - Loop programs compute contractions, expressions that have no kernel, most reductions of columns, and
//!   calls whose operands do not fit the kernel.
//! - Views, elements and extents are read without copying.
//! - Other ops run by their reference meaning, which is correct and slow. [`Executable::remarks`] names the
//!   steps without a kernel, and [`Executable::call_remarks`] those whose operands did not fit the kernel in
//!   a call, each with the reason.
//!
//! The memory of temporaries is reused as soon as they are dead, and that of [`Results`] when they are
//! dropped: by later steps of the same call, and by later calls. Calls in a loop therefore need no new
//! memory from the second call on. Memory is not zeroed if a kernel writes all of it. Besides its live
//! values, a call holds only the memory that the executable keeps, which [`Options::kept_bytes`] bounds.
//! [`Executable::stats`] counts all of this.
//!
//! Replay cache: after two calls with the same dtypes, extents and strides, further such calls are replayed
//! without any decisions. The cache holds the eight most recent signatures. A replayed small call into given
//! buffers takes a tenth of a microsecond.

mod args;
mod assemble;
mod assign;
mod backend;
mod buffers;
mod build;
mod by_reference;
mod cache;
mod complement;
mod direction;
mod fill_part;
mod frame;
mod fresh;
mod huge;
mod interleaved;
mod join;
mod kept;
mod launch;
mod layout;
mod liveness;
pub(crate) mod loop_program;
mod machine;
mod out;
mod packed;
mod parts;
mod pick;
pub(crate) mod plan;
mod print;
mod replay;
mod reshape;
mod results;
mod reuse;
mod run_kernel;
mod small;
mod stats;
mod times;
mod value;
mod view;
mod wrap;
mod wrap_gather;
mod wrap_reduction;

pub use args::Arg;
pub use backend::Backend;
pub use by_reference::ReferenceStep;
pub use huge::prefer_huge_pages;
pub use out::ViewMut;
pub use results::Results;
pub use stats::Stats;
pub use times::StepTime;

use crate::kernel::KernelError;
use crate::schedule::{Schedule, facts};
use buffers::{Buffers, RawBuffer};
use by_reference::ByReference;
use frame::{Frame, Pool};
use kept::Kept;
use launch::How;
use machine::Machine;
use out::write_all;
use plan::Plan;
use replay::Given;
use results::Home;
use rewright_ir::{Array, Datum, EvalError, Limits, Loc, Module, Name, Op, Outcome, Scalar};
use smallvec::SmallVec;
use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use thiserror::Error;
use times::Times;
use value::Held;

/// Options of compilation.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The backend.
    pub backend: Backend,
    /// The limits of one call.
    pub limits: Limits,
    /// Whether to measure the time of each step, and to remember its schedule: see
    /// [`Executable::step_times`] and [`Executable::schedules`].
    pub times: bool,
    /// The upper bound of threads for one kernel; by default the number of hardware threads. Only kernels
    /// with enough work use several threads. The results are bitwise the same for any number.
    pub threads: Option<NonZeroU32>,
    /// The upper bound of unused memory, in bytes, that the executable keeps for later calls: that of
    /// dropped [`Results`] and of temporaries. The default is 512 MiB. Not counted are small results that
    /// each thread keeps, at most 128 KiB, and the temporaries of the replay cache: at most 256 KiB for each
    /// of its eight signatures and each concurrent call.
    pub kept_bytes: u64,
    /// The bytes of a band. Consecutive kernels that map rows to rows run together on a band of rows of
    /// about this size; the default is a quarter of the second-level cache. If the next kernel reduces a
    /// result to one number, the result is computed in parts of about this size, with scratch memory of at
    /// most three times as much. 0 disables bands. Bands apply only to replayed calls, whose signature
    /// occurred in two earlier calls.
    pub band_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        let (backend, limits) = (Backend::default(), Limits::default());
        Options { backend, limits, times: false, threads: None, kept_bytes: 512 << 20, band_bytes: None }
    }
}

/// The reason for which a function can't be compiled.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LowerError {
    /// The module has no such function.
    #[error("there is no function `@{name}` in the module")]
    NoFunction {
        /// Its name.
        name: Name,
    },
    /// This machine does not support the requested code generator.
    #[error("this code generator is not available here: {why}")]
    NoCodeGen {
        /// The error of the code generator.
        why: KernelError,
    },
    /// The IR violates a rule.
    #[error("{message}")]
    Invalid {
        /// The rule, and the location.
        message: String,
    },
}

/// The way in which a step runs, in place of a kernel by the requested code generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    /// The reference meaning of its op.
    Reference,
    /// A kernel by another code generator.
    CodeGen(&'static str),
    /// A loop program, compiled by this code generator. Some of its loops compute one point per iteration.
    Loops(&'static str),
    /// Its kernel, which calls a function for each element.
    Calls,
    /// A separate step that packs bools, after the kernel that computes them.
    Apart,
}

/// A step that does not run as requested, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The function.
    pub func: Name,
    /// The op.
    pub op: Op,
    /// The source location.
    pub loc: Loc,
    /// The way in which it runs.
    pub instead: Instead,
    /// The reason.
    pub why: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`@{}`, {}: `{}` runs by ", self.func, self.loc, self.op)?;
        match self.instead {
            Instead::Reference => write!(f, "its reference meaning: {}", self.why),
            Instead::CodeGen(name) => write!(f, "{name}: {}", self.why),
            Instead::Loops(name) => write!(f, "a loop program of {name}: {}", self.why),
            Instead::Calls => write!(f, "calls for each element: {}", self.why),
            Instead::Apart => write!(f, "itself, after the kernel of its bools: {}", self.why),
        }
    }
}

/// The schedule of the latest call of a step's kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepSchedule {
    /// The function.
    pub func: Name,
    /// The number of the step in the function's plan.
    pub step: usize,
    /// The op that the step comes from.
    pub op: Op,
    /// The source location.
    pub loc: Loc,
    /// The code generator of the kernel.
    pub codegen: &'static str,
    /// The schedule.
    pub schedule: Schedule,
}

/// A compiled function. Several threads may call it at once.
pub struct Executable {
    inner: Inner,
    options: Options,
    how: How,
    codegen: Option<&'static str>,
    remarks: Vec<Remark>,
}

/// The replay cache ignores functions with more steps: they take long anyway, and their recordings would
/// take much memory.
const LONG: usize = 256;

/// The data of a run.
struct Inner {
    module: Module,
    plan: Plan,
    /// The unused frames of each function of the plan.
    pools: Vec<Pool>,
    /// Memory for later calls.
    kept: Arc<Kept>,
    times: Option<Times>,
    by_reference: ByReference,
}

impl Executable {
    /// Compiles a function of a module, and its callees.
    pub fn compile(module: &Module, func: impl Into<Name>, options: Options) -> Result<Executable, LowerError> {
        let codegens = options.backend.codegens()?;
        let codegen = codegens.first().map(|codegen| codegen.name());
        let mut planner = build::Planner::new(module, codegens);
        let plan = planner.plan(func.into())?;
        let remarks = if codegen.is_some() { planner.remarks } else { Vec::new() };
        let pools = plan.functions.iter().map(|_| Pool::default()).collect();
        let loc = |func, inst| module.get(func).map_or_else(Loc::default, |func| func.inst(inst).loc);
        let times = options.times.then(|| Times::new(&plan, loc));
        let threads = options.threads.map_or_else(|| facts().cores, |threads| threads.get());
        let band = options.band_bytes.unwrap_or(facts().level2 / 4);
        let how = How { threads, remember: options.times, band };
        let kept = Arc::new(Kept::new(options.kept_bytes));
        let by_reference = ByReference::default();
        let inner = Inner { module: module.clone(), plan, pools, kept, times, by_reference };
        Ok(Executable { inner, options, how, codegen, remarks })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.inner.plan
    }

    /// The code generator of the kernels, except those with a remark that names another one. None for the
    /// reference evaluator.
    pub fn codegen(&self) -> Option<&'static str> {
        self.codegen
    }

    /// The steps that do not run as requested, as far as compilation knows them: by the reference meaning of
    /// their ops, by another code generator, or in another of the ways of [`Instead`].
    /// [`call_remarks`](Executable::call_remarks) has the steps that only calls know.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// Statistics of the calls that have ended.
    pub fn stats(&self) -> Stats {
        let mut sum = Stats::default();
        self.inner.pools[0].each(|frame| sum += frame.buffers.stats);
        sum
    }

    /// The times of the steps that ran, in the order of the plan, if [`Options::times`] is set.
    pub fn step_times(&self) -> Vec<StepTime> {
        self.inner.times.as_ref().map(Times::all).unwrap_or_default()
    }

    /// The schedules of the latest calls of kernels, step by step, if [`Options::times`] is set.
    pub fn schedules(&self) -> Vec<StepSchedule> {
        let plan = &self.inner.plan;
        let steps = plan.functions.iter().flat_map(|f| f.steps.iter().enumerate().map(move |(n, step)| (f, n, step)));
        let kernel = |(function, number, step): (&plan::FuncPlan, usize, &plan::Step)| {
            let plan::StepKind::Kernel(kernel) = &step.kind else { return None };
            let schedule = kernel.launch.latest()?;
            let loc = self.inner.module.get(function.name).map_or_else(Loc::default, |func| func.inst(step.inst).loc);
            let codegen = kernel.launch.codegen;
            Some(StepSchedule { func: function.name, step: number, op: step.op, loc, codegen, schedule })
        };
        steps.filter_map(kernel).collect()
    }

    /// Frees the memory that is kept for later calls.
    pub fn trim(&self) {
        self.inner.pools[0].each(Frame::trim);
        self.inner.kept.clear();
    }

    /// The bytes of unused memory that are kept for later calls.
    pub fn kept_bytes(&self) -> u64 {
        self.inner.kept.bytes()
    }

    /// Keeps the memory of an array for later calls, if no other value shares it, as the memory of
    /// [`Results`] is kept.
    pub fn recycle(&self, array: Array) {
        RawBuffer::of(array).into_iter().for_each(|block| self.inner.kept.keep_block(block));
    }

    /// Calls the function. The arguments do not change, even if the function stores to its parameters.
    pub fn call(&self, args: &[Arg<'_>]) -> Result<Results, EvalError> {
        if self.options.backend == Backend::Reference {
            return Ok(Results::new(self.evaluate(args)?.results.into(), Home::Nowhere));
        }
        let mut given = Given::default();
        if self.replayed(args, &[], &mut given) {
            let home = match given.small {
                true => Home::Thread,
                false => Home::Executable { kept: self.inner.kept.clone(), whole: given.whole },
            };
            return Ok(Results::new(given.values, home));
        }
        let results = self.run(args.iter().map(Arg::hold), |frame, buffers, ended| {
            ended?;
            self.taken(frame, buffers)
        })?;
        self.remember(args, &[]);
        Ok(results)
    }

    /// Calls the function, and returns the printed lines and the stored arguments together with the results.
    pub fn outcome(&self, args: &[Arg<'_>]) -> Result<Outcome, EvalError> {
        if self.options.backend == Backend::Reference {
            return self.evaluate(args);
        }
        let entry = &self.inner.plan.functions[0];
        self.run(args.iter().map(Arg::hold), |frame, buffers, ended| {
            let printed = ended?;
            let results = frame.results.drain(..).map(|held| held.into_datum(buffers)).collect::<Result<_, _>>()?;
            let last = |(i, arg): (usize, &Arg<'_>)| match frame.stored[i] {
                true => std::mem::take(&mut frame.slots[entry.params[i].slot.0 as usize]).into_datum(buffers),
                false => arg.to_datum(),
            };
            let args = args.iter().enumerate().map(last).collect::<Result<_, _>>()?;
            Ok(Outcome { results, args, printed })
        })
    }

    /// Calls the function, and leaves the stored values in the arguments. A store is in place if the caller
    /// holds the only reference to the array's buffer. After an error the arguments hold the stores so far,
    /// each wholly or not at all. With [`Backend::Reference`] they are then unchanged.
    pub fn call_mut(&self, args: &mut [Datum]) -> Result<Results, EvalError> {
        if self.options.backend == Backend::Reference {
            let outcome = self.evaluate_data(args.to_vec())?;
            args.clone_from_slice(&outcome.args);
            return Ok(Results::new(outcome.results.into(), Home::Nowhere));
        }
        let entry = &self.inner.plan.functions[0];
        self.check_count(args.len())?;
        let hold = |(i, arg): (usize, &mut Datum)| match entry.changed.get(i) {
            Some(true) => Held::from(std::mem::replace(arg, Datum::Scalar(Scalar::Bool(false)))),
            _ => Held::from(arg.clone()),
        };
        let held: SmallVec<[Held; 4]> = args.iter_mut().enumerate().map(hold).collect();
        self.run(held, |frame, buffers, ended| {
            let mut left = Ok(());
            for (i, arg) in args.iter_mut().enumerate().filter(|(i, _)| entry.changed[*i]) {
                match std::mem::take(&mut frame.slots[entry.params[i].slot.0 as usize]).into_datum(buffers) {
                    Ok(datum) => *arg = datum,
                    Err(error) => left = Err(error),
                }
            }
            ended?;
            left?;
            self.taken(frame, buffers)
        })
    }

    /// Calls the function, and writes its results to the caller's buffers, without allocating arrays for
    /// them. A scalar result needs a buffer of rank 0. Dtypes, and extents as far as they are known, are
    /// checked before anything runs. A buffer may alias an argument ([`ViewMut::from_raw`]): the function
    /// then reads its old content. After an error the content of the buffers is unspecified.
    pub fn call_into(&self, args: &[Arg<'_>], outs: &mut [ViewMut<'_>]) -> Result<(), EvalError> {
        let plan = &self.inner.plan.functions[0];
        if outs.len() != plan.results.len() {
            let message = format!("`@{}`: gives {} results, got {} buffers", plan.name, plan.results.len(), outs.len());
            return Err(EvalError { loc: plan.loc, ..EvalError::shape(message) });
        }
        if self.options.backend == Backend::Reference {
            let places: Vec<_> = outs.iter().map(|out| out.place().clone()).collect();
            let mut results: Vec<Held> = self.evaluate(args)?.results.into_iter().map(Held::from).collect();
            return write_all(&places, &mut results, &mut Buffers::default());
        }
        if self.replayed(args, outs, &mut Given::default()) {
            return Ok(());
        }
        self.run_into(args.iter().map(Arg::hold), outs, |frame, buffers, ended| {
            ended?;
            write_all(&frame.into, &mut frame.results, buffers)
        })?;
        self.remember(args, outs);
        Ok(())
    }

    /// Replays a recorded call with the same signature, if there is one, and returns whether it did.
    #[inline]
    fn replayed(&self, args: &[Arg<'_>], outs: &[ViewMut<'_>], given: &mut Given) -> bool {
        if self.options.times {
            return false;
        }
        let (pool, plan) = (&self.inner.pools[0], &self.inner.plan.functions[0]);
        let done = pool.with_used(|Frame { replays, buffers, .. }| {
            let done = replays.call(plan, args, outs, buffers, self.how, given);
            buffers.end();
            done
        });
        done == Some(true)
    }

    /// Records a successful call in the replay cache.
    fn remember(&self, args: &[Arg<'_>], outs: &[ViewMut<'_>]) {
        let (pool, plan) = (&self.inner.pools[0], &self.inner.plan.functions[0]);
        if self.options.times || plan.steps.len() > LONG {
            return;
        }
        pool.with_used(|frame| frame.replays.remember(plan, args, outs, self.how));
    }

    fn name(&self) -> Name {
        self.inner.plan.functions[0].name
    }

    fn check_count(&self, given: usize) -> Result<(), EvalError> {
        let plan = &self.inner.plan.functions[0];
        if given == plan.params.len() {
            return Ok(());
        }
        let message = format!("`@{}`: takes {} arguments, got {given}", plan.name, plan.params.len());
        Err(EvalError { loc: plan.loc, ..EvalError::shape(message) })
    }

    /// Takes the results out of a frame.
    fn taken(&self, frame: &mut Frame, buffers: &mut Buffers) -> Result<Results, EvalError> {
        let values = frame.results.drain(..).map(|held| held.into_datum(buffers));
        let home = Home::Executable { kept: self.inner.kept.clone(), whole: false };
        Ok(Results::new(values.collect::<Result<_, _>>()?, home))
    }

    /// Runs the function. `finish` gets the frame, and the printed lines or the error.
    fn run<T>(
        &self,
        args: impl IntoIterator<Item = Held, IntoIter: ExactSizeIterator>,
        finish: impl FnOnce(&mut Frame, &mut Buffers, Result<Vec<String>, EvalError>) -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        self.run_into(args, &[], finish)
    }

    /// As [`run`](Executable::run), with places for results.
    fn run_into<T>(
        &self,
        args: impl IntoIterator<Item = Held, IntoIter: ExactSizeIterator>,
        outs: &[ViewMut<'_>],
        finish: impl FnOnce(&mut Frame, &mut Buffers, Result<Vec<String>, EvalError>) -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        let args = args.into_iter();
        self.check_count(args.len())?;
        let plan = &self.inner.plan.functions[0];
        let mut frame = self.inner.pools[0].take(plan);
        for (param, arg) in plan.params.iter().zip(args) {
            frame.slots[param.slot.0 as usize] = arg;
        }
        frame.aim(outs, plan);
        frame.buffers.kept.get_or_insert_with(|| self.inner.kept.clone());
        let machine = Machine::new(&self.inner, self.options.limits, self.how, std::mem::take(&mut frame.buffers));
        let ended =
            machine.activation(0, &mut frame).and_then(|mut act| machine.run(&mut act)).map_err(|e| match e.op {
                // An error without an instruction concerns the call of the function itself.
                None => EvalError { message: format!("`@{}`: {}", plan.name, e.message), loc: plan.loc, ..e },
                Some(_) => e,
            });
        // Results that are views are about to be copied, unless they have places.
        let ended = ended.and_then(|()| if outs.is_empty() { machine.room_for_copies(&frame.results) } else { Ok(()) });
        let mut buffers = machine.buffers.into_inner();
        let result = finish(&mut frame, &mut buffers, ended.map(|()| machine.printed.into_inner()));
        frame.clear(&mut buffers);
        buffers.end();
        frame.buffers = buffers;
        self.inner.pools[0].give_back(frame);
        result
    }
}
