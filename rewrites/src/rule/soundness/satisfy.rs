//! Values that make bools of a rule true, or false, by local search.
//!
//! A pattern such as `(and (lt ?a ?b) (lt ?b ?c))` is true for few random values, and a rule that is wrong
//! only there holds on all others. So each bool term that had one value alone so far is a goal, and the
//! search moves one variable at a time to where the *branch distance* to the goal is least: of `a < b` how
//! far `a` is beyond `b`, of a conjunction the sum, of a disjunction the least. It starts anew from other
//! values where no move helps, and ends after a number of moves.
//!
//! Source: B. Korel, "Automated Software Test Data Generation", 1990; Z. Fu and Z. Su, "XSat: A Fast
//! Floating-Point Satisfiability Solver", 2016.

use super::batch::{Batch, Evaluated};
use super::ordinal::stepped;
use crate::rule::typing::Case;
use crate::rule::{Node, NodeId, Rule};
use crate::test_values::special;
use rewright_ir::{DType, Scalar};

/// The goals of one case.
const MAX_GOALS: usize = 6;

/// The starts for one goal, and the moves from each.
const STARTS: usize = 3;
const MOVES: usize = 64;

/// The powers of two by which a variable is moved.
const POWERS: std::ops::Range<i32> = -6..20;

/// The distance of a comparison that fails with equal operands.
const EQUAL: f64 = 1e-3;

/// The distance of what can't be measured: NaN, and a bool of another op.
const FAR: f64 = 1e3;

/// Values for which bool terms of the rule are what they were at none of the starts.
pub(super) fn satisfying(rule: &Rule, case: &Case, starts: &[Vec<Scalar>]) -> Vec<Vec<Scalar>> {
    let mut found = Vec::new();
    let Some(terms) = Batch::new(rule, case, starts).evaluated() else { return found };
    // Whether a term was false, and true.
    let at_starts = |node: NodeId| match truths(rule, node, &terms) {
        Some(truths) => [truths.contains(&false), truths.contains(&true)],
        None => [true; 2],
    };
    let mut seen: Vec<[bool; 2]> = (0..rule.nodes.len()).map(at_starts).collect();
    let zeros: Vec<Scalar> = case.vars.iter().map(|(ty, _)| Scalar::zero(ty.dtype())).collect();
    // The outermost terms first: values for them satisfy the others too.
    for node in (0..rule.nodes.len()).rev() {
        for truth in [true, false] {
            if found.len() >= MAX_GOALS || seen[node][usize::from(truth)] {
                continue;
            }
            let goal = BoolGoal { rule, case, node, truth };
            let mut starts = [&zeros].into_iter().chain(starts).take(STARTS);
            let Some(point) = starts.find_map(|start| goal.reached(start)) else { continue };
            if let Some(terms) = Batch::new(rule, case, std::slice::from_ref(&point)).evaluated() {
                for (node, seen) in seen.iter_mut().enumerate() {
                    if let Some(&[truth]) = truths(rule, node, &terms).as_deref() {
                        seen[usize::from(truth)] = true;
                    }
                }
            }
            found.push(point);
        }
    }
    found
}

/// The values of a bool term; `None` of others, and of variables and literals.
fn truths(rule: &Rule, node: NodeId, terms: &[Option<Evaluated>]) -> Option<Vec<bool>> {
    let (Node::Op(term) | Node::Computed(term)) = &rule.nodes[node] else { return None };
    let result = terms[node].as_ref()?.result(term.result)?;
    (result.dtype() == DType::Bool).then(|| result.iter().map(Scalar::truthy).collect())
}

/// A bool term that is to have a value.
struct BoolGoal<'a> {
    rule: &'a Rule,
    case: &'a Case,
    node: NodeId,
    truth: bool,
}

