//! Many combinations of values of an elementwise rule at once: each variable is an array of them.

use super::MAX_ELEMENTS;
use crate::rule::typing::Case;
use crate::rule::{Node, Rule};
use rewright_ir::{Array, DType, Datum, Limits, Scalar, evaluate_op};

/// Both sides at one combination of values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sides {
    /// The same bits, of finite numbers.
    Finite,
    /// The same bits, with a NaN or an infinity among operands and results: liberties may leave them out.
    Special,
    /// Other bits.
    Differ,
}

/// Compares both sides at all combinations; `None` where an op can't be computed for all of them.
pub(super) fn compared(rule: &Rule, case: &Case, points: &[Vec<Scalar>]) -> Option<Vec<Sides>> {
    let batch = Batch { rule, case, points };
    let mut terms: Vec<Option<Vec<Datum>>> = vec![None; rule.nodes.len()];
    for id in 0..rule.nodes.len() {
        terms[id] = batch.results(id, &terms)?;
    }
    let mut patterns = Vec::new();
    for root in rule.pattern_roots() {
        patterns.extend(terms[root].clone()?);
    }
    let is_special = |&scalar: &Scalar| {
        let z = scalar.to_c128();
        !z.re.is_finite() || !z.im.is_finite()
    };
    let sides = |point: &Vec<Scalar>| if point.iter().any(is_special) { Sides::Special } else { Sides::Finite };
    let mut all: Vec<Sides> = points.iter().map(sides).collect();
    for (&rhs, pattern) in rule.rhs.iter().zip(&patterns) {
        let template = match &rule.nodes[rhs] {
            Node::Literal(literal) => Datum::Scalar(literal.at(pattern.dtype())?),
            Node::Op(term) | Node::Computed(term) => terms[rhs].as_ref()?.get(term.result)?.clone(),
            Node::Var(_) => terms[rhs].as_ref()?.first()?.clone(),
        };
        let [a, b] = [pattern, &template].map(|side| match side {
            Datum::Scalar(scalar) => Array::full(*scalar, &[points.len()]),
            other => Some(other.to_array()),
        });
        let (a, b) = (a?, b?);
        if a.dtype() != b.dtype() || a.shape() != b.shape() {
            return None;
        }
        for (sides, (a, b)) in all.iter_mut().zip(a.iter().zip(b.iter())) {
            if a != b && !(is_nan(a) && is_nan(b)) {
                *sides = Sides::Differ;
            } else if *sides == Sides::Finite && is_special(&a) {
                *sides = Sides::Special;
            }
        }
    }
    Some(all)
}

/// True if it is no number; of complex numbers, if neither part is.
fn is_nan(scalar: Scalar) -> bool {
    let z = scalar.to_c128();
    z.re.is_nan() && (!scalar.dtype().is_complex() || z.im.is_nan())
}

struct Batch<'a> {
    rule: &'a Rule,
    case: &'a Case,
    points: &'a [Vec<Scalar>],
}

impl Batch<'_> {
    /// The results of a term; literals have none of their own.
    fn results(&self, node: usize, terms: &[Option<Vec<Datum>>]) -> Option<Option<Vec<Datum>>> {
        let (term, rule) = match &self.rule.nodes[node] {
            Node::Literal(_) => return Some(None),
            Node::Var(var) => {
                let dtype = self.case.vars[*var].0.dtype();
                let array = Array::from_fn(dtype, &[self.points.len()], |at| self.points[at][*var])?;
                return Some(Some(vec![Datum::Array(array)]));
            }
            Node::Op(term) | Node::Computed(term) => (term, self.rule),
        };
        let value = |&arg: &usize| match &rule.nodes[arg] {
            Node::Literal(_) => Some(None),
            Node::Op(inner) | Node::Computed(inner) => terms[arg].as_ref()?.get(inner.result).cloned().map(Some),
            Node::Var(_) => terms[arg].as_ref()?.first().cloned().map(Some),
        };
        let args: Vec<Option<Datum>> = term.args.iter().map(value).collect::<Option<_>>()?;
        let dtypes: Vec<Option<DType>> = args.iter().map(|arg| arg.as_ref().map(Datum::dtype)).collect();
        let attrs = term.attrs(&self.case.attrs);
        let whole = args.into_iter().enumerate().map(|(at, arg)| match (arg, &rule.nodes[term.args[at]]) {
            (None, Node::Literal(literal)) => literal.operand(term.op, &attrs, at, &dtypes).ok().map(Datum::Scalar),
            (arg, _) => arg,
        });
        let args: Vec<Datum> = whole.collect::<Option<_>>()?;
        let limits = Limits { elements: MAX_ELEMENTS, ..Limits::default() };
        evaluate_op(term.op, &attrs, &args, &[], limits).ok().map(Some)
    }
}
