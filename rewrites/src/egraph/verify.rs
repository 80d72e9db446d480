//! Checks proofs apart from the e-graph that found them.
//!
//! Each step is repeated: the rule's pattern is matched syntactically against the term before, the
//! conditions are tested on the facts of the bound terms, and the instantiated template must be the term
//! after. Then the two ends must be equal by [congruence closure](super::congruence) of the steps. So no
//! error in the e-graph, the search or the construction of the proof can make unequal terms equal.
//!
//! The check trusts:
//! - the rules, which [`soundness`](crate::rule::soundness) tests;
//! - [`TemplatePlanner`], which rewriting shares: it tests conditions and instantiates templates;
//! - type inference and [`ValueFacts`] of terms;
//! - [`eval_scalar`] for steps that fold constants;
//! - the trait [`COMMUTATIVE`](Traits::COMMUTATIVE) for steps that exchange operands;
//! - [`polynomial::same`] for steps that regroup sums and products. It compares the coefficients of floats
//!   with a tolerance.

use super::analysis::{COMMUTE, FOLD};
use super::congruence::Congruence;
use super::nary;
use super::node::{AttrLeaf, Head, attr_heads};
use super::polynomial;
use super::proof::{Proof, ProofStep};
use super::terms::{Knowns, TermId, TermTable};
use crate::def::Form;
use crate::registry::RewriteRegistry;
use crate::rule::template::{Part, Template, TemplatePlanner, Typed, constant};
use crate::rule::{AttrTerm, Liberties, Node, NodeId, Rule};
use crate::value_facts::ValueFacts;
use rewright_ir::op::{Eval, Traits};
use rewright_ir::{Attr, DType, Scalar, Type, eval_scalar};
use smallvec::SmallVec;
use thiserror::Error;

/// Why a proof is rejected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProofError {
    /// A step is wrong.
    #[error("step {number} does not follow from rule `{rule}`: {why}")]
    Step {
        /// The number of the step, from 1.
        number: usize,
        /// The rule that the step names.
        rule: String,
        /// The reason.
        why: String,
    },
    /// The steps are right, but do not make the two ends equal.
    #[error("every step holds, but together they do not make the two terms equal: a step is missing")]
    Gap,
}

/// The position and reason of a failed check.
pub(crate) struct CheckFailure {
    pub error: ProofError,
    /// The index of the step.
    pub at: usize,
    /// Terms that lack a required fact.
    pub unproven_terms: Vec<TermId>,
}

impl Proof {
    /// Checks every step, and that the steps connect both ends. `granted` are the liberties by which the two
    /// may differ. [`Proof`] names the parts of the crate that the check trusts.
    pub fn check(&self, registry: &RewriteRegistry, granted: Liberties) -> Result<(), ProofError> {
        self.check_steps(registry, granted).map_err(|failure| failure.error)
    }

    pub(crate) fn check_steps(&self, registry: &RewriteRegistry, granted: Liberties) -> Result<(), CheckFailure> {
        let (terms, memo) = (self.terms.clone(), Knowns::new());
        let mut checker = ProofChecker { terms, memo, registry, granted, equal: Congruence::default() };
        for (at, step) in self.steps.iter().enumerate() {
            checker.check_step(step).map_err(|StepError { why, unproven_terms }| {
                let error = ProofError::Step { number: at + 1, rule: step.rule.to_string(), why };
                CheckFailure { error, at, unproven_terms }
            })?;
            checker.equal.unite(&checker.terms, step.terms.0, step.terms.1);
        }
        match checker.equal.are_equal(&checker.terms, self.ends.0, self.ends.1) {
            true => Ok(()),
            false => Err(CheckFailure { error: ProofError::Gap, at: self.steps.len(), unproven_terms: Vec::new() }),
        }
    }
}

/// Why a step is wrong.
struct StepError {
    why: String,
    /// Terms that lack a required fact.
    unproven_terms: Vec<TermId>,
}

impl<S: Into<String>> From<S> for StepError {
    fn from(why: S) -> Self {
        StepError { why: why.into(), unproven_terms: Vec::new() }
    }
}

struct ProofChecker<'a> {
    terms: TermTable,
    memo: Knowns,
    registry: &'a RewriteRegistry,
    granted: Liberties,
    /// The equalities of the earlier steps.
    equal: Congruence,
}

/// The bindings of a pattern's variables.
struct Bound {
    vars: Vec<Option<TermId>>,
    attrs: Vec<Option<Option<AttrLeaf>>>,
}

