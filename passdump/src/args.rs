//! The command line.

use crate::engine::{Backend, MAX_BYTES, MAX_STEPS};
use crate::value::{ValueError, ValueSpec};
use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum, value_parser};
use rewright::Limits;
use rewright::rewrites::rule::Liberties;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

/// Shows, runs and tests what rewrites make of array programs.
#[derive(Debug, Parser)]
#[command(name = "passdump", bin_name = "passdump", version, about, max_term_width = 100)]
#[command(after_help = "Exit status: 0 done, 1 the input is wrong, 2 usage.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Rewrite a program and print it
    #[command(after_help = "Examples:\n  passdump run fixtures/real/black_scholes.ron --diff\n  \
        passdump run f.ir --pipeline 'fold, cse, dce' --check-each\n  passdump run f.ir --remarks --stats --time")]
    Run(RunArgs),
    /// Rewrite, compile and call a function, and print its results
    #[command(after_help = "Examples:\n  passdump exec fixtures/real/black_scholes.ron --time\n  \
        passdump exec f.ir --arg 'x=[1, 2, 3]' --arg y=@y.npy --out 0=sum.npy")]
    Exec(ExecArgs),
    /// Rewrite and compile a function, and measure how long its calls take
    #[command(after_help = "Examples:\n  passdump bench f.ir --arg 'x=random:f64[1000000]' --into\n  \
        passdump bench f.ir --arg x=@x.npy --time 5 --roofline --json\n  passdump bench --serve < requests")]
    Bench(BenchArgs),
    /// Show the kernels of a function: schedule, instructions, machine code
    #[command(after_help = "Examples:\n  passdump asm fixtures/real/black_scholes.ron\n  \
        passdump asm f.ir --kernel 2 --level avx2")]
    Asm(AsmArgs),
    /// List the rewrites that match a program now, and what each would do first
    #[command(
        after_help = "Examples:\n  passdump suggest program.ir\n  passdump suggest program.ir --rules ideas.ron\n  \
        passdump run program.ir --pipeline gvn --stop-after 1 > next.ir"
    )]
    Suggest(SuggestArgs),
    /// Find the application of a rewrite that breaks a program
    #[command(after_help = "Examples:\n  passdump bisect wrong.ir --pipeline 'fold, cse, my-rewrite'\n  \
        passdump bisect wrong.ir --arg 'x=[1, -0.0]'\n  \
        passdump bisect wrong.ir --command 'passdump exec {} --pipeline \"\" --arg x=2'\n\n\
        The program is wrong if rewriting ends with an error, or if the function computes something else after it:\n\
        tried are the arguments given, those of the fixture's runs, and made-up ones. Or it is what --command says.")]
    Bisect(BisectArgs),
    /// Make a program that fails as small as it can be
    #[command(after_help = "Examples:\n  passdump reduce wrong.ir --pipeline my-rewrite > small.ir\n  \
        passdump reduce wrong.ir --command 'passdump exec {} --arg x=2'\n\n\
        The program fails as `bisect` says, and must go on failing in the same way: the same kind of error by the same\n\
        rewrite, a difference, or the same exit status of --command.")]
    Reduce(ReduceArgs),
    /// Check fixtures
    #[command(after_help = "Examples:\n  passdump test fixtures\n  passdump test fixtures/fusion --bless")]
    Test(TestArgs),
    /// Tell what became of a value, and why it was not fused
    #[command(after_help = "Example:\n  passdump explain fixtures/real/black_scholes.ron d1")]
    Explain(ExplainArgs),
    /// Prove two functions, or two values, equal by rules, and show the chain of their applications
    #[command(after_help = "Examples:\n  passdump prove f.ir before after\n  \
        passdump prove f.ir %a %b --func f --liberties reassociate,no_nan,no_inf,no_signed_zeros\n\n\
        Exit status 1: no proof was found; the reason says whether there is none by these rules, or which limit was met.")]
    Prove(ProveArgs),
    /// Write a page that shows every step of a pipeline
    #[command(after_help = "Example:\n  passdump html fixtures/real/black_scholes.ron steps.html")]
    Html(HtmlArgs),
    /// Try every rule by itself: both sides on special values, at each dtype
    #[command(after_help = "Examples:\n  passdump check-rules\n  passdump check-rules my_rules.ron\n  \
        passdump check-rules my_rules.ron --no-cache")]
    CheckRules(CheckRulesArgs),
    /// Print what makes a shell complete the tool's arguments
    #[command(
        after_help = "Examples:\n  passdump completions bash > ~/.local/share/bash-completion/completions/passdump\n  \
        passdump completions fish > ~/.config/fish/completions/passdump.fish"
    )]
    Completions(CompletionsArgs),
    /// List what is registered, and by which crate and line
    #[command(after_help = "Examples:\n  passdump list\n  passdump list rewrites")]
    List(ListArgs),
}

