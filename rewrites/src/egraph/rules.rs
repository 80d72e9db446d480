//! The rules of a run, compiled: those of the registry that may be explored and whose liberties are granted.

use super::nary::Ring;
use super::node::Shape;
use super::pattern::Pattern;
use crate::def::{Form, RewriteEntry};
use crate::registry::rewrites;
use crate::rule::{Liberties, Rule};
use rewright_ir::Op;
use rustc_hash::FxHashSet;
use std::cell::OnceCell;

/// A rule and its pattern.
pub(crate) struct Compiled {
    pub rule: &'static Rule,
    pub pattern: Pattern,
}

/// Rules in the order of their names, whatever the order in which crates are linked.
pub(crate) struct RuleSet {
    pub rules: Vec<Compiled>,
    pub granted: Liberties,
    /// Sums and products of many terms.
    pub ring: Option<Ring>,
    roots: FxHashSet<&'static str>,
}

impl RuleSet {
    /// The rules among these that may be applied.
    pub fn new(entries: impl IntoIterator<Item = RewriteEntry>, granted: Liberties) -> Self {
        let rule = |entry: RewriteEntry| if let Form::Rule(rule) = entry.def.form { Some(rule) } else { None };
        let usable = |rule: &&'static Rule| granted.contains(rule.liberties) && rule.rhs.len() == 1;
        let compiled = |rule: &'static Rule| Pattern::of(rule).map(|pattern| Compiled { rule, pattern });
        let mut rules: Vec<Compiled> =
            entries.into_iter().filter_map(rule).filter(usable).filter_map(compiled).collect();
        rules.sort_by_key(|c| c.rule.name);
        rules.dedup_by_key(|c| c.rule.name);
        let roots = rules.iter().map(|c| c.rule.root().op.0.name).collect();
        RuleSet { rules, granted, ring: Ring::new(granted), roots }
    }

    /// True if some rule's pattern begins with the op.
    pub fn starts_at(&self, op: Op) -> bool {
        self.roots.contains(op.0.name)
    }
}

impl Compiled {
    /// What the nodes at the pattern's root are like.
    pub fn root(&self) -> &Shape {
        &self.pattern.root
    }
}

/// The rules that a run may use, compiled when they are first asked for.
pub(crate) struct RuleBook {
    entries: Vec<RewriteEntry>,
    granted: Liberties,
    set: OnceCell<RuleSet>,
}

impl RuleBook {
    pub fn new(entries: Vec<RewriteEntry>, granted: Liberties) -> Self {
        RuleBook { entries, granted, set: OnceCell::new() }
    }
    /// The rules.
    pub fn set(&self) -> &RuleSet {
        self.set.get_or_init(|| RuleSet::new(self.entries.iter().copied(), self.granted))
    }
}

/// The rules of this process, no liberties granted.
impl Default for RuleBook {
    fn default() -> Self {
        RuleBook::new(rewrites().iter().collect(), Liberties::empty())
    }
}
