//! The command line.

use crate::engine::{Backend, MAX_BYTES, MAX_STEPS};
use crate::examples;
use crate::translated::language_of;
use crate::value::{ValueError, ValueSpec};
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum, value_parser};
use rewright::Limits;
use rewright::rewrites::rule::Liberties;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

/// Runs, inspects and tests rewrites of array programs.
#[derive(Debug, Parser)]
#[command(name = "passdump", bin_name = "passdump", version, about, max_term_width = 100)]
#[command(after_help = examples::PASSDUMP)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Refuses `explain` without a value, unless FILE is a program of a source language.
pub fn checked(cli: Cli) -> Result<Cli, clap::Error> {
    match &cli.command {
        Command::Explain(args) if args.value.is_none() && language_of(&args.input.file).is_none() => {
            let message = "the following required arguments were not provided:\n  <VALUE>";
            Err(Cli::command().error(ErrorKind::MissingRequiredArgument, message))
        }
        _ => Ok(cli),
    }
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Rewrite a program and print it
    #[command(after_help = examples::RUN)]
    Run(RunArgs),
    /// Rewrite, compile and call a function, and print its results
    #[command(after_help = examples::EXEC)]
    Exec(ExecArgs),
    /// Rewrite and compile a function, and measure how long its calls take
    #[command(after_help = examples::BENCH)]
    Bench(BenchArgs),
    /// Show the kernels of a function: schedule, instructions, machine code
    #[command(after_help = examples::ASM)]
    Asm(AsmArgs),
    /// List the rewrites that match a program, and the first change of each
    #[command(after_help = examples::SUGGEST)]
    Suggest(SuggestArgs),
    /// Find a rewrite application that breaks a program
    #[command(after_help = examples::BISECT)]
    Bisect(BisectArgs),
    /// Reduce a failing program to a minimal one
    #[command(after_help = examples::REDUCE)]
    Reduce(ReduceArgs),
    /// Run fixtures and compare their results with the expected ones
    #[command(after_help = examples::TEST)]
    Test(TestArgs),
    /// Show what the pipeline did to a value, and why it was not fused
    #[command(after_help = examples::EXPLAIN)]
    Explain(ExplainArgs),
    /// Prove two functions or two values equal by rules, and print the proof
    #[command(after_help = examples::PROVE)]
    Prove(ProveArgs),
    /// Write an HTML page that shows every step of a pipeline
    #[command(after_help = examples::HTML)]
    Html(HtmlArgs),
    /// Check each rule: prove it, or evaluate both sides on special values
    #[command(after_help = examples::CHECK_RULES)]
    CheckRules(CheckRulesArgs),
    /// Print a shell completion script
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// List registered rewrites, ops, interfaces, styles and backends
    #[command(after_help = examples::LIST)]
    List(ListArgs),
}

/// The program that a command works on.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// A fixture or a module in RON (.ron), IR text (.ir), a program in index notation (.idx) or its text;
    /// `-` is the standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The function; default: `run` shows all functions, `exec` calls the fixture's own or the last one
    #[arg(long, value_name = "NAME")]
    pub func: Option<String>,
    /// The pipeline, such as "fold, cse, dce"; default: the fixture's own, or the default pipeline
    #[arg(allow_hyphen_values = true, long, value_name = "P")]
    pub pipeline: Option<String>,
    /// A file of additional rules: a RON list of Rule(name: "...", rule: "...")
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Check the rules of --rules again, even if the cache has verdicts of this build
    #[arg(long, requires = "rules")]
    pub no_cache: bool,
    /// How results may differ, such as "contract, no_nan", or "all"; default: the fixture's own, or none
    #[arg(long, value_name = "L")]
    pub liberties: Option<Liberties>,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// Print the function after every application of a rewrite
    #[arg(long, conflicts_with = "diff")]
    pub print_after_all: bool,
    /// Show what every application of a rewrite changed
    #[arg(long)]
    pub diff: bool,
    /// Show the line of the program that each remark is about
    #[arg(long)]
    pub remarks: bool,
    /// Show how often each rewrite was tried and applied, and statistics of equality saturation
    #[arg(long)]
    pub stats: bool,
    /// Show how long each rewrite took
    #[arg(long)]
    pub time: bool,
    /// Verify the whole function after every application
    #[arg(long)]
    pub verify_each: bool,
    /// After every application, check that the function's results are unchanged, on generated inputs and
    /// those of the fixture
    #[arg(long)]
    pub check_each: bool,
    /// Units in the last place that --check-each tolerates; default: the fixture's own, or 0
    #[arg(long, value_name = "N", requires = "check_each")]
    pub ulp: Option<u64>,
    /// If a rewrite fails, undo it, skip it in the rest of the function, and continue
    #[arg(long)]
    pub keep_going: bool,
    /// Stop after N applications, for example to step through them
    #[arg(long, value_name = "N")]
    pub stop_after: Option<u64>,
    /// The output format of the program
    #[arg(long, value_enum, default_value = "text")]
    pub emit: Emit,
    /// A parameter's value, as for `exec`, for which a program in another notation is translated
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub args: Vec<ArgBinding>,
}

