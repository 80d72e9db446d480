//! `passdump run`: rewrites a program and prints it.

use crate::args::{Emit, RunArgs};
use crate::diff;
use crate::engine::{self, Application, Form, Watch};
use crate::error::Error;
use crate::output::{Out, Tone};
use crate::program::Program;
use rewright::Module;
use rewright::rewrites::Verify;
use std::io::{self, Write};

/// Rewrites, and prints what is asked for. What is not IR is printed as comments, so that the output can be read again.
pub fn run(out: &mut Out, args: &RunArgs) -> Result<(), Error> {
    let program = Program::load(&args.input)?;
    let only = args.input.func.as_ref().map(|_| program.func);
    let mut written = Ok(());
    let mut show = |step: &Application| {
        if written.is_ok() && only.is_none_or(|f| f == step.func) {
            written = application(out, args, step);
        }
    };
    let steps = args.diff || args.print_after_all;
    let watch: Option<Watch<'_>> = if steps { Some(&mut show) } else { None };
    let rewritten = engine::rewrite(&program.module, &program.rewriting(Verify::Each), program.source(), watch);
    written?;
    let rewritten = rewritten?;
    if steps {
        out.line(Tone::Strong, "// in the end")?;
    }
    let shown = match only.and_then(|name| rewritten.module.get(name)) {
        Some(func) => {
            let mut alone = Module::new();
            alone.insert(func.clone());
            alone
        }
        None => rewritten.module,
    };
    let form = match args.emit {
        Emit::Text => Form::Text,
        Emit::Ron => Form::Ron,
    };
    writeln!(out, "{}", engine::print(&shown, form)?.trim_end())?;
    let remarks = rewritten.remarks.iter().filter(|r| only.is_none_or(|f| f == r.function));
    Ok(out.comments(remarks)?)
}

/// Shows one application of a rewrite.
fn application(out: &mut Out, args: &RunArgs, step: &Application) -> io::Result<()> {
    out.line(Tone::Strong, format!("// {}: {} in @{}", step.number, step.rewrite, step.func))?;
    match args.diff {
        true => diff::print(out, &step.before, &step.after)?,
        false => writeln!(out, "{}", step.after.trim_end())?,
    }
    writeln!(out)
}
