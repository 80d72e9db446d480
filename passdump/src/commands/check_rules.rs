//! `passdump check-rules`: tries every rule by itself.

use crate::args::CheckRulesArgs;
use crate::engine;
use crate::error::Error;
use crate::output::{Out, Tone};
use rewright::Origin;
use rewright::rewrites::def::Form;
use rewright::rewrites::rewrites;
use rewright::rewrites::rule::{Rule, RuleEntry, parse_rule, read_rules, soundness};
use std::io::Write;

/// Tries the rules of a file, or those that are compiled in; false if one is not sound.
pub fn check_rules(out: &mut Out, args: &CheckRulesArgs) -> Result<bool, Error> {
    let mut unsound = 0;
    let rules = match &args.file {
        Some(file) => of_file(file)?,
        None => compiled_in(),
    };
    for (rule, origin) in &rules {
        let found = soundness::check(rule);
        let (cases, points) = (found.cases, found.points);
        match found.counterexample {
            None if points == 0 => {
                unsound += 1;
                let word = out.tone(Tone::Bad, "untried");
                writeln!(out, "{word}  {} could be tried on no values", rule.name)?;
            }
            None => {
                let tried = format!("{cases} {}, {points} values", if cases == 1 { "case" } else { "cases" });
                let (word, tried) = (out.tone(Tone::Good, "sound"), out.tone(Tone::Faint, tried));
                writeln!(out, "{word}    {} {tried}", rule.name)?;
            }
            Some(example) => {
                unsound += 1;
                let word = out.tone(Tone::Bad, "unsound");
                writeln!(out, "{word}  {} {}:{}\n         {rule}", rule.name, origin.file, origin.line)?;
                if !rule.liberties.is_empty() {
                    writeln!(out, "         although it takes {}", rule.liberties)?;
                }
                writeln!(out, "         {example}")?;
                if let Some(liberties) = soundness::missing_liberties(rule) {
                    writeln!(out, "         it holds with `liberties [{}]`", liberties | rule.liberties)?;
                }
            }
        }
    }
    writeln!(out, "{} rules, {unsound} unsound", rules.len())?;
    Ok(unsound == 0)
}

/// The rules of a file; `<=>` is tried in one direction, which says it of both.
fn of_file(file: &std::path::Path) -> Result<Vec<(Rule, Origin)>, Error> {
    let rules = read_rules(file).map_err(|e| Error::message(e.to_string()))?;
    let entries: Vec<RuleEntry> = rules.into_iter().map(|rule| rule.entry).collect();
    engine::registry_with(&entries)?;
    let rule = |entry: &RuleEntry| {
        let rule = parse_rule(entry.def.name, entry.def.text);
        rule.map(|rule| (rule, entry.origin)).map_err(|e| Error::message(e.to_string()))
    };
    entries.iter().map(rule).collect()
}

fn compiled_in() -> Vec<(Rule, Origin)> {
    let rule = |entry: rewright::rewrites::RewriteEntry| match entry.def.form {
        Form::Rule(rule) => Some((rule.clone(), entry.origin)),
        _ => None,
    };
    rewrites().iter().filter_map(rule).collect()
}
