//! View ops: the same buffer with another offset, shape and strides.
//!
//! A reshape that no strides describe is a copy (`reshape.rs`). For an invalid view, the op's reference
//! meaning reports the error.

use super::frame::Frame;
use super::plan::DimCheck;
use super::reshape::regrouped;
use super::value::{Held, Lent, Place, Shape, Strides};
use rewright_ir::ops::view;
use rewright_ir::{Attrs, Op, Scalar, SliceSpec, Type};
use smallvec::SmallVec;

/// A view op with resolved attributes.
#[derive(Clone, Debug, PartialEq)]
pub enum ViewOp {
    /// For each axis of the result, the axis of the operand.
    Transpose(SmallVec<[usize; 4]>),
    /// The bounds and steps of the leading axes.
    Slice(SmallVec<[SliceSpec; 2]>),
    /// The axes whose order is reversed.
    Flip(SmallVec<[usize; 4]>),
    /// The new axes of extent 1, by their positions in the result.
    Expand(SmallVec<[usize; 4]>),
    /// The axes of extent 1 that are dropped.
    Squeeze(SmallVec<[usize; 4]>),
    /// The elements on a diagonal of two axes, as a last axis.
    Diagonal(i64, usize, usize),
    /// For each axis of the operand, the axis of the result; and the dims of the result.
    Broadcast(SmallVec<[usize; 4]>, SmallVec<[DimCheck; 4]>),
    /// The same elements in row-major order, with other extents.
    Reshape(Reshape),
    /// The only element, as a scalar.
    Item,
    /// The array itself.
    Same,
}

/// The extents of a reshape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reshape {
    /// The axis whose extent follows from the others.
    pub open: Option<usize>,
    /// The result's position among the function's results, if the block ends by returning it.
    pub exit: Option<u32>,
}

impl Reshape {
    /// The extents of the result for `len` elements; `None` if there are none, which the op reports.
    pub fn shape(&self, len: usize, dims: &[DimCheck], frame: &Frame) -> Option<Shape> {
        let mut found = extents(dims, frame);
        let rest = found.iter().flatten().try_fold(1usize, |all, &n| all.checked_mul(n));
        if let Some(open) = found.iter_mut().find(|d| d.is_none()) {
            *open = rest.and_then(|rest| len.checked_div(rest));
        }
        let shape = found.into_iter().collect::<Option<Shape>>()?;
        // If another extent is 0, the open extent is not determined, even if a type fixes it.
        let others = |open: usize| shape.iter().enumerate().any(|(axis, &extent)| axis != open && extent == 0);
        let fits = rewright_ir::value::checked_len(&shape)? == len && !self.open.is_some_and(others);
        fits.then_some(shape)
    }
}

/// Resolves negative axes, which count from the end; `None` if one is out of range.
fn axes(list: &[i64], rank: usize) -> Option<SmallVec<[usize; 4]>> {
    let axis = |&at: &i64| usize::try_from(if at < 0 { at + rank as i64 } else { at }).ok().filter(|&a| a < rank);
    list.iter().map(axis).collect()
}

impl ViewOp {
    /// The view of an op on a value of type `ty`, if the op is a view. A scalar counts as an array of rank
    /// 0. `dims` makes checks of dims.
    pub fn of(
        op: Op,
        attrs: &Attrs,
        ty: &Type,
        dims: impl FnOnce(&Type) -> SmallVec<[DimCheck; 4]>,
        result: &Type,
    ) -> Option<ViewOp> {
        let rank = ty.rank();
        let all = || (0..rank).collect::<SmallVec<[usize; 4]>>();
        let listed = |name: &str, rank| attrs.ints(name).map(|list| axes(list, rank));
        if ty.style().is_some() {
            None
        } else if op == view::TRANSPOSE {
            listed("perm", rank).unwrap_or_else(|| Some((0..rank).rev().collect())).map(ViewOp::Transpose)
        } else if op == view::SLICE {
            Some(ViewOp::Slice(attrs.slices("at")?.into()))
        } else if op == view::FLIP {
            listed("axes", rank).unwrap_or_else(|| Some(all())).map(ViewOp::Flip)
        } else if op == view::EXPAND_DIMS {
            listed("axes", result.rank())?.map(ViewOp::Expand)
        } else if op == view::SQUEEZE {
            let ones = || all().into_iter().filter(|&a| ty.dims()[a] == rewright_ir::Dim::Const(1)).collect();
            listed("axes", rank).unwrap_or_else(|| Some(ones())).map(ViewOp::Squeeze)
        } else if op == view::DIAGONAL {
            let at = |name, default| Some(axes(&[attrs.int(name).unwrap_or(default)], rank)?[0]);
            Some(ViewOp::Diagonal(attrs.int("offset").unwrap_or(0), at("axis1", 0)?, at("axis2", 1)?))
        } else if op == view::BROADCAST_IN_DIM {
            let into = result.rank();
            let aligned = || Some((into.checked_sub(rank)?..into).collect());
            let to = listed("axes", into).unwrap_or_else(aligned)?;
            Some(ViewOp::Broadcast(to, dims(result)))
        } else if op == view::RESHAPE {
            let open = attrs.dims("dims")?.iter().position(|dim| *dim == rewright_ir::Dim::Any);
            Some(ViewOp::Reshape(Reshape { open, exit: None }))
        } else if op == view::ITEM {
            Some(ViewOp::Item)
        } else if op == view::TO_ARRAY {
            Some(ViewOp::Same)
        } else {
            None
        }
    }

