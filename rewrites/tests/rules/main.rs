//! Declarative rules: parsing, rejecting and applying them.

mod apply;
mod language;
mod page;
mod proof;
mod refused;
mod registry;
mod relations;
mod soundness;
mod unsound;
mod verdicts;

use rewright_ir::{Origin, parse_module, print_module};
use rewright_rewrites::rule::{Liberties, RuleDef, RuleEntry};
use rewright_rewrites::{NoObserver, Options, Pipeline, Report, RewriteRegistry};

/// A registry with these rules only.
fn registry(rules: &[(&'static str, &'static str)]) -> RewriteRegistry {
    let entry = |&(name, text): &(&'static str, &'static str)| RuleEntry {
        def: RuleDef { name, text },
        origin: Origin { krate: "test", version: "", file: "test.rs", line: 1 },
    };
    let rules: Vec<RuleEntry> = rules.iter().map(entry).collect();
    RewriteRegistry::build_with([], &rules)
}

/// Applies rules to the body of a function of one block; returns the new body without unused instructions.
fn apply(
    rules: &[(&'static str, &'static str)],
    liberties: Liberties,
    signature: &str,
    body: &str,
) -> (String, Report) {
    let registry = registry(rules);
    assert_eq!(registry.errors(), []);
    let mut module = parse_module(&format!("func @f{signature} {{\nentry:\n{body}\n}}\n"), "f.ir").unwrap();
    let pipeline = Pipeline::parse_in(&registry, "default").unwrap();
    let options = Options { liberties, ..Options::default() };
    let report = pipeline.run(&mut module, &options, &mut NoObserver).unwrap();
    Pipeline::parse("dce").unwrap().run(&mut module, &Options::default(), &mut NoObserver).unwrap();
    let text = print_module(&module);
    let lines = text.lines().skip(2).filter(|line| *line != "}").map(str::trim);
    (lines.collect::<Vec<_>>().join("\n"), report)
}
