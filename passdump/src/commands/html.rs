//! `passdump html`: writes every step of a pipeline to one self-contained page.

use crate::args::HtmlArgs;
use crate::call_args::bind;
use crate::engine::{self, Backend};
use crate::error::Error;
use crate::forms::Forms;
use crate::output::{Out, Tone, count};
use crate::program::Program;
use indexmap::IndexMap;
use rewright::exec::{Arg, Executable};
use rewright::lowering::internals::plan::StepKind;
use rewright::rewrites::{Event, Observer, Options, rewrites};
use rewright::{Datum, Loc, Module, Name, registry};
use serde::Serialize;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

const PAGE: &str = include_str!("../html/page.html");
const STYLE: &str = include_str!("../html/page.css");
const SCRIPT: &str = include_str!("../html/page.js");

/// The data of the page.
#[derive(Serialize)]
struct Data {
    functions: Vec<FunctionData>,
    steps: Vec<StepData>,
    kernels: Vec<KernelData>,
    /// Reasons why steps run without a kernel, and why kernels are not timed.
    notes: Vec<String>,
    /// The names that are highlighted as ops.
    ops: Vec<&'static str>,
}

/// A function before rewriting.
#[derive(Serialize)]
struct FunctionData {
    name: String,
    lines: Vec<String>,
}

/// A kernel.
#[derive(Serialize)]
struct KernelData {
    title: String,
    schedule: String,
    /// The time of the fastest run.
    micros: Option<f64>,
    text: String,
}

/// The time for which calls are repeated to time kernels.
const MEASURE: Duration = Duration::from_millis(250);

/// The limit on these calls.
const MAX_CALLS: usize = 1000;

/// An application of a rewrite, and its changes.
#[derive(Serialize)]
struct StepData {
    func: usize,
    rewrite: &'static str,
    origin: String,
    line: u32,
    /// The time, if times are requested.
    micros: Option<u128>,
    remarks: Vec<String>,
    /// Edits: the line in the old text, the number of lines removed, and the lines inserted.
    hunks: Vec<(usize, usize, Vec<String>)>,
    /// FNV-1a of the text after the step, so that the page can check its reconstruction.
    hash: u32,
}

/// Writes the page. If the pipeline fails, the page shows the steps before the failure.
pub fn html(out: &mut Out, args: &HtmlArgs) -> Result<(), Error> {
    let same = |a: &Path, b: &Path| a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b));
    if same(&args.input.file, &args.out) {
        let file = args.out.display();
        return Err(Error::message(format!("the page would be written over the program, {file}: name another file")));
    }
    let program = Program::load_called(&args.input)?;
    let how = program.rewriting(Backend::Auto, Options { times: args.time, ..Options::default() });
    let registry = how.registry.unwrap_or_else(|| rewrites());
    let pipeline = engine::read_pipeline(registry, how.pipeline)?;
    let mut recorder = Recorder::of(&program.module, args.time);
    let mut module = program.module.clone();
    let result = pipeline.run(&mut module, &how.options, &mut recorder);
    let mut notes = Vec::new();
    let mut found = Vec::new();
    if let (Ok(_), Ok(executable)) = (&result, engine::compile_timed(&module, program.func)) {
        let values = match args.time.then(|| bind(&args.args, &program, program.function()?)) {
            None => None,
            Some(Err(error)) if !args.args.is_empty() => return Err(error),
            Some(Err(error)) => {
                notes.push(format!("kernels are not timed: {error}"));
                None
            }
            Some(Ok(values)) => Some(values),
        };
        found = kernels(&executable, values.as_deref());
        notes.extend(executable.remarks().iter().map(ToString::to_string));
    }
    let functions = recorder.functions.into_values().map(|(data, _)| data).collect();
    let ops = registry_ops();
    let data = Data { functions, steps: recorder.steps, kernels: found, notes, ops };
    let page = page(&program.name, &pipeline.to_string(), &data)?;
    std::fs::write(&args.out, page).map_err(|e| Error::file(&args.out, e))?;
    let steps = data.steps.len();
    writeln!(out, "{}", out.tone(Tone::Good, format!("{}: {}", args.out.display(), count(steps as u64, "step"))))?;
    result.map(drop).map_err(|e| Error::rewrite(&program.name, &program.text, &e))
}

fn registry_ops() -> Vec<&'static str> {
    registry().ops().map(|(op, _)| op.0.name).collect()
}

