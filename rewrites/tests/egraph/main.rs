//! Tests of equality saturation.

mod blocks;
mod machinery;
mod pitfalls;
mod proofs;
mod shown;

use rewright_ir::{Origin, parse_module, print_module};
use rewright_rewrites::rule::{Liberties, RuleDef, RuleEntry};
use rewright_rewrites::{NoObserver, Options, Pipeline, Report, RewriteRegistry, rewrites};

/// The registry of the process, with its rules replaced by these.
fn registry(rules: &[(&'static str, &'static str)]) -> RewriteRegistry {
    let entry = |&(name, text): &(&'static str, &'static str)| RuleEntry {
        def: RuleDef { name, text },
        origin: Origin { krate: "test", version: "", file: "test.rs", line: 1 },
    };
    let rules: Vec<RuleEntry> = rules.iter().map(entry).collect();
    let plain = rewrites().iter().filter(|e| !matches!(e.def.form, rewright_rewrites::Form::Rule(_)));
    RewriteRegistry::build_with(plain, &rules)
}

/// Runs a pipeline over a module.
fn run_in(registry: &RewriteRegistry, pipeline: &str, liberties: Liberties, text: &str) -> (String, Report) {
    let mut module = parse_module(text, "f.ir").unwrap();
    let options = Options { liberties, ..Options::default() };
    let pipeline = Pipeline::parse_in(registry, pipeline).unwrap();
    let report = pipeline.run(&mut module, &options, &mut NoObserver).unwrap();
    (print_module(&module), report)
}

/// A function of one block.
fn func(signature: &str, body: &str) -> String {
    format!("func @f{signature} {{\nentry:\n{body}\n}}\n")
}

/// Saturates a function of one block with the rules of the process; returns the lines of its body.
fn saturate(liberties: &str, signature: &str, body: &str) -> Vec<String> {
    let (text, _) = run_in(rewrites(), "saturate", liberties.parse().unwrap(), &func(signature, body));
    lines(&text)
}

/// The same with these rules only.
fn saturate_with(rules: &[(&'static str, &'static str)], signature: &str, body: &str) -> (Vec<String>, Report) {
    let (text, report) = run_in(&registry(rules), "saturate", Liberties::all(), &func(signature, body));
    (lines(&text), report)
}

fn lines(text: &str) -> Vec<String> {
    text.lines().skip(2).filter(|line| *line != "}").map(|line| line.trim().to_string()).collect()
}

fn remarks(report: &Report) -> Vec<String> {
    report.remarks.iter().map(|r| r.message.clone()).collect()
}
