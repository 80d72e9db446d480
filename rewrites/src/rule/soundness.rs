//! Tries a rule by itself: both sides on the same values, at each dtype that it may have.
//!
//! The values are those at which arithmetic is special - both zeros, infinities, NaN, the smallest and the largest - and some of no
//! importance, all combinations of them as far as they are not too many; then, at each variable, the rule's own constants with their
//! neighbours, and integers that floats lose; and then random ones, the same every time. Conditions leave out the values of which they are
//! not true.
//!
//! Where ops are not elementwise, or the template drops an operand, variables of different shapes are tried too, extents of 1 among them:
//! with types that tell the extents, and with types that don't. Where ops are not elementwise there are larger arrays too, of elements so different
//! that it shows in which order they are summed.
//!
//! What "the same" means is up to the liberties that a rule takes:
//!
//! - none: the same bits, where a NaN is as good as any other;
//! - `no_nan`, `no_inf`: values for which an operand or any term of the pattern is NaN, or an infinity, are left out;
//! - `no_signed_zeros`: one zero is as good as the other;
//! - `contract`, `reassociate`, `reciprocal`, `approximate`: a difference of [`TOLERANCE`] units of rounding of the largest
//!   term of either side (or of what ops on whole arrays would add up if nothing cancelled) is allowed, and with `approximate` a zero may have the other sign. Values for which a term overflows or underflows, though no operand is infinite, are left out; where
//!   one is infinite or NaN, results must agree in being finite, infinite or NaN.
//!
//! Where the pattern fails (a power of integers with a negative exponent), the template may do anything, but it may not fail where the pattern
//! does not.

use super::points::{Effort, points};
use super::template::computed;
use super::typing::{Case, cases, is_elementwise, large_cases, mixed_cases, type_case};
use super::{Liberties, Node, NodeId, Rule};
use rewright_ir::{Array, Attr, DType, Datum, Limits, Scalar, evaluate_op};
use std::cell::Cell;
use std::fmt;

/// So many units of rounding of the largest term may results differ in where a rule rounds otherwise.
pub const TOLERANCE: f64 = 4096.0;

/// For each combination of dtypes.
const ALIKE: Effort = Effort { special: 4096, telling: true, random: 64 };

/// For each combination of shapes.
const MIXED: Effort = Effort { special: 64, telling: false, random: 8 };

/// For large arrays.
const LARGE: Effort = Effort { special: 0, telling: false, random: 16 };

/// After so many values cases are tried on fewer, and after many more on none.
const ENOUGH: usize = 100_000;
const TOO_MANY: usize = 300_000;

/// The most cases that are tried for one number of operands of rest variables.
const MAX_REST_CASES: usize = 256;

/// Arrays of more elements are not computed.
const MAX_ELEMENTS: u64 = 1 << 16;

/// Large arrays are of so many combinations of dtypes.
const MAX_LARGE: usize = 32;

/// What trying a rule came to.
#[derive(Clone, Debug)]
pub struct Soundness {
    /// The combinations of dtypes (and shapes and attributes, where these matter) for which both sides have the same type.
    pub cases: usize,
    /// The combinations of values on which both sides were computed and compared.
    pub points: usize,
    /// Where the two sides differ.
    pub counterexample: Option<Counterexample>,
}

/// Values for which the two sides of a rule differ.
#[derive(Clone, Debug)]
pub struct Counterexample {
    /// The op variables and their ops.
    pub ops: Vec<(String, String)>,
    /// The variables and what they are.
    pub vars: Vec<(String, Datum)>,
    /// The attribute variables and what they are.
    pub attrs: Vec<(String, Option<Attr>)>,
    /// What the pattern gives.
    pub pattern: Datum,
    /// What the template gives, or why it fails.
    pub template: Result<Datum, String>,
}

/// One line: `?x = -0.0 of f64: the pattern gives -0.0, the template 0.0`.
impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, op) in &self.ops {
            write!(f, "?{name} = {op}, ")?;
        }
        for (n, (name, value)) in self.vars.iter().enumerate() {
            write!(f, "{}?{name} = {} of {}", if n > 0 { ", " } else { "" }, show(value), value.ty())?;
        }
        for (name, attr) in &self.attrs {
            let value = attr.as_ref().map_or("not given".to_string(), Attr::to_string);
            write!(f, ", @{name} = {value}")?;
        }
        write!(f, ": the pattern gives {}, the template ", show(&self.pattern))?;
        match &self.template {
            Ok(value) => f.write_str(&show(value)),
            Err(why) => write!(f, "fails: {why}"),
        }
    }
}