impl BoolGoal<'_> {
    /// Moves one variable after the other until the goal is reached. Where no move is nearer, one that is as
    /// near leads on, to values that were not visited yet.
    fn reached(&self, start: &[Scalar]) -> Option<Vec<Scalar>> {
        let mut visited = vec![start.to_vec()];
        let mut least = self.distances(&visited)?[0];
        for _ in 0..MOVES {
            let point = visited.last()?;
            let moved: Vec<Vec<Scalar>> = self.moves(point).into_iter().filter(|to| !visited.contains(to)).collect();
            let distances = self.distances(&moved)?;
            let (at, distance) = distances.into_iter().enumerate().min_by(|a, b| a.1.total_cmp(&b.1))?;
            if distance > least {
                return None;
            }
            let point = moved.into_iter().nth(at)?;
            if distance == 0.0 {
                return Some(point);
            }
            visited.push(point);
            least = distance;
        }
        None
    }

    /// Combinations of values with one variable moved.
    fn moves(&self, point: &[Scalar]) -> Vec<Vec<Scalar>> {
        let mut all = Vec::new();
        for (var, (ty, _)) in self.case.vars.iter().enumerate() {
            let dtype = ty.dtype();
            let mut to: Vec<Scalar> = Vec::new();
            if dtype == DType::Bool {
                to.extend([false, true].map(Scalar::Bool));
            } else {
                to.extend(
                    POWERS.flat_map(|power| [1.0, -1.0].map(|sign| shifted(point[var], sign * 2f64.powi(power)))),
                );
                let others = point.iter().enumerate().filter(|(other, _)| *other != var);
                let others = others.map(|(_, value)| value.cast(dtype));
                to.extend(special(dtype));
                for value in others.chain([Scalar::zero(dtype), Scalar::one(dtype)]) {
                    to.extend([value, shifted(value, 1.0), shifted(value, -1.0)]);
                    to.extend([-1, 1].into_iter().filter_map(|by| stepped(value, by)));
                }
                to.extend(
                    (0..12)
                        .flat_map(|power| [1, -1].map(|sign| sign << power))
                        .filter_map(|by| stepped(point[var], by)),
                );
            }
            for value in to {
                let mut moved = point.to_vec();
                moved[var] = value;
                all.push(moved);
            }
        }
        all
    }

    /// How far each combination of values is from the goal.
    fn distances(&self, points: &[Vec<Scalar>]) -> Option<Vec<f64>> {
        let terms = Batch::new(self.rule, self.case, points).evaluated()?;
        self.distance(self.node, self.truth, &terms)
    }

    fn distance(&self, node: NodeId, truth: bool, terms: &[Option<Evaluated>]) -> Option<Vec<f64>> {
        let rule = self.rule;
        let (Node::Op(term) | Node::Computed(term)) = &rule.nodes[node] else {
            let values = terms[node].as_ref()?.result(0)?;
            return Some(values.iter().map(|value| if value.truthy() == truth { 0.0 } else { 1.0 }).collect());
        };
        let evaluated = terms[node].as_ref()?;
        let inner = |at: usize, truth: bool| self.distance(term.args[at], truth, terms);
        let of_bools = evaluated.args.iter().all(|arg| arg.dtype() == DType::Bool);
        let of_terms = term.args.iter().all(|&arg| terms[arg].is_some());
        let both = |a: Vec<f64>, b: Vec<f64>| -> Vec<f64> { a.into_iter().zip(b).map(|(a, b)| a + b).collect() };
        let either = |a: Vec<f64>, b: Vec<f64>| -> Vec<f64> { a.into_iter().zip(b).map(|(a, b)| a.min(b)).collect() };
        match term.op.name {
            "and" | "bitand" | "mul" if of_bools && of_terms => {
                let (a, b) = (inner(0, truth)?, inner(1, truth)?);
                Some(if truth { both(a, b) } else { either(a, b) })
            }
            "or" | "bitor" | "add" if of_bools && of_terms => {
                let (a, b) = (inner(0, truth)?, inner(1, truth)?);
                Some(if truth { either(a, b) } else { both(a, b) })
            }
            "not" | "invert" if of_bools && of_terms => inner(0, !truth),
            "eq" | "ne" | "lt" | "le" | "gt" | "ge" if evaluated.args.len() == 2 => {
                let operand = |at: usize| evaluated.args[at].to_array().broadcast(evaluated.shape());
                let (a, b) = (operand(0)?, operand(1)?);
                let pairs = a.iter().zip(b.iter());
                Some(pairs.map(|(a, b)| compared(term.op.name, truth, a.to_f64(), b.to_f64())).collect())
            }
            _ => {
                let values = evaluated.result(term.result)?;
                Some(values.iter().map(|value| if value.truthy() == truth { 0.0 } else { FAR }).collect())
            }
        }
    }
}

/// A number moved by another; integers by whole ones.
fn shifted(value: Scalar, by: f64) -> Scalar {
    let dtype = value.dtype();
    match value.to_i128() {
        Some(value) => Scalar::from_bits(dtype, ((value + by as i128) as u64, 0)),
        None => Scalar::F64(value.to_f64() + by).cast(dtype),
    }
}

/// How far a comparison is from a truth.
fn compared(op: &str, truth: bool, a: f64, b: f64) -> f64 {
    let name = match (op, truth) {
        ("eq", false) | ("ne", true) => "ne",
        ("eq", true) | ("ne", false) => "eq",
        ("lt", true) | ("ge", false) => "lt",
        ("le", true) | ("gt", false) => "le",
        ("gt", true) | ("le", false) => "gt",
        _ => "ge",
    };
    let (holds, beyond) = match name {
        "eq" => (a == b, (a - b).abs()),
        "ne" => (a != b, 0.0),
        "lt" => (a < b, a - b),
        "le" => (a <= b, a - b),
        "gt" => (a > b, b - a),
        _ => (a >= b, b - a),
    };
    match () {
        () if holds => 0.0,
        () if beyond.is_nan() => FAR,
        // On a scale on which small differences count beside great ones.
        () => (EQUAL + beyond.abs().ln_1p()).min(FAR),
    }
}
