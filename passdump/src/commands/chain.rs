//! Prints chains of rule applications: each with the part that it changes, and the location of the rule.

use rewright::rewrites::RewriteRegistry;
use rewright::rewrites::egraph::Proof;

/// One application: the part before and after, and the rule.
pub fn line(registry: &RewriteRegistry, (before, after): (&str, &str), backward: bool, rule: &str) -> String {
    let arrow = if backward { "<=" } else { "=>" };
    let place = registry.get(rule).map(|e| format!(" ({}:{})", e.origin.file, e.origin.line)).unwrap_or_default();
    format!("{before}  {arrow}  {after}    {rule}{place}")
}

/// The steps of a proof.
pub fn lines(registry: &RewriteRegistry, proof: &Proof) -> Vec<String> {
    let step = |step: &rewright::rewrites::egraph::ProofStep| {
        line(registry, (&step.before, &step.after), step.backward, step.rule.as_str())
    };
    proof.steps.iter().map(step).collect()
}