/// The test that decides whether a program fails.
#[derive(Debug, Args)]
pub struct FailingArgs {
    /// A parameter's value, as for `exec`; this call is tried first
    #[arg(long = "arg", value_name = "NAME=VALUE", conflicts_with = "command")]
    pub args: Vec<ArgBinding>,
    /// Compare this backend with the reference evaluator on the rewritten function
    #[arg(long, value_enum, conflicts_with = "command")]
    pub backend: Option<Backend>,
    /// Test with a shell command instead. The program's file replaces {}, or is appended; the program fails
    /// if the exit status is not 0
    #[arg(long, value_name = "CMD")]
    pub command: Option<String>,
    /// Units in the last place that results may differ by; default: the fixture's own, or 0
    #[arg(long, value_name = "N", conflicts_with = "command")]
    pub ulp: Option<u64>,
}

/// Arguments of `suggest`.
#[derive(Debug, Args)]
pub struct SuggestArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
}

/// Arguments of `bisect`.
#[derive(Debug, Args)]
pub struct BisectArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// The failure test.
    #[command(flatten)]
    pub failing: FailingArgs,
}

/// Arguments of `reduce`.
#[derive(Debug, Args)]
pub struct ReduceArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// The failure test.
    #[command(flatten)]
    pub failing: FailingArgs,
}

/// The forms of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    /// IR text
    Text,
    /// RON
    Ron,
}

/// A number of threads, from 1.
fn threads() -> impl TypedValueParser<Value = NonZeroU32> {
    value_parser!(u32).range(1..).try_map(NonZeroU32::try_from)
}

/// Resource limits.
#[derive(Clone, Copy, Debug, Args)]
pub struct LimitArgs {
    /// The most instructions, elements and points per call, counted together
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS)]
    pub max_steps: u64,
    /// The most bytes that all arrays of a call may hold together
    #[arg(long, value_name = "N", default_value_t = MAX_BYTES)]
    pub max_bytes: u64,
}

impl LimitArgs {
    /// Converts to the limits of an executable.
    pub fn limits(self) -> Limits {
        // More elements than steps can't be computed anyway.
        let elements = Limits::default().elements.max(self.max_steps);
        Limits { steps: self.max_steps, elements, bytes: self.max_bytes, ..Limits::default() }
    }
}

/// Arguments of `exec`.
#[derive(Debug, Args)]
pub struct ExecArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// The backend that runs the function
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: Backend,
    /// A parameter's value: a number or nested list, with an optional dtype suffix (`[1, 2]:f32`), or
    /// @FILE.npy; default: the value in the fixture's first run, or small example values
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub args: Vec<ArgBinding>,
    /// Write a result, by its number or name, to an .npy file instead of printing it
    #[arg(long = "out", value_name = "RESULT=PATH.npy")]
    pub outs: Vec<OutBinding>,
    /// Resource limits.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// The most threads per kernel; default: all hardware threads
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<NonZeroU32>,
    /// Also print the rewritten function, all timings and the kernels' schedules
    #[arg(long)]
    pub time: bool,
}

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// The program: as for `exec`
    #[arg(value_name = "FILE", required_unless_present = "serve")]
    pub file: Option<PathBuf>,
    /// The function; default: the fixture's own, or the last one
    #[arg(long, value_name = "NAME")]
    pub func: Option<String>,
    /// The pipeline, such as "fold, cse, dce"; default: the fixture's own, or the default pipeline
    #[arg(allow_hyphen_values = true, long, value_name = "P")]
    pub pipeline: Option<String>,
    /// How results may differ, such as "contract, no_nan", or "all"; default: the fixture's own, or none
    #[arg(long, value_name = "L")]
    pub liberties: Option<Liberties>,
    /// The backend that runs the function
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: Backend,
    /// A parameter's value, as for `exec`, or random numbers: random:f64[1000, 3], with optional :LOW..HIGH
    /// and :SEED; default: the value in the fixture's first run, or example values
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub args: Vec<ArgBinding>,
    /// Write results into preallocated buffers instead of new arrays
    #[arg(long)]
    pub into: bool,
    /// The most threads per kernel; default: all hardware threads
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<NonZeroU32>,
    /// Resource limits.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// How long to measure
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub time: f64,
    /// Also measure this machine's peak memory bandwidth and instruction throughput, and print the fraction
    /// that a call reaches
    #[arg(long)]
    pub roofline: bool,
    /// Print one JSON object instead
    #[arg(long)]
    pub json: bool,
    /// Serve requests from the standard input, one JSON object per line, with one line per answer; for
    /// scripts that interleave measurements with other programs
    #[arg(long, conflicts_with_all = ["file", "func", "pipeline", "liberties", "args", "into", "threads", "max_steps", "max_bytes", "roofline", "json"])]
    pub serve: bool,
}

/// Arguments of `asm`.
#[derive(Debug, Args)]
pub struct AsmArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// The code generator and vector level; default: the best that this machine supports
    #[arg(long, value_enum)]
    pub level: Option<Level>,
    /// Show only this kernel, numbered from 1
    #[arg(long, value_name = "N")]
    pub kernel: Option<usize>,
}

