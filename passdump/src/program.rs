//! The program of a command: FILE, with the chosen function and pipeline.

use crate::args::{ArgBinding, FailingArgs, InputArgs};
use crate::call_args::bind;
use crate::engine::{self, Backend, Form, Numberings, Rewriting};
use crate::error::Error;
use crate::failure::Test;
use crate::fixture::{Case, choose};
use crate::translated::{language_of, translate};
use crate::verdicts::Verdicts;
use rewright::ir::text::{Numbering, Printer};
use rewright::language::Locate;
use rewright::rewrites::check::Check;
use rewright::rewrites::rule::{FileRule, Liberties, RuleEntry, parse_rules};
use rewright::rewrites::{Options, RewriteRegistry, Verify, rewrites};
use rewright::{Datum, EvalError, Function, Inst, Loc, Module, Name};
use std::io::Read;
use std::num::NonZeroU32;
use std::path::Path;

/// A program.
pub struct Program {
    /// The name of the text, for diagnostics.
    pub name: String,
    /// The text to which locations in the module refer.
    pub text: String,
    /// The functions.
    pub module: Module,
    /// The numbers of their anonymous values in the text.
    numberings: Numberings,
    /// The chosen function.
    pub func: Name,
    /// The pipeline.
    pub pipeline: String,
    /// The liberties that are granted to rewrites.
    pub liberties: Liberties,
    /// The rewrites with the rules of a file or of the fixture; `None` for the linked rewrites only.
    pub registry: Option<RewriteRegistry>,
    /// The fixture, if the file is one.
    pub case: Option<Case>,
    /// The facts that the translation of a source language found.
    pub explanation: Option<String>,
    /// The most threads that the program allows; `None` for all.
    pub threads: Option<NonZeroU32>,
    /// Locates the errors of calls in a text of a source language.
    locate: Option<Box<dyn Locate>>,
}

impl Program {
    /// Reads FILE, or the standard input for `-`.
    pub fn load(input: &InputArgs) -> Result<Program, Error> {
        Program::load_for(input, &[])
    }

    /// Like [`load`](Program::load). A program of a source language is translated for these arguments, if
    /// there are any.
    pub fn load_for(input: &InputArgs, args: &[ArgBinding]) -> Result<Program, Error> {
        if let Some((def, is_text)) = language_of(&input.file) {
            let name = if is_text { def.name.to_string() } else { input.file.display().to_string() };
            let text = if is_text { input.file.display().to_string() } else { read(&input.file)? };
            let translation = translate(def, &name, &text, args)?;
            let rules = match &input.rules {
                Some(file) => rules_of(file, input.no_cache)?,
                None => Vec::new(),
            };
            return Ok(Program {
                name,
                text,
                func: choose(&translation.module, input.func.as_deref())?.name,
                module: translation.module,
                numberings: Numberings::default(),
                pipeline: input.pipeline.clone().unwrap_or_else(|| engine::DEFAULT_PIPELINE.to_string()),
                liberties: input.liberties.unwrap_or(translation.liberties),
                registry: engine::registry_with(&rules)?,
                case: None,
                explanation: Some(translation.explanation),
                threads: translation.threads,
                locate: Some(translation.locate),
            });
        }
        let text = read(&input.file)?;
        let kind = Kind::of(input.file.extension().and_then(|e| e.to_str()), &text);
        let case = if kind == Kind::Fixture { Some(Case::read(&input.file, text.clone())?) } else { None };
        let (name, text, module, numberings) = match &case {
            Some(case) => {
                let source = case.source();
                let (module, numberings) = engine::parse_numbered(&source.name, &source.text, source.form)?;
                (source.name, source.text, module, numberings)
            }
            None => {
                let name = if input.file == Path::new("-") { "stdin".into() } else { input.file.display().to_string() };
                let form = if kind == Kind::Ron { Form::Ron } else { Form::Text };
                let (module, numberings) = engine::parse_numbered(&name, &text, form)?;
                (name, text, module, numberings)
            }
        };
        let fixture = case.as_ref().map(|c| &c.fixture);
        let wanted = input.func.as_deref().or(fixture.and_then(|f| f.func.as_deref()));
        let func = choose(&module, wanted)?.name;
        let pipeline = input.pipeline.clone().or_else(|| fixture.map(|f| f.pipeline.clone()));
        let pipeline = pipeline.unwrap_or_else(|| engine::DEFAULT_PIPELINE.to_string());
        let liberties = input.liberties.unwrap_or(case.as_ref().map_or(Ok(Liberties::empty()), Case::liberties)?);
        let mut rules = case.as_ref().map(Case::rules).unwrap_or_default();
        if let Some(file) = &input.rules {
            rules.extend(rules_of(file, input.no_cache)?);
        }
        let registry = engine::registry_with(&rules)?;
        Ok(Program {
            name,
            text,
            module,
            numberings,
            func,
            pipeline,
            liberties,
            registry,
            case,
            explanation: None,
            threads: None,
            locate: None,
        })
    }

