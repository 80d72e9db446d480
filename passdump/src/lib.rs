//! passdump shows how rewrites transform array programs, runs the programs, and checks fixtures.
//!
//! It is a library, so that a crate with its own ops and rewrites can build a passdump that has them: a
//! binary of three lines links that crate.
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
//! evaluator and every code generator, before and after rewriting. `plugins/template` in the repository
//! is such a crate, as a template.
//!
//! The module [`fixture`] reads, checks and blesses fixtures.
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
mod value;
mod verdicts;

pub use error::Error;

use args::{Cli, Command};
use clap::Parser;
use output::Out;
use std::io::{self, Write};
use std::process::ExitCode;

/// The main function of the tool, with the rewrites, ops and styles of all linked crates.
///
/// The exit status is 0 on success, 1 for errors in the input, and 2 for errors in the command line.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // If printing the message fails, there is no place to report it.
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
        // A closed pipe is no error: the reader stopped early.
        Err(Error::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(e) => {
            let _ = out.flush();
            let stderr = io::stderr();
            let _ = write!(&stderr, "{}", e.render(output::wants_color(&stderr)));
            ExitCode::from(1)
        }
    }
}

/// Runs a command; false if it reported that its input is wrong.
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