fn page(title: &str, pipeline: &str, data: &Data) -> Result<String, Error> {
    let json = serde_json::to_string(data).map_err(|e| Error::message(e.to_string()))?;
    // No data may close the `script` element that holds it.
    let json = json.replace('<', "\\u003c");
    let parts = [
        ("title", escaped(title)),
        ("pipeline", escaped(pipeline)),
        ("css", STYLE.into()),
        ("js", SCRIPT.into()),
        ("data", json),
    ];
    let mut page = String::new();
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        page.push_str(before);
        page.extend(parts.iter().find(|(part, _)| *part == name).map(|(_, text)| text.as_str()));
        rest = after;
    }
    page.push_str(rest);
    Ok(page)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// The kernels of a function, and their times with these arguments, if there are any.
fn kernels(executable: &Executable, args: Option<&[Datum]>) -> Vec<KernelData> {
    if let Some(args) = args {
        let args: Vec<Arg<'_>> = args.iter().map(Arg::from).collect();
        let begin = Instant::now();
        let mut calls = 0;
        while calls < MAX_CALLS && begin.elapsed() < MEASURE && executable.call(&args).is_ok() {
            calls += 1;
        }
    }
    let times = executable.step_times();
    let micros = |function: Name, number: usize| {
        let of_step = times.iter().find(|time| time.func == function && time.step == number);
        of_step.map(|time| time.least.as_secs_f64() * 1e6)
    };
    let mut found = Vec::new();
    for function in &executable.plan().functions {
        for (number, step) in function.steps.iter().enumerate() {
            if let StepKind::Kernel(kernel) = &step.kind {
                found.push(KernelData {
                    title: format!("@{}: {}", function.name, step.op),
                    schedule: format!("{}: {}", kernel.launch.codegen, kernel.launch.compiled.schedule()),
                    micros: micros(function.name, number),
                    text: kernel.launch.lowered.kernel.to_string(),
                });
            }
        }
    }
    found
}

/// Records the changes of each application.
struct Recorder {
    /// The functions by name, with their current lines.
    functions: IndexMap<Name, (FunctionData, Vec<String>)>,
    forms: Forms,
    times: bool,
    steps: Vec<StepData>,
    loc: Loc,
}

impl Recorder {
    fn of(module: &Module, times: bool) -> Recorder {
        let mut forms = Forms::default();
        let function = |func: &rewright::Function| {
            let lines = lines(&forms.text(func));
            (func.name, (FunctionData { name: func.name.to_string(), lines: lines.clone() }, lines))
        };
        let functions = module.functions().map(function).collect();
        Recorder { functions, forms, times, steps: Vec::new(), loc: Loc::default() }
    }

    fn step(&mut self, func: &rewright::Function, rewrite: &'static str, time: Duration) {
        let Some((at, _, (_, now))) = self.functions.get_full_mut(&func.name) else { return };
        let text = self.forms.text(func);
        let after = lines(&text);
        let hunks = hunks(now, &after);
        *now = after;
        let origin = rewrites().get(rewrite).map_or(String::new(), |e| e.origin.to_string());
        let line = std::mem::take(&mut self.loc).line;
        let hash = fnv1a(text.trim_end_matches('\n').as_bytes());
        let step = StepData {
            func: at,
            rewrite,
            origin,
            line,
            micros: self.times.then_some(time.as_micros()),
            remarks: Vec::new(),
            hunks,
            hash,
        };
        self.steps.push(step);
    }
}

impl Observer for Recorder {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Match { loc, .. } => self.loc = *loc,
            Event::Applied { rewrite, func, time, .. } => self.step(func, rewrite, *time),
            Event::Inferred { func } => self.step(func, "type inference", Duration::ZERO),
            Event::Declined { error, .. } | Event::Failed { error, .. } | Event::GaveUp { error, .. } => {
                if let Some(step) = self.steps.last_mut() {
                    step.remarks.push(format!("then: {error}"));
                }
            }
            Event::Remark(remark) => {
                if let Some(step) = self.steps.last_mut() {
                    step.remarks.push(remark.to_string());
                }
            }
            _ => {}
        }
    }
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_string).collect()
}

fn hunks(before: &[String], after: &[String]) -> Vec<(usize, usize, Vec<String>)> {
    let hunk = |op: DiffOp| {
        let (old, new) = (op.old_range(), op.new_range());
        match op {
            DiffOp::Equal { .. } => None,
            _ => Some((old.start, old.len(), after[new].to_vec())),
        }
    };
    capture_diff_slices(Algorithm::Myers, before, after).into_iter().filter_map(hunk).collect()
}

/// The 32-bit FNV-1a hash (Fowler, Noll, Vo), which is short in JavaScript, too.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