    /// Loads a program for commands that call the function: with `--func`, drops all functions except
    /// this one and its callees.
    pub fn load_called(input: &InputArgs) -> Result<Program, Error> {
        Program::load_called_for(input, &[])
    }

    /// Like [`load_called`](Program::load_called), for these arguments.
    pub fn load_called_for(input: &InputArgs, args: &[ArgBinding]) -> Result<Program, Error> {
        let mut program = Program::load_for(input, args)?;
        if input.func.is_some() {
            let called = called(&program.module, program.func);
            let all = std::mem::take(&mut program.module).into_functions();
            all.filter(|func| called.contains(&func.name)).for_each(|func| drop(program.module.insert(func)));
        }
        Ok(program)
    }

    /// The inputs of `--check-each`, including the runs of the fixture.
    pub fn check(&self, ulp: Option<u64>) -> Check {
        let given = || -> Option<Vec<(Name, Vec<Datum>)>> {
            let (case, func) = (self.case.as_ref()?, self.module.get(self.func)?);
            Some(case.fixture.runs.iter().filter_map(|run| Some((func.name, case.args(run, func).ok()?))).collect())
        };
        let ulp = ulp.or(self.case.as_ref().map(|case| case.fixture.ulp_between)).unwrap_or(0);
        let given = given().unwrap_or_default();
        Check { ulp, liberties: self.liberties, given, ..Check::default() }
    }

    /// The failure test of `bisect` and `reduce`.
    pub fn test(&self, args: &FailingArgs, verify: Verify) -> Result<Test, Error> {
        let mut check = self.check(args.ulp);
        if !args.args.is_empty() {
            check.given.insert(0, (self.func, bind(&args.args, self, self.function()?)?));
        }
        let registry = self.registry.as_ref().unwrap_or_else(|| rewrites());
        let pipeline = engine::read_pipeline(registry, &self.pipeline)?;
        let target = args.backend.unwrap_or(Backend::Auto).target();
        let options = Options { liberties: self.liberties, verify, target, ..Options::default() };
        Ok(Test { pipeline, options, func: self.func, check, backend: args.backend, command: args.command.clone() })
    }

    /// The parameters of rewriting for a backend.
    pub fn rewriting(&self, backend: Backend, options: Options) -> Rewriting<'_> {
        let options = Options { liberties: self.liberties, target: backend.target(), ..options };
        Rewriting { pipeline: &self.pipeline, registry: self.registry.as_ref(), options }
    }

    /// The chosen function.
    pub fn function(&self) -> Result<&Function, Error> {
        choose(&self.module, Some(&self.func))
    }

    /// The numbers of the anonymous values in the text; empty for RON.
    pub fn numbering(&self, func: &Function) -> Numbering {
        self.numberings.get(&func.name).cloned().unwrap_or_default()
    }

    /// The error of a call, located in the text of the program. Kernels know only the location of an
    /// instruction, so this adds the names of its operands.
    pub fn failed(&self, error: &EvalError) -> Error {
        if let Some(locate) = &self.locate {
            return Error::from(locate.locate(error));
        }
        let named = self.operands(error.loc).map_or_else(|| error.message.clone(), |own| named(&error.message, &own));
        Error::eval(&self.name, &self.text, &EvalError { message: named, ..error.clone() })
    }

    /// The operands of the instruction at a location, as the text writes them.
    fn operands(&self, loc: Loc) -> Option<Vec<String>> {
        let at = |func: &Function, inst: &Inst| {
            let own = func.inst(*inst).loc;
            !loc.is_none() && (own.line, own.col) == (loc.line, loc.col)
        };
        let found =
            |func| Some((func, Function::blocks(func).flat_map(|b| func.insts(b)).find(|inst| at(func, inst))?));
        let (func, inst): (&Function, Inst) = self.module.functions().find_map(found)?;
        let printer = Printer::numbered(func, &mut self.numbering(func));
        let args = &func.inst(inst).args;
        Some(args.iter().map(|&arg| printer.value(arg)).collect())
    }

    /// The text and its name, for errors.
    pub fn source(&self) -> (&str, &str) {
        (&self.name, &self.text)
    }
}

