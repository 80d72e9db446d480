//! `passdump exec`: rewrites, compiles and calls a function.

use crate::args::{ExecArgs, OutBinding};
use crate::call_args::bind_or_examples;
use crate::commands::calls::{Calls, aligned, measure, quantile, timed};
use crate::engine::{self, Callable, Rewritten};
use crate::error::Error;
use crate::example_args::ExampleArgs;
use crate::fixture::param_name;
use crate::output::{Out, Tone, count};
use crate::program::Program;
use rewright::exec::{self, Arg, Executable, ReferenceStep, Remark, Stats, StepSchedule};
use rewright::rewrites::Options;
use rewright::{Datum, EvalError, EvalErrorKind, Function, Outcome};
use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

/// The time for which calls are repeated in a measurement.
const MEASURE: Duration = Duration::from_millis(250);

/// Rewrites, compiles, calls, and prints or saves the results.
pub fn exec(out: &mut Out, args: &ExecArgs) -> Result<(), Error> {
    let program = Program::load_called_for(&args.input, &args.args)?;
    let func = program.function()?;
    let values = bind_or_examples(&args.args, &program, func, &ExampleArgs::small())?;
    let names = result_names(func);
    let saves = places(&args.outs, &names)?;

    let start = Instant::now();
    let rewritten = engine::rewrite(
        program.module.clone(),
        &program.rewriting(args.backend, Options::default()),
        program.source(),
        None,
    )?;
    let rewriting = start.elapsed();
    let start = Instant::now();
    let options = exec::Options {
        limits: args.limits.limits(),
        threads: args.threads.or(program.threads),
        ..exec::Options::default()
    };
    let callable = engine::compile_with(&rewritten.module, program.func, args.backend, options)?;
    let compiling = start.elapsed();
    let outcome = callable.outcome(&values).map_err(|e| program.failed(&advised(e)))?;

    let stats = callable.executable().map(Executable::stats);
    if args.time {
        writeln!(out, "{}", rewritten.module.to_string().trim_end())?;
        out.comments(&rewritten.report.remarks)?;
        writeln!(out)?;
    }
    show(out, &outcome, &names, &saves)?;
    for (i, (after, before)) in outcome.args.iter().zip(&values).enumerate() {
        if !same_bits(after, before) {
            let name = param_name(func, i, func.params()[i]);
            titled(out, &format!("{name} after the call"), after)?;
        }
    }
    if args.time {
        let calls = measured(&callable, &values)?;
        let calls = calls.map_err(|e| Error::eval(&program.name, &program.text, &advised(e)))?;
        report(out, &rewritten, &callable, stats, [rewriting, compiling], &calls)?;
        let options = exec::Options { times: true, ..options };
        let timed = engine::compile_with(&rewritten.module, program.func, args.backend, options)?;
        if timed.call(&values).is_ok() {
            by_reference(out, timed.executable())?;
            schedules(out, timed.executable())?;
        }
    }
    Ok(())
}

/// True if two values have the same bits, that is, if nothing was stored to an argument. Styled arrays
/// are compared by components, because they may have too many elements.
fn same_bits(after: &Datum, before: &Datum) -> bool {
    match (after.as_styled(), before.as_styled()) {
        (Some(a), Some(b)) => {
            let (a, b) = (a.components(), b.components());
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_bits(b))
        }
        _ => after.to_array().same_bits(&before.to_array()),
    }
}

/// Prints the schedules of the kernels of a call.
fn schedules(out: &mut Out, executable: Option<&Executable>) -> Result<(), Error> {
    let steps = executable.map(Executable::schedules).unwrap_or_default();
    let row = |step: &StepSchedule| {
        vec![step.op.name.to_string(), step.loc.to_string(), step.codegen.to_string(), step.schedule.to_string()]
    };
    let rows: Vec<Vec<String>> = steps.iter().map(row).collect();
    if !rows.is_empty() {
        writeln!(out)?;
        out.table(&rows)?;
    }
    Ok(())
}

/// Adds advice to an error about a limit that the command line sets.
pub fn advised(error: EvalError) -> EvalError {
    let advice = match error.message.as_str() {
        _ if error.kind != EvalErrorKind::Limit => return error,
        message if message.starts_with("no memory") => return error,
        message if message.contains("steps") => "does it ever end? `--max-steps N` allows more",
        message if message.contains("elements") || message.contains("points") => "`--max-steps N` allows more",
        message if message.contains("bytes") => "`--max-bytes N` allows more",
        _ => return error,
    };
    EvalError { message: format!("{}: {advice}", error.message), ..error }
}

/// The names of the results: those of the returned values, or the index of a result if its value is
/// anonymous.
fn result_names(func: &Function) -> Vec<String> {
    let returned = func.blocks().filter_map(|b| func.terminator(b)).map(|i| func.inst(i)).find(|i| i.op.name == "ret");
    let named = |i: usize| {
        let name = func.value_name(*returned?.args.get(i)?)?.to_string();
        (!name.bytes().all(|b| b.is_ascii_digit())).then_some(name)
    };
    let mut names: Vec<String> = Vec::new();
    for i in 0..func.results.len() {
        let name = named(i).filter(|name| !names.contains(name));
        names.push(name.unwrap_or_else(|| i.to_string()));
    }
    names
}

