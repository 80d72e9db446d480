//! Binds a kernel to a call: extents, shapes of results, strides, and offsets.

use super::{Access, Lowered, Order, Param, Place, Position};
use crate::kernel::Part;
use rewright_ir::expr::Affine;
use rewright_ir::{Dim, Name, Scalar};
use smallvec::SmallVec;

/// Extents.
pub type Extents = SmallVec<[usize; 4]>;

/// A strided array of a call. A scalar has neither extents nor strides.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strided<'a> {
    /// The extents.
    pub shape: &'a [usize],
    /// The stride of each axis, in units.
    pub strides: &'a [isize],
    /// The bytes of a unit.
    pub unit: isize,
}

/// The index space of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// The first index of each axis.
    pub starts: SmallVec<[i64; 4]>,
    /// The number of points along each axis.
    pub extents: SmallVec<[u64; 4]>,
    /// The number of all points.
    pub points: u64,
}

/// The shape of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultShape {
    /// The extents.
    pub shape: Extents,
    /// The value with which the result must be filled first, if the kernel does not write every element.
    pub fill: Option<Scalar>,
}

/// The loops and addresses of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// The extents of the loops.
    pub extents: SmallVec<[u64; 4]>,
    /// The axis of each loop, if they are not in the order of the axes.
    pub order: Option<Order>,
    /// A bit set of the loops that are merged (collapsed) into the next one.
    merged: u64,
    /// The strides in bytes, buffer by buffer, one per loop.
    pub strides: SmallVec<[i64; 16]>,
    /// For each buffer, the byte offset of the element at the first point from the array's first element.
    pub offsets: SmallVec<[isize; 6]>,
}

impl Bound {
    /// The axes of a loop, the outermost first; none if it is merged into a later one.
    pub fn axes(&self, number: usize) -> impl Iterator<Item = u32> {
        let merged = |number: usize| number < MOST_MERGED && self.merged & 1 << number != 0;
        let first = (0..number).rev().take_while(|&before| merged(before)).last().unwrap_or(number);
        let loops = if merged(number) { 0..0 } else { first..number + 1 };
        loops.map(|number| self.order.as_ref().map_or(number, |order| order[number]) as u32)
    }
}

/// Loops from this number on are not merged.
const MOST_MERGED: usize = u64::BITS as usize;

/// The values of symbols.
type Symbols<'a> = &'a dyn Fn(Name) -> Option<i64>;

