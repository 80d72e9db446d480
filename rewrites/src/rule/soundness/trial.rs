//! Evaluates both sides of a rule at one point, and compares them within its liberties.

use super::cases::MAX_ELEMENTS;
use super::{Counterexample, range};
use crate::rule::liberties::TOLERANCE;
use crate::rule::{Liberties, Node, NodeId, Rule};
use rewright_ir::op::Traits;
use rewright_ir::{Array, Attr, DType, Datum, Limits, Op, Scalar, evaluate_op};
use std::cell::Cell;

/// The number of variables whose signs are varied to bound terms without cancellation.
const MAX_SIGNED: usize = 4;

/// A rule at one combination of values.
pub(super) struct Trial<'a> {
    rule: &'a Rule,
    attrs: &'a [Option<Attr>],
    point: &'a [Datum],
    /// Whether a term of finite operands overflowed, or underflowed to zero.
    out_of_range: Cell<bool>,
    /// The number of roundings; a reduction counts once for each element.
    roundings: Cell<f64>,
    /// The number of ops that round.
    rounding_ops: Cell<f64>,
}

/// The result of comparing both sides at one point.
pub(super) enum Compared {
    /// Nothing to compare: the pattern fails.
    Fails,
    /// A term is NaN or infinite, which the liberties exclude.
    Special,
    /// A term overflows or underflows, or is subnormal, so that another rounding may change the result
    /// without bound.
    Lossy,
    /// The sides agree.
    Same,
    /// The sides differ.
    Differ(Box<Counterexample>),
}

/// The values of a rule's terms, evaluated on demand.
type TermValues = Vec<Option<Vec<Datum>>>;

