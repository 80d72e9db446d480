//! Statistics of equality saturation in a run.

use super::saturate::{RuleUse, SaturationSummary};
use rewright_ir::{Loc, Name};
use std::time::Duration;

/// Statistics of equality saturation in a run of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaturationStats {
    /// One entry for each e-graph, in order: one for each part of a block each time it was examined.
    pub graphs: Vec<GraphStats>,
    /// The rules that were searched for, summed over all graphs; those that were applied most come first.
    pub rules: Vec<RuleStats>,
}

/// An e-graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphStats {
    /// The function.
    pub function: Name,
    /// The location of the first instruction.
    pub loc: Loc,
    /// The number of instructions that were added.
    pub instructions: usize,
    /// The number of iterations.
    pub iterations: usize,
    /// The number of nodes at the end.
    pub nodes: usize,
    /// The number of e-classes at the end.
    pub classes: usize,
    /// Why saturation ended: `saturated`, `cut` at a limit, or `contradiction` if a rule is unsound.
    pub end: String,
}

/// Statistics of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleStats {
    /// The rule.
    pub rule: Name,
    /// The number of classes that were searched for its pattern.
    pub searched: u64,
    /// The number of new matches.
    pub matches: u64,
    /// The number of applications that added a node or merged classes.
    pub applied: u64,
    /// The number of nodes that it added.
    pub nodes: u64,
    /// The time of searching and applying; zero unless the options ask for times.
    pub time: Duration,
}

impl SaturationStats {
    pub(crate) fn add(&mut self, function: Name, loc: Loc, instructions: usize, summary: &SaturationSummary) {
        let &SaturationSummary { iterations, nodes, classes, .. } = summary;
        let end = summary.stop.to_string();
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
