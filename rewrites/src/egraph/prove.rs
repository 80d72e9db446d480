//! Proves that two functions are equal, or that the result of saturation is equal to the original value.

use super::analysis::{Graph, add};
use super::contradiction;
use super::extraction::Extraction;
use super::node::{Children, ENode};
use super::proof::{Proof, ProofStep, told};
use super::proof_names::Named;
use super::region::{Region, candidates};
use super::rules::RuleSet;
use super::saturate::{SaturationLimits, SaturationSummary, StopReason, saturate};
use super::solved;
use super::terms::{Knowns, TermId, TermTable};
use super::verify::ProofError;
use crate::analyses::Analyses;
use crate::match_cx::MatchCx;
use crate::pipeline::Pipeline;
use crate::registry::RewriteRegistry;
use crate::rule::Liberties;
use crate::value_facts::ValueFacts;
use egg::Id;
use rewright_ir::{Block, Function, Inst, Module, Name, Value, ValueDef};
use rustc_hash::{FxHashMap, FxHashSet};
use thiserror::Error;

/// Why there is no proof.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NoProof {
    /// The functions can't be compared.
    #[error("`@{function}` can't be compared: {why}")]
    Form {
        /// The function.
        function: Name,
        /// The reason.
        why: String,
    },
    /// The rules do not make the two equal, or not within the limits.
    #[error("the rules do not make the two equal: {how}")]
    NotFound {
        /// How the search ended.
        how: String,
    },
    /// A rule makes unequal values equal.
    #[error("a rule is not true: {0}")]
    Unsound(String),
    /// The terms are too deep for the search.
    #[error(
        "the terms are {depth} operations deep; proofs are looked for down to {DEEPEST}: prove the equality of parts of them"
    )]
    Deep {
        /// The depth of nested operations.
        depth: usize,
    },
    /// The proof that was found fails the check.
    #[error("the proof that was found fails its check: {0}")]
    Refused(#[from] ProofError),
    /// The value did not change.
    #[error("`saturate` does not change `{0}`")]
    Unchanged(String),
}

/// Limits of a search for a proof.
const LIMITS: SaturationLimits =
    SaturationLimits { nodes: 5_000, iterations: 24, matches: 1_000, scans: 50_000, times: false };

/// The depth limit: the construction of a proof recurses into the parts of a term.
const DEEPEST: usize = 500;

fn searched(region: &mut Region, rules: &RuleSet, a: Id, b: Id) -> Result<(), NoProof> {
    let summary = saturate(&mut region.graph, rules, LIMITS, |graph| graph.find(a) == graph.find(b));
    if let Some(clash) = region.graph.analysis.clash.clone() {
        return Err(NoProof::Unsound(contradiction::of_graph(&mut region.graph, rules, (&clash, &summary))));
    }
    let SaturationSummary { stop, iterations, nodes, .. } = summary;
    if stop == StopReason::Goal {
        return Ok(());
    }
    let how = format!("{stop} after {iterations} iterations with {nodes} nodes; {}", summary.top());
    Err(NoProof::NotFound { how })
}

/// Proves that two functions are equal, up to the liberties granted. Both have one block, parameters of the
/// same types, and one result.
pub fn prove<'a>(
    a: impl Into<Named<'a>>,
    b: impl Into<Named<'a>>,
    module: &Module,
    registry: &RewriteRegistry,
    granted: Liberties,
) -> Result<Proof, NoProof> {
    let named = [a.into(), b.into()];
    let [a, b] = [named[0].func, named[1].func];
    let rules = RuleSet::of(registry.iter(), granted);
    let analyses = [Analyses::default(), Analyses::default()];
    [a, b].into_iter().try_for_each(typed)?;
    let types = |f: &Function| f.params().iter().map(|&p| f.ty(p).clone()).collect::<Vec<_>>();
    if types(a) != types(b) {
        return Err(NoProof::Form { function: b.name, why: format!("its parameters are not those of `@{}`", a.name) });
    }
    let [from, to] = [returned(a)?, returned(b)?];
    [a, b].into_iter().try_for_each(only_computes)?;
    let first = MatchCx::new(a, module, &analyses[0]);
    let mut region = Region::empty(granted, true);
    region.add_params(&first);
    let params: Vec<Id> = a.params().iter().map(|p| region.ids[p]).collect();
    let entry = |f: &Function| f.entry().ok_or(NoProof::Form { function: f.name, why: "it has no blocks".to_string() });
    region.add_all(&first, &needed(&first, entry(a)?, &[from]));
    let start = region.value(&first, from);
    let mut terms = TermTable::default();
    name_values(&mut terms, &named[0], &region, "");
    let second = MatchCx::new(b, module, &analyses[1]);
    region.ids = b.params().iter().copied().zip(params).collect();
    region.insts.clear();
    region.add_all(&second, &needed(&second, entry(b)?, &[to]));
    let goal = region.value(&second, to);
    name_values(&mut terms, &named[1], &region, "'");
    proven(region, terms, &rules, registry, (start, goal))
}

