//! Checks proofs independently of the e-graph that found them.
//!
//! Each step is repeated: the rule's pattern is matched syntactically against the term before, the
//! conditions are tested on the facts of the bound terms, and the instantiated template must be the term
//! after. Then the two ends must be equal by congruence closure of the steps: terms are equal if a step says
//! so, or if they are the same op of equal parts. So no error in the e-graph, the search or the construction
//! of the proof can make unequal terms equal; only the rules are trusted.

use super::analysis::{COMMUTE, FOLD};
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
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use thiserror::Error;

/// Why a proof is rejected.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ProofError {
    /// A step is wrong.
    #[error("step {number} is not by `{rule}`: {why}")]
    Step {
        /// The number of the step, from 1.
        number: usize,
        /// The rule that the step names.
        rule: String,
        /// The reason.
        why: String,
    },
    /// The steps are right, but do not make the two ends equal.
    #[error("the steps do not lead from the one term to the other")]
    Gap,
}

/// The position and reason of a failed check.
pub(crate) struct Refusal {
    pub error: ProofError,
    /// The index of the step.
    pub at: usize,
    /// Terms that lack a required fact.
    pub unsure: Vec<TermId>,
}

impl Proof {
    /// Checks every step, and that the steps connect both ends. `granted` are the liberties by which the two
    /// may differ.
    pub fn check(&self, registry: &RewriteRegistry, granted: Liberties) -> Result<(), ProofError> {
        self.checked(registry, granted).map_err(|refusal| refusal.error)
    }

    pub(crate) fn checked(&self, registry: &RewriteRegistry, granted: Liberties) -> Result<(), Refusal> {
        let (terms, memo) = (self.terms.clone(), Knowns::new());
        let mut checker = ProofChecker { terms, memo, registry, granted, equal: Vec::new() };
        for (at, step) in self.steps.iter().enumerate() {
            checker.step(step).map_err(|Wrong { why, unsure }| {
                let error = ProofError::Step { number: at + 1, rule: step.rule.to_string(), why };
                Refusal { error, at, unsure }
            })?;
            checker.equal.push(step.terms);
        }
        let first = closure(&self.terms, &checker.equal);
        match first[self.ends.0] == first[self.ends.1] {
            true => Ok(()),
            false => Err(Refusal { error: ProofError::Gap, at: self.steps.len(), unsure: Vec::new() }),
        }
    }
}

/// For each term the least term of its class, by congruence closure of the equalities.
fn closure(terms: &TermTable, equal: &[(TermId, TermId)]) -> Vec<TermId> {
    let mut least: Vec<TermId> = (0..terms.len()).collect();
    let find = |least: &[TermId], mut term: TermId| {
        while least[term] != term {
            term = least[term];
        }
        term
    };
    let unite = |least: &mut [TermId], a: TermId, b: TermId| {
        let (a, b) = (find(least, a), find(least, b));
        least[a.max(b)] = a.min(b);
        a != b
    };
    for &(a, b) in equal {
        unite(&mut least, a, b);
    }
    let mut news = true;
    while news {
        news = false;
        let mut seen: FxHashMap<(&Head, Vec<TermId>), TermId> = FxHashMap::default();
        for term in 0..terms.len() {
            let children = terms.children(term).iter().map(|&child| find(&least, child)).collect();
            let first = *seen.entry((terms.head(term), children)).or_insert(term);
            news |= unite(&mut least, first, term);
        }
    }
    (0..terms.len()).map(|term| find(&least, term)).collect()
}

/// Why a step is wrong.
struct Wrong {
    why: String,
    /// Terms that lack a required fact.
    unsure: Vec<TermId>,
}

impl<S: Into<String>> From<S> for Wrong {
    fn from(why: S) -> Self {
        Wrong { why: why.into(), unsure: Vec::new() }
    }
}

struct ProofChecker<'a> {
    terms: TermTable,
    memo: Knowns,
    registry: &'a RewriteRegistry,
    granted: Liberties,
    /// The equalities of the earlier steps.
    equal: Vec<(TermId, TermId)>,
}

/// The bindings of a pattern's variables.
struct Bound {
    vars: Vec<Option<TermId>>,
    attrs: Vec<Option<Option<AttrLeaf>>>,
}

