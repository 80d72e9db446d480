//! Proves rules over integers and bools, for all values of their variables.
//!
//! Both sides of a rule become [terms](Terms) in a normal form. Equal terms prove the rule. Otherwise the
//! negation, "the conditions hold and the results differ", is bit-blasted into a circuit (`circuit.rs`), and
//! a SAT solver (`solver.rs`) decides it within a limit on conflicts. The answer is a proof, a
//! counterexample, or "undecided": products of two variables, and division, are hard beyond 16 bits.
//!
//! Ops are elementwise, so a proof for scalars holds for the elements of arrays. Shapes are checked
//! elsewhere.

pub(crate) mod circuit;
pub(crate) mod meaning;
pub(crate) mod ring;
pub(crate) mod word;

mod solver;

pub use meaning::{BitArg, BitCx, BitMeaning, BitResults, width};
pub use ring::{Term, Terms};

use super::typing::Case;
use super::{Condition, Node, NodeId, Rule};
use circuit::Bit;
use rewright_ir::op::NoLoop;
use rewright_ir::{Attrs, DType, Op, Scalar, eval_scalar};
use smallvec::SmallVec;
use solver::{Satisfiable, satisfiable};

/// Limits on the solver at one combination of dtypes: conflicts, and conflicts times gates, since the time of
/// a conflict grows with the circuit.
pub(crate) const MAX_CONFLICTS: u64 = 20_000;
const MAX_WORK: u64 = 20_000_000;

/// The limit on conflicts times gates with one variable fixed.
const MAX_WORK_AT: u64 = MAX_WORK / 4;

/// The limit on gates. A larger circuit is not solved.
pub(crate) const MAX_GATES: usize = 200_000;

/// The answer to whether a rule holds for all values of its variables, at one combination of dtypes.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// It holds.
    Proved,
    /// It does not hold for these values.
    Refuted(Vec<Scalar>),
    /// Unknown, with the reason.
    Undecided(String),
}

/// Decides whether a rule holds for scalars of a case's dtypes.
pub fn decide(rule: &Rule, case: &Case) -> Answer {
    decide_with(rule, case, None, MAX_WORK)
}

/// Decides the rule with one variable fixed (concretization): products by a constant are much easier than
/// products of two variables. `Proved` holds for that value alone.
pub(super) fn decide_at(rule: &Rule, case: &Case, var: usize, value: Scalar) -> Answer {
    decide_with(rule, case, Some((var, value)), MAX_WORK_AT)
}

/// Values that satisfy the conditions of a rule, as far as these have a meaning in bits.
pub(super) fn witness(rule: &Rule, case: &Case) -> Option<Vec<Scalar>> {
    let known = vec![None; rule.nodes.len()];
    let terms = Terms::new(MAX_GATES);
    let mut encoder = Encoder { rule, case, fixed: None, work: MAX_WORK_AT, terms, known };
    encoder.witness()
}

fn decide_with(rule: &Rule, case: &Case, fixed: Option<(usize, Scalar)>, work: u64) -> Answer {
    let known = vec![None; rule.nodes.len()];
    let mut encoder = Encoder { rule, case, fixed, work, terms: Terms::new(MAX_GATES), known };
    encoder.answer().unwrap_or_else(Answer::Undecided)
}

/// An op of the rule whose [`BitMeaning`] gives another result than its meaning on scalars, at these values
/// of the variables.
pub(super) fn disagreeing(rule: &Rule, case: &Case, values: &[Scalar]) -> Option<Op> {
    let mut known: Vec<Option<Scalar>> = Vec::with_capacity(rule.nodes.len());
    for node in &rule.nodes {
        let term = match node {
            Node::Op(term) | Node::Computed(term) => term,
            Node::Var(var) => {
                known.push(values.get(*var).copied());
                continue;
            }
            Node::Literal(_) => {
                known.push(None);
                continue;
            }
        };
        let attrs = term.attrs(&case.attrs);
        let dtypes: SmallVec<[Option<DType>; 3]> = term.args.iter().map(|&arg| Some(known[arg]?.dtype())).collect();
        let operand = |(at, &arg): (usize, &NodeId)| match &rule.nodes[arg] {
            Node::Literal(number) => number.operand(term.op, &attrs, at, &dtypes).ok(),
            _ => known[arg],
        };
        let args: Option<SmallVec<[Scalar; 3]>> = term.args.iter().enumerate().map(operand).collect();
        let results = args.as_ref().and_then(|args| eval_scalar(term.op, args, &attrs).ok());
        known.push(results.as_ref().and_then(|results| results.get(term.result).copied()));
        if let (Some(args), Some(results)) = (args, results)
            && let Some(by_terms) = by_terms(term.op, &args, &attrs)
            && (by_terms.len() != results.len()
                || by_terms.iter().zip(&results).any(|(bits, result)| bits.is_some_and(|bits| bits != result.bits().0)))
        {
            return Some(term.op);
        }
    }
    None
}

