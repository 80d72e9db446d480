//! Evaluates an elementwise rule at many points at once: each variable becomes an array.

use super::cases::MAX_ELEMENTS;
use crate::rule::typing::Case;
use crate::rule::{Node, Rule};
use rewright_ir::{Array, DType, Datum, Limits, Scalar, evaluate_op};

/// The comparison of both sides at one point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sides {
    /// Equal bits, and all operands and results are finite.
    Finite,
    /// Equal bits, with a NaN or an infinity among operands and results. Liberties may exclude such points.
    Special,
    /// Different bits.
    Differ,
}

/// A rule in one case, at many points.
pub(super) struct Batch<'a> {
    rule: &'a Rule,
    case: &'a Case,
    points: &'a [Vec<Scalar>],
}

/// The operands and results of a term: arrays with an element for each point, or scalars if the term depends
/// on no variable.
pub(super) struct Evaluated {
    /// The operands; none for a variable.
    pub args: Vec<Datum>,
    /// The results; for a variable its values.
    pub results: Vec<Datum>,
    points: usize,
}

impl Evaluated {
    /// The shape of the arrays.
    pub fn shape(&self) -> &[usize] {
        std::slice::from_ref(&self.points)
    }
    /// One result, as an array with an element for each point.
    pub fn result(&self, number: usize) -> Option<Array> {
        self.results.get(number)?.to_array().broadcast(self.shape())
    }
}

/// Compares both sides at all points; `None` if an op fails at one of them.
pub(super) fn compared(rule: &Rule, case: &Case, points: &[Vec<Scalar>]) -> Option<Vec<Sides>> {
    let terms = Batch::new(rule, case, points).evaluated()?;
    let of_node = |node: usize, number: usize| terms[node].as_ref().and_then(|term| term.results.get(number));
    let mut patterns = Vec::new();
    for root in rule.pattern_roots() {
        patterns.extend(terms[root].as_ref()?.results.iter().cloned());
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
            Node::Op(term) | Node::Computed(term) => of_node(rhs, term.result)?.clone(),
            Node::Var(_) => of_node(rhs, 0)?.clone(),
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

/// Whether a number is NaN; a complex one, if both parts are.
fn is_nan(scalar: Scalar) -> bool {
    let z = scalar.to_c128();
    z.re.is_nan() && (!scalar.dtype().is_complex() || z.im.is_nan())
}

impl<'a> Batch<'a> {
    pub fn new(rule: &'a Rule, case: &'a Case, points: &'a [Vec<Scalar>]) -> Self {
        Batch { rule, case, points }
    }

    /// All terms. Literals are `None`: they take their dtype from their users. `None` for the whole if an op
    /// fails at one of the points.
    pub fn evaluated(&self) -> Option<Vec<Option<Evaluated>>> {
        let mut terms: Vec<Option<Evaluated>> = Vec::with_capacity(self.rule.nodes.len());
        for node in 0..self.rule.nodes.len() {
            let term = self.term(node, &terms)?;
            terms.push(term);
        }
        Some(terms)
    }

    fn term(&self, node: usize, terms: &[Option<Evaluated>]) -> Option<Option<Evaluated>> {
        let (points, rule) = (self.points.len(), self.rule);
        let term = match &rule.nodes[node] {
            Node::Literal(_) => return Some(None),
            Node::Var(var) => {
                let dtype = self.case.vars[*var].0.dtype();
                let array = Array::from_fn(dtype, &[points], |at| self.points[at][*var])?;
                return Some(Some(Evaluated { args: Vec::new(), results: vec![Datum::Array(array)], points }));
            }
            Node::Op(term) | Node::Computed(term) => term,
        };
        let value = |&arg: &usize| match &rule.nodes[arg] {
            Node::Literal(_) => Some(None),
            Node::Op(inner) | Node::Computed(inner) => {
                terms[arg].as_ref()?.results.get(inner.result).cloned().map(Some)
            }
            Node::Var(_) => terms[arg].as_ref()?.results.first().cloned().map(Some),
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
        let results = evaluate_op(term.op, &attrs, &args, &[], limits).ok()?;
        Some(Some(Evaluated { args, results, points }))
    }
}