/// For each result, the file to save it to, if any.
fn places<'a>(outs: &'a [OutBinding], names: &[String]) -> Result<Vec<Option<&'a OutBinding>>, Error> {
    let mut places = vec![None; names.len()];
    for binding in outs {
        let number = binding.result.parse().ok().filter(|&i| i < names.len());
        let Some(i) = names.iter().position(|n| *n == binding.result).or(number) else {
            let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let message =
                format!("--out: there is no result `{}`; the results are {}", binding.result, quoted.join(", "));
            return Err(Error::message(message));
        };
        if places[i].is_some() {
            return Err(Error::message(format!("--out: result `{}` is given twice", binding.result)));
        }
        places[i] = Some(binding);
    }
    Ok(places)
}

/// Prints the program's output and results, and writes the results in `saves` to files.
fn show(out: &mut Out, outcome: &Outcome, names: &[String], saves: &[Option<&OutBinding>]) -> Result<(), Error> {
    for line in &outcome.printed {
        writeln!(out, "{line}")?;
    }
    for (i, result) in outcome.results.iter().enumerate() {
        let name = names.get(i).map_or("", String::as_str);
        match saves.get(i).copied().flatten() {
            None => titled(out, name, result)?,
            Some(binding) => {
                engine::write_npy(&binding.path, result)?;
                let title = out.tone(Tone::Strong, format!("{name}: {}", result.ty()));
                writeln!(out, "{title} -> {}", binding.path.display())?;
            }
        }
    }
    Ok(())
}

fn titled(out: &mut Out, name: &str, value: &Datum) -> Result<(), Error> {
    out.line(Tone::Strong, format!("{name}: {}", value.ty()))?;
    Ok(writeln!(out, "{value}")?)
}

/// Times calls as `bench` does: each result is dropped at once.
fn measured(callable: &Callable, values: &[Datum]) -> Result<Result<Calls, EvalError>, Error> {
    let values: Vec<Datum> = values.iter().map(aligned).collect::<Result<_, _>>()?;
    let args: Vec<Arg<'_>> = values.iter().map(Arg::from).collect();
    Ok(measure(MEASURE, |count| {
        timed(count, || match callable.executable() {
            Some(executable) => executable.call(black_box(&args)).map(|results| drop(black_box(results))),
            None => callable.call(black_box(&values)).map(|results| drop(black_box(results))),
        })
    }))
}

/// Prints the steps of a call that the reference evaluator ran, with their shares of the time.
fn by_reference(out: &mut Out, executable: Option<&Executable>) -> Result<(), Error> {
    let Some(executable) = executable else { return Ok(()) };
    let times = executable.step_times();
    let entry = executable.plan().functions.first().map(|function| function.name);
    let all: Duration = times.iter().filter(|time| Some(time.func) == entry).map(|time| time.total).sum();
    let row = |step: &ReferenceStep| {
        let own = times.iter().find(|time| (time.func, time.step) == (step.func, step.step));
        let part = own.map_or(0.0, |own| 100.0 * own.total.as_secs_f64() / all.as_secs_f64().max(f64::MIN_POSITIVE));
        let place = format!("`@{}`, {}", step.func, step.loc);
        vec![format!("`{}` by reference", step.op), place, count(step.runs, "run"), format!("{part:.1}% of the call")]
    };
    let rows: Vec<Vec<String>> = executable.reference_steps().iter().map(row).collect();
    if !rows.is_empty() {
        writeln!(out)?;
        out.table(&rows)?;
    }
    Ok(())
}

/// The remarks of compilation and of the calls so far: steps that do not run as requested.
pub fn remarks(executable: &Executable) -> Vec<Remark> {
    executable.remarks().iter().cloned().chain(executable.call_remarks()).collect()
}

/// Prints times, and counts for one call.
fn report(
    out: &mut Out,
    rewritten: &Rewritten,
    callable: &Callable,
    stats: Option<Stats>,
    [rewriting, compiling]: [Duration; 2],
    calls: &Calls,
) -> Result<(), Error> {
    let generator = callable.executable().map_or(Some("reference"), Executable::codegen).unwrap_or("reference");
    let mut rows = vec![
        vec!["rewriting".into(), format!("{rewriting:.1?}"), count(rewritten.report.applications(), "application")],
        vec!["compiling".into(), format!("{compiling:.1?}"), format!("by {generator}")],
    ];
    let call = |part| Duration::from_nanos(quantile(&calls.elapsed, part).round() as u64);
    let all = count(calls.elapsed.len() as u64 * calls.batch, "call");
    let note = format!("median of {all} in batches of {}, the fastest {:.1?}", calls.batch, call(0.0));
    rows.push(vec!["call".into(), format!("{:.1?}", call(0.5)), note]);
    writeln!(out)?;
    out.table(&rows)?;
    if let Some(stats) = stats {
        let allocated = format!("{} ({} bytes)", count(stats.allocations, "buffer"), stats.bytes);
        let (kernels, others) = (count(stats.kernels, "kernel"), count(stats.reference, "op"));
        writeln!(out, "a call runs {kernels}, and {others} by reference meaning; it allocates {allocated}")?;
    }
    Ok(out.comments(callable.executable().map(remarks).unwrap_or_default())?)
}
