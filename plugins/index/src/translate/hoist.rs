//! Loop-invariant parts: computes a part of the body into an array, if the loops would compute it many times.
//!
//! A part depends on some indices. The loops compute it at each point of these and of the axes outside of the
//! innermost one among them, so `cos(x[j])` in a loop over `i` and `j` is computed for each `i` again. It is
//! hoisted if it is costly, or if its elements are apart along the last axis: then the array is a packed
//! copy. The values are the same, so the meaning does not change.

use super::axes::AxisOrder;
use super::products::{Part, factors};
use super::{Made, Translation};
use crate::nest::{Function, Node, Term};

/// The least times that a part is computed.
const TIMES: f64 = 8.0;
/// The most elements of the array of a part.
const MOST: f64 = (1 << 26) as f64;
/// The least cost of a part, in additions.
const COSTLY: u32 = 8;
/// The least times that a factor of a contraction is computed.
const TIMES_OF_FACTOR: f64 = 16.0;

/// The cost of a node, in additions.
fn cost(node: &Node) -> u32 {
    let mut total = 0u32;
    node.walk(&mut |node| {
        total = total.saturating_add(match &node.term {
            Term::Apply(Function::Op(op), _) => op.cycles(),
            Term::Apply(..) => 1,
            Term::Reduce(..) => COSTLY,
            _ => 0,
        });
    });
    total
}

impl<'a> Translation<'a, '_, '_> {
    /// Hoists parts of a node out of the loops over these axes.
    pub(super) fn hoist(&mut self, axes: &AxisOrder, node: &'a Node) -> Made<()> {
        if axes.indices.iter().any(|index| !matches!(self.extent(*index), Some(extent) if extent > 0.0)) {
            return Ok(());
        }
        let mut work = vec![node];
        while let Some(node) = work.pop() {
            if self.stored_node(node).is_some() {
                continue;
            }
            if let Some(indices) = self.invariant(axes, node) {
                let (products, reduced) = match &node.term {
                    Term::Reduce(reducer, reduced, body) => {
                        (factors(*reducer, body, self.nest.strict), reduced.clone())
                    }
                    _ => (factors(self.nest.reduction, node, true), Vec::new()),
                };
                if let Part::Stored(value, indices) = self.intermediate(&products, indices, reduced, node.loc)? {
                    self.stored.push((node, value, indices));
                }
                continue;
            }
            match &node.term {
                Term::Apply(_, args) => work.extend(args),
                Term::Block(_, value) => work.push(value),
                Term::Tuple(parts) => work.extend(parts.iter().map(|(_, part)| part)),
                Term::Local(local) => work.extend(self.definitions.get(local).copied()),
                _ => {}
            }
        }
        Ok(())
    }

    /// The indices of a part that is hoisted, in the order of the axes.
    fn invariant(&self, axes: &AxisOrder, node: &Node) -> Option<Vec<usize>> {
        let mut own = Vec::new();
        self.dependencies_of(node, &mut own);
        if !own.iter().all(|index| axes.indices.contains(index)) {
            return None;
        }
        let points =
            |indices: &[usize]| indices.iter().map(|index| self.extent(*index).unwrap_or(0.0)).product::<f64>();
        let order = axes.indices.iter().copied().filter(|index| own.contains(index));
        match &node.term {
            _ if points(&own) > MOST => return None,
            // A scoped reduction has its own order of axes.
            Term::Reduce(_, reduced, _) => return (points(reduced) > 0.0).then(|| order.collect()),
            Term::Apply(..) | Term::Read(_) => {}
            _ => return None,
        }
        let innermost = axes.indices.iter().rposition(|index| own.contains(index))?;
        let times = points(&axes.indices[..=innermost]) / points(&own);
        let (last, cost) = (*axes.indices.last()?, cost(node));
        let is_costly = cost >= COSTLY && times >= TIMES;
        let is_factor = axes.column() == Some(last) && own.contains(&last) && cost > 0 && times >= TIMES_OF_FACTOR;
        // A row reads each element of another array once; a contraction copies by itself.
        let is_apart = axes.is_reduced(last) && times >= TIMES && {
            self.reads_of(node).iter().any(|steps| steps[last].is_apart())
        };
        (is_costly || is_factor || is_apart).then(|| order.collect())
    }

