//! The integers of a rule: numbers and attributes.

use super::cases::MAX_ELEMENTS;
use super::sample::thinned;
use crate::rule::{AttrTerm, Node, Rule};
use rewright_ir::{Attr, DType, Dim};

/// The limit on extents next to a rule's integers.
const MAX_EXTENTS: usize = 48;

/// The integers that are written in a rule, each once.
pub(super) fn integers(rule: &Rule) -> Vec<i64> {
    let mut all: Vec<i64> = Vec::new();
    for node in &rule.nodes {
        match node {
            Node::Literal(number) => {
                let value = || number.literal()?.at(DType::I64)?.to_i128();
                all.extend(value().and_then(|n| i64::try_from(n).ok()));
            }
            Node::Op(term) | Node::Computed(term) => {
                for (_, attr) in &term.attrs {
                    if let AttrTerm::Is(attr) = attr {
                        of_attr(attr, &mut all);
                    }
                }
            }
            Node::Var(_) => {}
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn of_attr(attr: &Attr, all: &mut Vec<i64>) {
    match attr {
        Attr::Int(n) => all.push(*n),
        Attr::Ints(list) => all.extend(list.iter()),
        Attr::Slices(specs) => {
            all.extend(specs.iter().flat_map(|spec| [spec.start, spec.stop, Some(spec.step)]).flatten());
        }
        Attr::Dims(dims) => all.extend(dims.iter().filter_map(|dim| match dim {
            Dim::Const(n) => i64::try_from(*n).ok(),
            _ => None,
        })),
        _ => {}
    }
}

/// Extents next to the rule's integers, and next to sums of two of them: there an index, counted from
/// either end, meets another one.
pub(super) fn extents_near(rule: &Rule) -> Vec<u64> {
    let sizes: Vec<u64> = integers(rule).into_iter().map(i64::unsigned_abs).filter(|&n| n <= MAX_ELEMENTS).collect();
    let sums = sizes.iter().flat_map(|&a| sizes.iter().map(move |&b| a + b));
    let centers = sizes.iter().copied().chain(sums);
    let mut all: Vec<u64> = centers.flat_map(|n| [n.saturating_sub(1), n, n + 1]).collect();
    all.retain(|&n| n <= MAX_ELEMENTS);
    all.sort_unstable();
    all.dedup();
    thinned(all, MAX_EXTENTS)
}
