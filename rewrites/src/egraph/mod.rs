//! `saturate`: equality saturation of a block's pure instructions.
//!
//! The instructions go into an e-graph, which represents many equal forms of each value. Every rule of the
//! registry is applied wherever it matches, until the graph is saturated or a limit is reached. Then the
//! cheapest form is extracted, with shared work counted once. So the order of rules does not matter, and a
//! rule may make a form worse temporarily. (Tate et al., "Equality Saturation: a New Approach to
//! Optimization", POPL 2009; Willsey et al., "egg", POPL 2021.)
//!
//! The rules are those of the pipeline's registry, of all three arrows, whose liberties `Options::liberties`
//! grants. By [`cost`](mod@crate::cost), the result never costs more than the original; among forms of equal
//! cost the original wins.

mod analysis;
mod computes;
mod congruence;
mod contradiction;
mod distances;
mod emit;
#[cfg(feature = "exact-extraction")]
mod exact;
mod extract;
mod extraction;
mod nary;
mod node;
mod pattern;
mod polynomial;
mod proof;
mod proof_names;
mod prove;
mod region;
mod rules;
mod saturate;
mod stats;
mod template;
mod terms;
mod verify;

pub use proof::{Proof, ProofStep};
pub use proof_names::Named;
pub use prove::{NoProof, explain, prove, prove_values};
pub(crate) use rules::{RuleBook, RuleSet};
pub use stats::{GraphStats, RuleStats, SaturationStats};
pub use verify::ProofError;

use crate::prelude::*;
use extract::{Problem, Solution};
use extraction::Extraction;
use node::ENode;
use region::Region;
use rewright_ir::Loc;
use rustc_hash::{FxHashMap, FxHashSet};
use saturate::{SaturationLimits, SaturationSummary, StopReason, saturate};

/// The most instructions of a block in one graph: the work grows faster than linearly.
const REGION: usize = 256;

/// Equality saturation.
pub(crate) struct Saturate;

static SATURATE: RewriteDef =
    RewriteDef::block("saturate", "the cheapest of all forms that rules make equal", &Saturate)
        .stage(Stage::AfterInference)
        .after(&["cse"])
        .before(&["array-expr"])
        .applies_rules()
        .opt_in();
register_rewrite!(SATURATE);

/// A better form of a part of a block.
pub(crate) struct BetterForm {
    plan: emit::EmitPlan,
    loc: Loc,
    remark: String,
}

impl Rewrite for Saturate {
    type Match = Vec<BetterForm>;

    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        found(cx, block, Extraction::Greedy)
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        apply(found, rw)
    }
}

/// Better forms of the parts of a block.
fn found(cx: &MatchCx<'_>, block: Block, extraction: Extraction) -> Result<Vec<BetterForm>, NoMatch> {
    let (func, book) = (cx.func(), cx.kept_in_run::<RuleBook>());
    let rules = book.set(cx);
    if !func.insts(block).any(|inst| rules.starts_at(func.inst(inst).op)) {
        return Err(NoMatch::quiet());
    }
    let candidates = region::candidates(cx, block);
    let mut found = Vec::new();
    let mut why = NoMatch::quiet();
    for part in candidates.chunks(REGION) {
        match improved(cx, part, rules, extraction) {
            Ok(better) => found.push(better),
            Err(reason) => why = why.and(reason),
        }
    }
    if found.is_empty() { Err(why) } else { Ok(found) }
}

fn apply(found: Vec<BetterForm>, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
    let mut replaced = FxHashMap::default();
    for better in found {
        better.plan.apply(rw, &mut replaced)?;
        rw.remark(better.loc, better.remark);
    }
    Ok(())
}

/// The cheapest form that was found for some instructions.
pub(crate) struct Solved {
    region: Region,
    problem: Problem,
    solution: Solution,
    summary: SaturationSummary,
    /// The cost of the original instructions.
    before: u64,
    /// Why the form may not be the cheapest, if exact extraction was requested.
    doubt: String,
}

/// Saturates some instructions of a block and extracts a form that costs less.
fn solved(cx: &MatchCx<'_>, part: &[Inst], rules: &RuleSet, extraction: Extraction) -> Result<Solved, NoMatch> {
    let func = cx.func();
    let loc = func.inst(part[0]).loc;
    let mut region = Region::of(cx, part, rules.granted, false);
    let limits = SaturationLimits { times: cx.options().times, ..SaturationLimits::default() };
    let summary = saturate(&mut region.graph, rules, limits, |_| false);
    cx.kept_in_run::<RuleBook>().stats.borrow_mut().add(func.name, loc, region.insts.len(), &summary);
    if let Some(clash) = &region.graph.analysis.clash {
        let wrong = contradiction::of_instructions(cx, part, rules, limits, (clash, &summary));
        return Err(NoMatch::because(format!("the block is left as it is: {wrong}, which is not true")).at(loc));
    }
    let originals: FxHashSet<ENode> = region.insts.iter().map(|&inst| region.node(func, inst)).collect();
    let roots: Vec<egg::Id> = region.roots.iter().map(|value| region.ids[value]).collect();
    let problem = Problem::new(&region.graph, &roots, &originals);
    let before = region.cost(func);
    let (solution, doubt) = extraction.solve(&problem);
    match solution.filter(|solution| solution.cost < before) {
        Some(solution) => Ok(Solved { region, problem, solution, summary, before, doubt }),
        None => Err(no_better(&summary, before, &doubt, loc)),
    }
}

/// A cheaper form of some instructions of a block.
fn improved(cx: &MatchCx<'_>, part: &[Inst], rules: &RuleSet, extraction: Extraction) -> Result<BetterForm, NoMatch> {
    let func = cx.func();
    if !part.iter().any(|&inst| rules.starts_at(func.inst(inst).op)) {
        return Err(NoMatch::quiet());
    }
    let loc = func.inst(part[0]).loc;
    let Solved { region, problem, solution, summary, before, doubt } = solved(cx, part, rules, extraction)?;
    let plan = emit::plan(func, part, &region, &problem, &solution).map_err(|_| {
        let message = "a cheaper form needs values that are defined after where it stands";
        NoMatch::because(message).at(loc)
    })?;
    if plan.is_empty() {
        return Err(no_better(&summary, before, &doubt, loc));
    }
    let remark = format!("{}: cost {before} is {} now; {}{doubt}", told(&summary), solution.cost, summary.top());
    Ok(BetterForm { plan, loc, remark })
}

fn told(summary: &SaturationSummary) -> String {
    format!("{} after {} iterations with {} nodes", summary.stop, summary.iterations, summary.nodes)
}

/// No remark if all forms were examined and none is cheaper.
fn no_better(summary: &SaturationSummary, cost: u64, doubt: &str, loc: Loc) -> NoMatch {
    match summary.stop {
        StopReason::Saturated if doubt.is_empty() => NoMatch::quiet(),
        _ => {
            let (told, top) = (told(summary), summary.top());
            NoMatch::because(format!("{told}: no form costs less than {cost}; {top}{doubt}")).at(loc)
        }
    }
}
