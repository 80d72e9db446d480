//! `passdump check-rules`: tries every rule by itself.

use crate::args::CheckRulesArgs;
use crate::engine;
use crate::error::Error;
use crate::output::{Out, Tone};
use crate::program::read_rules;
use crate::progress::Progress;
use crate::verdicts::Verdicts;
use rewright::Origin;
use rewright::rewrites::Form;
use rewright::rewrites::rewrites;
use rewright::rewrites::rule::soundness::{Judgement, Verdict, judge};
use rewright::rewrites::rule::{FileRule, Rule, RuleEntry, RuleFileError};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// A rule, or why its text is none.
type Read = Result<(Rule, Origin), RuleFileError>;

/// Tries the rules of a file, or those that are compiled in; false if one is not sound.
pub fn check_rules(out: &mut Out, args: &CheckRulesArgs) -> Result<bool, Error> {
    let (mut rules, clash) = match &args.file {
        Some(file) => of_file(file)?,
        None => (compiled_in(), None),
    };
    if let Some(prefix) = &args.rewrites {
        // A text that is no rule has no name here, and is reported all the same.
        rules.retain(|read| read.as_ref().map_or(true, |(rule, _)| rule.name.as_str().starts_with(prefix.as_str())));
        if rules.is_empty() {
            return Err(Error::message(format!(
                "no rule has a name that begins with `{prefix}`; `passdump list rewrites` lists all"
            )));
        }
    }
    let mut verdicts = Verdicts::open(args.no_cache);
    let mut progress = Progress::new("rules", Some(rules.len() as u64));
    let mut counts = [0; 5];
    let unknown: Vec<&Rule> =
        rules.iter().flatten().map(|(rule, _)| rule).filter(|rule| verdicts.known(rule).is_none()).collect();
    judging(&unknown, |judged| {
        for read in &rules {
            match read {
                Ok((rule, origin)) => {
                    progress.step(rule.name.as_str());
                    while verdicts.known(rule).is_none() {
                        let (rule, judged) = judged.recv().unwrap_or_else(|_| (rule, judge(rule)));
                        verdicts.learn(rule, judged);
                    }
                    let Some(judged) = verdicts.known(rule) else { continue };
                    progress.aside(|| show(out, rule, *origin, judged))?;
                    counts[place(judged.verdict)] += 1;
                }
                Err(error) => {
                    progress.step("");
                    let word = out.tone(Tone::Bad, "invalid");
                    progress.aside(|| {
                        error.to_string().lines().enumerate().try_for_each(|(i, line)| match i {
                            0 => out.wrapped(&format!("{word}  {line}"), INDENT),
                            _ => writeln!(out, "{line}"),
                        })
                    })?;
                    counts[INVALID] += 1;
                }
            }
        }
        Ok::<(), Error>(())
    })?;
    progress.finish();
    verdicts.keep();
    let [proved, held, unsound, untried, invalid] = counts;
    write!(out, "{} rules: {proved} proved, {held} held, {unsound} unsound", rules.len())?;
    for (count, word) in [(untried, "untried"), (invalid, "invalid")] {
        if count > 0 {
            write!(out, ", {count} {word}")?;
        }
    }
    writeln!(out)?;
    match clash {
        Some(clash) => Err(clash),
        None => Ok(unsound + untried + invalid == 0),
    }
}

/// Judges rules on all processors, one after the other; `then` receives each as it is done.
fn judging<'r, T>(rules: &[&'r Rule], then: impl FnOnce(&Receiver<(&'r Rule, Judgement)>) -> T) -> T {
    let processors = thread::available_parallelism().map_or(1, |n| n.get());
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..processors.min(rules.len()) {
            let (next, sender) = (&next, sender.clone());
            scope.spawn(move || {
                while let Some(rule) = rules.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // The receiver is gone if the output was closed.
                    if sender.send((*rule, judge(rule))).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let receiver = receiver;
        then(&receiver)
    })
}

const INVALID: usize = 4;

/// The place of a verdict among the counts.
fn place(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Proved => 0,
        Verdict::Held => 1,
        Verdict::Unsound => 2,
        Verdict::Untried => 3,
    }
}

fn show(out: &mut Out, rule: &Rule, origin: Origin, judged: &Judgement) -> Result<(), Error> {
    let (word, tone) = match judged.verdict {
        Verdict::Proved => ("proved", Tone::Good),
        Verdict::Held => ("held", Tone::Good),
        Verdict::Unsound => ("unsound", Tone::Bad),
        Verdict::Untried => ("untried", Tone::Bad),
    };
    let gap = " ".repeat(INDENT - word.len());
    let painted = out.tone(tone, word);
    // The word stands before the name, and is not said again.
    let said = judged.summary.strip_prefix(word).unwrap_or(&judged.summary).trim_start_matches(':').trim_start();
    match judged.verdict {
        Verdict::Unsound => {
            out.wrapped(&format!("{painted}{gap}{} {}:{}", rule.name, origin.file, origin.line), INDENT)?;
            below(out, &rule.to_string())?;
            if !rule.liberties.is_empty() {
                below(out, &format!("although it takes {}", rule.liberties))?;
            }
            below(out, said)?;
            if judged.remedy.is_some() {
                below(out, &judged.advice(rule.liberties))?;
            }
        }
        _ => {
            let said = out.tone(Tone::Faint, said);
            out.wrapped(&format!("{painted}{gap}{} {said}", rule.name), INDENT)?;
        }
    }
    for note in &judged.notes {
        below(out, &format!("note: {note}"))?;
    }
    Ok(())
}

/// The column of names, below which everything about a rule stands.
const INDENT: usize = 9;

/// Prints a line about a rule.
fn below(out: &mut Out, text: &str) -> Result<(), Error> {
    Ok(out.wrapped(&format!("{}{text}", " ".repeat(INDENT)), INDENT)?)
}

/// The rules of a file, and clashes of their names; `<=>` is tried in one direction, which says it of both.
fn of_file(file: &Path) -> Result<(Vec<Read>, Option<Error>), Error> {
    let rules = read_rules(file)?;
    let read = |rule: &FileRule| rule.parse().map(|parsed| (parsed, rule.entry.origin));
    let read: Vec<Read> = rules.iter().map(read).collect();
    let valid = rules.iter().zip(&read).filter(|(_, read)| read.is_ok());
    let valid: Vec<RuleEntry> = valid.map(|(rule, _)| rule.entry).collect();
    Ok((read, engine::registry_with(&valid).err()))
}

fn compiled_in() -> Vec<Read> {
    let rule = |entry: rewright::rewrites::RewriteEntry| match entry.def.form {
        Form::Rule(rule) => Some(Ok((rule.clone(), entry.origin))),
        _ => None,
    };
    rewrites().iter().filter_map(rule).collect()
}