/// Proves that the value that `saturate` makes of a value is equal to it, with the rules that a pipeline of
/// the registry may use. `func` is the original function.
pub fn explain<'a>(
    func: impl Into<Named<'a>>,
    value: Value,
    module: &Module,
    registry: &RewriteRegistry,
    pipeline: &Pipeline,
    granted: Liberties,
) -> Result<Proof, NoProof> {
    let named = func.into();
    let func = named.func;
    let rules = RuleSet::of(pipeline.rules().iter().copied(), granted);
    let analyses = Analyses::default();
    let cx = MatchCx::new(func, module, &analyses);
    let name = named.text(value, "");
    let unchanged = || NoProof::Unchanged(name.clone());
    let block = func.def_inst(value).and_then(|inst| func.block_of(inst)).ok_or_else(unchanged)?;
    let all = candidates(&cx, block);
    let is_here = |part: &&[Inst]| part.iter().any(|&inst| func.inst(inst).results[0] == value);
    let part = all.chunks(super::REGION).find(is_here).ok_or_else(unchanged)?;
    let found = solved(&cx, part, &rules, Extraction::of(pipeline)).map_err(|_| unchanged())?;
    let class =
        found.region.ids.get(&value).and_then(|&id| found.problem.of(&found.region.graph, id)).ok_or_else(unchanged)?;
    let mut region = Region::of(&cx, part, granted, true);
    let mut terms = TermTable::default();
    name_values(&mut terms, &named, &region, "");
    let start = region.ids.get(&value).copied().ok_or_else(unchanged)?;
    let goal = found.add(class, &mut region.graph).ok_or_else(unchanged)?;
    if start == goal {
        return Err(unchanged());
    }
    proven(region, terms, &rules, registry, (start, goal))
}

/// Proves that two values of one block of a function are equal. Parameters and constants belong to every
/// block.
pub fn prove_values<'a>(
    func: impl Into<Named<'a>>,
    values: (Value, Value),
    module: &Module,
    registry: &RewriteRegistry,
    granted: Liberties,
) -> Result<Proof, NoProof> {
    let named = func.into();
    let func = named.func;
    typed(func)?;
    let rules = RuleSet::of(registry.iter(), granted);
    let analyses = Analyses::default();
    let cx = MatchCx::new(func, module, &analyses);
    let block = |value: Value| match func.def(value) {
        ValueDef::Result(inst, _) => func.block_of(inst),
        _ => None,
    };
    let form = |why: &str| NoProof::Form { function: func.name, why: why.to_string() };
    let home = match (block(values.0), block(values.1)) {
        (Some(a), Some(b)) if a != b => return Err(form("the values are of two blocks")),
        (a, b) => a.or(b).or(func.entry()).ok_or_else(|| form("it has no blocks"))?,
    };
    let mut region = Region::of(&cx, &needed(&cx, home, &[values.0, values.1]), granted, true);
    let (start, goal) = (region.value(&cx, values.0), region.value(&cx, values.1));
    let mut terms = TermTable::default();
    name_values(&mut terms, &named, &region, "");
    proven(region, terms, &rules, registry, (start, goal))
}

/// The instructions of a block that the values are computed from and that can be in a graph.
fn needed(cx: &MatchCx<'_>, block: Block, values: &[Value]) -> Vec<Inst> {
    let func = cx.func();
    let mut wanted: FxHashSet<Value> = values.iter().copied().collect();
    let mut insts = candidates(cx, block);
    insts.reverse();
    insts.retain(|&inst| {
        let data = func.inst(inst);
        let is_wanted = data.results.iter().any(|result| wanted.contains(result));
        if is_wanted {
            wanted.extend(data.args.iter().copied());
        }
        is_wanted
    });
    insts.reverse();
    insts
}

/// Searches for a proof, and checks it.
fn proven(
    mut region: Region,
    mut terms: TermTable,
    rules: &RuleSet,
    registry: &RewriteRegistry,
    (start, goal): (Id, Id),
) -> Result<Proof, NoProof> {
    // The proof is about the terms of the program, not about those that the graph adds.
    let found = terms_of(&mut terms, &region.graph);
    let ends = (found[usize::from(start)], found[usize::from(goal)]);
    let depth = terms.depth(ends.0).max(terms.depth(ends.1));
    if depth > DEEPEST {
        return Err(NoProof::Deep { depth });
    }
    searched(&mut region, rules, start, goal)?;
    let explanation = region.graph.explain_id_equivalence(start, goal);
    let mut proof = told(terms, &explanation.explanation_trees, ends);
    let mut known: FxHashSet<TermId> = FxHashSet::default();
    loop {
        let Err(failure) = proof.check_steps(registry, rules.granted) else { return Ok(proof) };
        let mut unproven = failure.unproven_terms;
        unproven.retain(|&term| known.insert(term));
        let steps = supported(&mut region.graph, &mut proof, &unproven, registry, rules.granted);
        if steps.is_empty() {
            return Err(failure.error.into());
        }
        proof.steps.splice(failure.at..failure.at, steps);
    }
}

