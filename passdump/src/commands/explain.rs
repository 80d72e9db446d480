//! `passdump explain`: follows a value through the pipeline: the rewrites that changed it, and the
//! remarks about its line.

use super::chain;
use crate::args::ExplainArgs;
use crate::engine::{self, Backend};
use crate::error::Error;
use crate::output::{Out, Tone};
use crate::program::Program;
use crate::wrap::WIDTH;
use rewright::ir::ArrayExpr;
use rewright::ir::text::{Numbering, Printer};
use rewright::rewrites::Form;
use rewright::rewrites::egraph::{Named, NoProof, explain as proof};
use rewright::rewrites::rule::Liberties;
use rewright::rewrites::{Change, Event, Observer, Options, Pipeline, Remark, RewriteRegistry, rewrites};
use rewright::{Function, Inst, Module, Name, Registry, Value};
use std::io::Write;

/// Follows a value through the pipeline.
pub fn explain(out: &mut Out, args: &ExplainArgs) -> Result<(), Error> {
    let program = Program::load_called_for(&args.input, &args.args)?;
    let func = program.function()?;
    let mut names = program.numbering(func);
    let value = match (&args.value, &program.explanation) {
        (Some(value), _) => find(func, value, &mut names)?,
        (None, Some(explanation)) => return Ok(write!(out, "{explanation}")?),
        (None, None) => return Err(Error::message("name the value to explain: `passdump explain FILE VALUE`")),
    };
    let how = program.rewriting(Backend::Auto, Options::default());
    let registry = how.registry.unwrap_or_else(|| rewrites());
    let pipeline = engine::read_pipeline(registry, how.pipeline)?;
    let rules = Rules { module: &program.module, registry, pipeline: &pipeline, granted: program.liberties };
    let mut follower = Follower::new(func, value, rules, names);
    let mut module = program.module.clone();
    let ended = pipeline.run(&mut module, &how.options, &mut follower);
    out.line(Tone::Strong, follower.began.clone())?;
    for step in &follower.steps {
        show_step(out, step)?;
    }
    if follower.steps.is_empty() {
        writeln!(out, "no rewrite touched it")?;
    }
    ended.map_err(|e| Error::rewrite(&program.name, &program.text, &e))?;
    let end = module.get(program.func).map_or(Vec::new(), |func| follower.end(func));
    for line in end {
        out.wrapped(&format!("in the end: {line}"), 4)?;
    }
    let about = |remark: &&Remark| remark.function == program.func && follower.lines.contains(&remark.loc.line);
    let mut said: Vec<String> = follower.remarks.iter().filter(about).map(ToString::to_string).collect();
    said.dedup();
    Ok(out.comments(said)?)
}

/// Prints a step. If it is too wide, each effect has a line of its own.
fn show_step(out: &mut Out, step: &str) -> Result<(), Error> {
    const NEXT: &str = "; its ";
    let indent = step.len() - step.trim_start().len() + 3;
    if step.chars().count() <= WIDTH || !step.contains(NEXT) {
        return Ok(out.wrapped(step, indent)?);
    }
    for (i, effect) in step.split(NEXT).enumerate() {
        let start = if i == 0 { String::new() } else { format!("{}its ", " ".repeat(indent)) };
        out.wrapped(&format!("{start}{effect}"), indent + 2)?;
    }
    Ok(())
}

/// The most values that an error lists.
const MAX_LISTED: usize = 12;

/// Finds a value by name, with or without its `%`.
pub fn find(func: &Function, name: &str, numbering: &mut Numbering) -> Result<Value, Error> {
    let name = name.strip_prefix('%').unwrap_or(name);
    let printer = Printer::numbered(func, numbering);
    let mut names = Vec::new();
    for value in values(func) {
        let known = printer.value(value);
        if known.strip_prefix('%') == Some(name) {
            return Ok(value);
        }
        names.push(known);
    }
    let near = Registry::suggest(name, names.iter().filter_map(|n| n.strip_prefix('%')));
    let hint = match near {
        Some(near) => format!("; did you mean `%{near}`?"),
        None => {
            names.retain(|name| name.starts_with('%'));
            names.dedup();
            let more = if names.len() > MAX_LISTED { ", ..." } else { "" };
            names.truncate(MAX_LISTED);
            format!("; it has {}{more}", names.join(", "))
        }
    };
    Err(Error::message(format!("`@{}` has no value `%{name}`{hint}", func.name)))
}

