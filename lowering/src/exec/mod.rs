//! Executables: a function with all that it calls, compiled once and called many times, from any number of threads, with any shapes
//! that fit its types.
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
//! Compiling makes a [`Plan`]: a list of steps on numbered slots. Array expressions are kernels, and so are elementwise ops, `ufunc`s,
//! constructors and stores that nobody fused: each is wrapped as an expression of its own. What is computed only to be stored is written where it
//! is wanted. Equal kernels are compiled once in a process. Views, elements and extents are read without copying. What has no kernel runs by the
//! reference meaning of its op, which is correct and slow: [`Executable::remarks`] names the steps that have none, and
//! [`Executable::call_remarks`] those whose operands did not fit it in a call, each with the reason.
//!
//! Memory of temporaries is used again as soon as they are dead, and that of [`Results`] when they are dropped: for what is made later in the
//! same call, and in later ones. So calls in a loop need no new memory from the second on. It is not zeroed where a kernel writes
//! all of it. A call holds no more than its live values need, but for what the executable keeps, which [`Options::kept_bytes`] bounds.
//! [`Executable::stats`] counts all that.
//!
//! Calls with arrays of the same dtypes, extents and strides as two earlier ones decide nothing anew, where these are among the eight looks that were
//! seen last: a small call into given buffers takes a tenth of a microsecond.

mod args;
mod assemble;
mod assign;
mod backend;
mod buffers;
mod build;
mod by_reference;
mod cache;
mod direction;
mod frame;
mod fresh;
mod heir;
mod huge;
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
mod run_kernel;
mod small;
mod stats;
mod times;
mod value;
mod view;
mod wrap;
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

/// How to compile.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How the function is run.
    pub backend: Backend,
    /// What one call may use.
    pub limits: Limits,
    /// Whether to measure how long each step takes, and to remember how it was run: see [`Executable::step_times`] and
    /// [`Executable::schedules`].
    pub times: bool,
    /// The most threads that work on one kernel: all that the machine runs at once if nothing is said. Only kernels with much to do
    /// are shared. Results are the same bits for any number.
    pub threads: Option<NonZeroU32>,
    /// The most bytes of memory that nobody uses which the executable keeps for later calls: that of dropped [`Results`] and of
    /// temporaries. 512 MiB if nothing is said. Not counted are what a thread keeps of small results, 128 KiB at most, and the temporaries
    /// of calls that look like one of the latest eight, 256 KiB at most for each of these and each call that runs at the same time.
    pub kept_bytes: u64,
    /// Kernels that follow one another, and make rows out of rows, are run on so many rows at once that these take about so many bytes: a quarter of
    /// the second-level cache if nothing is said. What is combined to one number by the next kernel is made in parts of about so many, for which up to
    /// three times as much memory is used. 0 for all at once. That is in calls that decide nothing anew, as two were like them.
    pub band_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        let (backend, limits) = (Backend::default(), Limits::default());
        Options { backend, limits, times: false, threads: None, kept_bytes: 512 << 20, band_bytes: None }
    }
}

/// Why a function can't be compiled.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LowerError {
    /// The module has no such function.
    #[error("there is no function `@{name}` in the module")]
    NoFunction {
        /// Its name.
        name: Name,
    },
    /// This machine can't have the code generator that was asked for.
    #[error("this code generator is not available here: {why}")]
    NoCodeGen {
        /// What it says.
        why: KernelError,
    },
    /// The IR breaks a rule.
    #[error("{message}")]
    Invalid {
        /// What is wrong, and where.
        message: String,
    },
}

/// What runs a step in place of the code generator that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    /// The reference meaning of its op.
    Reference,
    /// A kernel by another code generator.
    CodeGen(&'static str),
    /// A loop program that this code generator compiled. Some of its loops compute one point at a time.
    Loops(&'static str),
    /// Its kernel, which calls functions of one element.
    Calls,
    /// A step of its own, though a kernel makes what it packs.
    Apart,
}

/// A step that does not run as asked for, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The function.
    pub func: Name,
    /// The op.
    pub op: Op,
    /// Where it was written.
    pub loc: Loc,
    /// What runs it.
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

/// How the latest call of a step's kernel was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepSchedule {
    /// The function.
    pub func: Name,
    /// The number of the step in the function's plan.
    pub step: usize,
    /// The op that the step comes from.
    pub op: Op,
    /// Where it was written.
    pub loc: Loc,
    /// What made the kernel.
    pub codegen: &'static str,
    /// How it was run.
    pub schedule: Schedule,
}

/// A compiled function. Calls may come from several threads at once.
pub struct Executable {
    inner: Inner,
    options: Options,
    how: How,
    codegen: Option<&'static str>,
    remarks: Vec<Remark>,
}

/// Functions of more steps than this take long anyway, and what is known of their calls would take much memory.
const LONG: usize = 256;

/// What a run needs.
struct Inner {
    module: Module,
    plan: Plan,
    /// One a function of the plan.
    pools: Vec<Pool>,
    /// Memory for later calls.
    kept: Arc<Kept>,
    times: Option<Times>,
    by_reference: ByReference,
}

impl Executable {
    /// Compiles a function of a module, and all that it calls.
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