    /// The explanation of a hoisted part.
    pub(super) fn shown_part(&self, node: &Node, indices: &[usize]) -> String {
        let (from, len) = (node.loc.start as usize, node.loc.len as usize);
        let text = self.text.get(from..from + len).unwrap_or_default();
        let list: Vec<&str> = indices.iter().map(|index| self.nest.indices[*index].name.as_str()).collect();
        match list.is_empty() {
            true => format!("`{text}` is computed once"),
            false => format!("`{text}` is computed once for each {}", list.join(", ")),
        }
    }

    /// The array of a hoisted part, and its indices.
    pub(super) fn stored_node(&self, node: &Node) -> Option<&(&'a Node, rewright::Value, Vec<usize>)> {
        self.stored.iter().find(|(own, ..)| std::ptr::eq(*own, node))
    }

    /// The inner reduced index, if the reduced indices are not one row of every array, so that sums of rows
    /// are computed first. A sum over a row is a vector loop, others compute their positions at each point.
    pub(super) fn row_of(&self, axes: &AxisOrder, parts: &[Part<'_>]) -> Option<usize> {
        let reduced: Vec<usize> = axes.indices.iter().copied().filter(|index| axes.is_reduced(*index)).collect();
        let (last, others) = reduced.split_last()?;
        let is_known = axes.indices.iter().all(|index| matches!(self.extent(*index), Some(extent) if extent > 0.0));
        let is_row = axes.indices.last() == Some(last) && !others.is_empty() && self.extent(*last) >= Some(16.0);
        if !is_row || !is_known {
            return None;
        }
        let is_even = parts.iter().all(|part| match part {
            Part::Written(node) => self.is_even(node, &reduced),
            Part::Stored(_, indices) => is_suffix(indices, &reduced),
        });
        (!is_even).then_some(*last)
    }

    /// Whether the elements that a node reads along some indices are one row of each array.
    fn is_even(&self, node: &Node, reduced: &[usize]) -> bool {
        if let Some((_, _, indices)) = self.stored_node(node) {
            return is_suffix(indices, reduced);
        }
        match &node.term {
            Term::Read(access) => {
                let mut moving = Vec::new();
                let dims = self.nest.accesses[*access].dims.len();
                (0..dims).for_each(|dim| self.dependencies(*access, dim, &mut moving));
                if !reduced.iter().any(|index| moving.contains(index)) {
                    return true;
                }
                let plain = |dim: usize| match &self.ranges.placed[*access][dim].terms[..] {
                    [(index, 1)] if self.ranges.indices[*index] == self.ranges.allowed[*access][dim] => Some(*index),
                    _ => None,
                };
                let indices: Option<Vec<usize>> = (dims.saturating_sub(reduced.len())..dims).map(plain).collect();
                let others: Vec<usize> = moving.iter().copied().filter(|index| !reduced.contains(index)).collect();
                indices.is_some_and(|indices| indices == reduced) && others.len() + reduced.len() == moving.len()
            }
            Term::Index(index) => !reduced.contains(index),
            Term::Apply(_, args) => args.iter().all(|arg| self.is_even(arg, reduced)),
            Term::Block(_, value) => self.is_even(value, reduced),
            Term::Local(local) => self.definitions.get(local).is_none_or(|node| self.is_even(node, reduced)),
            Term::Reduce(..) | Term::Tuple(_) => false,
            _ => true,
        }
    }
}

/// Whether the indices of an array are all of these at the end, or none of them.
fn is_suffix(indices: &[usize], reduced: &[usize]) -> bool {
    indices.ends_with(reduced) || !reduced.iter().any(|index| indices.contains(index))
}