impl Lowered {
    /// The index space for operands of these shapes. `None` if an operand does not fit.
    pub fn space(&self, args: &[Strided<'_>], symbols: Symbols<'_>) -> Option<Space> {
        let space = self.ranges(args, symbols)?;
        // The reference meaning decides whether a reduction of no elements has a result.
        if self.is_empty_along_rows(&space) {
            return None;
        }
        let reads = self.accesses.iter().filter_map(|a| if let Place::Arg(n) = a.place { Some((n, a)) } else { None });
        for (arg, access) in reads {
            let shape = args.get(arg as usize)?.shape;
            let fits = access.positions.len() == shape.len()
                && access.positions.iter().zip(shape).all(|(p, &n)| space.admits(p, n, symbols));
            if !fits {
                return None;
            }
        }
        Some(space)
    }

    /// The ranges of the axes, without checks of the accesses.
    fn ranges(&self, args: &[Strided<'_>], symbols: Symbols<'_>) -> Option<Space> {
        let mut space = Space { points: 1, ..Space::default() };
        for axis in &self.bounds {
            let lo = axis.lo.eval(symbols)?;
            let hi = match &axis.hi {
                Some(hi) => hi.eval(symbols)?,
                None => broadcast(axis.sources.iter().map(|&(arg, dim)| extent(args, arg, dim)))?,
            };
            let extent = u64::try_from(hi.checked_sub(lo)?).unwrap_or(0);
            space.points = space.points.checked_mul(extent)?;
            space.starts.push(lo);
            space.extents.push(extent);
        }
        Some(space)
    }

    fn is_empty_along_rows(&self, space: &Space) -> bool {
        self.reduced.iter().zip(&space.extents).any(|(&reduced, &extent)| reduced && extent == 0)
    }

    /// Whether a reduced axis has no elements.
    pub fn has_empty_rows(&self, args: &[Strided<'_>], symbols: Symbols<'_>) -> bool {
        self.ranges(args, symbols).is_some_and(|space| self.is_empty_along_rows(&space))
    }

    /// The shape of a result. `None` if writes would be out of its bounds.
    pub fn result_shape(&self, result: usize, space: &Space, symbols: Symbols<'_>) -> Option<ResultShape> {
        let map = self.results.get(result)?;
        let (mut shape, mut whole) = (Extents::new(), true);
        for (dim, axis) in map.dims.iter().zip(&map.axes) {
            let Some(axis) = *axis else {
                shape.push(1);
                continue;
            };
            let (lo, count) = (space.starts[axis as usize], space.extents[axis as usize]);
            let hi = if count == 0 { lo } else { lo.checked_add(i64::try_from(count).ok()?)? };
            let extent = match *dim {
                Dim::Any => hi.max(0),
                Dim::Const(n) => i64::try_from(n).ok()?,
                Dim::Sym(name) => symbols(name)?,
            };
            if space.points > 0 && (lo < 0 || hi > extent) {
                return None;
            }
            whole &= lo == 0 && hi == extent;
            shape.push(usize::try_from(extent).ok()?);
        }
        let elsewhere =
            |axis: usize| !self.reduced[axis] && !map.axes.contains(&Some(axis as u32)) && space.extents[axis] > 1;
        let several = !map.last_wins && (0..space.extents.len()).any(elsewhere);
        let len = rewright_ir::value::checked_len(&shape)?;
        whole &= space.points > 0 || len == 0;
        match map.fill {
            _ if several && space.points > 0 => None,
            _ if whole => Some(ResultShape { shape, fill: map.start }),
            None => None,
            fill => Some(ResultShape { shape, fill }),
        }
    }

    /// The loops and addresses for operands that [`space`](Lowered::space) admitted, and for results of the
    /// shapes from [`result_shape`](Lowered::result_shape). Where the order of loops is free, they are
    /// sorted by strides. Adjacent axes along which all arrays are evenly spaced are merged into one loop.
    pub fn bind(
        &self,
        space: &Space,
        args: &[Strided<'_>],
        results: &[Strided<'_>],
        symbols: Symbols<'_>,
    ) -> Option<Bound> {
        let axes = space.extents.len();
        let mut bound = Bound { extents: space.extents.clone(), ..Bound::default() };
        for access in &self.accesses {
            let array = match access.place {
                Place::Arg(n) => args.get(n as usize)?,
                Place::Result(n) => results.get(n as usize)?,
            };
            let first = bound.strides.len();
            bound.strides.extend(std::iter::repeat_n(0, axes));
            let offset = address(access, array, space, &mut bound.strides[first..], symbols)?;
            bound.offsets.push(offset);
        }
        if space.points > 0 {
            self.sort_loops(&mut bound);
            self.merge(&mut bound);
        }
        (space.points == 0 || self.is_one_row(&bound)).then_some(bound)
    }

    /// Whether the innermost loop covers whole rows.
    fn is_one_row(&self, bound: &Bound) -> bool {
        (self.row..bound.extents.len().saturating_sub(1)).all(|axis| bound.extents[axis] == 1)
    }

    /// Whether the elements of a row are evenly spaced in every operand, so that one loop covers it.
    pub fn has_even_rows(&self, space: &Space, args: &[Strided<'_>], symbols: Symbols<'_>) -> Option<bool> {
        let axes = space.extents.len();
        if self.row + 1 >= axes || space.points == 0 {
            return Some(true);
        }
        let mut bound = Bound { extents: space.extents.clone(), ..Bound::default() };
        for access in &self.accesses {
            let first = bound.strides.len();
            bound.strides.extend(std::iter::repeat_n(0, axes));
            // Results do not vary along rows.
            if let Place::Arg(n) = access.place {
                address(access, args.get(n as usize)?, space, &mut bound.strides[first..], symbols)?;
            }
        }
        self.merge(&mut bound);
        Some(self.is_one_row(&bound))
    }

    /// Merges (collapses) loops: extends inner loops, and sets the extents of outer ones to 1, where all
    /// buffers allow it.
    fn merge(&self, bound: &mut Bound) {
        let axes = bound.extents.len();
        let Some(mut into) = axes.checked_sub(1) else { return };
        for axis in (0..into).rev() {
            if self.merges(bound, axis, into) {
                bound.merged |= 1 << axis;
                let inner = bound.extents[into];
                bound.extents[into] *= bound.extents[axis];
                bound.extents[axis] = 1;
                if inner == 1 {
                    bound.strides.chunks_exact_mut(axes).for_each(|s| s[into] = s[axis]);
                }
            } else {
                into = axis;
            }
        }
    }

    /// Whether an axis can be merged into a later one for all buffers. The loops between them have extent 1.
    fn merges(&self, bound: &Bound, axis: usize, into: usize) -> bool {
        let (outer, inner) = (bound.extents[axis], bound.extents[into]);
        // Loops of a row are not merged with others, and parallel loops are not merged with reduced ones.
        let alike = self.reduced[axis] == self.reduced[into] && (axis < self.row) == (into < self.row);
        if self.indexed[axis] || self.indexed[into] || !alike || axis >= MOST_MERGED || !self.may_merge(axis) {
            return false;
        }
        if outer == 1 {
            return true;
        }
        let strides = bound.strides.chunks_exact(bound.extents.len());
        self.kernel.buffers.iter().zip(strides).all(|(buffer, strides)| {
            let even = inner == 1 || (inner as i64).checked_mul(strides[into]) == Some(strides[axis]);
            let step = if inner == 1 { strides[axis] } else { strides[into] };
            even && (buffer.varies[into] || step == 0)
        })
    }

    /// The words of the parameters; `scalar` returns scalar operands.
    pub fn param_words(&self, space: &Space, scalar: impl Fn(u32) -> Option<Scalar>) -> Option<SmallVec<[u64; 4]>> {
        let word = |param: &Param| match *param {
            Param::Arg(n, Part::Re) => Some(scalar(n)?.bits().0),
            Param::Arg(n, Part::Im) => Some(scalar(n)?.bits().1),
            Param::Start(axis) => Some(space.starts[axis as usize] as u64),
        };
        self.params.iter().map(word).collect()
    }
}

/// The extent of an axis; 1 if there is no such axis, as for scalars.
fn extent(args: &[Strided<'_>], arg: u32, dim: usize) -> usize {
    args.get(arg as usize).and_then(|a| a.shape.get(dim)).copied().unwrap_or(1)
}

/// The broadcast of extents, as in NumPy.
pub(crate) fn broadcast(extents: impl Iterator<Item = usize>) -> Option<i64> {
    let mut all = 1;
    for extent in extents {
        all = match (all, extent) {
            (a, 1) => a,
            (1, b) => b,
            (a, b) if a == b => a,
            _ => return None,
        };
    }
    i64::try_from(all).ok()
}

impl Space {
    /// Whether a position is inside of an axis at all points.
    fn admits(&self, position: &Position, extent: usize, symbols: Symbols<'_>) -> bool {
        match position {
            Position::Only => extent == 1,
            Position::Stretched(axis) => {
                let axis = *axis as usize;
                extent == 1 || (self.starts[axis] == 0 && self.extents[axis] == extent as u64)
            }
            Position::At(form) => self.inside(form, extent, symbols).unwrap_or(false),
        }
    }

    fn inside(&self, form: &Affine, extent: usize, symbols: Symbols<'_>) -> Option<bool> {
        let mut least = i128::from(form.offset.eval(symbols)?);
        let mut most = least;
        for &(axis, factor) in form.axes() {
            let (lo, count) = (self.starts[axis as usize], self.extents[axis as usize]);
            if count == 0 {
                return Some(true);
            }
            let (first, factor) = (i128::from(lo), i128::from(factor));
            let ends = [first, first + i128::from(count) - 1].map(|i| i.checked_mul(factor));
            let [Some(a), Some(b)] = ends else { return None };
            least = least.checked_add(a.min(b))?;
            most = most.checked_add(a.max(b))?;
        }
        Some(least >= 0 && most < extent as i128)
    }
}

/// Adds the strides of an access to `strides`, and returns the offset of its first point, in bytes.
fn address(
    access: &Access,
    array: &Strided<'_>,
    space: &Space,
    strides: &mut [i64],
    symbols: Symbols<'_>,
) -> Option<isize> {
    if array.shape.len() != access.positions.len() || array.strides.len() != access.positions.len() {
        return None;
    }
    // Overflow concerns only axes with at most one point, where it has no effect.
    let mut offset = 0i64;
    for (dim, position) in access.positions.iter().enumerate() {
        let step = array.strides[dim].wrapping_mul(array.unit) as i64;
        match position {
            Position::Only => {}
            Position::Stretched(axis) => {
                if array.shape[dim] != 1 {
                    strides[*axis as usize] = strides[*axis as usize].wrapping_add(step);
                }
            }
            Position::At(form) => {
                offset = offset.wrapping_add(form.offset.eval(symbols)?.wrapping_mul(step));
                for &(axis, factor) in form.axes() {
                    let (axis, along) = (axis as usize, factor.wrapping_mul(step));
                    strides[axis] = strides[axis].wrapping_add(along);
                    offset = offset.wrapping_add(space.starts[axis].wrapping_mul(along));
                }
            }
        }
    }
    Some(offset as isize)
}
