//! `passdump run`: rewrites a program and prints it.

use crate::args::{Emit, RunArgs};
use crate::diff;
use crate::engine::{self, Application, Backend, Form, Quiet, Watch};
use crate::error::Error;
use crate::output::{COMMENT_WIDTH, Out, Tone, columns, wants_color};
use crate::program::Program;
use rewright::rewrites::egraph::SaturationStats;
use rewright::rewrites::{Options, Remark, Report, Verify};
use rewright::{Loc, Module};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Rewrites the program and prints the requested output; false if a rewrite failed and the others
/// continued. Everything but IR is printed as comments, so the output can be parsed again.
pub fn run(out: &mut Out, args: &RunArgs) -> Result<bool, Error> {
    let mut program = Program::load_for(&args.input, &args.args)?;
    let only = args.input.func.as_ref().map(|_| program.func);
    let mut written = Ok(());
    let mut show = |step: &Application| {
        if written.is_ok() {
            written = application(out, args, step);
        }
    };
    let steps = args.diff || args.print_after_all;
    let watch: Option<Watch<'_>> = if steps { Some(&mut show) } else { None };
    let options = Options {
        verify: if args.verify_each { Verify::Each } else { Verify::Last },
        check: args.check_each.then(|| program.check(args.ulp)),
        keep_going: args.keep_going,
        stop_after: args.stop_after,
        times: args.time,
        only,
        ..Options::default()
    };
    let begun = Instant::now();
    let rewritten = {
        let _quiet = Quiet::new();
        let module = std::mem::take(&mut program.module);
        engine::rewrite(module, &program.rewriting(Backend::Auto, options), program.source(), watch)
    };
    let time = begun.elapsed();
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
    for remark in &rewritten.report.remarks {
        out.comments([remark])?;
        if args.remarks {
            out.comments(picture(&program.text, remark))?;
        }
    }
    if args.stats || args.time {
        out.comments(stats(&rewritten.report, args.time.then_some(time)))?;
        out.comments(saturation(&rewritten.report.saturation, args.time))?;
    }
    failures(out, &program, &rewritten.report)
}

/// Prints one application of a rewrite.
fn application(out: &mut Out, args: &RunArgs, step: &Application) -> io::Result<()> {
    out.line(Tone::Strong, format!("// {}: {} in @{}", step.number, step.rewrite, step.func))?;
    match args.diff {
        true => diff::print(out, &step.before, &step.after)?,
        false => writeln!(out, "{}", step.after.trim_end())?,
    }
    writeln!(out)
}

/// The source line of a remark, with carets under the location; none if the remark has no location.
fn picture(text: &str, remark: &Remark) -> Vec<String> {
    let Loc { line, col, len, .. } = remark.loc;
    let source = text.lines().nth((line as usize).wrapping_sub(1)).unwrap_or_default();
    if remark.loc.is_none() || source.trim().is_empty() {
        return Vec::new();
    }
    let number = line.to_string();
    let (margin, indent) = (" ".repeat(number.len()), " ".repeat(col.saturating_sub(1) as usize));
    let width = (len.max(1) as usize).min(source.chars().count().saturating_sub(indent.len()).max(1));
    vec![format!("  {number} | {source}"), format!("  {margin} | {indent}{}", "^".repeat(width))]
}

/// A table of the applications of each rewrite, without those that were never tried.
fn stats(report: &Report, total: Option<Duration>) -> Vec<String> {
    let timed = |row: &mut Vec<String>, time: Duration| {
        if total.is_some() {
            row.push(format!("{time:.1?}"));
        }
    };
    let mut rows = vec![vec!["rewrite".to_string(), "applied".into(), "asked".into()]];
    if total.is_some() {
        rows[0].push("time".into());
    }
    for s in report.stats.iter().filter(|s| s.asked > 0) {
        let mut row = vec![s.rewrite.to_string(), s.applied.to_string(), s.asked.to_string()];
        timed(&mut row, s.time);
        rows.push(row);
    }
    let asked: u64 = report.stats.iter().map(|s| s.asked).sum();
    let mut row = vec!["in all".to_string(), report.applications().to_string(), asked.to_string()];
    timed(&mut row, total.unwrap_or_default());
    rows.push(row);
    lines(&rows)
}

/// The lines of a table in a comment.
fn lines(rows: &[Vec<String>]) -> Vec<String> {
    columns(rows, COMMENT_WIDTH).concat()
}

/// Two tables: the applications of each rule in e-graphs, and the end of each saturation. Empty if there
/// was none.
fn saturation(stats: &SaturationStats, times: bool) -> Vec<String> {
    if stats.graphs.is_empty() {
        return Vec::new();
    }
    let row = |rule: String, cells: [String; 4], time: String| {
        let all = [rule].into_iter().chain(cells);
        all.chain(times.then_some(time)).collect::<Vec<_>>()
    };
    let head = ["searched", "matches", "applied", "nodes"].map(String::from);
    let mut rules = vec![row("rule in e-graphs".into(), head, "time".into())];
    for r in &stats.rules {
        let cells = [r.searched, r.matches, r.applied, r.nodes].map(|n| n.to_string());
        rules.push(row(r.rule.to_string(), cells, format!("{:.1?}", r.time)));
    }
    let head = ["e-graph", "instructions", "iterations", "nodes", "classes", "end"];
    let mut graphs = vec![head.map(String::from).to_vec()];
    for g in &stats.graphs {
        let place =
            if g.loc.is_none() { format!("@{}", g.function) } else { format!("@{} line {}", g.function, g.loc.line) };
        let sizes = [g.instructions, g.iterations, g.nodes, g.classes].map(|n| n.to_string());
        graphs.push([place].into_iter().chain(sizes).chain([g.end.clone()]).collect());
    }
    [lines(&rules), lines(&graphs)].concat()
}

/// Prints failures to the standard error; false if there are any.
fn failures(out: &mut Out, program: &Program, report: &Report) -> Result<bool, Error> {
    out.flush()?;
    let stderr = io::stderr();
    for failure in &report.failures {
        let (name, text) = program.source();
        write!(&stderr, "{}", Error::rewrite(name, text, failure).render(wants_color(&stderr)))?;
    }
    Ok(report.failures.is_empty())
}