impl ProofChecker<'_> {
    fn step(&mut self, step: &ProofStep) -> Result<(), Wrong> {
        let (from, to) = if step.backward { (step.terms.1, step.terms.0) } else { step.terms };
        match step.rule.as_str() {
            FOLD => self.folds(from, to).ok_or_else(|| "the one is not what the other computes".into()),
            COMMUTE => {
                let same = self.commutes(from, to);
                if same { Ok(()) } else { Err("the operands may not be exchanged, or are not the same".into()) }
            }
            name if nary::REASONS.contains(&name) => {
                let (a, b) = (self.ty(from)?, self.ty(to)?);
                let (terms, memo) = (&self.terms, &mut self.memo);
                let ty = |term| terms.known(term, memo).map(|known| known.0);
                Ok(polynomial::same(terms, (from, &a), (to, &b), self.granted, ty)?)
            }
            name => {
                let form = self.registry.get(name).map(|entry| entry.def.form);
                let Some(Form::Rule(rule)) = form else { return Err("there is no such rule".into()) };
                let mut result = self.applies(rule, from, to);
                for choice in &rule.choices {
                    if result.is_ok() {
                        break;
                    }
                    result = self.applies(choice, from, to).or(result);
                }
                result
            }
        }
    }

    fn ty(&mut self, term: TermId) -> Result<Type, String> {
        let known = self.terms.known(term, &mut self.memo);
        known.map(|(ty, _)| ty).ok_or_else(|| format!("`{}` has no type", self.terms.text(term)))
    }

    fn folds(&self, from: TermId, to: TermId) -> Option<()> {
        let (op, operands, _) = self.terms.op(from)?;
        let scalars: SmallVec<[Scalar; 3]> =
            operands.iter().map(|&operand| self.terms.as_const(operand)).collect::<Option<_>>()?;
        let result = eval_scalar(op, &scalars, &self.terms.attrs(from)).ok()?;
        (result.len() == 1 && op.is_elementwise() && self.terms.as_const(to) == result.first().copied()).then_some(())
    }

    fn commutes(&self, from: TermId, to: TermId) -> bool {
        let Head::Op(op) = self.terms.head(from) else { return false };
        let mut turned = self.terms.children(from).to_vec();
        if turned.len() < 2 || !op.traits.contains(Traits::COMMUTATIVE) {
            return false;
        }
        turned.swap(0, 1);
        self.terms.head(to) == self.terms.head(from) && self.terms.children(to) == turned
    }

    fn applies(&mut self, rule: &Rule, from: TermId, to: TermId) -> Result<(), Wrong> {
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
        for &term in &bound.vars {
            let term = term.ok_or("it binds not all variables")?;
            let typed = match self.terms.as_const(term) {
                Some(scalar) => constant(scalar),
                None => (Part::Value(term), (self.ty(term)?, None)),
            };
            vars.push(typed);
            facts.push(self.terms.known(term, &mut self.memo).map_or(ValueFacts::empty(), |known| known.1));
        }
        let attr = |leaf: Option<Option<AttrLeaf>>| leaf.flatten().map(|leaf| leaf.attr().clone());
        let attrs: Vec<Option<Attr>> = bound.attrs.into_iter().map(attr).collect();
        let mut planner = TemplatePlanner::new(rule, vars, attrs);
        if !planner.conditions_hold(|var| facts[var]) {
            // Facts about a term hold for all terms that were shown to be equal to it.
            let first = closure(&self.terms, &self.equal);
            let asked = rule.conditions.iter().flat_map(|condition| condition.vars(rule));
            let asked: Vec<(usize, TermId)> = asked.filter_map(|var| Some((var, bound.vars[var]?))).collect();
            for &(var, term) in &asked {
                for other in (0..first.len()).filter(|&other| first[other] == first[term]) {
                    facts[var] |= self.terms.known(other, &mut self.memo).map_or(ValueFacts::empty(), |known| known.1);
                }
            }
            if !planner.conditions_hold(|var| facts[var]) {
                let conditions: Vec<String> = rule.conditions.iter().map(|c| c.text(rule)).collect();
                let why = format!("of `{}` it is not certain that {}", self.terms.text(from), conditions.join(", "));
                return Err(Wrong { why, unsure: asked.into_iter().map(|(_, term)| term).collect() });
            }
        }
        let &[rhs] = &rule.rhs[..] else { return Err("it has several results".into()) };
        let made = planner.result(rhs, &want, |ty| *ty == want);
        let made = made.map_err(|why| why.reason(rule).unwrap_or_else(|| "the types don't go together".to_string()))?;
        let template = planner.finish(SmallVec::from_slice(&[made]));
        let made = self.build(&template).ok_or("its template has no form")?;
        if made == to {
            return Ok(());
        }
        Err(format!("it makes `{}` of `{}`", self.terms.text(made), self.terms.text(from)).into())
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
                self.computes_as_it_is(term, &operands)
            }
        }
    }

    /// Succeeds if the op computes at the dtypes of its operands, without casts.
    fn computes_as_it_is(&mut self, term: TermId, operands: &[TermId]) -> Option<()> {
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