/// Adapts the operands in a message: replaces their numbers by those of the text, or appends the operands
/// if the message lacks them.
fn named(message: &str, operands: &[String]) -> String {
    const BEGIN: &str = " (operands ";
    let Some((what, list)) = message.split_once(BEGIN) else {
        let after = if operands.is_empty() { String::new() } else { format!("{BEGIN}{})", operands.join(", ")) };
        return format!("{message}{after}");
    };
    let values: Vec<&String> = operands.iter().filter(|operand| operand.starts_with('%')).collect();
    let parts: Vec<&str> = list.split('%').collect();
    // A rewrite may have replaced the instruction by one with other operands.
    if parts.len() != values.len() + 1 {
        return message.to_string();
    }
    let mut text = format!("{what}{BEGIN}{}", parts[0]);
    for (part, value) in parts[1..].iter().zip(values) {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        match digits {
            0 => text.push('%'),
            _ => text.push_str(value),
        }
        text.push_str(&part[digits..]);
    }
    text
}

/// A function and its callees, direct and indirect.
fn called(module: &Module, func: Name) -> Vec<Name> {
    let mut called = vec![func];
    let mut at = 0;
    while let Some(&name) = called.get(at) {
        at += 1;
        let Some(func) = module.get(name) else { continue };
        let insts = func.blocks().flat_map(|block| func.insts(block));
        for callee in insts.filter_map(|inst| func.inst(inst).attrs.func("callee")) {
            if !called.contains(&callee) {
                called.push(callee);
            }
        }
    }
    called
}

/// Reads a file of rules.
pub fn read_rules(file: &Path) -> Result<Vec<FileRule>, Error> {
    let text = std::fs::read_to_string(file).map_err(|e| Error::file(file, e))?;
    let name = file.display().to_string();
    parse_rules(&text, &name).map_err(|e| Error::message(e.to_string()))
}

/// The rules of a file, each of which is sound or marked `unchecked`. One error reports all unsound
/// rules.
fn rules_of(file: &Path, no_cache: bool) -> Result<Vec<RuleEntry>, Error> {
    let rules = read_rules(file)?;
    let mut verdicts = Verdicts::open(no_cache);
    let wrong: Vec<String> = rules
        .iter()
        .filter_map(|rule| rule.check_by(|rule| verdicts.of(rule)).err())
        .map(|error| error.to_string())
        .collect();
    verdicts.keep();
    match wrong.is_empty() {
        true => Ok(rules.into_iter().map(|rule| rule.entry).collect()),
        false => Err(Error::message(wrong.join("\n"))),
    }
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Fixture,
    Ron,
    Text,
}

impl Kind {
    /// Decides by the extension, or by the first word if the extension is ambiguous.
    fn of(extension: Option<&str>, text: &str) -> Kind {
        let word = first_word(text);
        match extension {
            Some("ir") => Kind::Text,
            _ if word.starts_with("Module") => Kind::Ron,
            Some("ron") => Kind::Fixture,
            _ if word.starts_with("Fixture") || word.starts_with("#![") => Kind::Fixture,
            _ => Kind::Text,
        }
    }
}

/// The text after leading comments.
fn first_word(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(comment) = rest.strip_prefix("//") {
        rest = comment.find('\n').map_or("", |end| comment[end..].trim_start());
    }
    rest
}

fn read(file: &Path) -> Result<String, Error> {
    if file != Path::new("-") {
        return std::fs::read_to_string(file).map_err(|e| Error::file(file, e));
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map(|_| text).map_err(|e| Error::file(Path::new("standard input"), e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_extension_and_first_word() {
        for (extension, text, kind) in [
            (Some("ir"), "Fixture(", Kind::Text),
            (Some("ron"), "", Kind::Fixture),
            (Some("ron"), "// 1: dce in @f\n// 2\n  Module([])", Kind::Ron),
            (None, "Module([])", Kind::Ron),
            (None, "// about\nFixture(", Kind::Fixture),
            (None, "func @f", Kind::Text),
            (None, "// nothing", Kind::Text),
        ] {
            assert_eq!(Kind::of(extension, text), kind, "{extension:?} {text}");
        }
    }
}
