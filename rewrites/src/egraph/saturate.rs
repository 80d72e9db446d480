//! Applies rules to an e-graph until nothing new comes of it, or a limit is met.
//!
//! Limits are on nodes, iterations and matches, never on time: what comes out must not depend on the machine. In each iteration all
//! rules look at the same graph, so a chain of k rules takes k iterations.

use super::analysis::Graph;
use super::nary::{self, Form, Found};
use super::pattern::{Regs, Search};
use super::rules::{Compiled, RuleSet};
use super::template;
use egg::Id;
use rewright_ir::Name;
use rustc_hash::FxHashSet;
use std::fmt;

/// Limits of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The graph grows to so many nodes, and few more.
    pub nodes: usize,
    /// So many times all rules are looked for.
    pub iterations: usize,
    /// So many matches of one rule are applied in an iteration.
    pub matches: usize,
    /// So many nodes are looked at for one rule in an iteration: a deep pattern has many ways through large classes.
    pub looks: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { nodes: 3_000, iterations: 24, matches: 1_000, looks: 20_000 }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// No rule says anything new.
    Saturated,
    /// The limit of nodes was met.
    Nodes,
    /// The limit of iterations was met.
    Iterations,
    /// The limit of matches of a rule was met, and nothing else new was found.
    Matches,
    /// What was asked for is known.
    Goal,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            End::Saturated => "saturated",
            End::Nodes => "cut (nodes)",
            End::Iterations => "cut (iterations)",
            End::Matches => "cut (matches)",
            End::Goal => "found",
        })
    }
}

/// What one rule did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RuleUse {
    pub rule: Name,
    /// So often it was applied.
    pub applied: usize,
    /// So many nodes it added.
    pub nodes: usize,
}

/// What a run came to.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    pub end: End,
    pub iterations: usize,
    pub nodes: usize,
    /// Rules that were applied, those that added most first.
    pub uses: Vec<RuleUse>,
}

impl Summary {
    /// The rules that added most nodes, as text.
    pub fn top(&self) -> String {
        let top: Vec<String> =
            self.uses.iter().take(3).map(|u| format!("{} (+{} nodes, {} times)", u.rule, u.nodes, u.applied)).collect();
        if top.is_empty() { "no rule".to_string() } else { top.join(", ") }
    }
}

/// What was applied before, and would add nothing. Matches that conditions refused are tried again, for more may be known.
#[derive(Default)]
struct Tried {
    matches: FxHashSet<(usize, Regs)>,
    forms: FxHashSet<(Id, Form)>,
}

/// Applies rules until a limit is met or `done` says that what is known is enough.
pub(crate) fn saturate(graph: &mut Graph, set: &RuleSet, limits: Limits, done: impl Fn(&Graph) -> bool) -> Summary {
    graph.rebuild();
    let names = set.rules.iter().map(|c| c.rule.name).chain(nary::REASONS.map(Name::new));
    let mut uses: Vec<RuleUse> = names.map(|rule| RuleUse { rule, applied: 0, nodes: 0 }).collect();
    let mut tried = Tried::default();
    let mut end = End::Iterations;
    let mut iterations = 0;
    while iterations < limits.iterations {
        if done(graph) {
            end = End::Goal;
            break;
        }
        iterations += 1;
        let mut round = Round::search(graph, set, limits, &tried);
        let stopped = round.apply(graph, set, limits, &mut tried, &mut uses);
        graph.analysis.rule = None;
        graph.rebuild();
        if stopped {
            end = End::Nodes;
            break;
        }
        if graph.analysis.clash.is_some() {
            break;
        }
        if !round.news {
            end = if round.limited { End::Matches } else { End::Saturated };
            break;
        }
    }
    uses.retain(|u| u.applied > 0);
    uses.sort_by_key(|u| (std::cmp::Reverse(u.nodes), std::cmp::Reverse(u.applied), u.rule));
    Summary { end, iterations, nodes: graph.total_number_of_nodes(), uses }
}

/// The matches of an iteration.
struct Round {
    found: Vec<(usize, Vec<Regs>)>,
    forms: Vec<Found>,
    /// Something was added or became equal.
    news: bool,
    /// A rule had more matches than are applied.
    limited: bool,
}

impl Round {
    fn search(graph: &Graph, set: &RuleSet, limits: Limits, tried: &Tried) -> Round {
        let mut round = Round { found: Vec::new(), forms: Vec::new(), news: false, limited: false };
        for (at, compiled) in set.rules.iter().enumerate() {
            let Some(classes) = graph.classes_for_op(compiled.root()) else { continue };
            let mut classes: Vec<Id> = classes.collect();
            classes.sort_unstable();
            let mut search = Search { found: Vec::new(), matches: limits.matches, looks: limits.looks };
            round.limited |= !classes.into_iter().all(|class| compiled.pattern.search(graph, class, &mut search));
            let mut found = search.found;
            found.retain(|regs| !tried.matches.contains(&(at, regs.clone())));
            if !found.is_empty() {
                round.found.push((at, found));
            }
        }
        if let Some(ring) = &set.ring {
            round.forms = ring.search(graph);
            round.forms.retain(|found| !tried.forms.contains(&(found.class, found.form.clone())));
        }
        round
    }

    /// True if the graph has grown to the limit.
    fn apply(
        &mut self,
        graph: &mut Graph,
        set: &RuleSet,
        limits: Limits,
        tried: &mut Tried,
        uses: &mut [RuleUse],
    ) -> bool {
        for (at, found) in std::mem::take(&mut self.found) {
            let Compiled { rule, pattern, .. } = &set.rules[at];
            for regs in found {
                if graph.total_size() >= limits.nodes {
                    return true;
                }
                let Some(plan) = template::plan(graph, rule, pattern, &regs) else { continue };
                let from = |graph: &mut Graph| template::instance(graph, rule, pattern, &regs);
                self.unite(graph, &mut uses[at], from, &plan);
                tried.matches.insert((at, regs));
            }
        }
        // Sums and products of many terms.
        let Some(ring) = &set.ring else { return false };
        for found in std::mem::take(&mut self.forms) {
            if graph.total_size() >= limits.nodes {
                return true;
            }
            let used = &mut uses[set.rules.len() + found.form.reason()];
            if let Some(plan) = ring.plan(graph, &found) {
                self.unite(graph, used, |graph| found.from(graph), &plan);
            }
            tried.forms.insert((found.class, found.form));
        }
        false
    }

    /// Adds a template and makes it equal to what it was made from.
    fn unite(
        &mut self,
        graph: &mut Graph,
        used: &mut RuleUse,
        from: impl FnOnce(&mut Graph) -> Id,
        plan: &template::Template,
    ) {
        graph.analysis.rule = Some(used.rule);
        let before = graph.total_size();
        let from = from(graph);
        let Some(to) = template::add_template(graph, plan) else { return };
        let united = graph.union_trusted(from, to, used.rule.as_str());
        let added = graph.total_size() - before;
        if united || added > 0 {
            self.news = true;
            used.applied += 1;
            used.nodes += added;
        }
    }
}
