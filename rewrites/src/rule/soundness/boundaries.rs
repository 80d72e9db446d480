//! Boundary values: neighbouring numbers of a variable between which a term of the rule changes its class.
//!
//! A rule that is wrong for few values is mostly wrong where something switches: where a comparison turns, a
//! rounding takes the next integer, a difference changes its sign, a function has a pole. Random values miss
//! such places; bisection finds them in as many steps as a number has bits.
//!
//! Each term has a *class*: which operand of a comparison is less; the value of a bool, of a rounding op and
//! of a conversion to integers; else the sign, and whether it is finite. Along one variable, with the others
//! held, two numbers at which a term has different classes *bracket* a boundary. All brackets are bisected at
//! once, each step being one evaluation of arrays. The neighbours at the end, and a few numbers around them,
//! are tried.
//!
//! Source: boundary value analysis of software testing (G. J. Myers, "The Art of Software Testing", 1979),
//! here of the values inside of a rule.

use super::batch::{Batch, Evaluated};
use super::ordinal::{at_ordinal, ordinal};
use super::points::{hold, values};
use super::random_values::Drawing;
use super::sample::thinned;
use crate::rule::typing::Case;
use crate::rule::{Node, NodeId, Rule};
use rewright_ir::{DType, Datum, Scalar};

/// The combinations of values from which each variable is moved.
const BASES: usize = 12;

/// The brackets that are bisected in one case.
const MAX_BRACKETS: usize = 384;

/// The numbers beside a boundary that are tried, on either side of it.
const BESIDE: i128 = 2;

/// Ops on floats whose results jump.
const STEPS: [&str; 7] = ["floor", "ceil", "rint", "trunc", "sign", "heaviside", "floordiv"];

/// Comparisons: the class is the order of the operands.
const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];

/// Two numbers of a variable at which a term differs in class, with the others held.
struct Bracket {
    base: usize,
    var: usize,
    node: NodeId,
    low: i128,
    high: i128,
    /// The class of the term at `low`.
    class: u64,
}

/// The values to try in a case of an elementwise rule: those beside the boundaries of its terms, with one
/// variable moved from its value in each of the bases.
pub(super) fn boundaries(rule: &Rule, case: &Case, bases: &[Vec<Scalar>]) -> Vec<Vec<Scalar>> {
    let mut found = Vec::new();
    let Some(brackets) = brackets(rule, case, bases) else { return found };
    let Some(brackets) = bisected(rule, case, bases, brackets) else { return found };
    for bracket in &brackets {
        let dtype = case.vars[bracket.var].0.dtype();
        for place in bracket.low - BESIDE..=bracket.high + BESIDE {
            let Some(scalar) = at_ordinal(dtype, place) else { continue };
            let mut point = bases[bracket.base].clone();
            point[bracket.var] = scalar;
            if hold(rule, case, &point) {
                found.push(point);
            }
        }
    }
    found
}

/// Random combinations for which the conditions hold.
pub(super) fn bases(rule: &Rule, case: &Case) -> Vec<Vec<Scalar>> {
    let mut drawing = Drawing::new(rule, case);
    let scalars = |point: Vec<Datum>| point.iter().map(Datum::as_scalar).collect::<Option<Vec<Scalar>>>();
    (0..2 * BASES).filter_map(|_| drawing.point(None).and_then(scalars)).take(BASES).collect()
}

