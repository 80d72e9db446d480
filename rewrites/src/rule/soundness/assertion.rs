//! For tests of plug-ins: all rules of a crate hold.

use super::judgement::{Judgement, judge};
use crate::rule::{Rule, RuleEntry};
use rewright_ir::Origin;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Checks the rules that a crate registers by [`rule!`](crate::rule!), and panics unless each one is `proved`
/// or `held`. The message has the counterexamples, and the liberties with which a rule would hold.
///
/// A test of the crate calls it as `assert_rules_hold(env!("CARGO_PKG_NAME"))`. Panics also if the crate has
/// no rules, since a crate that is not linked has none.
#[track_caller]
pub fn assert_rules_hold(package: &str) {
    let entries = rewright_ir::inventory::iter::<RuleEntry>.into_iter();
    let mut entries: Vec<RuleEntry> = entries.filter(|entry| entry.origin.krate == package).copied().collect();
    entries.sort_by_key(|entry| entry.origin);
    assert!(
        !entries.is_empty(),
        "no rule of the package `{package}` is linked: a test that uses nothing else of it says `use {} as _;`",
        package.replace('-', "_")
    );
    let mut failures = Vec::new();
    let mut rules = Vec::new();
    for entry in &entries {
        match crate::rule::parse_rule(entry.def.name, entry.def.text) {
            Ok(rule) => rules.push((entry.origin, rule)),
            Err(errors) => failures.push((entry.origin, errors.to_string())),
        }
    }
    failures.extend(judged(&rules).into_iter().filter(|(_, _, judged)| !judged.is_good()).map(failure));
    if failures.is_empty() {
        return;
    }
    failures.sort();
    let mut message = format!("{} of {} rules of `{package}` do not hold", failures.len(), entries.len());
    for (origin, why) in failures {
        // Writing to a string succeeds.
        let _ = write!(message, "\n{}:{}: {why}", origin.file, origin.line);
    }
    panic!("{message}");
}

/// Judges rules on all processors.
fn judged(rules: &[(Origin, Rule)]) -> Vec<(Origin, &Rule, Judgement)> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let processors = thread::available_parallelism().map_or(1, |n| n.get());
    thread::scope(|scope| {
        for _ in 0..processors.min(rules.len()) {
            scope.spawn(|| {
                while let Some((origin, rule)) = rules.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let judged = judge(rule);
                    if let Ok(mut found) = found.lock() {
                        found.push((*origin, rule, judged));
                    }
                }
            });
        }
    });
    found.into_inner().unwrap_or_default()
}

fn failure((origin, rule, judged): (Origin, &Rule, Judgement)) -> (Origin, String) {
    let advice = match judged.remedy {
        Some(_) => format!("; {}", judged.advice(rule.liberties)),
        None => String::new(),
    };
    (origin, format!("rule `{}` is {}{advice}\n  {rule}", rule.name, judged.summary))
}
