//! Scatter safety: whether two points of the left side's indices write one element.

use crate::nest::{Along, Nest, Node, Role, Term};
use crate::ranges::{Placed, Ranges};
use std::collections::HashMap;

/// The most points that are compared; larger maps that are not proved are tested when they run.
const MAX_POINTS: i128 = 1 << 20;

/// The map from the indices of the left side to the elements that are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WriteMap {
    /// Each dim determines an index, so each element is written once at most, for all extents.
    Determined,
    /// Positions are read from an array.
    Gathered,
    /// Points may meet, as in `C[i+j]`. For these extents two do, if they are given; without them, it is
    /// tested when it runs.
    Open(Option<(String, String)>),
}

/// Whether a value reads elements or names of blocks, so that it may be another one at each point.
fn has_reads(node: &Node) -> bool {
    let mut found = false;
    node.walk(&mut |node| found |= matches!(node.term, Term::Read(_) | Term::Local(_) | Term::Reduce(..)));
    found
}

/// Analyses the write of a statement.
pub(crate) fn analyse(nest: &Nest, ranges: &Ranges, access: usize) -> WriteMap {
    let placed = &ranges.placed[access];
    // A computed position without reads, as of a scalar, is the same for all points.
    let is_varied = |along: &Along| along.form.computed.as_ref().is_some_and(|node| has_reads(node));
    let is_computed = nest.accesses[access].dims.iter().any(is_varied);
    if is_computed || placed.iter().any(|placed| !placed.gathers.is_empty()) {
        return WriteMap::Gathered;
    }
    let parallel: Vec<usize> =
        (0..nest.indices.len()).filter(|index| nest.indices[*index].role == Role::Parallel).collect();
    // A dim with one index that is still open determines this index.
    let mut open = parallel.clone();
    loop {
        let is_open = |placed: &Placed| placed.terms.iter().filter(|(index, _)| open.contains(index)).count() == 1;
        let Some(found) = placed.iter().find(|placed| is_open(placed)) else { break };
        let index = found.terms.iter().map(|(index, _)| *index).find(|index| open.contains(index));
        open.retain(|own| Some(*own) != index);
    }
    if open.is_empty() {
        return WriteMap::Determined;
    }
    let span = |index: &usize| {
        let range = &ranges.indices[*index];
        Some((range.lo.as_constant()?, range.hi.as_constant()?))
    };
    let Some(spans) = open.iter().map(span).collect::<Option<Vec<_>>>() else { return WriteMap::Open(None) };
    let points =
        spans.iter().fold(1i128, |n, (lo, hi)| n.saturating_mul((i128::from(*hi) - i128::from(*lo) + 1).max(0)));
    if points == 0 || points > MAX_POINTS {
        return WriteMap::Open(None);
    }
    let mut seen: HashMap<Vec<i128>, Vec<i64>> = HashMap::new();
    let mut point: Vec<i64> = spans.iter().map(|(lo, _)| *lo).collect();
    loop {
        let at = |placed: &Placed| -> i128 {
            let terms = placed.terms.iter().filter_map(|(index, c)| {
                let n = open.iter().position(|own| own == index)?;
                Some(i128::from(*c) * i128::from(point[n]))
            });
            terms.sum()
        };
        if let Some(other) = seen.insert(placed.iter().map(at).collect(), point.clone()) {
            let shown = |point: &[i64]| {
                let parts: Vec<String> =
                    open.iter().zip(point).map(|(index, n)| format!("{}={n}", nest.indices[*index].name)).collect();
                format!("({})", parts.join(", "))
            };
            return WriteMap::Open(Some((shown(&other), shown(&point))));
        }
        let next = (0..open.len()).rev().find(|n| {
            let more = point[*n] < spans[*n].1;
            point[*n] = if more { point[*n] + 1 } else { spans[*n].0 };
            more
        });
        if next.is_none() {
            return WriteMap::Open(None);
        }
    }
}
