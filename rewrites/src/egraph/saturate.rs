//! Applies rules to an e-graph until it is saturated or a limit is reached.
//!
//! The limits count nodes, iterations and matches, never time: the result must not depend on the machine. In
//! each iteration all rules match against the same graph, so a chain of k rules takes k iterations.

use super::analysis::Graph;
use super::distances::ClassDistances;
use super::nary::{self, FoundForm, NormalForm};
use super::node::Shape;
use super::pattern::{PatternSearch, Regs};
use super::rules::{Compiled, RuleSet};
use super::template;
use egg::Id;
use rewright_ir::Name;
use rustc_hash::FxHashSet;
use std::fmt;
use std::time::{Duration, Instant};

/// The limits of a run, and whether it measures times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SaturationLimits {
    /// The number of nodes at which the graph stops growing, those included that merging has made equal to
    /// others; a run exceeds it by few nodes.
    pub nodes: usize,
    /// The most iterations.
    pub iterations: usize,
    /// The most matches of one rule that are collected in an iteration, those of earlier iterations included:
    /// later matches of a rule with more are not applied.
    pub matches: usize,
    /// The most nodes that are scanned for one rule in an iteration: a deep pattern has many paths through
    /// large classes.
    pub scans: usize,
    /// Whether the time of each rule is measured.
    pub times: bool,
}

impl Default for SaturationLimits {
    fn default() -> Self {
        SaturationLimits { nodes: 3_000, iterations: 24, matches: 1_000, scans: 20_000, times: false }
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopReason {
    /// The graph is saturated.
    Saturated,
    /// The limit of nodes was reached.
    NodeLimit,
    /// The limit of iterations was reached.
    IterationLimit,
    /// A rule reached its limit of matches or of scanned nodes, and the iteration changed nothing.
    MatchLimit,
    /// The goal was reached.
    Goal,
    /// Unequal constants or types became equal: a rule is unsound.
    Contradiction,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StopReason::Saturated => "saturated",
            StopReason::NodeLimit => "cut (nodes)",
            StopReason::IterationLimit => "cut (iterations)",
            StopReason::MatchLimit => "cut (matches)",
            StopReason::Goal => "found",
            StopReason::Contradiction => "contradiction",
        })
    }
}

/// Statistics of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RuleUse {
    pub rule: Name,
    /// The number of classes that were searched.
    pub searched: usize,
    /// The number of new matches.
    pub matches: usize,
    /// The number of applications.
    pub applied: usize,
    /// The number of nodes that it added.
    pub nodes: usize,
    /// The time of the rule, if it was measured.
    pub time: Duration,
}

impl RuleUse {
    fn of(rule: Name) -> Self {
        RuleUse { rule, searched: 0, matches: 0, applied: 0, nodes: 0, time: Duration::ZERO }
    }
}

/// The result of a run.
#[derive(Clone, Debug)]
pub(crate) struct SaturationSummary {
    pub stop: StopReason,
    pub iterations: usize,
    pub nodes: usize,
    pub classes: usize,
    /// The rules that were searched for; those that added most nodes come first.
    pub uses: Vec<RuleUse>,
}

impl SaturationSummary {
    /// The rules that added most nodes, as text.
    pub fn top(&self) -> String {
        let applied = self.uses.iter().filter(|u| u.applied > 0).take(3);
        let top: Vec<String> =
            applied.map(|u| format!("{} (+{} nodes, {} times)", u.rule, u.nodes, u.applied)).collect();
        if top.is_empty() { "no rule".to_string() } else { top.join(", ") }
    }
}

/// Matches that were applied, and would add nothing again. Matches that conditions rejected are not among
/// them: they are tried again, because more facts may be known.
#[derive(Default)]
struct Applied {
    matches: FxHashSet<(usize, Regs)>,
    forms: FxHashSet<(Id, NormalForm)>,
    /// The rules, by number, whose search in the last iteration was cut short by a limit.
    cut_short: FxHashSet<usize>,
}

/// Applies rules until the graph is saturated, a limit is reached, or `done` returns true. `done` is tested
/// before the first iteration, and after each of them.
pub(crate) fn saturate(
    graph: &mut Graph,
    set: &RuleSet,
    limits: SaturationLimits,
    done: impl Fn(&Graph) -> bool,
) -> SaturationSummary {
    graph.rebuild();
    // One entry for each rule, and after them one for each of `nary::REASONS`.
    let names = set.rules.iter().map(|c| c.rule.name).chain(nary::REASONS.map(Name::new));
    let mut uses: Vec<RuleUse> = names.map(RuleUse::of).collect();
    let mut applied = Applied::default();
    let mut stop = StopReason::IterationLimit;
    let mut iterations = 0;
    if done(graph) {
        stop = StopReason::Goal;
    }
    while stop != StopReason::Goal && iterations < limits.iterations {
        iterations += 1;
        let changed = std::mem::take(&mut graph.analysis.changed);
        let near = if iterations == 1 { ClassDistances::all() } else { ClassDistances::to(graph, &changed) };
        let mut iteration = Iteration::search(graph, set, limits, &near, &mut applied, &mut uses);
        let stopped = iteration.apply(graph, set, limits, &mut applied, &mut uses);
        graph.analysis.rule = None;
        if !graph.clean {
            graph.rebuild();
        }
        if graph.analysis.clash.is_some() {
            stop = StopReason::Contradiction;
            break;
        }
        if done(graph) {
            stop = StopReason::Goal;
            break;
        }
        if stopped {
            stop = StopReason::NodeLimit;
            break;
        }
        if !iteration.changed {
            stop = if iteration.limited { StopReason::MatchLimit } else { StopReason::Saturated };
            break;
        }
    }
    uses.retain(|u| u.searched > 0);
    uses.sort_by_key(|u| (std::cmp::Reverse(u.nodes), std::cmp::Reverse(u.applied), u.rule));
    SaturationSummary {
        stop,
        iterations,
        nodes: graph.total_number_of_nodes(),
        classes: graph.number_of_classes(),
        uses,
    }
}