fn show(value: &Datum) -> String {
    match value {
        Datum::Scalar(scalar) => scalar.to_string(),
        Datum::Array(array) => {
            let elements: Vec<String> = array.iter().map(|s| s.to_string()).collect();
            format!("[{}]", elements.join(", "))
        }
        Datum::Styled(styled) => styled.to_string(),
    }
}

/// Tries a rule.
pub fn check(rule: &Rule) -> Soundness {
    let mut found = check_one(rule);
    for choice in &rule.choices {
        if found.counterexample.is_some() || found.points == 0 {
            break;
        }
        let more = check_one(choice);
        found.cases += more.cases;
        // With ops that no values were tried with, the rule would be used untried.
        let is_untried = more.points == 0 && choice.choice.lengths == rule.choice.lengths;
        found.points = if is_untried { 0 } else { found.points + more.points };
        found.counterexample = more.counterexample;
    }
    found
}

/// Tries a rule with one choice of its op variables.
fn check_one(rule: &Rule) -> Soundness {
    let mut found = Soundness { cases: 0, points: 0, counterexample: None };
    let mut fitting: Vec<Vec<DType>> = Vec::new();
    let (most, first_effort) = if rule.has_rests() { (MAX_REST_CASES, MIXED) } else { (usize::MAX, ALIKE) };
    for case in cases(rule).take(most) {
        let dtypes = || case.vars.iter().map(|(ty, _)| ty.dtype()).collect();
        let effort = match found.points {
            0..ENOUGH => first_effort,
            ENOUGH..TOO_MANY => MIXED,
            _ => break,
        };
        if found.tried(rule, &case, effort) && fitting.last().is_none_or(|last| *last != dtypes()) {
            fitting.push(dtypes());
        }
        if found.counterexample.is_some() {
            return found;
        }
    }
    let first = fitting.first().cloned().unwrap_or_default();
    let mixed = mixed_cases(rule, &first).map(|case| (case, MIXED));
    let large = fitting.iter().take(MAX_LARGE).flat_map(|dtypes| large_cases(rule, dtypes)).map(|case| (case, LARGE));
    for (case, effort) in mixed.chain(large).take(most) {
        found.tried(rule, &case, effort);
        if found.counterexample.is_some() {
            break;
        }
    }
    found
}

/// The fewest further liberties with which a rule holds, one or two of them.
pub fn missing_liberties(rule: &Rule) -> Option<Liberties> {
    let holds = |&more: &Liberties| {
        let freer = |rule: &Rule| Rule { liberties: rule.liberties | more, ..rule.clone() };
        let choices = rule.choices.iter().map(freer).collect();
        check(&Rule { choices, ..freer(rule) }).counterexample.is_none()
    };
    let words =
        |words: &[&str]| rule.nodes.iter().any(|node| matches!(node, Node::Op(term) if words.contains(&term.op.name)));
    // All liberties to round otherwise are tried alike: the one that is named is to say what the rule does.
    let sums = !words(&["div", "power", "sqrt", "exp", "log", "hypot"]);
    let rounding = match (words(&["fma"]), sums) {
        (true, _) => Liberties::CONTRACT,
        (_, true) => Liberties::REASSOCIATE,
        (_, false) => Liberties::APPROXIMATE,
    };
    let all = [Liberties::NO_NAN, Liberties::NO_INF, Liberties::NO_SIGNED_ZEROS, rounding];
    let all: Vec<Liberties> = all.into_iter().filter(|&one| !rule.liberties.contains(one)).collect();
    let pairs = || all.iter().flat_map(|&a| all.iter().map(move |&b| a | b)).filter(|pair| pair.iter().count() == 2);
    all.iter().copied().find(holds).or_else(|| pairs().find(holds))
}

impl Soundness {
    /// Tries a case; false if it is none of the rule's.
    fn tried(&mut self, rule: &Rule, case: &Case, effort: Effort) -> bool {
        if type_case(rule, case).is_err() {
            return false;
        }
        self.cases += 1;
        for point in points(rule, case, effort) {
            let trial = Trial { rule, attrs: &case.attrs, point: &point, out_of_range: Cell::new(false) };
            self.points += usize::from(trial.compared(&mut self.counterexample));
            if self.counterexample.is_some() {
                break;
            }
        }
        true
    }
}

/// A rule at one combination of values.
struct Trial<'a> {
    rule: &'a Rule,
    attrs: &'a [Option<Attr>],
    point: &'a [Datum],
    /// Some term of finite operands came out as an infinity, or as a zero that is none in real arithmetic.
    out_of_range: Cell<bool>,
}

