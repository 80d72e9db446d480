//! The complement of a part of an array: the elements that an `update` keeps, as boxes.
//!
//! A part that is a box leaves two slabs along each axis, one before it and one behind it. A slab is as wide
//! as the part along the axes before its own, and as wide as the array along those after it. So slabs are
//! disjoint, and contiguous in row-major arrays from their own axis on.

use super::value::{Place, Shape, Target, copy_elements};
use smallvec::SmallVec;
use std::ops::Range;

/// The positions of a part along an axis: the first one, their number, and the distance between neighbours.
#[derive(Clone, Copy, Debug)]
pub struct Along {
    pub start: usize,
    pub count: usize,
    pub step: isize,
}

/// A box of positions of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slab {
    /// The least position along each axis.
    pub first: Shape,
    /// The extents.
    pub extents: Shape,
}

/// Disjoint boxes.
pub type Slabs = SmallVec<[Slab; 4]>;

/// The number of bytes that are copied in the time that a line of a slab takes in addition to its bytes.
const LINE: usize = 32;

impl Along {
    /// The positions, if they are adjacent.
    fn range(&self) -> Option<Range<usize>> {
        let Along { start, count, step } = *self;
        match (count, step) {
            (1, _) | (2.., 1) => Some(start..start + count),
            (2.., -1) => Some(start + 1 - count..start + 1),
            _ => None,
        }
    }
}

/// Boxes that cover an array of this shape but for a part. They cover the part, too, if it is empty or no
/// box, or so small that many short lines take longer than one copy of everything. `size` is the number of
/// bytes of an element.
pub fn complement(shape: &[usize], part: &[Along], size: usize) -> Slabs {
    if shape.contains(&0) {
        return Slabs::new();
    }
    let slabs = part.iter().map(Along::range).collect::<Option<SmallVec<[_; 4]>>>();
    let slabs = slabs.and_then(|part| around(shape, &part, size));
    let whole = || Slab { first: Shape::from_elem(0, shape.len()), extents: shape.into() };
    slabs.unwrap_or_else(|| Slabs::from_iter([whole()]))
}

/// The slabs around a box; `None` if they have too many short lines.
fn around(shape: &[usize], part: &[Range<usize>], size: usize) -> Option<Slabs> {
    let (mut slabs, mut lines) = (Slabs::new(), 0usize);
    let mut first = Shape::from_elem(0, shape.len());
    let mut extents: Shape = shape.into();
    for (axis, range) in part.iter().enumerate() {
        for side in [0..range.start, range.end..shape[axis]] {
            if !side.is_empty() {
                (first[axis], extents[axis]) = (side.start, side.len());
                slabs.push(Slab { first: first.clone(), extents: extents.clone() });
                lines += extents[..axis].iter().product::<usize>();
            }
        }
        (first[axis], extents[axis]) = (range.start, range.len());
    }
    // By now the extents are those of the part.
    let saved = extents.iter().product::<usize>() * size;
    (lines.saturating_mul(LINE) <= saved).then_some(slabs)
}

impl Slab {
    /// The box in an array, and in a target of the same shape.
    pub fn ends<'p>(&'p self, from: &Place<'p>, to: &Target) -> (Place<'p>, Target) {
        let offset = |strides: &[isize], unit: isize| -> isize {
            self.first.iter().zip(strides).map(|(&first, stride)| first as isize * stride * unit).sum()
        };
        let pointer = from.pointer.wrapping_offset(offset(from.strides, from.unit));
        let place = Place { pointer, shape: &self.extents, ..*from };
        let pointer = to.pointer.wrapping_offset(offset(&to.strides, 1));
        (place, Target { pointer, strides: to.strides.clone(), used: to.used })
    }

    /// Copies the elements of the box from an array to one of the same shape.
    ///
    /// # Safety
    /// The box is inside of the array `from`, whose elements are valid to read. The target is valid to write
    /// for each element of an array of this shape and dtype, and does not overlap `from`.
    pub unsafe fn copy(&self, from: &Place<'_>, to: &Target) {
        let (from, to) = self.ends(from, to);
        // SAFETY: the caller's promise, for some of the elements.
        unsafe { copy_elements(&from, to.pointer, &to.strides) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The positions that slabs cover, each with the number of slabs.
    fn covered(shape: [usize; 2], slabs: &Slabs) -> Vec<u8> {
        let mut times = vec![0; shape[0] * shape[1]];
        for slab in slabs {
            for i in slab.first[0]..slab.first[0] + slab.extents[0] {
                (slab.first[1]..slab.first[1] + slab.extents[1]).for_each(|j| times[i * shape[1] + j] += 1);
            }
        }
        times
    }

    fn alongs(extent: usize) -> impl Iterator<Item = Along> {
        let all = (0..extent).flat_map(move |start| (0..=extent).map(move |count| (start, count)));
        let all = all.flat_map(|(start, count)| [1, -1, 2, -2].map(|step| Along { start, count, step }));
        all.filter(move |along| {
            let last = along.start as isize + along.step * (along.count as isize - 1);
            along.count == 0 || (0..extent as isize).contains(&last)
        })
    }

    #[test]
    fn slabs_cover_every_other_position_once() {
        let mut boxes = 0;
        for shape in [[1, 1], [1, 4], [4, 1], [3, 4], [5, 2]] {
            for part in alongs(shape[0]).flat_map(|rows| alongs(shape[1]).map(move |columns| [rows, columns])) {
                let is_in = |axis: usize, at: usize| {
                    let Along { start, count, step } = part[axis];
                    (0..count as isize).any(|n| start as isize + n * step == at as isize)
                };
                // Elements are so large that lines do not matter.
                let slabs = complement(&shape, &part, 1 << 20);
                let times = covered(shape, &slabs);
                let all = times.iter().all(|&times| times == 1);
                let exact = (0..shape[0]).flat_map(|i| (0..shape[1]).map(move |j| (i, j)));
                let exact = exact.zip(&times).all(|((i, j), &times)| (times == 0) == (is_in(0, i) && is_in(1, j)));
                assert!(exact || (all && slabs.len() == 1), "{shape:?} {part:?}: {slabs:?}");
                let is_box = part.iter().all(|along| along.range().is_some());
                assert!(exact || !is_box, "{shape:?} {part:?}: {slabs:?}");
                boxes += usize::from(is_box);
            }
        }
        assert!(boxes > 500, "{boxes}");
    }

    #[test]
    fn many_short_lines_are_one_copy() {
        let inner = |n: usize| Along { start: 1, count: n - 2, step: 1 };
        assert_eq!(complement(&[1000, 1000], &[inner(1000), inner(1000)], 8).len(), 4);
        assert_eq!(complement(&[1000, 1000], &[inner(1000)], 8).len(), 2, "rows");
        let column = [Along { start: 0, count: 1000, step: 1 }, Along { start: 1, count: 1, step: 1 }];
        assert_eq!(complement(&[1000, 4], &column, 8).len(), 1);
        assert_eq!(complement(&[0, 4], &[], 8).len(), 0);
        assert_eq!(complement(&[], &[], 8), Slabs::new(), "the part is everything");
    }
}