fn elapsed(begun: Option<Instant>) -> Duration {
    begun.map(|begun| begun.elapsed()).unwrap_or_default()
}

/// The classes with a node of this shape, in order.
fn classes(graph: &Graph, shape: &Shape) -> Vec<Id> {
    let mut classes: Vec<Id> = graph.classes_for_op(shape).into_iter().flatten().collect();
    classes.sort_unstable();
    classes
}

/// The matches of an iteration.
struct Iteration {
    found: Vec<(usize, Vec<Regs>)>,
    forms: Vec<FoundForm>,
    /// A node was added or two classes were merged.
    changed: bool,
    /// A rule reached its limit of matches or of scanned nodes.
    limited: bool,
}

impl Iteration {
    /// Searches near the classes that changed since the last iteration: elsewhere there are no new matches.
    fn search(
        graph: &Graph,
        set: &RuleSet,
        limits: SaturationLimits,
        near: &ClassDistances,
        applied: &mut Applied,
        uses: &mut [RuleUse],
    ) -> Iteration {
        let mut iteration = Iteration { found: Vec::new(), forms: Vec::new(), changed: false, limited: false };
        let cut = std::mem::take(&mut applied.cut_short);
        let classes: Vec<Vec<Id>> = set.shapes.iter().map(|shape| classes(graph, shape)).collect();
        for (at, Compiled { pattern, root, .. }) in set.rules.iter().enumerate() {
            let begun = limits.times.then(Instant::now);
            let (all, used) = (cut.contains(&at), &mut uses[at]);
            let mut search = PatternSearch { found: Vec::new(), max_matches: limits.matches, scans: limits.scans };
            let mut here = classes[*root].iter().filter(|&&class| all || near.is_within(class, pattern.depth));
            if !here.all(|&class| {
                used.searched += 1;
                pattern.search(graph, class, &mut search)
            }) {
                applied.cut_short.insert(at);
            }
            let mut found = search.found;
            found.retain(|regs| !applied.matches.contains(&(at, regs.clone())));
            used.matches += found.len();
            if !found.is_empty() {
                iteration.found.push((at, found));
            }
            used.time += elapsed(begun);
        }
        iteration.limited = !applied.cut_short.is_empty();
        if let Some(ring) = &set.ring {
            let begun = limits.times.then(Instant::now);
            let (forms, searched) = ring.search(graph, near);
            iteration.forms = forms;
            iteration.forms.retain(|found| !applied.forms.contains(&(found.class, found.form.clone())));
            let uses = &mut uses[set.rules.len()..];
            iteration.forms.iter().for_each(|found| uses[found.form.reason()].matches += 1);
            // One search reads all three forms.
            uses.iter_mut().for_each(|used| used.searched += searched);
            uses[0].time += elapsed(begun);
        }
        iteration
    }

    /// Applies the matches. True if the graph has reached its limit.
    fn apply(
        &mut self,
        graph: &mut Graph,
        set: &RuleSet,
        limits: SaturationLimits,
        applied: &mut Applied,
        uses: &mut [RuleUse],
    ) -> bool {
        for (at, found) in std::mem::take(&mut self.found) {
            let Compiled { rule, pattern, .. } = &set.rules[at];
            let begun = limits.times.then(Instant::now);
            for regs in found {
                if graph.total_size() >= limits.nodes {
                    return true;
                }
                let Some(plan) = template::plan(graph, rule, pattern, &regs) else { continue };
                let from = |graph: &mut Graph| template::instance(graph, rule, pattern, &regs);
                self.unite(graph, &mut uses[at], from, &plan);
                applied.matches.insert((at, regs));
            }
            uses[at].time += elapsed(begun);
        }
        // Sums and products of many terms.
        let Some(ring) = &set.ring else { return false };
        for found in std::mem::take(&mut self.forms) {
            if graph.total_size() >= limits.nodes {
                return true;
            }
            let used = &mut uses[set.rules.len() + found.form.reason()];
            let begun = limits.times.then(Instant::now);
            if let Some(plan) = ring.plan(graph, &found) {
                self.unite(graph, used, |graph| found.from(graph), &plan);
            }
            used.time += elapsed(begun);
            applied.forms.insert((found.class, found.form));
        }
        false
    }

    /// Adds a template and merges it with the class of its match.
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
            self.changed = true;
            used.applied += 1;
            used.nodes += added;
        }
    }
}
