//! `passdump suggest`: lists the rewrites that match a program, with the first application of each.

use crate::args::SuggestArgs;
use crate::diff;
use crate::engine::{self, Application, Backend, Quiet, Rewriting};
use crate::error::Error;
use crate::output::{Out, Tone};
use crate::program::Program;
use rewright::rewrites::{Options, rewrites};
use std::io::Write;

/// Tries each rewrite of a pipeline, or each registered one, alone, and prints its first application.
pub fn suggest(out: &mut Out, args: &SuggestArgs) -> Result<(), Error> {
    let program = Program::load(&args.input)?;
    let registry = program.registry.as_ref().unwrap_or_else(|| rewrites());
    let _quiet = Quiet::new();
    let mut asked = 0;
    let mut matching = 0;
    let named = match &args.input.pipeline {
        Some(pipeline) => {
            engine::read_pipeline(registry, pipeline)?.stops().iter().map(|stop| stop.entry.def.name).collect()
        }
        None => Vec::new(),
    };
    for entry in registry.iter().filter(|e| args.input.pipeline.is_none() || named.contains(&e.def.name)) {
        let options = Options {
            stop_after: Some(1),
            only: Some(program.func),
            liberties: program.liberties,
            keep_going: true,
            target: Backend::Auto.target(),
            ..Options::default()
        };
        let how = Rewriting { pipeline: entry.def.name, registry: program.registry.as_ref(), options };
        let mut first: Option<(String, String)> = None;
        let mut watch = |step: &Application| {
            first.get_or_insert_with(|| (step.before.clone(), step.after.clone()));
        };
        let rewritten = engine::rewrite(program.module.clone(), &how, program.source(), Some(&mut watch));
        asked += 1;
        if let Some((before, after)) = first {
            matching += 1;
            out.title(Tone::Strong, format!("{} of {}: {}", entry.def.name, entry.origin, entry.def.doc))?;
            diff::print(out, &before, &after)?;
            writeln!(out)?;
        }
        // A rewrite that fails is no suggestion, but the failure is reported.
        for failure in rewritten.iter().flat_map(|r| &r.report.failures) {
            let (name, text) = program.source();
            write!(out, "{}", Error::rewrite(name, text, failure).render(false))?;
        }
    }
    Ok(writeln!(out, "{matching} of {asked} rewrites match `@{}`", program.func)?)
}