/// The program that a command works on.
#[derive(Debug, Args)]
pub struct InputArgs {
    /// A fixture or a module in RON (.ron), or IR text (.ir); `-` is the standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The function; `run` shows all if not given, `exec` calls the fixture's own or the last one
    #[arg(long, value_name = "NAME")]
    pub func: Option<String>,
    /// The rewrites, such as "fold, cse, dce"; the fixture's own or the default ones if not given
    #[arg(allow_hyphen_values = true, long, value_name = "P")]
    pub pipeline: Option<String>,
    /// Rules besides those that are compiled in: a RON list of Rule(name: "...", rule: "...")
    #[arg(long, value_name = "FILE")]
    pub rules: Option<PathBuf>,
    /// Try the rules of --rules, also where this build's verdicts on them are in the cache
    #[arg(long, requires = "rules")]
    pub no_cache: bool,
    /// What results may differ in, such as "contract, no_nan", or "all"; the fixture's own or nothing if
    /// not given
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
    /// Show how often each rewrite was asked and applied, and what equality saturation did
    #[arg(long)]
    pub stats: bool,
    /// Show how long each rewrite took
    #[arg(long)]
    pub time: bool,
    /// Verify the whole function after every application
    #[arg(long)]
    pub verify_each: bool,
    /// Check after every application, on made-up inputs and those of the fixture, that the function
    /// computes what it did
    #[arg(long)]
    pub check_each: bool,
    /// Units in the last place that --check-each allows; the fixture's own or 0 if not given
    #[arg(long, value_name = "N", requires = "check_each")]
    pub ulp: Option<u64>,
    /// Go on without a rewrite that failed
    #[arg(long)]
    pub keep_going: bool,
    /// Stop after so many applications, to make them one by one
    #[arg(long, value_name = "N")]
    pub stop_after: Option<u64>,
    /// The form to print the program in
    #[arg(long, value_enum, default_value = "text")]
    pub emit: Emit,
}

/// What makes a program fail.
#[derive(Debug, Args)]
pub struct FailingArgs {
    /// A parameter's value, as for `exec`: this call is tried before others
    #[arg(long = "arg", value_name = "NAME=VALUE", conflicts_with = "command")]
    pub args: Vec<ArgBinding>,
    /// This backend must compute what the reference evaluator makes of the rewritten function
    #[arg(long, value_enum, conflicts_with = "command")]
    pub backend: Option<Backend>,
    /// Instead: a shell command that is given the program's file, in the place of {} or at the end; the
    /// program is wrong if the exit status is not 0
    #[arg(long, value_name = "CMD")]
    pub command: Option<String>,
    /// Units in the last place that results may differ by; the fixture's own or 0 if not given
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
    /// What makes it fail.
    #[command(flatten)]
    pub failing: FailingArgs,
}

/// Arguments of `reduce`.
#[derive(Debug, Args)]
pub struct ReduceArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// What makes it fail.
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

/// What a call may use.
#[derive(Clone, Copy, Debug, Args)]
pub struct LimitArgs {
    /// The instructions that a call may execute and the elements and points that it may compute, together
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS)]
    pub max_steps: u64,
    /// The bytes that the arrays of a call may hold together
    #[arg(long, value_name = "N", default_value_t = MAX_BYTES)]
    pub max_bytes: u64,
}

impl LimitArgs {
    /// As those of an executable.
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
    /// What runs the function
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: Backend,
    /// A parameter's value: a number, a nested list, with a dtype suffix if need be (`[1, 2]:f32`), or
    /// @FILE.npy; a fixture's first run gives what is not given
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub args: Vec<ArgBinding>,
    /// Write a result, by its number or name, to an .npy file instead of printing it
    #[arg(long = "out", value_name = "RESULT=PATH.npy")]
    pub outs: Vec<OutBinding>,
    /// What a call may use.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// The most threads that work on one kernel; all that the machine runs at once if not given
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<NonZeroU32>,
    /// Print the rewritten function too, how long everything took, and the schedules of kernels
    #[arg(long)]
    pub time: bool,
}

