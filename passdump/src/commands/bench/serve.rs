//! `passdump bench --serve`: measures on request of another program. Each request and each answer is a
//! line of JSON.

use super::case::{BenchCase, Wanted};
use super::{facts, nanos, roofline};
use crate::args::{ArgBinding, InputArgs, LimitArgs};
use crate::engine::{self, Backend};
use crate::error::Error;
use crate::output::Out;
use indexmap::IndexMap;
use rewright::Datum;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, Write, stdin};
use std::num::NonZeroU32;
use std::path::PathBuf;

/// A request: an object with one field, the name of the request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Loads a case: reads its program, rewrites, compiles, binds its arguments and calls it once.
    Load(Loading),
    /// Calls a case `count` times, and reports the time.
    Run { case: String, count: u64 },
    /// Calls a case, and writes its results to files.
    Save { case: String, to: Vec<PathBuf> },
    /// Drops a case.
    Drop { case: String },
    /// Reports a lower bound on the time of a call.
    Roofline { case: String },
    /// Rewrites and compiles a case `count` times from scratch.
    Compile { case: String, count: u64 },
}

/// A function and its arguments, in the syntax of the command line without `--serve`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Loading {
    case: String,
    file: PathBuf,
    func: Option<String>,
    pipeline: Option<String>,
    liberties: Option<String>,
    backend: Option<Backend>,
    threads: Option<NonZeroU32>,
    #[serde(default)]
    args: BTreeMap<String, String>,
    #[serde(default)]
    into: bool,
    max_steps: Option<u64>,
    max_bytes: Option<u64>,
}

/// Answers requests until there are no more.
pub fn serve(out: &mut Out) -> Result<(), Error> {
    let mut cases: IndexMap<String, BenchCase> = IndexMap::new();
    for line in stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = answer(&line, &mut cases).unwrap_or_else(|e| json!({ "error": e.render(false).trim_end() }));
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn answer(line: &str, cases: &mut IndexMap<String, BenchCase>) -> Result<Value, Error> {
    let request = serde_json::from_str(line).map_err(|e| Error::message(format!("the request can't be read: {e}")))?;
    match request {
        Request::Load(loading) => {
            // A case of the same name is removed first.
            cases.swap_remove(&loading.case);
            let (name, wanted) = loading.wanted()?;
            let case = BenchCase::load(&wanted)?;
            let answer = facts(&case)?;
            cases.insert(name, case);
            Ok(answer)
        }
        Request::Run { case, count } => {
            let round = find(cases, &case)?.run(count)?;
            Ok(json!({ "count": count, "elapsed_ns": nanos(round.elapsed), "processor_ns": nanos(round.processor) }))
        }
        Request::Save { case, to } => {
            let results = find(cases, &case)?.results()?;
            if results.len() != to.len() {
                let message =
                    format!("`{case}` has {} results, and there are {} files for them", results.len(), to.len());
                return Err(Error::message(message));
            }
            to.iter().zip(&results).try_for_each(|(path, result)| engine::write_npy(path, result))?;
            Ok(json!({ "types": results.iter().map(|r: &Datum| r.ty().to_string()).collect::<Vec<_>>() }))
        }
        Request::Drop { case } => {
            find(cases, &case)?;
            cases.swap_remove(&case);
            Ok(json!({}))
        }
        Request::Roofline { case } => Ok(roofline::measure(find(cases, &case)?)?.as_json()),
        Request::Compile { case, count } => {
            let times = find(cases, &case)?.recompile(count)?;
            let optimize: Vec<u64> = times.iter().map(|t| nanos(t.optimize)).collect();
            let lower: Vec<u64> = times.iter().map(|t| nanos(t.lower)).collect();
            Ok(json!({ "optimize_ns": optimize, "lower_ns": lower }))
        }
    }
}

fn find<'a>(cases: &'a mut IndexMap<String, BenchCase>, name: &str) -> Result<&'a mut BenchCase, Error> {
    cases.get_mut(name).ok_or_else(|| Error::message(format!("there is no case `{name}`; `load` makes one")))
}

impl Loading {
    fn wanted(self) -> Result<(String, Wanted), Error> {
        let liberties = match &self.liberties {
            Some(text) => Some(text.parse().map_err(|e| Error::message(format!("liberties: {e}")))?),
            None => None,
        };
        let binding = |(name, value): (&String, &String)| -> Result<ArgBinding, Error> {
            let value = value.parse().map_err(|e| Error::message(format!("argument `{name}`: {e}")))?;
            Ok(ArgBinding { name: name.clone(), value })
        };
        let args = self.args.iter().map(binding).collect::<Result<_, _>>()?;
        let (rules, no_cache) = (None, false);
        let input = InputArgs { file: self.file, func: self.func, pipeline: self.pipeline, rules, no_cache, liberties };
        let backend = self.backend.unwrap_or(Backend::Auto);
        let limits = LimitArgs {
            max_steps: self.max_steps.unwrap_or(engine::MAX_STEPS),
            max_bytes: self.max_bytes.unwrap_or(engine::MAX_BYTES),
        };
        Ok((
            self.case,
            Wanted { input, backend, args, examples: false, into: self.into, threads: self.threads, limits },
        ))
    }
}