/// Ops whose result is a zero only where an operand is one, but for rounding.
const NEVER_ZERO: [&str; 5] = ["mul", "div", "exp", "exp2", "power"];

/// The values of a rule's terms, as far as they have been needed.
type Terms = Vec<Option<Vec<Datum>>>;

impl Trial<'_> {
    /// Computes both sides and compares them. False if there is nothing to compare.
    fn compared(&self, counterexample: &mut Option<Counterexample>) -> bool {
        let rule = self.rule;
        let mut terms: Terms = vec![None; rule.nodes.len()];
        let mut patterns = Vec::new();
        for &root in std::iter::once(&rule.lhs).chain(&rule.also) {
            let Ok(results) = self.all_results(root, &mut terms) else { return false };
            patterns.extend(results);
        }
        if self.left_out(&terms) {
            return false;
        }
        let rounds = rule.liberties.rounds_otherwise();
        // An infinity that is given must come out as it does; one that comes of rounding says nothing.
        let special = self.point.iter().any(|value| parts(value).any(|x| !x.is_finite()));
        let lossless = |terms: &Terms| !rounds || !self.out_of_range.get() && (special || self.is_lossless(terms));
        if !lossless(&terms) {
            return false;
        }
        for (&rhs, pattern) in rule.rhs.iter().zip(&patterns) {
            let template = self.template(rhs, pattern, &mut terms);
            if !lossless(&terms) {
                return false;
            }
            let largest = match (rounds, special) {
                (false, _) => 0.0,
                (true, true) => f64::INFINITY,
                (true, false) => self.largest(&terms),
            };
            let within =
                |largest| template.as_ref().is_ok_and(|t| t.ty() == pattern.ty() && self.is_same(pattern, t, largest));
            let same = within(largest)
                || rounds && !special && !is_elementwise(rule) && within(largest.max(self.largest_without_signs()));
            if !same {
                *counterexample = Some(Counterexample {
                    ops: rule.chosen.iter().map(|(name, op)| (name.to_string(), op.to_string())).collect(),
                    vars: rule
                        .vars
                        .iter()
                        .zip(self.point)
                        .map(|(var, value)| (var.name.to_string(), value.clone()))
                        .collect(),
                    attrs: rule
                        .attr_vars
                        .iter()
                        .zip(self.attrs)
                        .map(|(name, attr)| (name.to_string(), attr.clone()))
                        .collect(),
                    pattern: pattern.clone(),
                    template,
                });
                return true;
            }
        }
        true
    }

    /// The value of a side of the template; constants fill what they replace.
    fn template(&self, rhs: NodeId, pattern: &Datum, terms: &mut Terms) -> Result<Datum, String> {
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

    fn value(&self, node: NodeId, terms: &mut Terms) -> Result<Datum, String> {
        match &self.rule.nodes[node] {
            Node::Var(var) => Ok(self.point[*var].clone()),
            Node::Literal(_) => Err("a literal has no dtype of its own".to_string()),
            Node::Op(term) => {
                let results = self.all_results(node, terms)?;
                results.get(term.result).cloned().ok_or_else(|| "there is no such result".to_string())
            }
            Node::Computed(term) => {
                let args = term.args.iter().map(|&arg| match &self.rule.nodes[arg] {
                    Node::Literal(_) => Ok(None),
                    _ => self.value(arg, terms).map(|value| value.as_scalar()),
                });
                let args: Vec<Option<Scalar>> = args.collect::<Result<_, _>>()?;
                let scalar = computed(self.rule, term, &args, &term.attrs(self.attrs));
                scalar.map(Datum::Scalar).ok_or_else(|| format!("`{}` can't be computed", term.op))
            }
        }
    }

    /// All results of an op.
    fn all_results(&self, node: NodeId, terms: &mut Terms) -> Result<Vec<Datum>, String> {
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
        let zero = |value: &Datum| parts(value).any(|x| x == 0.0);
        let infinite = |value: &Datum| parts(value).any(f64::is_infinite);
        let vanishes = NEVER_ZERO.contains(&term.op.name) && results.iter().any(zero) && !args.iter().any(zero);
        if vanishes || results.iter().any(infinite) && !args.iter().any(infinite) {
            self.out_of_range.set(true);
        }
        terms[node] = Some(results.clone());
        Ok(results)
    }

    fn has(&self, terms: &Terms, test: impl Fn(f64) -> bool) -> bool {
        let is = |value: &Datum| parts(value).any(&test);
        self.point.iter().any(is) || terms.iter().flatten().flatten().any(is)
    }

    /// The liberties say that values like these do not occur.
    fn left_out(&self, terms: &Terms) -> bool {
        let liberties = self.rule.liberties;
        liberties.contains(Liberties::NO_NAN) && self.has(terms, f64::is_nan)
            || liberties.contains(Liberties::NO_INF) && self.has(terms, f64::is_infinite)
    }

    /// No operand and no term is NaN, an infinity, or so small that bits are lost.
    fn is_lossless(&self, terms: &Terms) -> bool {
        let smallest = |value: &Datum| {
            if matches!(value.dtype(), DType::F32 | DType::C64) { f32::MIN_POSITIVE as f64 } else { f64::MIN_POSITIVE }
        };
        let lossy = |value: &Datum| parts(value).any(|x| !x.is_finite() || x != 0.0 && x.abs() < smallest(value));
        !self.point.iter().any(lossy) && !terms.iter().flatten().flatten().any(lossy)
    }

    /// The largest number that occurs.
    fn largest(&self, terms: &Terms) -> f64 {
        let all = self.point.iter().chain(terms.iter().flatten().flatten());
        all.flat_map(parts).fold(0.0, |most, x| most.max(x.abs()))
    }

    /// The largest number that occurs where nothing cancels: ops on whole arrays add up products that are no terms of the rule.
    fn largest_without_signs(&self) -> f64 {
        let point: Option<Vec<Datum>> = self.point.iter().map(without_signs).collect();
        let Some(point) = point else { return 0.0 };
        let trial = Trial { point: &point, out_of_range: Cell::new(false), ..*self };
        let mut terms: Terms = vec![None; self.rule.nodes.len()];
        let mut sides = std::iter::once(&self.rule.lhs).chain(&self.rule.also).chain(&self.rule.rhs);
        let computed = sides.all(|&side| trial.all_results(side, &mut terms).is_ok());
        if computed { trial.largest(&terms) } else { 0.0 }
    }

    fn is_same(&self, a: &Datum, b: &Datum, largest: f64) -> bool {
        let zeros = self.rule.liberties.contains(Liberties::NO_SIGNED_ZEROS);
        // A zero of the other sign comes of no rounding; another function may come to zero from the other side.
        let approximate = self.rule.liberties.contains(Liberties::APPROXIMATE);
        let unit = match a.dtype() {
            DType::F32 | DType::C64 => f32::EPSILON as f64,
            DType::F64 | DType::C128 => f64::EPSILON,
            _ => 0.0,
        };
        let close = |(x, y): (f64, f64)| {
            x.to_bits() == y.to_bits()
                || x.is_nan() && y.is_nan()
                || zeros && x == 0.0 && y == 0.0
                || largest > 0.0
                    && (x != y || approximate)
                    && x.is_finite()
                    && y.is_finite()
                    && (x - y).abs() <= TOLERANCE * unit * largest
        };
        match unit == 0.0 {
            true => elements(a).eq(elements(b)),
            false => parts(a).zip(parts(b)).all(close),
        }
    }
}

