//! `passdump bench`: rewrites and compiles a function, and measures its calls.

mod case;
mod roofline;
mod serve;

use crate::args::{BenchArgs, InputArgs};
use crate::commands::calls::{Calls, measure, quantile};
use crate::commands::exec::remarks;
use crate::error::Error;
use crate::output::{Out, count};
use case::{BenchCase, Compiling, Wanted};
use rewright::exec::StepSchedule;
use roofline::Roofline;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// The number of compilations that are timed.
const COMPILATIONS: u64 = 15;

/// The maximum of `--time`, in seconds.
const LONGEST: f64 = 3600.0;

/// Measures one function, or serves requests.
pub fn bench(out: &mut Out, args: &BenchArgs) -> Result<(), Error> {
    let Some(file) = args.file.as_ref().filter(|_| !args.serve) else { return serve::serve(out) };
    if !(0.0..=LONGEST).contains(&args.time) {
        return Err(Error::message(format!("--time: {} is not from 0 to {LONGEST} seconds", args.time)));
    }
    let wanted = Wanted {
        input: input(file.clone(), args),
        backend: args.backend,
        args: args.args.clone(),
        examples: true,
        into: args.into,
        threads: args.threads,
        limits: args.limits,
    };
    let mut case = BenchCase::load(&wanted)?;
    let compiling = middle(&case.recompile(COMPILATIONS)?);
    let calls = measure(Duration::from_secs_f64(args.time), |count| case.run(count))?;
    let roofline = if args.roofline { Some(roofline::measure(&case)?) } else { None };
    match args.json {
        true => Ok(writeln!(out, "{}", as_json(&case, &calls, compiling, roofline)?)?),
        false => report(out, &case, &calls, compiling, roofline),
    }
}

fn input(file: PathBuf, args: &BenchArgs) -> InputArgs {
    let (func, pipeline) = (args.func.clone(), args.pipeline.clone());
    InputArgs { file, func, pipeline, rules: None, no_cache: false, liberties: args.liberties }
}

/// The median of each time.
fn middle(times: &[Compiling]) -> Compiling {
    let median = |time: fn(&Compiling) -> Duration| {
        let mut times: Vec<Duration> = times.iter().map(time).collect();
        times.sort();
        times.get(times.len() / 2).copied().unwrap_or_default()
    };
    Compiling { optimize: median(|c| c.optimize), lower: median(|c| c.lower) }
}

const QUANTILES: [(&str, f64); 5] = [("min", 0.0), ("p10", 0.1), ("median", 0.5), ("p90", 0.9), ("max", 1.0)];

/// The answer to `load`, and a part of the output of `--json`.
fn facts(case: &BenchCase) -> Result<Value, Error> {
    let executable = case.executable()?;
    let kernel = |s: &StepSchedule| json!({ "codegen": s.codegen, "schedule": s.schedule.to_string() });
    let kernels: Vec<Value> = case.schedules()?.iter().map(kernel).collect();
    let remarks: Vec<String> = remarks(executable).iter().map(ToString::to_string).collect();
    Ok(json!({
        "function": case.name(),
        "codegen": executable.codegen().unwrap_or("reference"),
        "elements": case.elements,
        "bytes": case.bytes,
        "kernels": kernels,
        "remarks": remarks,
    }))
}

fn as_json(case: &BenchCase, calls: &Calls, compiling: Compiling, roofline: Option<Roofline>) -> Result<Value, Error> {
    let spread = |times: &[f64]| -> Value {
        QUANTILES.iter().map(|(name, part)| (name.to_string(), json!(quantile(times, *part)))).collect()
    };
    let mut all = facts(case)?;
    all["ns_a_call"] = spread(&calls.elapsed);
    all["processor_ns_a_call"] = spread(&calls.processor);
    all["ns_an_element"] = json!(quantile(&calls.elapsed, 0.5) / case.elements as f64);
    all["calls"] = json!(calls.elapsed.len() as u64 * calls.batch);
    all["calls_a_batch"] = json!(calls.batch);
    all["optimize_ns"] = json!(nanos(compiling.optimize));
    all["lower_ns"] = json!(nanos(compiling.lower));
    if let Some(roofline) = roofline {
        all["roofline"] = roofline.as_json();
    }
    Ok(all)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn report(
    out: &mut Out,
    case: &BenchCase,
    calls: &Calls,
    compiling: Compiling,
    roofline: Option<Roofline>,
) -> Result<(), Error> {
    let shown = |ns: f64| format!("{:.1?}", Duration::from_nanos(ns.round() as u64));
    let mut rows = vec![
        vec!["a call".to_string()],
        vec!["on the clock".into()],
        vec!["processor".into()],
        vec!["ns an element".into()],
    ];
    for (name, part) in QUANTILES {
        let elapsed = quantile(&calls.elapsed, part);
        rows[0].push(name.into());
        rows[1].push(shown(elapsed));
        rows[2].push(shown(quantile(&calls.processor, part)));
        rows[3].push(match case.elements {
            0 => "-".into(),
            elements => format!("{:.3}", elapsed / elements as f64),
        });
    }
    out.table(&rows)?;
    let (all, batches) = (calls.elapsed.len() as u64 * calls.batch, calls.elapsed.len() as u64);
    writeln!(
        out,
        "\n{} in {} of {}",
        count(all, "call"),
        count(batches, "batch").replace("batchs", "batches"),
        calls.batch
    )?;
    writeln!(
        out,
        "{} and {} of arguments and results",
        count(case.elements as u64, "element"),
        count(case.bytes, "byte")
    )?;
    writeln!(out, "optimizing took {:.1?}, lowering {:.1?}", compiling.optimize, compiling.lower)?;
    for kernel in case.schedules()? {
        out.wrapped(&format!("kernel by {}: {}", kernel.codegen, kernel.schedule), 2)?;
    }
    if let Some(roofline) = roofline {
        let part = 100.0 * roofline.bound_ns() / quantile(&calls.processor, 0.5);
        let bound = shown(roofline.bound_ns());
        writeln!(out, "{part:.0}% of the roofline: at best {bound} by {}", roofline.bound_by())?;
        let (bandwidth, issue) = (roofline.bandwidth, roofline.issue);
        writeln!(out, "  arguments and results in {} at {bandwidth:.1} GB/s", shown(roofline.memory_ns))?;
        writeln!(out, "  instructions in {} at {issue:.1} a nanosecond", shown(roofline.issue_ns))?;
    }
    Ok(out.comments(remarks(case.executable()?))?)
}