/// Arguments of `bench`.
#[derive(Debug, Args)]
pub struct BenchArgs {
    /// The program: as for `exec`
    #[arg(value_name = "FILE", required_unless_present = "serve")]
    pub file: Option<PathBuf>,
    /// The function; the fixture's own or the last one if not given
    #[arg(long, value_name = "NAME")]
    pub func: Option<String>,
    /// The rewrites, such as "fold, cse, dce"; the fixture's own or the default ones if not given
    #[arg(allow_hyphen_values = true, long, value_name = "P")]
    pub pipeline: Option<String>,
    /// What results may differ in, such as "contract, no_nan", or "all"; the fixture's own or nothing if
    /// not given
    #[arg(long, value_name = "L")]
    pub liberties: Option<Liberties>,
    /// What runs the function
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: Backend,
    /// A parameter's value, as for `exec`; made-up numbers: random:f64[1000, 3], then :LOW..HIGH and :SEED
    /// if need be
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub args: Vec<ArgBinding>,
    /// Write results to buffers that are there, instead of making arrays for them
    #[arg(long)]
    pub into: bool,
    /// The most threads that work on one kernel; all that the machine runs at once if not given
    #[arg(long, value_name = "N", value_parser = threads())]
    pub threads: Option<NonZeroU32>,
    /// What a call may use.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// How long to measure
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub time: f64,
    /// Measure also how fast this machine moves so many bytes and issues instructions, and say what part of
    /// that a call reaches
    #[arg(long)]
    pub roofline: bool,
    /// Print one object in JSON instead
    #[arg(long)]
    pub json: bool,
    /// Do what requests on the standard input say, each a line of JSON, and answer each with a line: for
    /// scripts that measure other programs in turns with this one
    #[arg(long, conflicts_with_all = ["file", "func", "pipeline", "liberties", "args", "into", "threads", "max_steps", "max_bytes", "roofline", "json"])]
    pub serve: bool,
}

/// Arguments of `asm`.
#[derive(Debug, Args)]
pub struct AsmArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// What makes machine code; the best that this machine has if not given
    #[arg(long, value_enum)]
    pub level: Option<Level>,
    /// One kernel only, by its number from 1
    #[arg(long, value_name = "N")]
    pub kernel: Option<usize>,
}

/// Code generators, and what they use of the processor.
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
    /// Write what came out into the fixtures' `output`, `error` and empty `expect` fields
    #[arg(long)]
    pub bless: bool,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// The value's name
    #[arg(value_name = "VALUE")]
    pub value: String,
}

/// Arguments of `prove`.
#[derive(Debug, Args)]
pub struct ProveArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// A function of one block, or the name of a value
    #[arg(value_name = "A")]
    pub first: String,
    /// Another one
    #[arg(value_name = "B")]
    pub second: String,
}

/// Arguments of `html`.
#[derive(Debug, Args)]
pub struct HtmlArgs {
    /// The program.
    #[command(flatten)]
    pub input: InputArgs,
    /// Put times into the page: of steps, and of kernels if all parameters have values. Without it the same
    /// program always gives the same page
    #[arg(long)]
    pub time: bool,
    /// A parameter's value, as for `exec`; a fixture's first run gives what is not given
    #[arg(long = "arg", value_name = "NAME=VALUE", requires = "time")]
    pub args: Vec<ArgBinding>,
    /// The page to write
    #[arg(value_name = "OUT.html")]
    pub out: PathBuf,
}

/// Arguments of `check-rules`.
#[derive(Debug, Args)]
pub struct CheckRulesArgs {
    /// A file of rules; all that are compiled in if not given
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Try every rule, also where this build's verdict on it is in the cache, and keep no verdicts
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
    /// What to list; everything if not given
    #[arg(value_enum)]
    pub what: Option<Listing>,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Listing {
    /// Rewrites
    Rewrites,
    /// Conditions of rules
    Conditions,
    /// Ops
    Ops,
    /// Interfaces of ops: what crates say about ops besides their definitions
    Interfaces,
    /// Storage styles
    Styles,
    /// What runs functions, and whether this machine has it
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
        let (name, value) = split(text, "NAME=VALUE")?;
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
        let (result, path) = split(text, "RESULT=PATH.npy")?;
        if path.trim().is_empty() {
            return Err("expected RESULT=PATH.npy, with a path after the `=`".into());
        }
        Ok(OutBinding { result: result.to_string(), path: path.into() })
    }
}

fn split<'a>(text: &'a str, form: &str) -> Result<(&'a str, &'a str), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("expected {form}"))?;
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
