//! The integers of a rule: numbers and attributes, and the extents at which they may make a difference.

use super::cases::MAX_ELEMENTS;
use super::sample::thinned;
use crate::rule::{AttrTerm, Node, Rule};
use rewright_ir::{Attr, DType, Dim};

/// The limits on extents: integers and their neighbours, and extents in each other relation to them.
const MAX_WRITTEN: usize = 24;
const MAX_RELATED: usize = 16;

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

/// The sizes of the rule's integers, in ascending order.
pub(super) fn sizes(rule: &Rule) -> Vec<u64> {
    let mut all: Vec<u64> = integers(rule).into_iter().map(i64::unsigned_abs).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Extents at which the rule's integers may make a difference, the likeliest first: the integers; their
/// divisors; sums and differences of two, where an index, counted from either end, meets another one; the
/// neighbours of all these; products and quotients, and halves and divisors of sums and differences.
pub(super) fn extents_near(rule: &Rule) -> Vec<u64> {
    let sizes = sizes(rule);
    let pairs = || sizes.iter().flat_map(|&a| sizes.iter().map(move |&b| (a, b)));
    let sums: Vec<u64> = pairs().flat_map(|(a, b)| [a.saturating_add(b), a.abs_diff(b)]).collect();
    let beside = |n: &u64| [n.saturating_sub(1), n.saturating_add(1)];
    let mut further: Vec<u64> =
        pairs().filter(|(_, b)| *b > 1).flat_map(|(a, b)| [a.saturating_mul(b), a / b]).collect();
    further.extend(sums.iter().flat_map(|n| [n / 2, n.div_ceil(2)]));
    further.extend(sums.iter().copied().flat_map(divisors));
    let groups = [
        (sizes.clone(), MAX_WRITTEN),
        (sizes.iter().copied().flat_map(divisors).collect(), MAX_RELATED),
        (sums.clone(), MAX_RELATED),
        (sizes.iter().flat_map(beside).collect(), MAX_WRITTEN),
        (sums.iter().flat_map(beside).collect(), MAX_RELATED),
        (further, MAX_RELATED),
    ];
    let mut all: Vec<u64> = Vec::new();
    for (group, most) in groups {
        let mut new: Vec<u64> = Vec::new();
        for n in group.into_iter().filter(|n| *n <= MAX_ELEMENTS) {
            if !all.contains(&n) && !new.contains(&n) {
                new.push(n);
            }
        }
        all.extend(thinned(new, most));
    }
    all
}

/// The divisors of a number up to the limit of extents, except 1.
fn divisors(n: u64) -> Vec<u64> {
    if n > MAX_ELEMENTS * MAX_ELEMENTS {
        return Vec::new();
    }
    let small = (2..).take_while(|d| d * d <= n).filter(|d| n.is_multiple_of(*d));
    small.flat_map(|d| [d, n / d]).collect()
}
