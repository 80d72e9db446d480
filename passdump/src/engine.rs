//! The tool's interface to the compiler: parsing, rewriting, compilation and calls.

use crate::error::Error;
use crate::fixture::Span;
use crate::forms::Forms;
use crate::linked;
use crate::similar;
use clap::ValueEnum;
use indexmap::{IndexMap, IndexSet};
use rewright::exec::{self, Arg, Executable};
use rewright::ir::npy::{self, NpyError};
use rewright::ir::ron;
use rewright::ir::text::{self, Numbering};
use rewright::rewrites::rule::RuleEntry;
use rewright::rewrites::{self, Event, NoObserver, Observer, Options, Remark, Report, RewriteRegistry, Target};
use rewright::{
    Array, Datum, EvalError, Limits, Module, Name, Outcome, Pipeline, PipelineError, evaluate, parse_module, registry,
    target_of,
};
use serde::Deserialize;
use std::panic::{self, PanicHookInfo};
use std::path::Path;

/// The pipeline if neither the command line nor a fixture names one.
pub const DEFAULT_PIPELINE: &str = "default";

/// The default limit on the steps of a call: enough for programs that end while a user waits, and for one
/// pass over a billion elements.
pub const MAX_STEPS: u64 = 1 << 30;

/// The default limit on the bytes of the arrays of a call.
pub const MAX_BYTES: u64 = 1 << 33;

/// A way to run functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// The reference evaluator
    Reference,
    /// The interpreter of kernels
    Interp,
    /// Machine code by Cranelift
    Cranelift,
    /// Machine code for AVX2 and AVX-512; by Cranelift what it refuses
    X64,
    /// The same for AVX2 only
    #[value(name = "x64-avx2")]
    X64Avx2,
    /// The best of the others
    Auto,
}

impl Backend {
    /// The backends that are no alias of another.
    const ALL: [Backend; 5] = [Backend::Reference, Backend::Interp, Backend::Cranelift, Backend::X64Avx2, Backend::X64];

    /// The backends on which the runs of fixtures are checked on this machine, the reference evaluator
    /// first.
    pub fn available() -> impl Iterator<Item = Backend> {
        Backend::ALL.into_iter().filter(|b| exec::Backend::available().any(|here| here == b.of_lowering()))
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Reference => "reference",
            Backend::Interp => "interp",
            Backend::Cranelift => "cranelift",
            Backend::X64 => "x64",
            Backend::X64Avx2 => "x64-avx2",
            Backend::Auto => "auto",
        }
    }

    /// The compilation target on this machine, as rewrites see it.
    pub fn target(self) -> Target {
        target_of(self.of_lowering())
    }

    fn of_lowering(self) -> exec::Backend {
        match self {
            Backend::Reference => exec::Backend::Reference,
            Backend::Interp => exec::Backend::Interp,
            Backend::Cranelift => exec::Backend::Cranelift,
            Backend::X64 => exec::Backend::X64,
            Backend::X64Avx2 => exec::Backend::X64Avx2,
            Backend::Auto => exec::Backend::Auto,
        }
    }
}

/// Checks for clashes between registrations, and reports all of them.
pub fn start_up() -> Result<(), Error> {
    let mut clashes: Vec<String> = registry().errors().iter().map(ToString::to_string).collect();
    clashes.extend(rewrites::rewrites().errors().iter().map(ToString::to_string));
    if clashes.is_empty() { Ok(()) } else { Err(Error::Start(clashes)) }
}

/// The format of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// IR text.
    Text,
    /// RON.
    Ron,
}

/// The numbers of the anonymous values in a text, for each function.
pub type Numberings = IndexMap<Name, Numbering>;

/// Parses and verifies a text.
pub fn parse(name: &str, text: &str, form: Form) -> Result<Module, Error> {
    Ok(parse_numbered(name, text, form)?.0)
}

/// Parses and verifies a text, and returns the numbers of its anonymous values. RON has none.
pub fn parse_numbered(name: &str, text: &str, form: Form) -> Result<(Module, Numberings), Error> {
    let parsed = match form {
        Form::Text => text::parse_numbered(text, name),
        Form::Ron => ron::from_ron(text, name).map(|module| (module, Numberings::new())),
    };
    parsed.map_err(|errors| Error::from(linked::explained(errors, name, text)))
}

/// The text of a module.
pub fn print(module: &Module, form: Form) -> Result<String, Error> {
    match form {
        Form::Text => Ok(module.to_string()),
        Form::Ron => ron::to_ron(module).map_err(|e| Error::message(e.to_string())),
    }
}

