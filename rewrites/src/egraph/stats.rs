//! What equality saturation did in a run, in numbers.

use super::saturate::{RuleUse, Summary};
use rewright_ir::{Loc, Name};
use std::time::Duration;

/// What equality saturation did in a run of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaturationStats {
    /// One for each e-graph, in order: for each part of a block, whenever it was looked at.
    pub graphs: Vec<GraphStats>,
    /// Rules that were looked for, of all graphs together; those that were applied most come first.
    pub rules: Vec<RuleStats>,
}

/// An e-graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphStats {
    /// The function.
    pub function: Name,
    /// Where the first of the instructions is.
    pub loc: Loc,
    /// So many instructions went into it.
    pub instructions: usize,
    /// So often all rules were looked for.
    pub iterations: usize,
    /// So many nodes it had in the end.
    pub nodes: usize,
    /// So many classes of equal nodes it had in the end.
    pub classes: usize,
    /// Why it ended: `saturated`, or `cut` at a limit.
    pub end: String,
}

/// What a rule did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleStats {
    /// The rule.
    pub rule: Name,
    /// So many classes were searched for its pattern.
    pub searched: u64,
    /// So often the pattern matched anew.
    pub matches: u64,
    /// So often something became of it: a node was added, or classes became one.
    pub applied: u64,
    /// So many nodes it added.
    pub nodes: u64,
    /// The time that it took to search and to apply it; zero unless the options ask for times.
    pub time: Duration,
}

impl SaturationStats {
    pub(crate) fn add(&mut self, function: Name, loc: Loc, instructions: usize, summary: &Summary) {
        let &Summary { iterations, nodes, classes, .. } = summary;
        let end = summary.end.to_string();
        self.graphs.push(GraphStats { function, loc, instructions, iterations, nodes, classes, end });
        for used in &summary.uses {
            let known = self.rules.iter().position(|rule| rule.rule == used.rule);
            let at = known.unwrap_or_else(|| {
                self.rules.push(RuleStats::new(used.rule));
                self.rules.len() - 1
            });
            self.rules[at].add(used);
        }
    }

    pub(crate) fn sort(&mut self) {
        use std::cmp::Reverse;
        self.rules
            .sort_by_key(|rule| (Reverse(rule.applied), Reverse(rule.matches), Reverse(rule.searched), rule.rule));
    }
}

impl RuleStats {
    fn new(rule: Name) -> Self {
        RuleStats { rule, searched: 0, matches: 0, applied: 0, nodes: 0, time: Duration::ZERO }
    }

    fn add(&mut self, used: &RuleUse) {
        self.searched += used.searched as u64;
        self.matches += used.matches as u64;
        self.applied += used.applied as u64;
        self.nodes += used.nodes as u64;
        self.time += used.time;
    }
}
