//! Decides comparisons of integers that are not constants, if their linear forms differ by a constant or a
//! fact gives a sign.
//!
//! Integers wrap, so equality of forms is equality in a ring: `(eq (sub ?x ?y) (sub ?z ?w))` is certain if
//! `?x` is `?z` and `?y` is `?w`. Wrapping does not preserve order, so an order is certain only between
//! equal forms, and between a variable and zero.

use super::{Known, Node, NodeId, Rule};
use crate::value_facts::ValueFacts;
use rewright_ir::DType;
use smallvec::SmallVec;

/// A linear combination of variables, plus a constant.
#[derive(Default)]
struct Linear {
    factors: SmallVec<[(usize, i128); 4]>,
    constant: i128,
}

/// The truth of a comparison, if it is certain. `same` says which variables are one value.
pub(super) fn comparison<'a>(
    rule: &Rule,
    node: NodeId,
    known: &dyn Fn(usize) -> Known<'a>,
    same: &dyn Fn(usize, usize) -> bool,
) -> Option<bool> {
    let Node::Computed(term) = &rule.nodes[node] else { return None };
    let &[left, right] = &term.args[..] else { return None };
    let mut vars = SmallVec::new();
    rule.add_vars(node, &mut vars);
    let dtype = known(*vars.first()?).ty.dtype();
    if !dtype.is_int() || vars.iter().any(|&var| known(var).ty.dtype() != dtype) {
        return None;
    }
    let mut difference = Linear::default();
    difference.add(rule, left, 1, dtype, known, same)?;
    difference.add(rule, right, -1, dtype, known, same)?;
    let (factors, constant) = (&difference.factors, wrapped(difference.constant, dtype));
    let equal = match factors[..] {
        [] => Some(constant == 0),
        [(var, 1 | -1)] if constant == 0 && known(var).facts.contains(ValueFacts::NONZERO) => Some(false),
        _ => None,
    };
    // `?x` compared with zero, or zero with `?x`.
    let nonneg = match factors[..] {
        [(var, factor @ (1 | -1))] if constant == 0 && is_plain(rule, left, right) => {
            known(var).facts.contains(ValueFacts::NONNEG).then_some(factor == 1)
        }
        _ => None,
    };
    let op = term.op.0.name;
    match (op, equal, nonneg) {
        ("eq", Some(equal), _) => Some(equal),
        ("ne", Some(equal), _) => Some(!equal),
        ("le" | "ge", Some(true), _) => Some(true),
        ("lt" | "gt", Some(true), _) => Some(false),
        ("ge", _, Some(true)) | ("le", _, Some(false)) => Some(true),
        ("lt", _, Some(true)) | ("gt", _, Some(false)) => Some(false),
        _ => None,
    }
}

/// True if one side is a variable and the other a number.
fn is_plain(rule: &Rule, left: NodeId, right: NodeId) -> bool {
    matches!(
        (&rule.nodes[left], &rule.nodes[right]),
        (Node::Var(_), Node::Literal(_)) | (Node::Literal(_), Node::Var(_))
    )
}

fn wrapped(x: i128, dtype: DType) -> i128 {
    x & ((1i128 << (8 * dtype.size())) - 1)
}

impl Linear {
    /// Adds a term, multiplied by `times`.
    fn add<'a>(
        &mut self,
        rule: &Rule,
        node: NodeId,
        times: i128,
        dtype: DType,
        known: &dyn Fn(usize) -> Known<'a>,
        same: &dyn Fn(usize, usize) -> bool,
    ) -> Option<()> {
        match &rule.nodes[node] {
            Node::Var(var) => match known(*var).constant {
                Some(constant) => self.add_constant(constant.to_i128()?, times, dtype),
                None => {
                    let at = self.factors.iter().position(|&(other, _)| other == *var || same(other, *var));
                    let at = at.unwrap_or_else(|| {
                        self.factors.push((*var, 0));
                        self.factors.len() - 1
                    });
                    self.factors[at].1 = signed(self.factors[at].1 + times, dtype);
                    if self.factors[at].1 == 0 {
                        self.factors.remove(at);
                    }
                    Some(())
                }
            },
            Node::Literal(number) => self.add_constant(number.at(dtype)?.to_i128()?, times, dtype),
            Node::Op(_) => None,
            Node::Computed(term) => match (term.op.0.name, &term.args[..]) {
                ("add", &[a, b]) => {
                    self.add(rule, a, times, dtype, known, same)?;
                    self.add(rule, b, times, dtype, known, same)
                }
                ("sub", &[a, b]) => {
                    self.add(rule, a, times, dtype, known, same)?;
                    self.add(rule, b, signed(-times, dtype), dtype, known, same)
                }
                ("neg", &[a]) => self.add(rule, a, signed(-times, dtype), dtype, known, same),
                ("mul", &[a, b]) => {
                    let constant = |node: NodeId| match &rule.nodes[node] {
                        Node::Var(var) => known(*var).constant?.to_i128(),
                        Node::Literal(number) => number.at(dtype)?.to_i128(),
                        _ => None,
                    };
                    let (factor, other) = match (constant(a), constant(b)) {
                        (Some(factor), _) => (factor, b),
                        (None, Some(factor)) => (factor, a),
                        (None, None) => return None,
                    };
                    self.add(rule, other, signed(times.checked_mul(factor)?, dtype), dtype, known, same)
                }
                _ => None,
            },
        }
    }

    fn add_constant(&mut self, constant: i128, times: i128, dtype: DType) -> Option<()> {
        self.constant = signed(self.constant + signed(constant.checked_mul(times)?, dtype), dtype);
        Some(())
    }
}

/// The number wrapped to the width of this dtype, as a signed number.
fn signed(x: i128, dtype: DType) -> i128 {
    let unused = 128 - 8 * dtype.size() as u32;
    x << unused >> unused
}
