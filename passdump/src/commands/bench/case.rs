//! A benchmark case: a compiled function with its arguments and buffers for its results.

use crate::args::{ArgBinding, InputArgs, LimitArgs};
use crate::call_args::{bind, bind_or_examples};
use crate::commands::calls::{Round, aligned, no_memory, timed};
use crate::commands::exec::advised;
use crate::engine::{self, Backend};
use crate::error::Error;
use crate::example_args::ExampleArgs;
use crate::program::Program;
use cpu_time::ProcessTime;
use rewright::exec::{self, Arg, StepSchedule, ViewMut};
use rewright::lowering::internals::kernel::Kernel;
use rewright::lowering::internals::plan::StepKind;
use rewright::rewrites::Options;
use rewright::{Array, Datum, EvalError, Executable, with_array};
use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Duration;

/// A benchmark request: the program, and how to call it.
pub struct Wanted {
    /// The program.
    pub input: InputArgs,
    /// The backend.
    pub backend: Backend,
    /// The arguments.
    pub args: Vec<ArgBinding>,
    /// Whether example values stand for missing arguments.
    pub examples: bool,
    /// Whether calls write results to existing buffers.
    pub into: bool,
    /// The maximal number of threads of a kernel.
    pub threads: Option<NonZeroU32>,
    /// The limits of a call.
    pub limits: LimitArgs,
}

/// A benchmark case: see the module documentation.
pub struct BenchCase {
    program: Program,
    backend: Backend,
    options: exec::Options,
    /// `None` only during a recompilation.
    executable: Option<Executable>,
    args: Vec<Datum>,
    /// The buffers for the results, if calls write to them.
    outs: Option<Vec<Array>>,
    /// The largest number of elements of an argument or a result.
    pub elements: usize,
    /// The bytes of arguments and results, each counted once: a lower bound on the memory traffic of a
    /// call.
    pub bytes: u64,
    /// The numbers of arrays among the arguments and among the results.
    pub reads: usize,
    pub writes: usize,
}

/// The processor time of a compilation.
#[derive(Clone, Copy, Debug)]
pub struct Compiling {
    /// Rewriting, with verification before and after.
    pub optimize: Duration,
    /// Lowering, from the rewritten function to machine code.
    pub lower: Duration,
}

impl BenchCase {
    /// Reads, rewrites and compiles the program, and calls it once.
    pub fn load(wanted: &Wanted) -> Result<BenchCase, Error> {
        let program = Program::load_called_for(&wanted.input, &wanted.args)?;
        let func = program.function()?;
        let args = match wanted.examples {
            true => bind_or_examples(&wanted.args, &program, func, &ExampleArgs::large(func))?,
            false => bind(&wanted.args, &program, func)?,
        };
        let args: Vec<Datum> = args.into_iter().map(|datum| aligned(&datum)).collect::<Result<_, _>>()?;
        let limits = wanted.limits.limits();
        let options = exec::Options { limits, threads: wanted.threads.or(program.threads), ..exec::Options::default() };
        let executable = Some(compile(&program, wanted.backend, options)?.0);
        let backend = wanted.backend;
        let mut case = BenchCase {
            program,
            backend,
            options,
            executable,
            args,
            outs: None,
            elements: 0,
            bytes: 0,
            reads: 0,
            writes: 0,
        };
        let results = case.call()?;
        let sizes = case.args.iter().chain(&results).map(size);
        (case.elements, case.bytes) = sizes.fold((0, 0), |(n, all), (len, bytes)| (n.max(len), all + bytes));
        let arrays = |data: &[Datum]| data.iter().filter(|datum| matches!(datum, Datum::Array(_))).count();
        (case.reads, case.writes) = (arrays(&case.args), arrays(&results));
        if wanted.into {
            case.outs = Some(buffers(&results)?);
        }
        Ok(case)
    }

    /// Times `count` consecutive calls. Results are dropped at once.
    pub fn run(&mut self, count: u64) -> Result<Round, Error> {
        let executable = self.executable.as_ref().ok_or_else(not_compiled)?;
        let args: Vec<Arg<'_>> = self.args.iter().map(Arg::from).collect();
        let mut outs: Option<Vec<ViewMut<'_>>> = self.outs.as_mut().map(|outs| outs.iter_mut().map(to_write).collect());
        let round = timed(count, || match &mut outs {
            Some(outs) => executable.call_into(black_box(&args), outs),
            None => executable.call(black_box(&args)).map(|results| drop(black_box(results))),
        });
        drop(outs);
        round.map_err(|e| self.shown(&e))
    }