fn elements(value: &Datum) -> Box<dyn Iterator<Item = Scalar> + '_> {
    match value {
        Datum::Scalar(scalar) => Box::new(std::iter::once(*scalar)),
        Datum::Array(array) => array.iter(),
        Datum::Styled(styled) => Box::new(styled.dense().iter().collect::<Vec<_>>().into_iter()),
    }
}

/// The value with floats that are not negative.
fn without_signs(value: &Datum) -> Option<Datum> {
    let dtype = value.dtype();
    let positive = |s: Scalar| if dtype.is_float() { Scalar::F64(s.to_f64().abs()).cast(dtype) } else { s };
    match value {
        Datum::Scalar(scalar) => Some(Datum::Scalar(positive(*scalar))),
        Datum::Array(array) => {
            let elements: Vec<Scalar> = array.iter().map(positive).collect();
            Array::from_fn(dtype, array.shape(), |at| elements[at]).map(Datum::Array)
        }
        Datum::Styled(_) => None,
    }
}

/// The floats that a value is made of: none of integers.
fn parts(value: &Datum) -> impl Iterator<Item = f64> + '_ {
    let inexact = value.dtype().is_float() || value.dtype().is_complex();
    elements(value).filter(move |_| inexact).flat_map(|scalar| {
        let z = scalar.to_c128();
        let imaginary = scalar.dtype().is_complex().then_some(z.im);
        std::iter::once(z.re).chain(imaginary)
    })
}
