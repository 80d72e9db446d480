//! `passdump bisect`: finds the rewrite application that breaks a program.

use crate::args::BisectArgs;
use crate::diff;
use crate::engine::Quiet;
use crate::error::Error;
use crate::failure::Test;
use crate::output::{Out, Tone, count};
use crate::program::Program;
use crate::progress::Progress;
use rewright::RewriteError;
use rewright::rewrites::Verify;
use std::io::Write;

/// Searches, and prints the result.
pub fn bisect(out: &mut Out, args: &BisectArgs) -> Result<(), Error> {
    let program = Program::load_called(&args.input)?;
    let test = program.test(&args.failing, Verify::Each)?;
    let quiet = Quiet::new();
    if let Some(error) = test.endless(&program.module) {
        drop(quiet);
        return by_error(out, &program, &error);
    }
    let (all, error) = test.count(&program.module);
    if let Some(error) = &error {
        drop(quiet);
        return by_error(out, &program, error);
    }
    let mut progress = Progress::new("bisecting", Some(u64::from(all.max(1).ilog2()) + 3));
    let mut runs = 0;
    let mut after = |number: u64| {
        runs += 1;
        progress.step(format!("{number} of {all} applications"));
        test.after(&program.module, Some(number))
    };
    if let Some(failure) = after(0)? {
        return Err(Error::message(format!("the program is wrong before any rewrite: {failure}")));
    }
    let Some(mut failure) = after(all)? else {
        let what = match &test.command {
            Some(command) => format!("`{command}` says so"),
            None => format!("`@{}` computes the same as before, on all inputs that were tried", test.func),
        };
        return Err(Error::message(format!("nothing is wrong after {}: {what}", count(all, "application"))));
    };
    let (mut good, mut bad) = (0, all);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        match after(middle)? {
            Some(found) => (bad, failure) = (middle, found),
            None => good = middle,
        }
    }
    progress.finish();
    drop(quiet);
    show(out, &program, &test, bad, all)?;
    failure.to_string().lines().try_for_each(|line| out.wrapped(line, 2))?;
    Ok(writeln!(out, "({runs} runs)")?)
}

/// Prints an application: its rewrite, its location, and its diff.
fn show(out: &mut Out, program: &Program, test: &Test, number: u64, all: u64) -> Result<(), Error> {
    let Some(found) = test.application(&program.module, number) else { return Ok(()) };
    let entry = test.pipeline.stops().iter().map(|stop| stop.entry).find(|e| e.def.name == found.rewrite);
    let origin = entry.map(|e| e.origin.to_string()).unwrap_or_default();
    let title = format!("application {number} of {all}: `{}` of {origin}, in @{}", found.rewrite, found.func);
    out.title(Tone::Strong, title)?;
    Ok(diff::print(out, &found.before, &found.after)?)
}

/// Prints an error that ends rewriting. It names the rewrite, so no search is needed.
fn by_error(out: &mut Out, program: &Program, error: &RewriteError) -> Result<(), Error> {
    let title = match error {
        RewriteError::Failed { step, function, application: Some(number), .. } => {
            format!("application {number}, which was undone: `{}` of {}, in @{function}", step.rewrite, step.origin)
        }
        _ => "no single application is to blame".to_string(),
    };
    out.title(Tone::Strong, title)?;
    let (name, text) = program.source();
    Ok(write!(out, "{}", Error::rewrite(name, text, error).render(false))?)
}