fn values(func: &Function) -> impl Iterator<Item = Value> + '_ {
    func.blocks().flat_map(|block| {
        let results = func.insts(block).flat_map(|inst| func.inst(inst).results.iter().copied());
        func.block_params(block).iter().copied().chain(results)
    })
}

/// The context in which rules are searched.
struct Rules<'a> {
    module: &'a Module,
    registry: &'a RewriteRegistry,
    pipeline: &'a Pipeline,
    granted: Liberties,
}

/// Follows a value and its replacements.
struct Follower<'a> {
    func: Name,
    rules: Rules<'a>,
    /// The numbers of anonymous values.
    names: Numbering,
    /// The function before the current application.
    before: Option<Function>,
    /// The followed values, with the instructions that define them.
    values: Vec<(Value, Option<Inst>)>,
    /// The source lines of these values.
    lines: Vec<u32>,
    began: String,
    steps: Vec<String>,
    remarks: Vec<Remark>,
    applications: usize,
}

impl<'a> Follower<'a> {
    fn new(func: &Function, value: Value, rules: Rules<'a>, mut names: Numbering) -> Follower<'a> {
        let (values, lines, steps, remarks) = Default::default();
        let began = definition(&mut names, func, value);
        let before = None;
        let mut follower =
            Follower { func: func.name, rules, names, before, values, lines, began, steps, remarks, applications: 0 };
        follower.follow(func, value);
        follower
    }

    fn follow(&mut self, func: &Function, value: Value) {
        let inst = func.def_inst(value);
        if self.values.iter().any(|(known, _)| *known == value) || func.as_const(value).is_some() {
            return;
        }
        self.lines.extend(inst.map(|inst| func.inst(inst).loc.line).filter(|&line| line > 0));
        self.values.push((value, inst));
    }

    /// Records the effect of an application on the values.
    fn applied(&mut self, rewrite: &str, func: &Function, changes: &[Change]) {
        let chain = self.chain(rewrite, func, changes);
        let mut names = std::mem::take(&mut self.names);
        let mut told: Vec<String> = Vec::new();
        for change in changes {
            let defines = |inst: &Inst| self.values.iter().any(|(_, def)| def.as_ref() == Some(inst));
            match change {
                Change::Replaced { old, new } if self.values.iter().any(|(v, _)| v == old) => {
                    told.push(format!("its users use `{}` instead", definition(&mut names, func, *new)));
                    self.follow(func, *new);
                }
                Change::Erased(inst, op) if defines(inst) => {
                    let nodes = || {
                        changes.iter().rev().filter_map(|change| match change {
                            Change::Inserted(i) if func.is_linked(*i) => {
                                func.inst(*i).attrs.expr().map(|expr| (*i, expr))
                            }
                            _ => None,
                        })
                    };
                    // An application may create several nodes; the node with a location on one of the
                    // lines contains the op.
                    let has_it = |expr: &ArrayExpr| expr.locs.iter().any(|loc| self.lines.contains(&loc.line));
                    let node = nodes().find(|(_, expr)| has_it(expr)).or_else(|| nodes().next());
                    match node.map(|(node, _)| node) {
                        Some(node) => told.push(format!("its `{op}` is taken into `{}`", line(&mut names, func, node))),
                        None => told.push(format!("its `{op}` is taken out")),
                    }
                }
                Change::Operand(inst, _) | Change::Attrs(inst) if defines(inst) && func.is_linked(*inst) => {
                    told.push(format!("it is `{}` now", line(&mut names, func, *inst)));
                }
                Change::Moved(inst) if defines(inst) && func.is_linked(*inst) => {
                    told.push("it stands elsewhere".to_string());
                }
                Change::Type(value) if func.has_value(*value) && self.values.iter().any(|(v, _)| v == value) => {
                    told.push(format!("it is of type {} now", func.ty(*value)));
                }
                _ => {}
            }
        }
        self.names = names;
        told.dedup();
        if !told.is_empty() {
            self.steps.push(format!("{}: {rewrite}: {}", self.applications, told.join("; ")));
            self.steps.extend(chain.into_iter().map(|line| format!("     {line}")));
        }
    }

    /// The chain of rules by which an application replaced the values.
    fn chain(&mut self, rewrite: &str, func: &Function, changes: &[Change]) -> Vec<String> {
        let Some(before) = self.before.take() else { return Vec::new() };
        let mut names = std::mem::take(&mut self.names);
        let &Rules { module, registry, pipeline, granted } = &self.rules;
        let mut lines = Vec::new();
        for &(value, _) in self.values.iter().filter(|(value, _)| before.has_value(*value)) {
            if saturates(rewrite) {
                let named = Named::numbered(&before, &mut names);
                match proof(named, value, module, registry, pipeline, granted) {
                    Ok(proof) => lines.extend(chain::lines(registry, &proof)),
                    Err(NoProof::Unchanged(_)) => {}
                    Err(why) => lines.push(why.to_string()),
                }
                continue;
            }
            let new = changes.iter().find_map(|change| match change {
                Change::Replaced { old, new } if *old == value => Some(*new),
                _ => None,
            });
            // A replacement may reuse the instruction's value.
            let after = new.or(func.has_value(value).then_some(value)).map(|new| call(&mut names, func, new));
            let was = call(&mut names, &before, value);
            lines.extend(after.map(|after| chain::line(registry, (&was, &after), false, rewrite)));
        }
        self.names = names;
        lines
    }

    /// Reports which of the values still exist.
    fn end(&mut self, func: &Function) -> Vec<String> {
        let there =
            |value: &Value| func.has_value(*value) && func.def_inst(*value).is_none_or(|inst| func.is_linked(inst));
        let names = &mut self.names;
        let left: Vec<String> =
            self.values.iter().map(|(v, _)| *v).filter(there).map(|v| definition(names, func, v)).collect();
        if left.is_empty() { vec!["it is gone".to_string()] } else { left }
    }
}

impl Observer for Follower<'_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Match { rewrite, func, .. } => {
                let rule = || matches!(self.rules.registry.get(rewrite).map(|e| e.def.form), Some(Form::Rule(_)));
                let wanted = func.name == self.func && (saturates(rewrite) || rule());
                self.before = wanted.then(|| (*func).clone());
            }
            Event::Applied { rewrite, func, changes, .. } => {
                self.applications += 1;
                if func.name == self.func {
                    self.applied(rewrite, func, changes);
                }
            }
            Event::Inferred { func } if func.name == self.func => {
                let types =
                    self.values.iter().filter(|(v, _)| func.has_value(*v)).map(|(v, _)| func.ty(*v).to_string());
                self.steps.push(format!("type inference: it is of type {}", types.collect::<Vec<_>>().join(", ")));
            }
            Event::Remark(remark) => self.remarks.push((*remark).clone()),
            _ => {}
        }
    }
}

/// True for the rewrites that apply rules in an e-graph.
fn saturates(rewrite: &str) -> bool {
    matches!(rewrite, "saturate" | "saturate-exact")
}

/// The call that computes a value, or the name of a parameter or constant.
fn call(names: &mut Numbering, func: &Function, value: Value) -> String {
    match func.def_inst(value) {
        Some(inst) => line(names, func, inst).split_once(" = ").map_or_else(String::new, |(_, call)| call.to_string()),
        None => Printer::numbered(func, names).value(value),
    }
}

/// The first line of an instruction.
fn line(names: &mut Numbering, func: &Function, inst: Inst) -> String {
    let text = Printer::numbered(func, names).inst(inst);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    if lines.next().is_some() { format!("{first} ... }}") } else { first.to_string() }
}

/// The definition of a value.
fn definition(names: &mut Numbering, func: &Function, value: Value) -> String {
    let name = Printer::numbered(func, names).value(value);
    match func.def_inst(value) {
        Some(inst) => line(names, func, inst),
        None if func.as_const(value).is_some() => name,
        None => format!("{name}: {}, a parameter", func.ty(value)),
    }
}
