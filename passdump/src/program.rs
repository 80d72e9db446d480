//! The program that a command works on: FILE with the function and the pipeline chosen.

use crate::args::{FailingArgs, InputArgs};
use crate::commands::exec::bind;
use crate::engine::{self, Form, Rewriting};
use crate::error::Error;
use crate::failure::Test;
use crate::fixture::{Case, choose};
use crate::verdicts::Verdicts;
use rewright::ir::text::Numbering;
use rewright::rewrites::check::Check;
use rewright::rewrites::rule::{Liberties, RuleEntry, read_rules};
use rewright::rewrites::{Options, RewriteRegistry, Verify, rewrites};
use rewright::{Datum, Function, Module, Name};
use std::io::Read;
use std::path::Path;

/// A program.
pub struct Program {
    /// The name of the text, for diagnostics.
    pub name: String,
    /// The text that places in the module are of.
    pub text: String,
    /// The functions.
    pub module: Module,
    /// The function that is meant.
    pub func: Name,
    /// The pipeline.
    pub pipeline: String,
    /// What results may differ in.
    pub liberties: Liberties,
    /// The rewrites, with rules of a file or of the fixture.
    pub registry: Option<RewriteRegistry>,
    /// The fixture, if the file is one.
    pub case: Option<Case>,
}

impl Program {
    /// Reads FILE, or the standard input for `-`.
    pub fn load(input: &InputArgs) -> Result<Program, Error> {
        let text = read(&input.file)?;
        let kind = Kind::of(input.file.extension().and_then(|e| e.to_str()), &text);
        let case = if kind == Kind::Fixture { Some(Case::read(&input.file, text.clone())?) } else { None };
        let (name, text, module) = match &case {
            Some(case) => {
                let source = case.source();
                let module = case.module()?;
                (source.name, source.text, module)
            }
            None => {
                let name = if input.file == Path::new("-") { "stdin".into() } else { input.file.display().to_string() };
                let form = if kind == Kind::Ron { Form::Ron } else { Form::Text };
                let module = engine::parse(&name, &text, form)?;
                (name, text, module)
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
        Ok(Program { name, text, module, func, pipeline, liberties, registry, case })
    }

    /// What --check-each tries: the runs of the fixture too.
    pub fn check(&self, ulp: Option<u64>) -> Check {
        let given = || -> Option<Vec<(Name, Vec<Datum>)>> {
            let (case, func) = (self.case.as_ref()?, self.module.get(self.func)?);
            Some(case.fixture.runs.iter().filter_map(|run| Some((func.name, case.args(run, func).ok()?))).collect())
        };
        let ulp = ulp.or(self.case.as_ref().map(|case| case.fixture.ulp_between)).unwrap_or(0);
        Check { ulp, given: given().unwrap_or_default(), ..Check::default() }
    }

    /// What `bisect` and `reduce` look for.
    pub fn test(&self, args: &FailingArgs, verify: Verify) -> Result<Test, Error> {
        let mut check = self.check(args.ulp);
        if !args.args.is_empty() {
            check.given.insert(0, (self.func, bind(&args.args, self, self.function()?)?));
        }
        let registry = self.registry.as_ref().unwrap_or_else(|| rewrites());
        let pipeline = engine::read_pipeline(registry, &self.pipeline)?;
        let options = Options { liberties: self.liberties, verify, ..Options::default() };
        Ok(Test { pipeline, options, func: self.func, check, backend: args.backend, command: args.command.clone() })
    }

    /// How it is to be rewritten.
    pub fn rewriting(&self, options: Options) -> Rewriting<'_> {
        let options = Options { liberties: self.liberties, ..options };
        Rewriting { pipeline: &self.pipeline, registry: self.registry.as_ref(), options }
    }

    /// The function that is meant.
    pub fn function(&self) -> Result<&Function, Error> {
        choose(&self.module, Some(&self.func))
    }

    /// The numbers by which the text knows values that have no name, as far as it is IR text.
    pub fn numbering(&self, func: &Function) -> Numbering {
        let lines: Vec<&str> = self.text.lines().collect();
        let mut numbering = Numbering::default();
        for inst in func.blocks().flat_map(|block| func.insts(block)) {
            let data = func.inst(inst);
            let line = (data.loc.line as usize).checked_sub(1).and_then(|at| lines.get(at));
            let Some((names, _)) = line.and_then(|line| line.split_once('=')) else { continue };
            let numbers = names.split(',').map(|name| name.trim().strip_prefix('%').and_then(|n| n.parse().ok()));
            let numbers: Vec<Option<u32>> = numbers.collect();
            if numbers.len() == data.results.len() {
                let known = data.results.iter().zip(numbers).filter_map(|(&value, number)| Some((value, number?)));
                known.for_each(|(value, number)| numbering.set(value, number));
            }
        }
        numbering
    }

    /// The text and its name, to show errors in.
    pub fn source(&self) -> (&str, &str) {
        (&self.name, &self.text)
    }
}

/// The rules of a file, each of which holds, or is marked `unchecked`. All that is wrong with them is said at once.
fn rules_of(file: &Path, no_cache: bool) -> Result<Vec<RuleEntry>, Error> {
    let rules = read_rules(file).map_err(|e| Error::message(e.to_string()))?;
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

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Fixture,
    Ron,
    Text,
}

impl Kind {
    /// By the extension, and where that leaves it open, by the first word.
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

/// The text from its first word on, which is behind comments.
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
