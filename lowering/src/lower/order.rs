//! Orders loops by strides, where any order is legal.

use super::{Bound, Lowered, Place, Position, Space, Strided};
use crate::kernel::{KOp, Kernel};
use smallvec::SmallVec;
use std::cmp::Ordering;

/// Axes, outermost first.
pub type Order = SmallVec<[usize; 4]>;

/// Whether any order of the loops is legal. Each buffer varies along all axes or along none, no index is a
/// value, and no point can fail, so that it does not matter which point would fail first.
pub(super) fn is_free(kernel: &Kernel) -> bool {
    let uniform = kernel.buffers.iter().all(|b| b.varies.iter().all(|v| *v) || !b.varies.contains(&true));
    uniform && !kernel.insts.iter().any(|inst| matches!(inst.op, KOp::Index(_) | KOp::Reference(_)))
}

/// The strides of an array along the axes, in bytes, and the bytes of an element.
type Array = (SmallVec<[u64; 4]>, u64);

/// The axes in the order in which most arrays are laid out, the largest strides outermost. Ties keep their
/// order. Axes of one point are outermost.
fn by_memory(extents: &[u64], arrays: &[Array]) -> Order {
    let mut order: Order = (0..extents.len()).collect();
    // The relation of axes is not transitive, so this is an insertion sort.
    for from in 1..extents.len() {
        let mut at = from;
        while at > 0 && is_outside(order[at], order[at - 1], extents, arrays) {
            order.swap(at - 1, at);
            at -= 1;
        }
    }
    inner_axes(&mut order, extents, arrays);
    order
}

/// Moves the axis along which most arrays are contiguous to the innermost place. Next to it moves the axis
/// along which most of the other arrays are contiguous: these arrays are transposed in blocks of both axes.
fn inner_axes(order: &mut Order, extents: &[u64], arrays: &[Array]) {
    let mut taken: SmallVec<[usize; 2]> = SmallVec::new();
    for end in (order.len().saturating_sub(2)..order.len()).rev() {
        let lies = |(strides, size): &Array, axis: usize| strides[axis] == *size && extents[axis] > 1;
        let others = || arrays.iter().filter(|array| !taken.iter().any(|&axis| lies(array, axis)));
        let along = |place: usize| others().filter(|array| lies(array, order[place])).count();
        let Some(place) = (0..=end).max_by_key(|&place| along(place)).filter(|&place| along(place) > along(end)) else {
            taken.push(order[end]);
            continue;
        };
        let axis = order.remove(place);
        order.insert(end, axis);
        taken.push(axis);
    }
}

/// Whether axis `a` belongs outside of axis `b`: its stride is larger in more arrays than it is smaller; on
/// a tie, the sum of its strides is larger.
fn is_outside(a: usize, b: usize, extents: &[u64], arrays: &[Array]) -> bool {
    if extents[a] == 1 || extents[b] == 1 {
        return extents[b] > 1;
    }
    let count = |larger| arrays.iter().filter(|(strides, _)| strides[a].cmp(&strides[b]) == larger).count();
    let sum = |axis: usize| -> u128 { arrays.iter().map(|(strides, _)| u128::from(strides[axis])).sum() };
    match count(Ordering::Greater).cmp(&count(Ordering::Less)) {
        Ordering::Equal => sum(a) > sum(b),
        more => more == Ordering::Greater,
    }
}

/// Permutes the loops.
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
    /// Sorts the loops, with the smallest strides of most arrays innermost.
    pub(super) fn sort_loops(&self, bound: &mut Bound) {
        let axes = bound.extents.len();
        if axes < 2 || !self.free_order {
            return;
        }
        if let Some(wish) = &self.wish.order {
            let number = |name| self.names.iter().position(|n| n == name);
            return reorder(bound, wish.iter().flatten().filter_map(number).collect());
        }
        let strides =
            bound.strides.chunks_exact(axes).map(|strides| strides.iter().map(|s| s.unsigned_abs()).collect());
        let sizes = self.kernel.buffers.iter().map(|buffer| buffer.dtype.size() as u64);
        let arrays: SmallVec<[Array; 4]> = strides.zip(sizes).collect();
        let order = by_memory(&bound.extents, &arrays);
        reorder(bound, order);
    }

    /// Whether the loop at a place may be merged into the next one. A schedule that gives the order of loops
    /// decides that, too.
    pub(super) fn may_merge(&self, place: usize) -> bool {
        // The axes of a row are always merged.
        let Some(wish) = self.wish.order.as_ref().filter(|_| place < self.row) else { return true };
        let ends = wish.iter().scan(0, |end, axes| {
            *end += axes.len();
            Some(*end)
        });
        ends.take_while(|&end| end <= place + 1).all(|end| end != place + 1)
    }

    /// The order of axes in which the operands are laid out, if it is not row-major. Results with the same
    /// layout are computed faster. `None` if there is no such order.
    pub fn memory_order(&self, space: &Space, args: &[Strided<'_>]) -> Option<Order> {
        let axes = space.extents.len();
        let whole = |map: &super::ResultMap| map.axes.iter().enumerate().all(|(dim, &axis)| axis == Some(dim as u32));
        if axes < 2 || !self.free_order || !self.results.iter().all(|map| map.axes.len() == axes && whole(map)) {
            return None;
        }
        let mut arrays: SmallVec<[Array; 4]> = SmallVec::new();
        for (access, buffer) in self.accesses.iter().zip(&self.kernel.buffers) {
            let Place::Arg(arg) = access.place else { continue };
            let array = args.get(arg as usize)?;
            let mut strides = SmallVec::from_elem(0, axes);
            for ((position, &stride), &extent) in access.positions.iter().zip(array.strides).zip(array.shape) {
                let axis = match position {
                    Position::At(form) => form.as_axis()?,
                    Position::Stretched(axis) => *axis,
                    Position::Only => continue,
                };
                if extent > 1 {
                    let bytes = (stride.unsigned_abs() as u64).saturating_mul(array.unit.unsigned_abs() as u64);
                    strides[axis as usize] = bytes.saturating_add(strides[axis as usize]);
                }
            }
            arrays.push((strides, buffer.dtype.size() as u64));
        }
        let order = by_memory(&space.extents, &arrays);
        // Axes of one point fit anywhere.
        let long = order.iter().filter(|&&axis| space.extents[axis] > 1);
        if long.is_sorted() { None } else { Some(order) }
    }
}