/// Steps that make terms equal to forms with more facts, because the graph shares facts among all forms of a
/// class and the check does not.
fn supported(
    graph: &mut Graph,
    proof: &mut Proof,
    unproven: &[TermId],
    registry: &RewriteRegistry,
    granted: Liberties,
) -> Vec<ProofStep> {
    let found = terms_of(&mut proof.terms, graph);
    let mut memo = Knowns::new();
    let mut steps = Vec::new();
    for &term in unproven {
        let Some(id) = found.iter().position(|&other| other == term).map(Id::from) else { continue };
        let mut certain = proof.terms.known(term, &mut memo).map_or(ValueFacts::empty(), |known| known.1);
        let same = |at: &usize| graph.find(Id::from(*at)) == graph.find(id);
        let class: Vec<usize> = (0..found.len()).filter(same).collect();
        for (at, other) in class.into_iter().map(|at| (at, found[at])) {
            let more = proof.terms.known(other, &mut memo).map_or(ValueFacts::empty(), |known| known.1);
            if certain.contains(more) {
                continue;
            }
            let explanation = graph.explain_id_equivalence(id, Id::from(at));
            let part = told(std::mem::take(&mut proof.terms), &explanation.explanation_trees, (term, other));
            // The proof of a fact must not use the fact itself.
            let whole = part.check_steps(registry, granted).is_ok();
            proof.terms = part.terms;
            if whole {
                certain |= more;
                steps.extend(part.steps);
            }
        }
    }
    steps
}

/// Rejects functions without types.
fn typed(func: &Function) -> Result<(), NoProof> {
    let why = || "it is untyped: `passdump run` prints it with its types".to_string();
    if func.untyped { Err(NoProof::Form { function: func.name, why: why() }) } else { Ok(()) }
}

/// Rejects functions with side effects, which the graph does not represent.
fn only_computes(func: &Function) -> Result<(), NoProof> {
    let mut ops = func.blocks().flat_map(|block| func.insts(block)).map(|inst| func.inst(inst).op);
    match ops.find(|op| !op.is_terminator() && !op.effects.is_empty()) {
        Some(op) => {
            let why = format!("it does more than to compute a result: `{op}`; compare values of it instead");
            Err(NoProof::Form { function: func.name, why })
        }
        None => Ok(()),
    }
}

/// The value that a function of one block returns.
fn returned(func: &Function) -> Result<Value, NoProof> {
    let form = |why: &str| NoProof::Form { function: func.name, why: why.to_string() };
    if func.blocks().len() != 1 {
        return Err(form("it has more than one block"));
    }
    let end = func.entry().and_then(|entry| func.terminator(entry)).map(|end| func.inst(end).args.clone());
    match end.as_deref() {
        Some(&[one]) => Ok(one),
        _ => Err(form("it does not return one value")),
    }
}

/// Adds the leaves of a function and the names of its values to the terms.
fn name_values(terms: &mut TermTable, named: &Named<'_>, region: &Region, mark: &str) {
    for (&leaf, known) in region.leaves.iter().zip(&region.graph.analysis.leaves).skip(terms.leaves()) {
        terms.leaf(named.text(leaf, mark), known.clone());
    }
    let found = terms_of(terms, &region.graph);
    for &inst in &region.insts {
        let result = named.func.inst(inst).results[0];
        terms.name(found[usize::from(region.ids[&result])], named.text(result, mark));
    }
}

/// The terms that were added to a graph, by their ids.
fn terms_of(terms: &mut TermTable, graph: &Graph) -> Vec<TermId> {
    let mut found: Vec<TermId> = Vec::with_capacity(graph.nodes().len());
    // Children were added before their node.
    for node in graph.nodes() {
        let children = node.children.iter().map(|&child| found[usize::from(child)]).collect();
        found.push(terms.term(node.head.clone(), children));
    }
    found
}

impl super::Solved {
    /// Adds the chosen form of a class to another graph of the same instructions.
    fn add(&self, class: usize, graph: &mut Graph) -> Option<Id> {
        let mut made: FxHashMap<usize, Id> = FxHashMap::default();
        for class in self.problem.needed(&self.solution.node)? {
            let choice = &self.problem.classes[class][self.solution.node[class]?];
            let children: Option<Children> = choice.children.iter().map(|child| made.get(child).copied()).collect();
            let id = add(graph, ENode { head: choice.node.head.clone(), sorts: false, children: children? });
            made.insert(class, id);
        }
        made.get(&class).copied()
    }
}