/// Code generators, with their vector instruction sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Level {
    /// x64 with AVX2
    Avx2,
    /// x64 with AVX-512
    Avx512,
    /// Cranelift
    Cranelift,
}

/// Arguments of `test`.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Fixtures, or folders of them
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Write the actual results into the fixtures' `output`, `error` and empty `expect` fields
    #[arg(long)]
    pub bless: bool,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// The value's name; of a program in another notation, its translation is explained without it
    #[arg(value_name = "VALUE")]
    pub value: Option<String>,
    /// A parameter's value, as for `exec`, for which a program in another notation is translated
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub args: Vec<ArgBinding>,
}

/// Arguments of `prove`.
#[derive(Debug, Args)]
pub struct ProveArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// A single-block function, or the name of a value
    #[arg(value_name = "A")]
    pub first: String,
    /// The function or value to prove equal to A
    #[arg(value_name = "B")]
    pub second: String,
}

/// Arguments of `html`.
#[derive(Debug, Args)]
pub struct HtmlArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// Include the times of steps, and of kernels if all parameters have values; makes the page
    /// nondeterministic
    #[arg(long)]
    pub time: bool,
    /// A parameter's value, as for `exec`; default: the value in the fixture's first run
    #[arg(long = "arg", value_name = "NAME=VALUE", requires = "time")]
    pub args: Vec<ArgBinding>,
    /// The output file
    #[arg(value_name = "OUT.html")]
    pub out: PathBuf,
}

/// Arguments of `check-rules`.
#[derive(Debug, Args)]
pub struct CheckRulesArgs {
    /// A file of rules; default: all built-in and linked rules
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Check only the rules whose names begin with this
    #[arg(long, value_name = "PREFIX")]
    pub rewrites: Option<String>,
    /// Check every rule again, even if its verdict is cached, and store no verdicts
    #[arg(long)]
    pub no_cache: bool,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// The kind of entry to list; default: all kinds
    #[arg(value_enum)]
    pub what: Option<Listing>,
    /// Also show the crate and the line that registered each entry, and all that is known of it
    #[arg(long)]
    pub long: bool,
}

/// Kinds of entries that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listing {
    /// Rewrites
    Rewrites,
    /// Conditions of rules
    Conditions,
    /// Ops
    Ops,
    /// Op interfaces: properties of ops that crates register separately from the op definitions
    Interfaces,
    /// Storage styles
    Styles,
    /// Backends, and whether this machine supports each
    Backends,
}

/// `NAME=VALUE`.
#[derive(Clone, Debug, PartialEq)]
pub struct ArgBinding {
    /// The parameter.
    pub name: String,
    /// Its value.
    pub value: ValueSpec,
}

impl FromStr for ArgBinding {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = split(text, "NAME=VALUE", "'x=[1, 2, 3]'")?;
        let value = value.parse().map_err(|e: ValueError| pointed(value, &e))?;
        Ok(ArgBinding { name: name.to_string(), value })
    }
}

/// `RESULT=PATH.npy`.
#[derive(Clone, Debug, PartialEq)]
pub struct OutBinding {
    /// The result: its number, or the name that the returned value has.
    pub result: String,
    /// Where to write it.
    pub path: PathBuf,
}

impl FromStr for OutBinding {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (result, path) = split(text, "RESULT=PATH.npy", "0=sum.npy")?;
        if path.trim().is_empty() {
            return Err("expected RESULT=PATH.npy, with a path after the `=`".into());
        }
        Ok(OutBinding { result: result.to_string(), path: path.into() })
    }
}

fn split<'a>(text: &'a str, form: &str, example: &str) -> Result<(&'a str, &'a str), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("expected {form}, such as {example}"))?;
    let name = name.trim();
    let name = name.strip_prefix('%').unwrap_or(name);
    if name.is_empty() { Err(format!("expected {form}, with a name before the `=`")) } else { Ok((name, value)) }
}

/// The message with the value below it and carets under the place.
fn pointed(value: &str, error: &ValueError) -> String {
    if value.len() > 120 || value.contains('\n') {
        return format!("{error} (at byte {})", error.at);
    }
    let indent = value[..error.at].chars().count();
    let width = value[error.at..error.at + error.len].chars().count().max(1);
    format!("{error}\n    {value}\n    {}{}", " ".repeat(indent), "^".repeat(width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn bindings_split_at_the_first_equals_sign() {
        let out: OutBinding = "0=a=b.npy".parse().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(out, OutBinding { result: "0".into(), path: "a=b.npy".into() });
        let arg: ArgBinding = "%x=1".parse().unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(arg.name, "x");
        let empty = "0=".parse::<OutBinding>();
        assert_eq!(empty, Err("expected RESULT=PATH.npy, with a path after the `=`".into()));
        assert!("=1".parse::<ArgBinding>().is_err() && "x".parse::<ArgBinding>().is_err());
        let why = "x=[1, é2]".parse::<ArgBinding>();
        assert_eq!(why, Err("`é2` is not a number\n    [1, é2]\n        ^^".into()));
    }
}