/// A rewritten module.
pub struct Rewritten {
    /// The module.
    pub module: Module,
    /// The report of the rewrites, without duplicate remarks.
    pub report: Report,
}

/// One application of a rewrite.
pub struct Application {
    /// Its number, from 1; failed applications count, too.
    pub number: u64,
    /// The rewrite.
    pub rewrite: &'static str,
    /// The function.
    pub func: Name,
    /// The function's text before.
    pub before: String,
    /// The function's text after.
    pub after: String,
}

/// Called with every application.
pub type Watch<'w> = &'w mut dyn FnMut(&Application);

/// Turns the events of a pipeline into applications.
struct Watcher<'w> {
    forms: Forms,
    before: String,
    watch: Watch<'w>,
}

impl Observer for Watcher<'_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Match { func, .. } => self.before = self.forms.text(func),
            Event::Applied { seq, rewrite, func, .. } => {
                let (before, after) = (std::mem::take(&mut self.before), self.forms.text(func));
                (self.watch)(&Application { number: seq + 1, rewrite, func: func.name, before, after });
            }
            _ => {}
        }
    }
}

/// The linked rewrites with additional rules; `None` without additional rules.
pub fn registry_with(rules: &[RuleEntry]) -> Result<Option<RewriteRegistry>, Error> {
    if rules.is_empty() {
        return Ok(None);
    }
    let registry = RewriteRegistry::with_rules(rules);
    match registry.errors() {
        [] => Ok(Some(registry)),
        errors => Err(Error::message(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))),
    }
}

/// The parameters of a rewriting run.
pub struct Rewriting<'a> {
    /// The rewrites.
    pub pipeline: &'a str,
    /// The registry of the rewrites; `None` for the linked ones.
    pub registry: Option<&'a RewriteRegistry>,
    /// All other options.
    pub options: Options,
}

/// Runs a pipeline on a module; the name and the text of the module are for errors.
pub fn rewrite(
    mut module: Module,
    how: &Rewriting<'_>,
    (name, text): (&str, &str),
    watch: Option<Watch<'_>>,
) -> Result<Rewritten, Error> {
    let pipeline = read_pipeline(how.registry.unwrap_or_else(|| rewrites::rewrites()), how.pipeline)?;
    let result = match watch {
        Some(watch) => {
            let mut watcher = Watcher { forms: Forms::default(), before: String::new(), watch };
            pipeline.run(&mut module, &how.options, &mut watcher)
        }
        None => pipeline.run(&mut module, &how.options, &mut NoObserver),
    };
    let mut report = result.map_err(|e| Error::rewrite(name, text, &e))?;
    let remarks: IndexSet<Remark> = std::mem::take(&mut report.remarks).into_iter().collect();
    report.remarks = remarks.into_iter().collect();
    Ok(Rewritten { module, report })
}

/// Parses a pipeline. An error points to its location in the text.
pub fn read_pipeline(registry: &RewriteRegistry, text: &str) -> Result<Pipeline, Error> {
    Pipeline::parse_in(registry, text).map_err(|e| match e.at() {
        Some(at) => {
            let end = text[at..].find(',').map_or(text.len(), |comma| at + comma);
            let span = Span { start: at, end };
            let (message, help) = match &e {
                PipelineError::Unknown { name, near: None, .. } => {
                    (format!("there is no rewrite `{name}`"), Some(unknown_rewrite(registry, name)))
                }
                PipelineError::Unknown { .. } => {
                    (e.to_string(), Some("`passdump list rewrites` lists all rewrites".to_string()))
                }
                PipelineError::Empty { .. } => (e.to_string(), Some("take one comma out".to_string())),
                PipelineError::NotThere { name, .. } => {
                    (e.to_string(), Some(format!("name the rewrites first: `default, -{name}`")))
                }
                _ => (e.to_string(), None),
            };
            Error::at(Path::new("pipeline"), text, span, message, help)
        }
        None => Error::message(e.to_string()),
    })
}

/// The advice for a rewrite that no linked crate registers, and whose name is near no other.
fn unknown_rewrite(registry: &RewriteRegistry, name: &str) -> String {
    let similar: Vec<String> = similar::rewrites(registry, name).iter().map(|near| format!("`{near}`")).collect();
    match similar.is_empty() {
        true => format!("`passdump list rewrites` lists all rewrites; {}", linked::remedy()),
        false => format!("similar are {}; `passdump list rewrites` lists all rewrites", similar.join(", ")),
    }
}

