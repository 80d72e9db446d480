//! Names the rules that cause a contradiction: two unequal constants or types that became equal.
//!
//! The last applied rule need not be the unsound one: constant folding and congruence merge classes later.
//! So the instructions are saturated again with proofs, and the proof that one constant equals the other
//! names the rules. If there are several, each is tested by itself, and those that hold are left out.

use super::analysis::{Clash, Graph, computed, on_constants, same_value};
use super::node::{Const, ENode, Head};
use super::proof::told;
use super::region::Region;
use super::rules::RuleSet;
use super::saturate::{SaturationLimits, SaturationSummary, saturate};
use super::terms::TermTable;
use crate::match_cx::MatchCx;
use crate::rule::Liberties;
use egg::Id;
use rewright_ir::{Inst, Name, Scalar};

/// Describes the contradiction in the graph of these instructions, and the rules that cause it.
pub(super) fn of_instructions(
    cx: &MatchCx<'_>,
    part: &[Inst],
    rules: &RuleSet,
    limits: SaturationLimits,
    (clash, summary): (&Clash, &SaturationSummary),
) -> String {
    let mut region = Region::of(cx, part, Liberties::empty(), true);
    saturate(&mut region.graph, rules, limits, |_| false);
    let again = region.graph.analysis.clash.clone();
    let found = again.map(|clash| (on_path(&mut region.graph, rules, &clash), clash));
    match found {
        Some((names, clash)) if !names.is_empty() => sentence(&names, &clash),
        _ => sentence(&last_resort(clash, summary), clash),
    }
}

/// The same for a graph that records proofs.
pub(super) fn of_graph(graph: &mut Graph, rules: &RuleSet, (clash, summary): (&Clash, &SaturationSummary)) -> String {
    let names = on_path(graph, rules, clash);
    sentence(&if names.is_empty() { last_resort(clash, summary) } else { names }, clash)
}

/// The rules that lead from one constant to the other; if there are several, those that do not hold.
fn on_path(graph: &mut Graph, rules: &RuleSet, clash: &Clash) -> Vec<Name> {
    let Some((a, b)) = clash.constants.and_then(|constants| both(graph, constants)) else { return Vec::new() };
    graph.rebuild();
    if graph.find(a) != graph.find(b) {
        return Vec::new();
    }
    let explanation = graph.explain_id_equivalence(a, b);
    let mut names: Vec<Name> = Vec::new();
    for step in told(TermTable::default(), &explanation.explanation_trees, (0, 0)).steps {
        if step.is_rule() && !names.contains(&step.rule) {
            names.push(step.rule);
        }
    }
    if names.len() > 1 {
        let mut untrue = names.clone();
        untrue.retain(|&name| !rules.holds(name));
        if !untrue.is_empty() {
            return untrue;
        }
    }
    names
}

/// Two terms of one class that evaluate to these constants.
fn both(graph: &mut Graph, (a, b): (Scalar, Scalar)) -> Option<(Id, Id)> {
    let mut classes: Vec<Id> = graph.classes().map(|class| class.id).collect();
    classes.sort_unstable();
    let comes_to = |graph: &Graph, class: Id, scalar: Scalar| {
        graph[class]
            .nodes
            .iter()
            .find(|node| constant_of(graph, node).is_some_and(|own| same_value(own, scalar)))
            .cloned()
    };
    let found = |&class: &Id| Some((comes_to(graph, class, a)?, comes_to(graph, class, b)?));
    let (first, second) = classes.iter().find_map(found)?;
    Some((on_constants(graph, first), on_constants(graph, second)))
}

/// The constant that a node is or computes.
fn constant_of(graph: &Graph, node: &ENode) -> Option<Scalar> {
    match &node.head {
        Head::Const(Const(scalar)) => Some(*scalar),
        Head::Op(op) if !node.operands().is_empty() => computed(graph, *op, node, None).constant,
        _ => None,
    }
}

/// Without a proof: the rule that was being applied, or else all applied rules.
fn last_resort(clash: &Clash, summary: &SaturationSummary) -> Vec<Name> {
    let applied = || summary.uses.iter().filter(|used| used.applied > 0).map(|used| used.rule).collect();
    clash.rule.map_or_else(applied, |rule| vec![rule])
}

fn sentence(names: &[Name], clash: &Clash) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let by = match &quoted[..] {
        [] => "folding constants makes".to_string(),
        [one] => format!("rule {one} makes"),
        [most @ .., last] => format!("rules {} and {last} together make", most.join(", ")),
    };
    format!("{by} {} equal to {}", clash.texts.0, clash.texts.1)
}
