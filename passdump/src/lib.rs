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
mod call_args;
mod commands;
mod diff;
mod engine;
mod error;
mod example_args;
mod examples;
mod failure;
pub mod fixture;
mod forms;
mod linked;
mod machine;
mod numpy_names;
mod output;
mod program;
mod progress;
mod reduce;
mod similar;
mod translated;
mod value;
mod verdicts;
mod wrap;

pub use error::Error;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use output::Out;
use std::env;
use std::io::{self, Write};
use std::process::ExitCode;

/// The main function of the tool, with the rewrites, ops and styles of all linked crates.
///
/// The exit status is 0 on success, 1 for errors in the input, and 2 for errors in the command line.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse().and_then(args::checked) {
        Ok(cli) => cli,
        Err(e) if !e.use_stderr() => {
            let stdout = io::stdout();
            let text = e.render();
            let text = if output::wants_color(&stdout) { text.ansi().to_string() } else { text.to_string() };
            // If printing the help fails, there is no place to report it.
            let _ = write!(&stdout, "{}", wrap::described(&text));
            return ExitCode::SUCCESS;
        }
        Err(e) => {
            let stderr = io::stderr();
            let _ = write!(&stderr, "{}", misuse(&e, output::wants_color(&stderr)));
            return ExitCode::from(2);
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

/// The words before the advice to read the help.
const MORE: &str = "For more information";

/// The message about a wrong command line. It names the command whose help has the examples.
fn misuse(error: &clap::Error, color: bool) -> String {
    let text = error.render();
    let text = if color { text.ansi().to_string() } else { text.to_string() };
    let command = env::args().nth(1).filter(|word| Cli::command().find_subcommand(word).is_some());
    let help = command.map_or("passdump --help".to_string(), |command| format!("passdump {command} --help"));
    let Some((before, after)) = text.rsplit_once("--help").filter(|(text, _)| text.contains(MORE)) else {
        return wrap::described(&text);
    };
    let text = format!("{before}{help}{after}");
    // The reason has a line of its own if it is long.
    let lines = text.lines().map(|line| match line.chars().count() > wrap::WIDTH {
        true => line.replacen("': ", "':\n  ", 1),
        false => line.to_string(),
    });
    wrap::paragraphs(&format!("{}\n", lines.collect::<Vec<_>>().join("\n")))
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
        Command::List(args) => Ok(commands::list::list(out, &args).map(|()| true)?),
    }
}
