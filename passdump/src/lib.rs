//! passdump shows what rewrites make of array programs, runs them, and checks fixtures.
//!
//! It is a library so that everybody can have one with their own ops and rewrites in it: a crate that
//! registers some links them into a binary of three lines.
//!
//! ```no_run
//! # mod my_plugin {}
//! use my_plugin as _;
//! fn main() -> std::process::ExitCode {
//!     rewright_passdump::main()
//! }
//! ```
//!
//! A test of that crate calls [`fixture::assert_all`], which checks its fixtures: each with the reference
//! evaluator and every code generator, before and after rewriting. `plugins/template` in the repository is
//! such a crate, to be copied.
//!
//! - [`fixture`] reads, checks and blesses fixtures;
//! - [`value`] reads argument values of the command line.
//!
//! `docs/passdump.md` in the repository describes the command line, `docs/testing.md` the fixtures.

#![forbid(unsafe_code)]

mod args;
mod commands;
mod diff;
mod engine;
mod error;
mod failure;
pub mod fixture;
mod forms;
mod linked;
mod output;
mod program;
mod progress;
mod reduce;
pub mod value;
mod verdicts;

pub use error::Error;

use args::{Cli, Command};
use clap::Parser;
use output::Out;
use std::io::{self, Write};
use std::process::ExitCode;

/// The whole tool, with the rewrites, ops and styles of every crate that the program links.
///
/// Answers with 0 when done, 1 when the input is wrong, 2 when the command line is.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // An error of printing the message can't be reported.
            let _ = e.print();
            return ExitCode::from(if e.use_stderr() { 2 } else { 0 });
        }
    };
    let mut out = Out::stdout();
    let result = engine::start_up().and_then(|()| dispatch(cli, &mut out));
    let result = result.and_then(|done| Ok(out.flush().map(|()| done)?));
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        // Whoever read the output has seen enough.
        Err(Error::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(e) => {
            let _ = out.flush();
            let stderr = io::stderr();
            let _ = write!(&stderr, "{}", e.render(output::wants_color(&stderr)));
            ExitCode::from(1)
        }
    }
}

/// Carries out a command; false if what it looked at is wrong, and it has said so.
fn dispatch(cli: Cli, out: &mut Out) -> Result<bool, Error> {
    match cli.command {
        Command::Run(args) => commands::run::run(out, &args),
        Command::Suggest(args) => commands::suggest::suggest(out, &args).map(|()| true),
        Command::Bisect(args) => commands::bisect::bisect(out, &args).map(|()| true),
        Command::Reduce(args) => commands::reduce::reduce(out, &args).map(|()| true),
        Command::Asm(args) => commands::asm::asm(out, &args).map(|()| true),
        Command::Bench(args) => commands::bench::bench(out, &args).map(|()| true),
        Command::Exec(args) => commands::exec::exec(out, &args).map(|()| true),
        Command::Test(args) => commands::test::test(out, &args),
        Command::Explain(args) => commands::explain::explain(out, &args).map(|()| true),
        Command::Prove(args) => commands::prove::prove(out, &args),
        Command::Html(args) => commands::html::html(out, &args).map(|()| true),
        Command::CheckRules(args) => commands::check_rules::check_rules(out, &args),
        Command::Completions(args) => Ok(commands::completions::completions(out, args.shell).map(|()| true)?),
        Command::List(args) => Ok(commands::list::list(out, args.what).map(|()| true)?),
    }
}