    /// The results of a call.
    pub fn results(&mut self) -> Result<Vec<Datum>, Error> {
        if self.outs.is_none() {
            return self.call();
        }
        self.run(1)?;
        Ok(self.outs.iter().flatten().cloned().map(Datum::Array).collect())
    }

    /// Times `count` rewrites and compilations. The process caches compiled kernels while an executable
    /// uses them, so each executable is dropped before the next compilation.
    pub fn recompile(&mut self, count: u64) -> Result<Vec<Compiling>, Error> {
        let mut times = Vec::new();
        for _ in 0..count {
            self.executable = None;
            let (executable, time) = compile(&self.program, self.backend, self.options)?;
            self.executable = Some(executable);
            times.push(time);
        }
        Ok(times)
    }

    /// The compiled function.
    pub fn executable(&self) -> Result<&Executable, Error> {
        self.executable.as_ref().ok_or_else(not_compiled)
    }

    /// The function's name.
    pub fn name(&self) -> String {
        self.program.func.to_string()
    }

    /// The kernels of the function and of its callees.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        let functions = self.executable.iter().flat_map(|executable| &executable.plan().functions);
        let steps = functions.flat_map(|function| &function.steps);
        steps.filter_map(|step| match &step.kind {
            StepKind::Kernel(step) => Some(&step.launch.lowered.kernel),
            _ => None,
        })
    }

    /// The schedules of the kernels in a call.
    pub fn schedules(&self) -> Result<Vec<StepSchedule>, Error> {
        let options = exec::Options { times: true, ..self.options };
        let (executable, _) = compile(&self.program, self.backend, options)?;
        let args: Vec<Arg<'_>> = self.args.iter().map(Arg::from).collect();
        let results = Vec::from(executable.call(&args).map_err(|e| self.shown(&e))?);
        if self.outs.is_some() {
            let mut buffers = buffers(&results)?;
            let mut outs: Vec<ViewMut<'_>> = buffers.iter_mut().map(to_write).collect();
            executable.call_into(&args, &mut outs).map_err(|e| self.shown(&e))?;
        }
        Ok(executable.schedules())
    }

    fn call(&self) -> Result<Vec<Datum>, Error> {
        let args: Vec<Arg<'_>> = self.args.iter().map(Arg::from).collect();
        self.executable()?.call(&args).map(Vec::from).map_err(|e| self.shown(&e))
    }

    fn shown(&self, error: &EvalError) -> Error {
        self.program.failed(&advised(error.clone()))
    }
}

fn compile(program: &Program, backend: Backend, options: exec::Options) -> Result<(Executable, Compiling), Error> {
    let module = program.module.clone();
    let start = ProcessTime::now();
    let rewritten = engine::rewrite(module, &program.rewriting(backend, Options::default()), program.source(), None)?;
    let optimize = start.elapsed();
    let start = ProcessTime::now();
    let executable = engine::executable(&rewritten.module, program.func, backend, options)?;
    Ok((executable, Compiling { optimize, lower: start.elapsed() }))
}

/// Allocates buffers for results of these types and shapes.
fn buffers(results: &[Datum]) -> Result<Vec<Array>, Error> {
    let buffer = |datum: &Datum| match aligned(datum)? {
        Datum::Array(array) => Ok(array),
        Datum::Scalar(scalar) => Array::full(scalar, &[]).ok_or_else(no_memory),
        Datum::Styled(s) => {
            Err(Error::message(format!("results of type {} can't be written to places that are there", s.ty())))
        }
    };
    results.iter().map(buffer).collect()
}

fn not_compiled() -> Error {
    Error::message("it could not be compiled anew")
}

fn size(datum: &Datum) -> (usize, u64) {
    match datum {
        Datum::Scalar(_) => (1, 0),
        Datum::Array(array) => (array.len(), (array.len() * array.dtype().size()) as u64),
        Datum::Styled(s) => (s.shape().iter().product(), s.bytes()),
    }
}

fn to_write(array: &mut Array) -> ViewMut<'_> {
    with_array!(array, |a| ViewMut::from(a))
}
