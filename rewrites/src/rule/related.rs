//! Draws constants that conditions relate: `(eq (mod ?a ?b) 0)` holds for few independently drawn numbers.
//!
//! Equalities of a variable and a term are solved by assignment. Other relations are satisfied by rejection
//! sampling: most of them hold for small numbers, and small multiples of one another.

use super::template::scalar_of;
use super::{Condition, Node, NodeId, Rule};
use crate::test_values::Random;
use rewright_ir::{Attrs, Literal, Op, Scalar, eval_scalar, registry};
use smallvec::SmallVec;

/// True if a condition of the rule relates constants.
pub(super) fn has_relations(rule: &Rule) -> bool {
    rule.conditions.iter().any(|condition| !condition.computed().is_empty())
}

/// Makes some of the constants small and multiples of one another, and then solves equalities. Does not
/// change fixed elements.
pub(super) fn draw_related(
    rule: &Rule,
    elements: &mut [Scalar],
    is_fixed: impl Fn(usize) -> bool,
    number: usize,
    random: &mut Random,
) {
    let mut vars = SmallVec::new();
    for node in rule.conditions.iter().flat_map(Condition::computed) {
        rule.add_vars(node, &mut vars);
    }
    // Every fourth sample keeps the drawn numbers.
    if !number.is_multiple_of(4) {
        for &var in vars.iter().filter(|&&var| !is_fixed(var)) {
            let small = Literal::Int((random.next() % 17) as i128 - 4);
            let small = small.at(elements[var].dtype()).unwrap_or(elements[var]);
            let other = vars[(random.next() % vars.len() as u64) as usize];
            let multiple = random.next().is_multiple_of(3).then(|| product(elements[other], small)).flatten();
            elements[var] = multiple.filter(|m| m.dtype() == elements[var].dtype()).unwrap_or(small);
        }
    }
    solve(rule, elements, is_fixed);
}

/// Assigns variables the values that equalities require. Does not change fixed elements.
pub(super) fn solve(rule: &Rule, elements: &mut [Scalar], is_fixed: impl Fn(usize) -> bool) {
    let mut equalities = Vec::new();
    rule.conditions.iter().for_each(|condition| add_equalities(rule, condition, &mut equalities));
    let mut assigned = vec![false; elements.len()];
    for (left, right) in equalities {
        for (var, term) in [(left, right), (right, left)] {
            let Some(Equation { var, factor }) = Equation::of(rule, var, term) else { continue };
            let mut others = SmallVec::new();
            factor.iter().chain([&term]).for_each(|&term| rule.add_vars(term, &mut others));
            if is_fixed(var) || assigned[var] || others.contains(&var) {
                continue;
            }
            let value = |node: NodeId| match &rule.nodes[node] {
                Node::Literal(number) => number.at(elements[var].dtype()),
                _ => scalar_of(rule, node, &|var| Some(elements[var]), &[]),
            };
            // The multiple of the factor at or below the drawn number.
            let solution = match factor {
                Some(factor) => value(factor).and_then(|factor| floor_to_multiple(elements[var], factor)),
                None => value(term),
            };
            if let Some(solution) = solution.filter(|s| s.dtype() == elements[var].dtype()) {
                elements[var] = solution;
                assigned[var] = true;
                break;
            }
        }
    }
}

/// A variable that equals a term, or that is a multiple of a factor.
struct Equation {
    var: usize,
    factor: Option<NodeId>,
}

impl Equation {
    /// Reads `?x` or `(mod ?x factor)` on the left; the latter must equal zero.
    fn of(rule: &Rule, left: NodeId, right: NodeId) -> Option<Equation> {
        match &rule.nodes[left] {
            Node::Var(var) => Some(Equation { var: *var, factor: None }),
            Node::Computed(term) if term.op.0.name == "mod" => {
                let is_zero = |node: &Node| matches!(node, Node::Literal(n) if n.literal() == Some(Literal::Int(0)));
                let &[dividend, factor] = &term.args[..] else { return None };
                let Node::Var(var) = &rule.nodes[dividend] else { return None };
                is_zero(&rule.nodes[right]).then_some(Equation { var: *var, factor: Some(factor) })
            }
            _ => None,
        }
    }
}

/// The sides of every top-level equality. Alternatives and negations are not solved.
fn add_equalities(rule: &Rule, condition: &Condition, found: &mut Vec<(NodeId, NodeId)>) {
    match condition {
        Condition::Computed(node) => {
            if let Node::Computed(term) = &rule.nodes[*node]
                && term.op.0.name == "eq"
                && let [left, right] = term.args[..]
            {
                found.push((left, right));
            }
        }
        Condition::All(list) => list.iter().for_each(|condition| add_equalities(rule, condition, found)),
        Condition::Any(_) | Condition::Not(_) | Condition::Registered(..) => {}
    }
}

fn product(a: Scalar, b: Scalar) -> Option<Scalar> {
    computed("mul", a, b)
}

/// The greatest multiple of a positive factor that is not above `x`.
fn floor_to_multiple(x: Scalar, factor: Scalar) -> Option<Scalar> {
    let remainder = computed("mod", x, factor)?;
    computed("sub", x, remainder)
}

fn computed(op: &str, a: Scalar, b: Scalar) -> Option<Scalar> {
    let op: Op = registry().op(op)?;
    (a.dtype() == b.dtype()).then(|| eval_scalar(op, &[a, b], &Attrs::new()).ok()?.first().copied()).flatten()
}
