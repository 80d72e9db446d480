//! Proofs that two terms are equal, as chains of rule applications.
//!
//! egg records the reason of each union, and finds a chain of reasons between two terms (Flatt et al.,
//! "Small Proofs from Congruence Closure", FMCAD 2022). Terms share their parts, and proofs share the
//! changes of parts: a change of a part is a step once, however often the part occurs. Proofs without
//! sharing would grow exponentially.

use super::analysis::{COMMUTE, FOLD};
use super::nary;
use super::node::ENode;
use super::terms::{TermId, TermTable};
use egg::TreeTerm;
use rewright_ir::Name;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;
use std::rc::Rc;

/// One application of a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct ProofStep {
    /// The rule, or another reason: `fold` for constant folding, `commute` for exchanged operands, or a
    /// reason of sums and products of many terms.
    pub rule: Name,
    /// The rule is applied from right to left.
    pub backward: bool,
    /// The part that changes, before the step; named parts are printed by their names.
    pub before: String,
    /// The part after the step.
    pub after: String,
    /// Both as terms.
    pub(crate) terms: (TermId, TermId),
}

impl ProofStep {
    /// True if the reason is a rule of the registry.
    pub fn is_rule(&self) -> bool {
        ![FOLD, COMMUTE].contains(&self.rule.as_str()) && !nary::REASONS.contains(&self.rule.as_str())
    }
}

/// A proof that two terms are equal: each step changes one part of the term, and earlier changes remain.
///
/// [`check`](Proof::check) verifies the proof without the e-graph that found it. It trusts the rules, the
/// planner of their templates, type inference, the evaluator of scalars, the ops that are declared
/// commutative, and the comparison of polynomials.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The steps, in order. None if the two are the same term.
    pub steps: Vec<ProofStep>,
    pub(crate) terms: TermTable,
    /// The terms that are equal.
    pub(crate) ends: (TermId, TermId),
}

/// One step a line.
impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return f.write_str("both are the same term");
        }
        for (n, step) in self.steps.iter().enumerate() {
            let arrow = if step.backward { "<=" } else { "=>" };
            write!(f, "{}{}  {arrow}  {}    {}", if n > 0 { "\n" } else { "" }, step.before, step.after, step.rule)?;
        }
        Ok(())
    }
}

/// Walks egg's proof.
struct ProofWalk<'a> {
    terms: &'a mut TermTable,
    firsts: FxHashMap<*const TreeTerm<ENode>, TermId>,
    lasts: FxHashMap<*const TreeTerm<ENode>, TermId>,
    told: FxHashSet<(TermId, TermId)>,
    steps: Vec<ProofStep>,
}

/// Converts egg's proof that two terms are equal.
pub(crate) fn told(mut terms: TermTable, trees: &[Rc<TreeTerm<ENode>>], ends: (TermId, TermId)) -> Proof {
    let mut walk = ProofWalk {
        terms: &mut terms,
        firsts: FxHashMap::default(),
        lasts: FxHashMap::default(),
        told: FxHashSet::default(),
        steps: Vec::new(),
    };
    walk.chain(trees);
    let steps = walk.steps;
    Proof { steps, terms, ends }
}

impl ProofWalk<'_> {
    fn chain(&mut self, trees: &[Rc<TreeTerm<ENode>>]) {
        for (n, tree) in trees.iter().enumerate() {
            if n > 0 {
                let (before, after) = (self.last(&trees[n - 1]), self.first(tree));
                self.step(before, after, tree);
            }
            for child in &tree.child_proofs {
                self.children(child);
            }
        }
    }

    /// A change of a part becomes one chain of steps, once.
    fn children(&mut self, child: &[Rc<TreeTerm<ENode>>]) {
        let (Some(begin), Some(end)) = (child.first(), child.last()) else { return };
        let ends = (self.first(begin), self.last(end));
        if ends.0 != ends.1 && self.told.insert(ends) {
            self.chain(child);
        }
    }

    fn step(&mut self, before: TermId, after: TermId, tree: &TreeTerm<ENode>) {
        let (rule, backward) = match (tree.forward_rule, tree.backward_rule) {
            (Some(rule), _) => (rule, false),
            (None, Some(rule)) => (rule, true),
            (None, None) => return,
        };
        if before == after {
            return;
        }
        self.steps.push(ProofStep {
            rule: Name::new(rule.as_str()),
            backward,
            before: self.terms.text(before),
            after: self.terms.text(after),
            terms: (before, after),
        });
    }

    fn first(&mut self, tree: &Rc<TreeTerm<ENode>>) -> TermId {
        self.end(tree, false)
    }
    fn last(&mut self, tree: &Rc<TreeTerm<ENode>>) -> TermId {
        self.end(tree, true)
    }

    /// The term before, or after, the changes of a tree's parts.
    fn end(&mut self, tree: &Rc<TreeTerm<ENode>>, last: bool) -> TermId {
        let key = Rc::as_ptr(tree);
        let memo = if last { &self.lasts } else { &self.firsts };
        if let Some(&term) = memo.get(&key) {
            return term;
        }
        let ends: Vec<Rc<TreeTerm<ENode>>> = tree
            .child_proofs
            .iter()
            .filter_map(|child| if last { child.last() } else { child.first() })
            .cloned()
            .collect();
        let children = ends.iter().map(|child| self.end(child, last)).collect();
        let term = self.terms.term(tree.node.head.clone(), children);
        let memo = if last { &mut self.lasts } else { &mut self.firsts };
        memo.insert(key, term);
        term
    }
}