    /// The view of `held`, with extents that `dims` allow; `None` if it is not possible.
    pub fn apply(&self, held: &Held, dims: &[DimCheck], frame: &Frame) -> Option<Held> {
        let place = held.place()?;
        if *self == ViewOp::Item {
            return element(&place).map(Held::Scalar);
        }
        if *self == ViewOp::Same {
            return Some(held.clone());
        }
        let (offset, shape, strides) = self.geometry(&place, dims, frame)?;
        // Without elements the offset may be out of bounds.
        let pointer = if shape.contains(&0) { place.pointer } else { place.pointer.wrapping_offset(offset) };
        lend(held, pointer, shape, strides).map(Held::Lent)
    }

    /// The offset, extents and strides; offset and strides are in bytes.
    fn geometry(&self, place: &Place<'_>, dims: &[DimCheck], frame: &Frame) -> Option<(isize, Shape, Strides)> {
        let mut shape: Shape = place.shape.into();
        let mut strides: Strides = place.strides.iter().map(|s| s * place.unit).collect();
        let mut offset = 0;
        match self {
            ViewOp::Transpose(perm) => {
                let (s, t) = (shape.clone(), strides.clone());
                shape = perm.iter().map(|&a| s[a]).collect();
                strides = perm.iter().map(|&a| t[a]).collect();
            }
            ViewOp::Slice(specs) => {
                for (axis, spec) in specs.iter().enumerate() {
                    let (start, count) = spec.resolve(shape[axis] as u64);
                    offset += start as isize * strides[axis];
                    shape[axis] = count as usize;
                    strides[axis] = if count > 1 { strides[axis].checked_mul(spec.step as isize)? } else { 0 };
                }
            }
            ViewOp::Flip(list) => {
                for &axis in list {
                    offset += (shape[axis] as isize - 1) * strides[axis];
                    strides[axis] = -strides[axis];
                }
            }
            ViewOp::Expand(list) => {
                let mut sorted = list.clone();
                sorted.sort_unstable();
                for &axis in &sorted {
                    shape.insert(axis, 1);
                    strides.insert(axis, 0);
                }
            }
            ViewOp::Squeeze(list) => {
                let mut sorted = list.clone();
                sorted.sort_unstable();
                for &axis in sorted.iter().rev() {
                    if shape.remove(axis) != 1 {
                        return None;
                    }
                    strides.remove(axis);
                }
            }
            ViewOp::Diagonal(along, rows, columns) => {
                let (row, column) = (along.min(&0).unsigned_abs() as usize, *along.max(&0) as usize);
                let count = shape[*rows].saturating_sub(row).min(shape[*columns].saturating_sub(column));
                if count > 0 {
                    offset += row as isize * strides[*rows] + column as isize * strides[*columns];
                }
                let step = strides[*rows] + strides[*columns];
                for axis in [*rows.max(columns), *rows.min(columns)] {
                    shape.remove(axis);
                    strides.remove(axis);
                }
                shape.push(count);
                strides.push(step);
            }
            ViewOp::Broadcast(to, dims) => {
                let mut wide = extents(dims, frame);
                let mut steps = Strides::from_elem(0, wide.len());
                for (axis, &at) in to.iter().enumerate() {
                    let extent = *wide[at].get_or_insert(shape[axis]);
                    match shape[axis] {
                        n if n == extent => steps[at] = strides[axis],
                        1 => {}
                        _ => return None,
                    }
                }
                shape = wide.into_iter().collect::<Option<Shape>>()?;
                strides = steps;
                rewright_ir::value::checked_len(&shape)?;
            }
            ViewOp::Reshape(reshape) => {
                let new = reshape.shape(shape.iter().product(), dims, frame)?;
                strides = regrouped(&shape, &strides, &new, place.dtype.size())?;
                shape = new;
            }
            ViewOp::Item | ViewOp::Same => return None,
        }
        Some((offset, shape, strides))
    }
}

/// The extents of dims, as far as they are known.
fn extents(dims: &[DimCheck], frame: &Frame) -> SmallVec<[Option<usize>; 4]> {
    let extent = |dim: &DimCheck| match *dim {
        DimCheck::Any => None,
        DimCheck::Const(n) => usize::try_from(n).ok(),
        DimCheck::Symbol(s) => frame.symbols[s as usize].map(|(n, _)| n as usize),
    };
    dims.iter().map(extent).collect()
}

/// A view of held elements, which stays valid by `keep`. The pointer and strides lead only to elements of
/// `held`.
pub fn lend(held: &Held, pointer: *const u8, shape: Shape, strides: Strides) -> Option<Lent> {
    let keep = match held {
        Held::Array(array) => Some(array.clone()),
        Held::Lent(lent) => lent.keep.clone(),
        _ => return None,
    };
    Some(Lent { dtype: held.dtype()?, pointer, shape, strides, keep })
}

/// The only element.
pub fn element(place: &Place<'_>) -> Option<Scalar> {
    if place.shape.iter().any(|&n| n != 1) {
        return None;
    }
    rewright_ir::with_dtype!(place.dtype, T => {
        // SAFETY: the place has one element, of this dtype and valid to read. A view of the caller's may be
        // unaligned.
        Some(rewright_ir::Element::to_scalar(unsafe { place.pointer.cast::<T>().read_unaligned() }))
    })
}
