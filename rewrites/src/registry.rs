//! The registry of rewrites from all linked crates, sorted by name, and the order of the default pipeline.

use crate::def::{Form, RewriteDef, RewriteEntry};
use crate::rule::{RuleEntry, RuleErrors, condition};
use indexmap::IndexMap;
use rewright_ir::{Origin, registry};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::LazyLock;
use thiserror::Error;

/// A conflict between registrations.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RewriteRegistryError {
    /// Two registrations have one name.
    #[error("{what} `{name}` is registered twice: by {first} and by {second}")]
    Duplicate {
        /// "rule" for two rules, or "rewrite".
        what: &'static str,
        /// The name.
        name: &'static str,
        /// One place.
        first: Origin,
        /// The other.
        second: Origin,
    },
    /// A name that is not valid in a pipeline string.
    #[error("`{name}` of {origin} is no name for a rewrite: lower-case words with hyphens are")]
    Name {
        /// The name.
        name: &'static str,
        /// Where it is registered.
        origin: Origin,
    },
    /// A root op that no linked crate registers.
    #[error("rewrite `{rewrite}` of {origin} starts at op `{op}`, which no linked crate registers")]
    UnknownRoot {
        /// The rewrite.
        rewrite: &'static str,
        /// The op.
        op: &'static str,
        /// Where it is registered.
        origin: Origin,
    },
    /// An invalid rule.
    #[error("{errors}\n  written at {origin}")]
    Rule {
        /// The errors.
        errors: RuleErrors,
        /// Where it is written.
        origin: Origin,
    },
    /// Two conditions of rules have one name.
    #[error("condition `{name}` is registered twice: by {first} and by {second}")]
    DuplicateCondition {
        /// The name.
        name: &'static str,
        /// One place.
        first: Origin,
        /// The other.
        second: Origin,
    },
    /// Order constraints that form a cycle.
    #[error("rewrites can't be put in order: {}", .0.join(", "))]
    Order(
        /// The constraints around the cycle.
        Vec<String>,
    ),
}

/// Rewrites by name.
pub struct RewriteRegistry {
    entries: IndexMap<&'static str, RewriteEntry>,
    order: Vec<&'static str>,
    errors: Vec<RewriteRegistryError>,
}

static REGISTRY: LazyLock<RewriteRegistry> = LazyLock::new(|| {
    let rules: Vec<RuleEntry> = rewright_ir::inventory::iter::<RuleEntry>.into_iter().copied().collect();
    RewriteRegistry::build_with(rewright_ir::inventory::iter::<RewriteEntry>.into_iter().copied(), &rules)
});

/// The rewrites of this process.
pub fn rewrites() -> &'static RewriteRegistry {
    &REGISTRY
}

impl RewriteRegistry {
    /// Builds a registry from entries in any order; conflicts become [`errors`](RewriteRegistry::errors).
    pub fn build(entries: impl IntoIterator<Item = RewriteEntry>) -> Self {
        Self::build_with(entries, &[])
    }

    /// The rewrites of this process, with further rules, such as those of a file.
    pub fn with_rules(more: &[RuleEntry]) -> Self {
        let rules: Vec<RuleEntry> =
            rewright_ir::inventory::iter::<RuleEntry>.into_iter().copied().chain(more.iter().copied()).collect();
        Self::build_with(rewright_ir::inventory::iter::<RewriteEntry>.into_iter().copied(), &rules)
    }

    /// Builds a registry from rewrites and rules in any order.
    pub fn build_with(entries: impl IntoIterator<Item = RewriteEntry>, rules: &[RuleEntry]) -> Self {
        let mut errors = duplicate_conditions();
        let mut list: Vec<RewriteEntry> = entries.into_iter().collect();
        let mut rules = rules.to_vec();
        rules.sort_by_key(|rule| (rule.def.name, rule.origin));
        for rule in rules {
            match rule.rewrites() {
                Ok(rewrites) => list.extend(rewrites),
                Err(wrong) => errors.push(RewriteRegistryError::Rule { errors: wrong, origin: rule.origin }),
            }
        }
        list.sort_by_key(|e| (e.def.name, e.origin));
        let mut table: IndexMap<&'static str, RewriteEntry> = IndexMap::new();
        for entry in list {
            let (name, origin) = (entry.def.name, entry.origin);
            if !is_name(name) {
                errors.push(RewriteRegistryError::Name { name, origin });
            }
            let unknown = entry.def.roots.iter().filter(|op| registry().op(op).is_none());
            errors.extend(unknown.map(|op| RewriteRegistryError::UnknownRoot { rewrite: name, op, origin }));
            match table.get(name) {
                Some(first) => {
                    let is_rule = |entry: &RewriteEntry| matches!(entry.def.form, Form::Rule(_));
                    let what = if is_rule(first) && is_rule(&entry) { "rule" } else { "rewrite" };
                    errors.push(RewriteRegistryError::Duplicate { what, name, first: first.origin, second: origin });
                }
                None => {
                    table.insert(name, entry);
                }
            }
        }
        let (order, cycles) = sort(&table);
        errors.extend(cycles);
        RewriteRegistry { entries: table, order, errors }
    }

