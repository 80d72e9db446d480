//! `passdump reduce`: minimizes a program that fails.

use crate::args::ReduceArgs;
use crate::engine::{self, Form, Quiet};
use crate::error::Error;
use crate::failure::{Failure, Test, by_command};
use crate::output::Out;
use crate::program::Program;
use crate::progress::Progress;
use crate::reduce::{Reducer, ddmin, size};
use rewright::rewrites::rewrites;
use rewright::rewrites::{Options, RewriteRegistry, Verify};
use rewright::{Module, Pipeline};
use std::io::Write;

/// Reduces the program, and prints the result.
pub fn reduce(out: &mut Out, args: &ReduceArgs) -> Result<(), Error> {
    let program = Program::load_called(&args.input)?;
    let mut test = program.test(&args.failing, Verify::Last)?;
    let quiet = Quiet::new();
    let mut progress = Progress::new("reducing, run", None);
    let mut hunt = Hunt { test: &mut test, runs: 0, limits: Limits::Normal };
    let failure = hunt.begin(&program)?;
    let registry = program.registry.as_ref().unwrap_or_else(|| rewrites());
    hunt.shorten(registry, &program.module, &failure)?;
    let mut fails = |module: &Module| {
        progress.step(format!("{} instructions", size(module)));
        hunt.shows(module, &failure)
    };
    let reduced = Reducer::new(program.module.clone(), program.func, &mut fails).run()?;
    let (runs, last) = (hunt.runs, hunt.failure(&reduced)?);
    progress.finish();
    drop(quiet);
    let from = size(&program.module);
    let mut said = vec![format!("{from} instructions reduced to {}, in {runs} runs", size(&reduced))];
    if test.command.is_none() {
        said.push(format!("the pipeline that shows it: {}", test.pipeline));
    }
    said.extend(last.map(|failure| failure.to_string()));
    writeln!(out, "{}", engine::print(&reduced, Form::Text)?.trim_end())?;
    Ok(out.comments(said)?)
}

/// The limits of rewriting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Limits {
    /// The usual limits.
    Normal,
    /// Tight limits, so that nontermination is detected sooner.
    Tight,
}

/// Searches for one failure in many programs.
struct Hunt<'t> {
    test: &'t mut Test,
    runs: u64,
    limits: Limits,
}

impl Hunt<'_> {
    /// The failure of the original program, with the tightest limits that show it.
    fn begin(&mut self, program: &Program) -> Result<Failure, Error> {
        let Some(failure) = self.failure(&program.module)? else {
            let tried = match &self.test.command {
                Some(command) => format!("`{command}` ends with exit status 0"),
                None => format!("`@{}` computes the same as before, on all inputs that were tried", self.test.func),
            };
            return Err(Error::message(format!("there is nothing to reduce: {tried}")));
        };
        self.limits = Limits::Tight;
        let steps = std::mem::replace(&mut self.test.check.steps, 1 << 16);
        if !self.shows(&program.module, &failure)? {
            self.test.check.steps = steps;
            if !self.shows(&program.module, &failure)? {
                self.limits = Limits::Normal;
            }
        }
        Ok(failure)
    }

    /// The failure of a program, if it fails.
    fn failure(&mut self, module: &Module) -> Result<Option<Failure>, Error> {
        self.runs += 1;
        if let Some(command) = &self.test.command {
            return by_command(command, module);
        }
        let most = 256 + 8 * size(module);
        let (fuel, max_size) = match self.limits {
            Limits::Normal => (None, None),
            Limits::Tight => (Some(most as u64), Some(most)),
        };
        self.test.options = Options { fuel, max_size, ..self.test.options.clone() };
        self.test.after(module, None)
    }

    /// True if a program shows this failure.
    fn shows(&mut self, module: &Module, failure: &Failure) -> Result<bool, Error> {
        Ok(self.failure(module)?.is_some_and(|found| found.is_like(failure)))
    }

    /// Removes rewrites from the pipeline that the failure does not need.
    fn shorten(&mut self, registry: &RewriteRegistry, module: &Module, failure: &Failure) -> Result<(), Error> {
        if self.test.command.is_some() {
            return Ok(());
        }
        let text = self.test.pipeline.to_string();
        let names: Vec<&str> = text.split(", ").filter(|n| !n.is_empty()).collect();
        let parse = |names: &[&str]| -> Result<Pipeline, Error> { engine::read_pipeline(registry, &names.join(", ")) };
        let needed = ddmin(names, |kept| {
            self.test.pipeline = parse(kept)?;
            self.shows(module, failure)
        })?;
        self.test.pipeline = parse(&needed)?;
        Ok(())
    }
}