/// The results of an op on constants by its [`BitMeaning`]; `None` of a result that is no constant.
fn by_terms(op: Op, args: &[Scalar], attrs: &Attrs) -> Option<Vec<Option<u64>>> {
    let meaning = op.interface::<BitMeaning>()?;
    let mut terms = Terms::new(MAX_GATES);
    let args: Option<SmallVec<[BitArg; 3]>> = args
        .iter()
        .map(|scalar| Some((scalar.dtype(), terms.constant(scalar.bits().0, width(scalar.dtype())?))))
        .collect();
    let found = (meaning.0)(&mut terms, &BitCx { args: &args?, attrs })?;
    Some(found.into_iter().map(|term| terms.as_constant(term)).collect())
}

struct Encoder<'a> {
    rule: &'a Rule,
    case: &'a Case,
    /// A variable with a fixed value.
    fixed: Option<(usize, Scalar)>,
    work: u64,
    terms: Terms,
    known: Vec<Option<SmallVec<[BitArg; 2]>>>,
}

impl Encoder<'_> {
    fn answer(&mut self) -> Result<Answer, String> {
        let rule = self.rule;
        let mut patterns: SmallVec<[BitArg; 2]> = SmallVec::new();
        for root in rule.pattern_roots() {
            patterns.extend(self.results(root)?);
        }
        let mut templates: SmallVec<[Term; 2]> = SmallVec::new();
        for (&rhs, pattern) in rule.rhs.iter().zip(&patterns) {
            templates.push(self.template(rhs, pattern.0)?);
        }
        let pairs: Vec<(Term, Term)> = patterns.iter().map(|p| p.1).zip(templates).filter(|(a, b)| a != b).collect();
        if pairs.is_empty() {
            return Ok(Answer::Proved);
        }
        let conditions = self.conditions();
        let mut differ = Bit::FALSE;
        for (a, b) in pairs {
            let same = self.terms.equal(a, b);
            let same = self.terms.bits(same)[0];
            differ = self.terms.circuit().or(differ, !same);
        }
        for condition in conditions {
            let holds = self.terms.bits(condition)[0];
            differ = self.terms.circuit().and(differ, holds);
        }
        if self.terms.circuit().is_full() {
            return Err(format!("the circuit has more than {MAX_GATES} gates"));
        }
        let conflicts = MAX_CONFLICTS.min(self.work / self.terms.circuit().len() as u64);
        match satisfiable(self.terms.circuit(), differ, conflicts) {
            Satisfiable::No => Ok(Answer::Proved),
            Satisfiable::Unknown => Err("the solver reached its limit".to_string()),
            Satisfiable::Yes(values) => Ok(Answer::Refuted(self.values(&values))),
        }
    }

    fn witness(&mut self) -> Option<Vec<Scalar>> {
        let mut goal = Bit::TRUE;
        for condition in self.conditions() {
            let holds = self.terms.bits(condition)[0];
            goal = self.terms.circuit().and(goal, holds);
        }
        if self.terms.circuit().is_full() {
            return None;
        }
        let conflicts = MAX_CONFLICTS.min(self.work / self.terms.circuit().len() as u64);
        match satisfiable(self.terms.circuit(), goal, conflicts) {
            Satisfiable::Yes(values) => Some(self.values(&values)),
            Satisfiable::No | Satisfiable::Unknown => None,
        }
    }

    /// The values of the variables in a solution. Unconstrained bits are 0.
    fn values(&mut self, gates: &[Option<bool>]) -> Vec<Scalar> {
        let dtypes: Vec<DType> = self.case.vars.iter().map(|(ty, _)| ty.dtype()).collect();
        let value = |(var, dtype): (usize, DType)| {
            if let Some((_, scalar)) = self.fixed.filter(|(fixed, _)| *fixed == var) {
                return scalar;
            }
            let term = self.terms.variable(var, width(dtype).unwrap_or(1));
            let bits = self.terms.bits(term);
            let is_set = |bit: Bit| gates.get(bit.gate()).copied().flatten().unwrap_or(false) != bit.is_complement();
            let value = bits.iter().enumerate().fold(0, |all, (at, &bit)| all | u64::from(is_set(bit)) << at);
            Scalar::from_bits(dtype, (value, 0))
        };
        dtypes.into_iter().enumerate().map(value).collect()
    }

    /// The conditions that have a meaning in bits. Dropping the others makes the claim stronger, so a proof
    /// stays valid.
    fn conditions(&mut self) -> Vec<Term> {
        let conditions = &self.rule.conditions;
        conditions.iter().filter_map(|condition| self.condition(condition)).collect()
    }

    /// A condition as a term, if all of it has a meaning in bits.
    fn condition(&mut self, condition: &Condition) -> Option<Term> {
        match condition {
            Condition::Registered(def, vars) => {
                let bits = def.bits?;
                let args: SmallVec<[BitArg; 2]> =
                    vars.iter().map(|&var| self.variable(var).ok()).collect::<Option<_>>()?;
                bits(&mut self.terms, &args)
            }
            Condition::Computed(node) => {
                let (dtype, term) = self.value(*node).ok()?;
                (dtype == DType::Bool).then_some(term)
            }
            Condition::All(list) => {
                let terms: Vec<Term> = list.iter().map(|one| self.condition(one)).collect::<Option<_>>()?;
                let truth = self.terms.constant(1, 1);
                Some(terms.into_iter().fold(truth, |all, term| self.terms.mul(all, term)))
            }
            Condition::Any(list) => {
                let terms: Vec<Term> = list.iter().map(|one| self.condition(one)).collect::<Option<_>>()?;
                let falsehood = self.terms.constant(0, 1);
                Some(terms.into_iter().fold(falsehood, |any, term| self.terms.or(any, term)))
            }
            Condition::Not(inner) => {
                let inner = self.condition(inner)?;
                Some(self.terms.not(inner))
            }
        }
    }

    fn variable(&mut self, var: usize) -> Result<BitArg, String> {
        if let Some((_, scalar)) = self.fixed.filter(|(fixed, _)| *fixed == var) {
            return self.scalar(scalar);
        }
        let dtype = self.case.vars[var].0.dtype();
        let width = width(dtype).ok_or_else(|| format!("`?{}` is of {dtype}", self.rule.vars[var].name))?;
        Ok((dtype, self.terms.variable(var, width)))
    }

    fn scalar(&mut self, scalar: Scalar) -> Result<BitArg, String> {
        let dtype = scalar.dtype();
        let width = width(dtype).ok_or_else(|| format!("the constant {scalar} is of {dtype}"))?;
        Ok((dtype, self.terms.constant(scalar.bits().0, width)))
    }

    /// One side of the template, at the dtype of the result.
    fn template(&mut self, rhs: NodeId, dtype: DType) -> Result<Term, String> {
        if let Node::Literal(number) = &self.rule.nodes[rhs] {
            let scalar = number.checked_at(dtype)?;
            return Ok(self.scalar(scalar)?.1);
        }
        let (of, term) = self.value(rhs)?;
        if of == dtype { Ok(term) } else { Err(format!("a result of {dtype} becomes one of {of}")) }
    }

    fn value(&mut self, node: NodeId) -> Result<BitArg, String> {
        let number = match &self.rule.nodes[node] {
            Node::Op(term) | Node::Computed(term) => term.result,
            _ => 0,
        };
        self.results(node)?.get(number).copied().ok_or_else(|| "there is no such result".to_string())
    }

    /// All results of an op; for a variable its value.
    fn results(&mut self, node: NodeId) -> Result<SmallVec<[BitArg; 2]>, String> {
        if let Some(known) = &self.known[node] {
            return Ok(known.clone());
        }
        let results: SmallVec<[BitArg; 2]> = match &self.rule.nodes[node] {
            Node::Var(var) => SmallVec::from_slice(&[self.variable(*var)?]),
            Node::Literal(_) => return Err("a literal has no dtype of its own".to_string()),
            Node::Op(term) | Node::Computed(term) => {
                let op = term.op;
                let mut args: SmallVec<[Option<BitArg>; 3]> = SmallVec::new();
                for &arg in &term.args {
                    let literal = matches!(self.rule.nodes[arg], Node::Literal(_));
                    args.push(if literal { None } else { Some(self.value(arg)?) });
                }
                let dtypes: SmallVec<[Option<DType>; 3]> = args.iter().map(|arg| arg.map(|arg| arg.0)).collect();
                let attrs = term.attrs(&self.case.attrs);
                let mut whole: SmallVec<[BitArg; 3]> = SmallVec::new();
                for (at, (arg, &node)) in args.iter().zip(&term.args).enumerate() {
                    whole.push(match (arg, &self.rule.nodes[node]) {
                        (Some(arg), _) => *arg,
                        (None, Node::Literal(number)) => {
                            let scalar = number.operand(op, &attrs, at, &dtypes)?;
                            self.scalar(scalar)?
                        }
                        (None, _) => return Err("an operand has no value".to_string()),
                    });
                }
                let none = || format!("`{op}` has no meaning in bits here");
                let meaning = op.interface::<BitMeaning>().ok_or_else(none)?;
                let found = (meaning.0)(&mut self.terms, &BitCx { args: &whole, attrs: &attrs }).ok_or_else(none)?;
                let dtypes: SmallVec<[DType; 3]> = whole.iter().map(|arg| arg.0).collect();
                let outs =
                    op.loop_at(&dtypes, &attrs).map_err(|(NoLoop::Undefined(why) | NoLoop::Broken(why))| why)?.outs;
                outs.into_iter().zip(found).collect()
            }
        };
        self.known[node] = Some(results.clone());
        Ok(results)
    }
}