    /// The rewrite of a name.
    pub fn get(&self, name: &str) -> Option<RewriteEntry> {
        self.entries.get(name).copied()
    }
    /// All entries, sorted by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RewriteEntry> + '_ {
        self.entries.values().copied()
    }
    /// The rewrites of the default pipeline, in order: by stage and constraints, then greatest benefit, then
    /// name.
    pub fn by_default(&self) -> impl Iterator<Item = RewriteEntry> + '_ {
        self.order.iter().filter_map(|name| self.get(name)).filter(|e| e.def.by_default)
    }
    /// The conflicts between registrations; pipelines do not run if there are any.
    pub fn errors(&self) -> &[RewriteRegistryError] {
        &self.errors
    }
}

fn duplicate_conditions() -> Vec<RewriteRegistryError> {
    let same = condition::condition_entries().windows(2).filter(|pair| pair[0].def.name == pair[1].def.name);
    let error = |pair: &[&condition::ConditionEntry]| RewriteRegistryError::DuplicateCondition {
        name: pair[0].def.name,
        first: pair[0].origin,
        second: pair[1].origin,
    };
    same.map(error).collect()
}

fn is_name(name: &str) -> bool {
    let word = |w: &str| !w.is_empty() && w.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    name != "default" && name.split(['-', '.']).all(word)
}

/// For each rewrite the ones that it has to precede, with the reason.
type Edges = Vec<Vec<(usize, String)>>;

fn constraints(table: &IndexMap<&'static str, RewriteEntry>) -> Edges {
    let mut edges: Edges = vec![Vec::new(); table.len()];
    for (at, entry) in table.values().enumerate() {
        let RewriteDef { name, before, after, .. } = entry.def;
        for (index, later, _) in before.iter().filter_map(|n| table.get_full(n)) {
            edges[at].push((index, format!("`{name}` before `{later}` (says {})", entry.origin)));
        }
        for (index, earlier, _) in after.iter().filter_map(|n| table.get_full(n)) {
            edges[index].push((at, format!("`{earlier}` before `{name}` (says {})", entry.origin)));
        }
    }
    edges
}

/// Kahn's topological sort; each step takes the best rewrite without remaining predecessors.
fn sort(table: &IndexMap<&'static str, RewriteEntry>) -> (Vec<&'static str>, Vec<RewriteRegistryError>) {
    let edges = constraints(table);
    let mut waits = vec![0usize; table.len()];
    edges.iter().flatten().for_each(|&(to, _)| waits[to] += 1);
    let rank = |at: usize| {
        let def = table[at].def;
        Reverse((def.stage, Reverse(def.benefit), at))
    };
    let mut free: BinaryHeap<_> = (0..table.len()).filter(|&at| waits[at] == 0).map(rank).collect();
    let mut order = Vec::new();
    while let Some(Reverse((_, _, at))) = free.pop() {
        order.push(table[at].def.name);
        for &(to, _) in &edges[at] {
            waits[to] -= 1;
            if waits[to] == 0 {
                free.push(rank(to));
            }
        }
    }
    let cycles = cycles(&edges, &waits);
    order.extend((0..table.len()).filter(|&at| waits[at] > 0).map(|at| table[at].def.name));
    (order, cycles)
}

/// The cycles among the unsorted rewrites, without duplicates.
fn cycles(edges: &Edges, waits: &[usize]) -> Vec<RewriteRegistryError> {
    let mut found = Vec::new();
    let mut seen = vec![false; waits.len()];
    // Each unsorted rewrite has an unsorted predecessor, so walking backwards ends in a cycle.
    let back = |at: usize| {
        let from = |&from: &usize| waits[from] > 0 && edges[from].iter().any(|&(to, _)| to == at);
        (0..waits.len()).find(from)
    };
    for start in (0..waits.len()).filter(|&at| waits[at] > 0) {
        let mut path = vec![start];
        let mut at = start;
        while let Some(prev) = back(at) {
            if let Some(begin) = path.iter().position(|&p| p == prev) {
                let cycle: Vec<usize> = path[begin..].iter().rev().copied().collect();
                if !cycle.iter().any(|&c| seen[c]) {
                    found.push(RewriteRegistryError::Order(explain(edges, &cycle)));
                }
                cycle.iter().for_each(|&c| seen[c] = true);
                break;
            }
            path.push(prev);
            at = prev;
        }
    }
    found
}

fn explain(edges: &Edges, cycle: &[usize]) -> Vec<String> {
    let next = cycle.iter().cycle().skip(1);
    let edge = |(&from, &to): (&usize, &usize)| edges[from].iter().find(|&&(t, _)| t == to).map(|(_, why)| why.clone());
    cycle.iter().zip(next).filter_map(edge).collect()
}