/// The numbers to which a variable is moved, in their order.
fn grid(dtype: DType) -> Vec<i128> {
    let mut all: Vec<i128> = values(dtype).into_iter().filter_map(ordinal).collect();
    if dtype.is_float() {
        let more = [1e-3, 0.25, 1.5, 2.5, 6.0, 30.0, 100.0, 700.0, 1e4, 1e7, 1e12, 1e17];
        let both = more.iter().flat_map(|&x| [x, -x]);
        all.extend(both.filter_map(|x| ordinal(Scalar::F64(x).cast(dtype))));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// The brackets along each variable, from each base.
fn brackets(rule: &Rule, case: &Case, bases: &[Vec<Scalar>]) -> Option<Vec<Bracket>> {
    let grids: Vec<Vec<i128>> = case.vars.iter().map(|(ty, _)| grid(ty.dtype())).collect();
    let mut points = Vec::new();
    // The base, the variable, and its place.
    let mut moves: Vec<(usize, usize, i128)> = Vec::new();
    for (base, values) in bases.iter().enumerate() {
        for (var, grid) in grids.iter().enumerate() {
            for &place in grid {
                let mut point = values.clone();
                point[var] = at_ordinal(case.vars[var].0.dtype(), place)?;
                points.push(point);
                moves.push((base, var, place));
            }
        }
    }
    if points.is_empty() {
        return None;
    }
    let terms = Batch::new(rule, case, &points).evaluated()?;
    let nodes: Vec<NodeId> = (0..rule.nodes.len()).filter(|&node| terms[node].is_some()).collect();
    let most = (MAX_BRACKETS / nodes.len().max(1)).max(4);
    let mut all = Vec::new();
    for node in nodes {
        let Some(classes) = classes(rule, node, &terms) else { continue };
        let mut of_node = Vec::new();
        for (at, pair) in moves.windows(2).enumerate() {
            let ((base, var, low), (next, same, high)) = (pair[0], pair[1]);
            if (base, var) == (next, same) && classes[at] != classes[at + 1] {
                of_node.push(Bracket { base, var, node, low, high, class: classes[at] });
            }
        }
        all.extend(thinned(of_node, most));
    }
    Some(all)
}

/// Bisects all brackets until their ends are neighbours.
fn bisected(rule: &Rule, case: &Case, bases: &[Vec<Scalar>], mut brackets: Vec<Bracket>) -> Option<Vec<Bracket>> {
    loop {
        let open: Vec<usize> = (0..brackets.len()).filter(|&at| brackets[at].high - brackets[at].low > 1).collect();
        if open.is_empty() {
            return Some(brackets);
        }
        let middle = |bracket: &Bracket| bracket.low + (bracket.high - bracket.low) / 2;
        let moved = |&at: &usize| {
            let bracket = &brackets[at];
            let mut point = bases[bracket.base].clone();
            point[bracket.var] = at_ordinal(case.vars[bracket.var].0.dtype(), middle(bracket))?;
            Some(point)
        };
        let points: Vec<Vec<Scalar>> = open.iter().map(moved).collect::<Option<_>>()?;
        let terms = Batch::new(rule, case, &points).evaluated()?;
        let mut known: Vec<Option<Vec<u64>>> = vec![None; rule.nodes.len()];
        for (row, at) in open.into_iter().enumerate() {
            let bracket = &mut brackets[at];
            if known[bracket.node].is_none() {
                known[bracket.node] = classes(rule, bracket.node, &terms);
            }
            let middle = middle(bracket);
            match known[bracket.node].as_ref()?[row] == bracket.class {
                true => bracket.low = middle,
                false => bracket.high = middle,
            }
        }
    }
}

/// The class of a term at each point; `None` of variables and literals, which have no boundaries.
fn classes(rule: &Rule, node: NodeId, terms: &[Option<Evaluated>]) -> Option<Vec<u64>> {
    let (Node::Op(term) | Node::Computed(term)) = &rule.nodes[node] else { return None };
    let evaluated = terms[node].as_ref()?;
    if let (true, [a, b]) = (COMPARISONS.contains(&term.op.name), &evaluated.args[..]) {
        let (a, b) = (a.to_array(), b.to_array());
        let (a, b) = (a.broadcast(evaluated.shape())?, b.broadcast(evaluated.shape())?);
        return Some(a.iter().zip(b.iter()).map(|(a, b)| order(a, b)).collect());
    }
    let result = evaluated.result(term.result)?;
    let jumps = STEPS.contains(&term.op.name) || !result.dtype().is_float() && inexact(evaluated);
    Some(result.iter().map(|scalar| if jumps { scalar.bits().0 } else { sign(scalar) }).collect())
}

/// True if an operand is a float or complex number.
fn inexact(evaluated: &Evaluated) -> bool {
    evaluated.args.iter().any(|arg| arg.dtype().is_float() || arg.dtype().is_complex())
}

fn order(a: Scalar, b: Scalar) -> u64 {
    let order = match (a.to_i128(), b.to_i128()) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.to_f64().partial_cmp(&b.to_f64()),
    };
    order.map_or(3, |order| (order as i8 + 1) as u64)
}

/// The sign, and whether a number is finite.
fn sign(scalar: Scalar) -> u64 {
    let x = scalar.to_f64();
    match () {
        () if x.is_nan() => 0,
        () if x.is_infinite() => 1 + u64::from(x > 0.0),
        () if x == 0.0 => 3,
        () => 4 + u64::from(x > 0.0),
    }
}