impl<'a> Trial<'a> {
    pub fn new(rule: &'a Rule, attrs: &'a [Option<Attr>], point: &'a [Datum]) -> Trial<'a> {
        Trial {
            rule,
            attrs,
            point,
            out_of_range: Cell::new(false),
            roundings: Cell::new(0.0),
            rounding_ops: Cell::new(0.0),
        }
    }

    /// Computes both sides and compares them.
    pub fn compared(&self) -> Compared {
        let rule = self.rule;
        let mut terms: TermValues = vec![None; rule.nodes.len()];
        let mut patterns = Vec::new();
        for root in rule.pattern_roots() {
            let Ok(results) = self.all_results(root, &mut terms) else { return Compared::Fails };
            patterns.extend(results);
        }
        if self.left_out(&terms) {
            return Compared::Special;
        }
        if self.is_lossy(&terms) {
            return Compared::Lossy;
        }
        for (&rhs, pattern) in rule.rhs.iter().zip(&patterns) {
            let template = self.template(rhs, pattern, &mut terms);
            if self.is_lossy(&terms) {
                return Compared::Lossy;
            }
            let within = |largest: &dyn Fn(&TermValues) -> f64| {
                let allowance = self.allowance(&terms);
                let allowed = if allowance == 0.0 { 0.0 } else { allowance * largest(&terms) };
                template.as_ref().is_ok_and(|t| t.ty() == pattern.ty() && self.is_same(pattern, t, allowed))
            };
            let same = within(&|terms| self.largest(terms))
                || self.rounds() && within(&|terms| self.largest_of_any_signs(terms));
            if !same {
                return Compared::Differ(Box::new(self.counterexample(pattern, template)));
            }
        }
        Compared::Same
    }

    fn counterexample(&self, pattern: &Datum, template: Result<Datum, String>) -> Counterexample {
        let vars = self.point.iter().enumerate();
        let attrs = self.rule.attr_vars.iter().zip(self.attrs);
        let ops = self.rule.chosen.iter();
        Counterexample {
            ops: ops.map(|(name, op)| (name.to_string(), op.to_string())).collect(),
            vars: vars.map(|(var, value)| (self.rule.var(var), value.clone())).collect(),
            attrs: attrs.map(|(name, attr)| (name.to_string(), attr.clone())).collect(),
            pattern: pattern.clone(),
            template,
        }
    }

    fn rounds(&self) -> bool {
        self.rule.liberties.changes_rounding()
    }

    /// The value of one side of the template. A scalar that replaces an array is broadcast.
    fn template(&self, rhs: NodeId, pattern: &Datum, terms: &mut TermValues) -> Result<Datum, String> {
        let scalar = match &self.rule.nodes[rhs] {
            Node::Literal(literal) => literal.at(pattern.dtype()).ok_or("it has no value")?,
            _ => match self.value(rhs, terms)? {
                Datum::Scalar(scalar) if matches!(pattern, Datum::Array(_)) => scalar,
                other => return Ok(other),
            },
        };
        match pattern {
            Datum::Scalar(_) => Ok(Datum::Scalar(scalar)),
            Datum::Array(array) => {
                Array::full(scalar, array.shape()).map(Datum::Array).ok_or_else(|| "it is too large".to_string())
            }
            Datum::Styled(_) => Err("rules are tried on dense arrays".to_string()),
        }
    }

    fn value(&self, node: NodeId, terms: &mut TermValues) -> Result<Datum, String> {
        match &self.rule.nodes[node] {
            Node::Var(var) => Ok(self.point[*var].clone()),
            Node::Literal(_) => Err("a literal has no dtype of its own".to_string()),
            Node::Op(term) | Node::Computed(term) => {
                let results = self.all_results(node, terms)?;
                results.get(term.result).cloned().ok_or_else(|| "there is no such result".to_string())
            }
        }
    }

    /// All results of an op.
    fn all_results(&self, node: NodeId, terms: &mut TermValues) -> Result<Vec<Datum>, String> {
        if let Some(known) = &terms[node] {
            return Ok(known.clone());
        }
        let (Node::Op(term) | Node::Computed(term)) = &self.rule.nodes[node] else {
            return Ok(vec![self.value(node, terms)?]);
        };
        let args = term.args.iter().map(|&arg| match &self.rule.nodes[arg] {
            Node::Literal(_) => Ok(None),
            _ => self.value(arg, terms).map(Some),
        });
        let args: Vec<Option<Datum>> = args.collect::<Result<_, _>>()?;
        let dtypes: Vec<Option<DType>> = args.iter().map(|arg| arg.as_ref().map(Datum::dtype)).collect();
        let whole = args.into_iter().enumerate().map(|(at, arg)| match (arg, &self.rule.nodes[term.args[at]]) {
            (None, Node::Literal(literal)) => {
                literal.operand(term.op, &term.attrs(self.attrs), at, &dtypes).map(Datum::Scalar)
            }
            (arg, _) => arg.ok_or_else(|| "an operand has no value".to_string()),
        });
        let args: Vec<Datum> = whole.collect::<Result<_, _>>()?;
        let results = evaluate_op(
            term.op,
            &term.attrs(self.attrs),
            &args,
            &[],
            Limits { elements: MAX_ELEMENTS, ..Limits::default() },
        )
        .map_err(|e| e.to_string())?;
        self.note(term.op, &args, &results);
        terms[node] = Some(results.clone());
        Ok(results)
    }

    /// Notes overflow, underflow and roundings of an op.
    fn note(&self, op: Op, args: &[Datum], results: &[Datum]) {
        if range::is_left(op, args, results) {
            self.out_of_range.set(true);
        }
        let is_inexact = |value: &Datum| value.dtype().is_float() || value.dtype().is_complex();
        if is_rounding(op) && results.iter().any(is_inexact) {
            // A reduction rounds at most once for each element of its operand.
            let len = |value: &Datum| value.shape().iter().product::<usize>().max(1);
            let combined = args.iter().map(len).max().unwrap_or(1) as f64;
            self.rounding_ops.set(self.rounding_ops.get() + 1.0);
            self.roundings.set(self.roundings.get() + if op.is_elementwise() { 1.0 } else { combined });
        }
    }

    fn has(&self, terms: &TermValues, test: impl Fn(f64) -> bool) -> bool {
        let is = |value: &Datum| parts(value).any(&test);
        self.point.iter().any(is) || terms.iter().flatten().flatten().any(is)
    }

    /// Whether the liberties exclude these values.
    fn left_out(&self, terms: &TermValues) -> bool {
        let liberties = self.rule.liberties;
        liberties.contains(Liberties::NO_NAN) && self.has(terms, f64::is_nan)
            || liberties.contains(Liberties::NO_INF) && self.has(terms, f64::is_infinite)
    }

    /// Whether another rounding may change the result without bound: a term overflowed, underflowed, or is
    /// subnormal.
    fn is_lossy(&self, terms: &TermValues) -> bool {
        let smallest = |value: &Datum| {
            if matches!(value.dtype(), DType::F32 | DType::C64) { f32::MIN_POSITIVE as f64 } else { f64::MIN_POSITIVE }
        };
        let lossy = |value: &Datum| parts(value).any(|x| x != 0.0 && x.abs() < smallest(value));
        self.rounds()
            && (self.out_of_range.get() || self.point.iter().any(lossy) || terms.iter().flatten().flatten().any(lossy))
    }

    /// The difference that the liberties allow, relative to the largest term.
    fn allowance(&self, terms: &TermValues) -> f64 {
        let liberties = self.rule.liberties;
        let roundings = match liberties {
            _ if liberties.contains(Liberties::APPROXIMATE) => TOLERANCE.max(self.roundings.get()),
            _ if liberties.contains(Liberties::REASSOCIATE) => self.roundings.get(),
            _ if self.rounds() => self.rounding_ops.get(),
            _ => return 0.0,
        };
        roundings * self.unit(terms)
    }

    /// The coarsest unit of rounding of the ops that round.
    fn unit(&self, terms: &TermValues) -> f64 {
        let unit = |dtype: DType| match dtype {
            DType::F32 | DType::C64 => f32::EPSILON as f64,
            DType::F64 | DType::C128 => f64::EPSILON,
            _ => 0.0,
        };
        let rounds = |node: &Node| matches!(node, Node::Op(term) | Node::Computed(term) if is_rounding(term.op));
        let all = self.rule.nodes.iter().zip(terms).filter(|(node, _)| rounds(node));
        all.flat_map(|(_, values)| values.iter().flatten()).map(|value| unit(value.dtype())).fold(0.0, f64::max)
    }

    /// The largest finite term. A variable counts if it is a side of the template.
    fn largest(&self, terms: &TermValues) -> f64 {
        let values = terms.iter().flatten().flatten();
        let direct = self.rule.rhs.iter().filter_map(|&rhs| match &self.rule.nodes[rhs] {
            Node::Var(var) => self.point.get(*var),
            _ => None,
        });
        values.chain(direct).flat_map(parts).filter(|x| x.is_finite()).fold(0.0, |most, x| most.max(x.abs()))
    }

    /// The largest finite term over all signs of the operands: a bound on terms without cancellation, also
    /// inside reductions.
    fn largest_of_any_signs(&self, terms: &TermValues) -> f64 {
        let floats: Vec<usize> = (0..self.point.len()).filter(|&var| is_float(&self.point[var])).collect();
        let signs = 1u32 << floats.len().min(MAX_SIGNED);
        let mut largest = self.largest(terms);
        for negative in 0..signs {
            let sign =
                |var: usize| floats.iter().position(|&f| f == var).is_some_and(|at| negative >> at.min(31) & 1 == 1);
            let point: Option<Vec<Datum>> =
                self.point.iter().enumerate().map(|(var, value)| with_sign(value, sign(var))).collect();
            let Some(point) = point else { return largest };
            let trial = Trial::new(self.rule, self.attrs, &point);
            let mut terms: TermValues = vec![None; self.rule.nodes.len()];
            let mut sides = self.rule.pattern_roots().chain(self.rule.rhs.iter().copied());
            if sides.all(|side| {
                !matches!(self.rule.nodes[side], Node::Op(_)) || trial.all_results(side, &mut terms).is_ok()
            }) {
                largest = largest.max(trial.largest(&terms));
            }
        }
        largest
    }

    fn is_same(&self, a: &Datum, b: &Datum, allowed: f64) -> bool {
        if let (Datum::Array(a), Datum::Array(b)) = (a, b)
            && a.same_bits(b)
        {
            return true;
        }
        // Rounding never changes the sign of a zero; another function may approach zero from the other side.
        let zeros = self.rule.liberties.intersects(Liberties::NO_SIGNED_ZEROS | Liberties::APPROXIMATE);
        let close = |(x, y): (f64, f64)| {
            x.to_bits() == y.to_bits()
                || x.is_nan() && y.is_nan()
                || zeros && x == 0.0 && y == 0.0
                || x != y && x.is_finite() && y.is_finite() && (x - y).abs() <= allowed
        };
        match is_float(a) || a.dtype().is_complex() {
            false => elements(a).eq(elements(b)),
            true => parts(a).zip(parts(b)).all(close),
        }
    }
}

/// Whether an op rounds. Casts stay where they are, and views compute nothing.
fn is_rounding(op: Op) -> bool {
    op.name != "cast" && !op.traits.intersects(Traits::VIEW | Traits::CONSTRUCTOR)
}

fn is_float(value: &Datum) -> bool {
    value.dtype().is_float()
}

fn elements(value: &Datum) -> Box<dyn Iterator<Item = Scalar> + '_> {
    match value {
        Datum::Scalar(scalar) => Box::new(std::iter::once(*scalar)),
        Datum::Array(array) => array.iter(),
        Datum::Styled(styled) => Box::new(styled.dense().iter().collect::<Vec<_>>().into_iter()),
    }
}

/// The value with all floats of one sign.
fn with_sign(value: &Datum, negative: bool) -> Option<Datum> {
    let dtype = value.dtype();
    let signed = |s: Scalar| match dtype.is_float() {
        true => Scalar::F64(if negative { -s.to_f64().abs() } else { s.to_f64().abs() }).cast(dtype),
        false => s,
    };
    match value {
        Datum::Scalar(scalar) => Some(Datum::Scalar(signed(*scalar))),
        Datum::Array(array) => {
            let elements: Vec<Scalar> = array.iter().map(signed).collect();
            Array::from_fn(dtype, array.shape(), |at| elements[at]).map(Datum::Array)
        }
        Datum::Styled(_) => None,
    }
}

/// The floats of a value, real and imaginary parts apart; none of integers.
pub(super) fn parts(value: &Datum) -> impl Iterator<Item = f64> + '_ {
    let inexact = value.dtype().is_float() || value.dtype().is_complex();
    inexact.then(|| elements(value)).into_iter().flatten().flat_map(|scalar| {
        let z = scalar.to_c128();
        let imaginary = scalar.dtype().is_complex().then_some(z.im);
        std::iter::once(z.re).chain(imaginary)
    })
}