impl ProofChecker<'_> {
    fn check_step(&mut self, step: &ProofStep) -> Result<(), StepError> {
        let (from, to) = if step.backward { (step.terms.1, step.terms.0) } else { step.terms };
        match step.rule.as_str() {
            FOLD => Ok(self.check_fold(from, to)?),
            COMMUTE => Ok(self.check_commutation(from, to)?),
            name if nary::REASONS.contains(&name) => {
                let (a, b) = (self.ty(from)?, self.ty(to)?);
                let (terms, memo) = (&self.terms, &mut self.memo);
                let ty = |term| terms.known(term, memo).map(|known| known.0);
                Ok(polynomial::same(terms, (from, &a), (to, &b), self.granted, ty)?)
            }
            name => {
                let form = self.registry.get(name).map(|entry| entry.def.form);
                let Some(Form::Rule(rule)) = form else { return Err("the registry has no such rule".into()) };
                let mut result = self.check_rule(rule, from, to);
                for choice in &rule.choices {
                    if result.is_ok() {
                        break;
                    }
                    result = self.check_rule(choice, from, to).or(result);
                }
                result
            }
        }
    }

    fn ty(&mut self, term: TermId) -> Result<Type, String> {
        let known = self.terms.known(term, &mut self.memo);
        known.map(|(ty, _)| ty).ok_or_else(|| format!("`{}` has no type", self.terms.text(term)))
    }

    /// Checks that an op of constants folds to a constant.
    fn check_fold(&self, from: TermId, to: TermId) -> Result<(), String> {
        let text = |term| self.terms.text(term);
        let scalar = |operand: &TermId| self.terms.as_const(*operand);
        let folded = self.terms.op(from).filter(|(op, ..)| op.is_elementwise()).and_then(|(op, operands, _)| {
            let scalars: SmallVec<[Scalar; 3]> = operands.iter().map(scalar).collect::<Option<_>>()?;
            match eval_scalar(op, &scalars, &self.terms.attrs(from)).ok()?[..] {
                [scalar] => Some(scalar),
                _ => None,
            }
        });
        let folded = folded.ok_or_else(|| format!("`{}` does not fold to a constant", text(from)))?;
        match self.terms.as_const(to) == Some(folded) {
            true => Ok(()),
            false => Err(format!("`{}` folds to {folded}, not `{}`", text(from), text(to))),
        }
    }

    /// Checks that a term is another one with its first two operands exchanged.
    fn check_commutation(&self, from: TermId, to: TermId) -> Result<(), String> {
        let head = self.terms.head(from);
        let mut swapped = self.terms.children(from).to_vec();
        match head {
            Head::Op(op) if swapped.len() >= 2 && op.traits.contains(Traits::COMMUTATIVE) => swapped.swap(0, 1),
            Head::Op(op) => return Err(format!("`{op}` is not commutative")),
            _ => return Err(format!("`{}` is no op", self.terms.text(from))),
        }
        match self.terms.head(to) == head && self.terms.children(to) == swapped {
            true => Ok(()),
            false => Err(format!(
                "operands differ after the swap: `{}` is not `{}` with its operands exchanged",
                self.terms.text(to),
                self.terms.text(from)
            )),
        }
    }

    /// Checks that a rule rewrites one term to the other.
    fn check_rule(&mut self, rule: &Rule, from: TermId, to: TermId) -> Result<(), StepError> {
        if !self.granted.contains(rule.liberties) {
            let missing = rule.liberties - self.granted;
            return Err(format!("it takes liberties that are not granted: {missing}").into());
        }
        let mut bound = Bound { vars: vec![None; rule.vars.len()], attrs: vec![None; rule.attr_vars.len()] };
        self.matches(rule, rule.lhs, from, &mut bound)
            .ok_or_else(|| format!("`{}` does not match `{}`", self.terms.text(from), rule.term(rule.lhs)))?;
        let want = self.ty(from)?;
        let mut vars: SmallVec<[Typed<TermId>; 4]> = SmallVec::new();
        let mut facts: SmallVec<[ValueFacts; 4]> = SmallVec::new();
        for (&term, var) in bound.vars.iter().zip(&rule.vars) {
            let term = term.ok_or_else(|| format!("the pattern leaves `?{}` unbound", var.name))?;
            let typed = match self.terms.as_const(term) {
                Some(scalar) => constant(scalar),
                None => (Part::Value(term), (self.ty(term)?, None)),
            };
            vars.push(typed);
            facts.push(self.facts(term));
        }
        let attr = |leaf: Option<Option<AttrLeaf>>| leaf.flatten().map(|leaf| leaf.attr().clone());
        let attrs: Vec<Option<Attr>> = bound.attrs.into_iter().map(attr).collect();
        let mut planner = TemplatePlanner::new(rule, vars, attrs);
        if !planner.conditions_hold(|var| facts[var]) {
            // Facts about a term hold for all terms that were shown to be equal to it.
            let asked = rule.conditions.iter().flat_map(|condition| condition.vars(rule));
            let asked: Vec<(usize, TermId)> = asked.filter_map(|var| Some((var, bound.vars[var]?))).collect();
            for &(var, term) in &asked {
                for other in self.equal.class(&self.terms, term).to_vec() {
                    facts[var] |= self.facts(other);
                }
            }
            if !planner.conditions_hold(|var| facts[var]) {
                let conditions: Vec<String> = rule.conditions.iter().map(|c| format!("`{}`", c.text(rule))).collect();
                let why = format!("cannot prove condition {} for `{}`", conditions.join(", "), self.terms.text(from));
                return Err(StepError { why, unproven_terms: asked.into_iter().map(|(_, term)| term).collect() });
            }
        }
        let &[rhs] = &rule.rhs[..] else {
            return Err(format!("the rule has {} right-hand sides, expected 1", rule.rhs.len()).into());
        };
        let made = planner.result(rhs, &want, |ty| *ty == want);
        let made = made.map_err(|why| {
            let types = || format!("the right-hand side does not have the type {want} of `{}`", self.terms.text(from));
            why.reason(rule).unwrap_or_else(types)
        })?;
        let template = planner.finish(SmallVec::from_slice(&[made]));
        let made = self.build(&template).ok_or("the right-hand side has no result")?;
        if made == to {
            return Ok(());
        }
        let [from, made, to] = [from, made, to].map(|term| self.terms.text(term));
        Err(format!("the rule rewrites `{from}` to `{made}`, not to `{to}`").into())
    }

    /// The facts about a term that its parts imply.
    fn facts(&mut self, term: TermId) -> ValueFacts {
        self.terms.known(term, &mut self.memo).map_or(ValueFacts::empty(), |known| known.1)
    }

    /// Matches a term syntactically, with operands in the pattern's order.
    fn matches(&mut self, rule: &Rule, node: NodeId, term: TermId, bound: &mut Bound) -> Option<()> {
        match &rule.nodes[node] {
            Node::Var(at) => {
                let var = &rule.vars[*at];
                let dtype = self.terms.known(term, &mut self.memo)?.0.dtype();
                let fits = var.dtypes.contains(dtype)
                    && (!var.constant || self.terms.as_const(term).is_some())
                    && !(var.varies && self.terms.as_const(term).is_some());
                (fits && *bound.vars[*at].get_or_insert(term) == term).then_some(())
            }
            Node::Literal(literal) => {
                let scalar = self.terms.as_const(term)?;
                (literal.at(scalar.dtype()) == Some(scalar)).then_some(())
            }
            Node::Computed(_) => None,
            Node::Op(wanted) => {
                let (op, operands, attrs) = self.terms.op(term)?;
                let (operands, attrs) = (operands.to_vec(), attrs.to_vec());
                if op != wanted.op || operands.len() != wanted.args.len() || wanted.result != 0 {
                    return None;
                }
                for (def, leaf) in op.0.attrs.iter().zip(attrs) {
                    let given = self.terms.attr(leaf).cloned();
                    let matches = match wanted.attrs.iter().find(|(name, _)| *name == def.name) {
                        None => given.is_none(),
                        Some((_, AttrTerm::Is(attr))) => given == Some(AttrLeaf::new(attr.clone())),
                        Some((_, AttrTerm::Var(var))) => *bound.attrs[*var].get_or_insert(given.clone()) == given,
                    };
                    matches.then_some(())?;
                }
                for (&arg, &operand) in wanted.args.iter().zip(&operands) {
                    self.matches(rule, arg, operand, bound)?;
                }
                self.needs_no_casts(term, &operands)
            }
        }
    }

    /// Succeeds if the op computes at the dtypes of its operands, without casts.
    fn needs_no_casts(&mut self, term: TermId, operands: &[TermId]) -> Option<()> {
        let (op, ..) = self.terms.op(term)?;
        let Eval::Elementwise { resolve, .. } = op.eval else { return Some(()) };
        let attrs = self.terms.attrs(term);
        let dtypes: SmallVec<[DType; 3]> =
            operands.iter().map(|&t| Some(self.terms.known(t, &mut self.memo)?.0.dtype())).collect::<Option<_>>()?;
        (resolve(&dtypes, &attrs).ok()?.ins == dtypes).then_some(())
    }

    fn build(&mut self, template: &Template<TermId>) -> Option<TermId> {
        let mut made: Vec<TermId> = Vec::new();
        for step in &template.steps {
            let mut children: Vec<TermId> = step.args.iter().map(|part| self.part(&made, part)).collect();
            for head in attr_heads(step.op, &step.attrs) {
                children.push(self.terms.term(head, Vec::new()));
            }
            made.push(self.terms.term(Head::Op(step.op), children));
        }
        template.results.first().map(|part| self.part(&made, part))
    }

    fn part(&mut self, made: &[TermId], part: &Part<TermId>) -> TermId {
        match part {
            Part::Value(term) => *term,
            Part::Constant(scalar) => self.terms.constant(*scalar),
            Part::Step(at, _) => made[*at],
        }
    }
}
