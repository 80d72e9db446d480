//! The order of loops: that in which arrays lie in memory, where any order does.

use super::{Bound, Lowered, Place, Position, Space, Strided};
use crate::kernel::{KOp, Kernel};
use smallvec::SmallVec;

/// Axes, outermost first.
pub type Order = SmallVec<[usize; 4]>;

/// True if the loops may be in any order: all buffers go along all axes or along none, no index is a value, and no point can fail,
/// so that it does not matter which one would be the first.
pub(super) fn is_free(kernel: &Kernel) -> bool {
    let uniform = kernel.buffers.iter().all(|b| b.varies.iter().all(|v| *v) || !b.varies.contains(&true));
    uniform && !kernel.insts.iter().any(|inst| matches!(inst.op, KOp::Index(_) | KOp::Reference(_)))
}

/// Axes by falling weights; those of equal weight stay in order.
fn falling<W: Ord>(axes: usize, weight: impl Fn(usize) -> W) -> Order {
    let mut order: Order = (0..axes).collect();
    order.sort_by_key(|&axis| std::cmp::Reverse(weight(axis)));
    order
}

/// Puts the loops in an order.
fn reorder(bound: &mut Bound, order: Order) {
    let axes = bound.extents.len();
    if order.is_sorted() || order.len() != axes {
        return;
    }
    bound.extents = order.iter().map(|&axis| bound.extents[axis]).collect();
    for strides in bound.strides.chunks_exact_mut(axes) {
        let sorted: SmallVec<[i64; 4]> = order.iter().map(|&axis| strides[axis]).collect();
        strides.copy_from_slice(&sorted);
    }
    bound.order = Some(order);
}

impl Lowered {
    /// Puts the loops with the smallest strides inside.
    pub(super) fn sort_loops(&self, bound: &mut Bound) {
        let axes = bound.extents.len();
        if axes < 2 || !self.free_order {
            return;
        }
        if let Some(wish) = &self.wish.order {
            let number = |name| self.names.iter().position(|n| n == name);
            return reorder(bound, wish.iter().flatten().filter_map(number).collect());
        }
        let weight = |axis: usize| -> u128 {
            bound.strides.chunks_exact(axes).map(|s| u128::from(s[axis].unsigned_abs())).sum()
        };
        reorder(bound, falling(axes, weight));
    }

    /// True if the loop at a place may be part of the next one: a schedule that says the order says that too.
    pub(super) fn may_merge(&self, place: usize) -> bool {
        // The axes of a row always are one.
        let Some(wish) = self.wish.order.as_ref().filter(|_| place < self.row) else { return true };
        let ends = wish.iter().scan(0, |end, axes| {
            *end += axes.len();
            Some(*end)
        });
        ends.take_while(|&end| end <= place + 1).all(|end| end != place + 1)
    }

    /// The order of axes in which the operands lie in memory, if that is another than row-major: results that lie in the same order are
    /// computed faster. `None` if there is no such order.
    pub fn memory_order(&self, space: &Space, args: &[Strided<'_>]) -> Option<Order> {
        let axes = space.extents.len();
        let whole = |map: &super::ResultMap| map.axes.iter().enumerate().all(|(dim, &axis)| axis == Some(dim as u32));
        if axes < 2 || !self.free_order || !self.results.iter().all(|map| map.axes.len() == axes && whole(map)) {
            return None;
        }
        let mut weights: SmallVec<[u128; 4]> = SmallVec::from_elem(0, axes);
        for access in &self.accesses {
            let Place::Arg(arg) = access.place else { continue };
            let array = args.get(arg as usize)?;
            for ((position, &stride), &extent) in access.positions.iter().zip(array.strides).zip(array.shape) {
                let axis = match position {
                    Position::At(form) => form.as_axis()?,
                    Position::Stretched(axis) => *axis,
                    Position::Only => continue,
                };
                if extent > 1 {
                    weights[axis as usize] += stride.unsigned_abs() as u128 * array.unit.unsigned_abs() as u128;
                }
            }
        }
        // Axes of one point lie anywhere.
        let long = |axis: &usize| space.extents[*axis] > 1;
        if (0..axes).filter(long).is_sorted_by(|&a, &b| weights[a] >= weights[b]) {
            return None;
        }
        Some(falling(axes, |axis| if long(&axis) { weights[axis] } else { u128::MAX }))
    }
}
