//! Reads rules from files, so that an idea can be tried without compiling.

use super::Rule;
use super::def::{RuleDef, RuleEntry};
use super::parse::parse_rule;
use super::soundness::{self, Judgement, Verdict};
use rewright_ir::ron::remedy;
use rewright_ir::{Name, Origin};
use serde::Deserialize;
use std::path::Path;
use thiserror::Error;

/// The description of the form of a file, for errors.
const FORM: &str = "a file of rules is a list: `[Rule(name: \"neg-neg\", rule: \"(neg (neg ?x)) => ?x\")]`";

/// Why a file of rules is rejected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{file}:{}{message}", if *.line == 0 { " ".to_string() } else { format!("{line}: ") })]
pub struct RuleFileError {
    /// The file.
    pub file: String,
    /// The line, from 1; 0 if the file can't be read.
    pub line: usize,
    /// The error.
    pub message: String,
}

/// The serialized form of a rule.
#[derive(Deserialize)]
#[serde(rename = "Rule", deny_unknown_fields)]
struct Written {
    name: String,
    rule: String,
    #[serde(default)]
    unchecked: bool,
}

/// A rule of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileRule {
    /// The rule, and its location.
    pub entry: RuleEntry,
    /// The rule is used although it may be unsound.
    pub unchecked: bool,
}

impl FileRule {
    /// Rejects a rule whose two sides differ by more than its liberties allow; see [`soundness`].
    pub fn check(&self) -> Result<(), RuleFileError> {
        self.check_by(soundness::judge)
    }

    /// The same, with a judgement that may be cached.
    pub fn check_by(&self, judge: impl FnOnce(&Rule) -> Judgement) -> Result<(), RuleFileError> {
        let name = self.entry.def.name;
        let rule = self.parse()?;
        if self.unchecked {
            return Ok(());
        }
        let judged = judge(&rule);
        let unchecked = "`unchecked: true` beside the rule uses it as it is";
        match judged.verdict {
            Verdict::Proved | Verdict::Held => Ok(()),
            Verdict::Untried => Err(self.wrong(format!(
                "rule `{name}` could be tried on no values: none were found that satisfy its conditions; {unchecked}"
            ))),
            Verdict::Unsound => {
                let example = judged.summary.strip_prefix("unsound: ").unwrap_or(&judged.summary);
                let advice = judged.advice(rule.liberties);
                Err(self.wrong(format!("rule `{name}` does not hold: {example}; {advice}, and {unchecked}")))
            }
        }
    }

    /// Parses the rule's text.
    pub fn parse(&self) -> Result<Rule, RuleFileError> {
        let def = self.entry.def;
        parse_rule(def.name, def.text).map_err(|errors| self.wrong(errors.to_string()))
    }

    fn wrong(&self, message: String) -> RuleFileError {
        let origin = self.entry.origin;
        RuleFileError { file: origin.file.to_string(), line: origin.line as usize, message }
    }
}

/// Reads a file of rules: a RON list of `Rule(name: "neg-neg", rule: "(neg (neg ?x)) => ?x")`, with an
/// optional `unchecked: true`.
pub fn read_rules(path: &Path) -> Result<Vec<FileRule>, RuleFileError> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|e| RuleFileError { file: file.clone(), line: 0, message: e.to_string() })?;
    parse_rules(&text, &file)
}

/// Parses the text of a file of rules. The rules live as long as the process.
pub fn parse_rules(text: &str, file: &str) -> Result<Vec<FileRule>, RuleFileError> {
    let written: Vec<Written> = ron::from_str(text).map_err(|e| RuleFileError {
        file: file.to_string(),
        line: e.span.start.line,
        message: format!("{}; {}", e.code, remedy(&e.code, FORM)),
    })?;
    let file = Name::new(file).as_str();
    let mut read = 0;
    let entry = |rule: Written| {
        // RON does not give the position of a value, so the line is found by searching for the names in
        // order.
        let quoted = format!("\"{}\"", rule.name);
        read += text[read..].find(&quoted).map_or(0, |at| at + quoted.len());
        let line = text[..read].lines().count() as u32;
        let entry = RuleEntry {
            def: RuleDef { name: Name::new(&rule.name).as_str(), text: Name::new(&rule.rule).as_str() },
            origin: Origin { krate: "rules", version: "", file, line },
        };
        FileRule { entry, unchecked: rule.unchecked }
    };
    Ok(written.into_iter().map(entry).collect())
}