    /// The code generator of its kernels, but for those that a remark says another one of; none if it is run by the reference evaluator.
    pub fn codegen(&self) -> Option<&'static str> {
        self.codegen
    }

    /// The steps that run by the reference meaning of their ops, or by another code generator than the others, as far as compiling knows that:
    /// [`call_remarks`](Executable::call_remarks) has the others.
    pub fn remarks(&self) -> &[Remark] {
        &self.remarks
    }

    /// What the calls that have ended did.
    pub fn stats(&self) -> Stats {
        let mut sum = Stats::default();
        self.inner.pools[0].frames().iter().for_each(|frame| sum += frame.buffers.stats);
        sum
    }

    /// How long the steps that ran took, if [`Options::times`] asks for it; the plan's order.
    pub fn step_times(&self) -> Vec<StepTime> {
        self.inner.times.as_ref().map(Times::all).unwrap_or_default()
    }

    /// How the latest calls of kernels were run, step by step, if [`Options::times`] asks for it.
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

    /// Gives memory that is kept for later calls back to the allocator.
    pub fn trim(&self) {
        self.inner.pools[0].frames().iter_mut().for_each(|frame| frame.trim());
        self.inner.kept.clear();
    }

    /// The bytes of memory that nobody uses, and that are kept for later calls.
    pub fn kept_bytes(&self) -> u64 {
        self.inner.kept.bytes()
    }

    /// Keeps the memory of an array for later calls, if nobody else has a share in it, as that of [`Results`] is kept.
    pub fn recycle(&self, array: Array) {
        RawBuffer::of(array).into_iter().for_each(|block| self.inner.kept.keep_block(block));
    }

    /// Calls the function. Arguments keep what they hold, whatever the function stores to its parameters.
    pub fn call(&self, args: &[Arg<'_>]) -> Result<Results, EvalError> {
        if self.options.backend == Backend::Reference {
            return Ok(Results::new(self.evaluate(args)?.results.into(), Home::Nowhere));
        }
        let mut given = Given::default();
        if self.again(args, &[], &mut given) {
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

    /// Calls the function, and gives what it printed and stored besides its results.
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

    /// Calls the function, and leaves in the arguments what it stored to them: in place where the caller holds the only share of an
    /// array's buffer. After an error they hold what was stored until then, each store wholly or not at all; with
    /// [`Backend::Reference`] they hold what they held before.
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

    /// Calls the function, and writes its results to buffers of the caller's, without making arrays for them. A scalar result goes to a
    /// buffer of rank 0. Dtypes and extents are checked before anything runs, as far as they are known then. A buffer may be an
    /// argument's too ([`ViewMut::from_raw`]): the function then reads what was there before. On an error the buffers hold
    /// nothing certain.
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
        if self.again(args, outs, &mut Given::default()) {
            return Ok(());
        }
        self.run_into(args.iter().map(Arg::hold), outs, |frame, buffers, ended| {
            ended?;
            write_all(&frame.into, &mut frame.results, buffers)
        })?;
        self.remember(args, outs);
        Ok(())
    }

    /// Does a call as an earlier one was done, if one of those that are remembered is like it, and says whether it did.
    #[inline]
    fn again(&self, args: &[Arg<'_>], outs: &[ViewMut<'_>], given: &mut Given) -> bool {
        if self.options.times {
            return false;
        }
        let (pool, plan) = (&self.inner.pools[0], &self.inner.plan.functions[0]);
        let Some(mut frame) = pool.frames().pop() else { return false };
        let Frame { again, buffers, .. } = &mut *frame;
        let done = again.call(plan, args, outs, buffers, self.how, given);
        buffers.end();
        pool.give_back(frame);
        done
    }

    /// Remembers a call that went well, for those like it.
    fn remember(&self, args: &[Arg<'_>], outs: &[ViewMut<'_>]) {
        let (pool, plan) = (&self.inner.pools[0], &self.inner.plan.functions[0]);
        if self.options.times || plan.steps.len() > LONG {
            return;
        }
        let frame = pool.frames().pop();
        if let Some(mut frame) = frame {
            frame.again.remember(plan, args, outs, self.how);
            pool.give_back(frame);
        }
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

    /// The results of a frame.
    fn taken(&self, frame: &mut Frame, buffers: &mut Buffers) -> Result<Results, EvalError> {
        let values = frame.results.drain(..).map(|held| held.into_datum(buffers));
        let home = Home::Executable { kept: self.inner.kept.clone(), whole: false };
        Ok(Results::new(values.collect::<Result<_, _>>()?, home))
    }

    /// Runs the function; `finish` gets the frame, and what was printed or went wrong.
    fn run<T>(
        &self,
        args: impl IntoIterator<Item = Held, IntoIter: ExactSizeIterator>,
        finish: impl FnOnce(&mut Frame, &mut Buffers, Result<Vec<String>, EvalError>) -> Result<T, EvalError>,
    ) -> Result<T, EvalError> {
        self.run_into(args, &[], finish)
    }

    /// The same, with places for results.
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
                // An error that is of no instruction is of the call of the function itself.
                None => EvalError { message: format!("`@{}`: {}", plan.name, e.message), loc: plan.loc, ..e },
                Some(_) => e,
            });
        // Without places for them, results that are views are about to be copied.
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