/// A guard that keeps panics from being reported to the standard error: panics of rewrites become errors.
pub struct Quiet(Option<Hook>);

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send>;

impl Quiet {
    /// Replaces the panic hook.
    pub fn new() -> Quiet {
        let before = panic::take_hook();
        panic::set_hook(Box::new(|_| ()));
        Quiet(Some(before))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some(before) = self.0.take() {
            panic::set_hook(before);
        }
    }
}

/// A function that can be called.
pub enum Callable {
    /// The reference evaluator.
    Reference(Box<Module>, Name, Limits),
    /// A compiled function.
    Compiled(Box<Executable>),
}

/// Compiles a function.
pub fn compile(module: &Module, func: Name, backend: Backend, limits: Limits) -> Result<Callable, Error> {
    compile_with(module, func, backend, exec::Options { limits, ..exec::Options::default() })
}

/// Like [`compile`], with options. `backend` overrides the backend of the options.
pub fn compile_with(module: &Module, func: Name, backend: Backend, options: exec::Options) -> Result<Callable, Error> {
    if backend == Backend::Reference {
        return Ok(Callable::Reference(Box::new(module.clone()), func, options.limits));
    }
    Ok(Callable::Compiled(Box::new(executable(module, func, backend, options)?)))
}

/// The executable of a function; it also supports the reference evaluator as a backend.
pub fn executable(module: &Module, func: Name, backend: Backend, options: exec::Options) -> Result<Executable, Error> {
    let options = exec::Options { backend: backend.of_lowering(), ..options };
    Executable::compile(module, func, options).map_err(|e| Error::message(e.to_string()))
}

/// Compiles a function on the best backend, with step times.
pub fn compile_timed(module: &Module, func: Name) -> Result<Executable, Error> {
    let options = exec::Options { times: true, ..exec::Options::default() };
    Executable::compile(module, func, options).map_err(|e| Error::message(e.to_string()))
}

/// The code generator of a backend on this machine; `None` if the backend generates no code.
pub fn codegen(backend: Backend) -> Result<Option<&'static str>, Error> {
    let module = parse_module("func @f(%x: f64) -> f64 {\nentry:\n  ret %x\n}\n", "codegen")?;
    let callable = compile(&module, Name::new("f"), backend, Limits::default())?;
    Ok(callable.executable().and_then(Executable::codegen))
}

impl Callable {
    /// Calls the function, and returns its results only.
    pub fn call(&self, args: &[Datum]) -> Result<Vec<Datum>, EvalError> {
        match self {
            Callable::Reference(..) => Ok(self.outcome(args)?.results),
            Callable::Compiled(executable) => executable.call(&borrow(args)).map(Vec::from),
        }
    }

    /// Calls the function, and returns all effects.
    pub fn outcome(&self, args: &[Datum]) -> Result<Outcome, EvalError> {
        match self {
            Callable::Reference(module, func, limits) => evaluate(module, *func, args.to_vec(), *limits),
            Callable::Compiled(executable) => executable.outcome(&borrow(args)),
        }
    }

    /// The executable; `None` for the reference evaluator.
    pub fn executable(&self) -> Option<&Executable> {
        match self {
            Callable::Reference(..) => None,
            Callable::Compiled(executable) => Some(executable),
        }
    }
}

fn borrow(args: &[Datum]) -> Vec<Arg<'_>> {
    args.iter().map(Arg::from).collect()
}

/// Reads an array from an `.npy` file.
pub fn read_npy(path: &Path) -> Result<Array, Error> {
    npy::read(path).map_err(|e| npy_error(path, e))
}

/// Writes an array to an `.npy` file.
pub fn write_npy(path: &Path, value: &Datum) -> Result<(), Error> {
    if let Datum::Styled(styled) = value {
        let len = styled.shape().iter().fold(1u64, |len, &n| len.saturating_mul(n as u64));
        if len > Limits::default().elements {
            let message =
                format!("{}: {} has too many elements for a file: save its components", path.display(), value.ty());
            return Err(Error::message(message));
        }
    }
    npy::write(path, &value.to_array()).map_err(|e| npy_error(path, e))
}

fn npy_error(path: &Path, error: NpyError) -> Error {
    match error {
        NpyError::Io { source, .. } => Error::file(path, source),
        _ => Error::message(format!("{}: {error}", path.display())),
    }
}
