//! Views by their NumPy names. Each only composes index maps.

use crate::array::LazyArray;
use crate::expr::LazyExpr;
use rewright::{Attr, Attrs, Dim, EvalError, SliceSpec};
use smallvec::SmallVec;

type Places = SmallVec<[usize; 4]>;

impl LazyArray {
    /// Inserts an axis of extent 1 at a place of the result: `x[:, None]` is `x.expand_dims(1)`.
    pub fn expand_dims(&self, axis: i64) -> LazyArray {
        self.seen(|e| e.expanded(&[place(axis, e.rank() + 1, e)?]))
    }

    /// Drops axes of extent 1: the given ones, or all if the list is empty.
    pub fn squeeze(&self, axes: &[i64]) -> LazyArray {
        self.seen(|e| match axes.is_empty() {
            true => {
                let ones: Places = (0..e.rank()).filter(|&axis| e.axes()[axis].extent == 1).collect();
                e.squeezed(&ones)
            }
            false => e.squeezed(&places(axes, e)?),
        })
    }

    /// Reverses the order of the axes.
    pub fn t(&self) -> LazyArray {
        self.seen(|e| e.transposed(&(0..e.rank()).rev().collect::<Places>()))
    }

    /// Permutes the axes: `axes` has the old axis of each new one.
    pub fn transpose(&self, axes: &[i64]) -> LazyArray {
        self.seen(|e| e.transposed(&places(axes, e)?))
    }

    /// Moves an axis to a place of the result.
    pub fn moveaxis(&self, from: i64, to: i64) -> LazyArray {
        self.seen(|e| e.moved(&places(&[from], e)?, &places(&[to], e)?))
    }

    /// Exchanges two axes.
    pub fn swapaxes(&self, a: i64, b: i64) -> LazyArray {
        self.seen(|e| e.swapped(place(a, e.rank(), e)?, place(b, e.rank(), e)?))
    }

    /// Broadcasts: axes align at the last one, and axes of extent 1 are stretched.
    pub fn broadcast_to(&self, shape: &[u64]) -> LazyArray {
        self.seen(|e| match shape.len().checked_sub(e.rank()) {
            Some(skip) => e.broadcast(shape, &(skip..shape.len()).collect::<Places>()),
            None => Err(EvalError::shape(format!("`{e}` has more axes than the shape {shape:?}"))),
        })
    }

    /// Slices the leading axes, as in Python.
    pub fn slice(&self, at: &[SliceSpec]) -> LazyArray {
        self.seen(|e| e.sliced(at))
    }

    /// Selects a position of an axis, and drops the axis. A negative position counts from the end.
    pub fn index(&self, axis: i64, position: i64) -> LazyArray {
        self.seen(|e| {
            let axis = place(axis, e.rank(), e)?;
            let extent = i128::from(e.axes()[axis].extent);
            let from_start = if position < 0 { i128::from(position) + extent } else { i128::from(position) };
            if !(0..extent).contains(&from_start) {
                return Err(EvalError::index(format!("axis {axis} of `{e}` has no position {position}")));
            }
            let one = SliceSpec { start: Some(position), stop: position.checked_add(1).filter(|&p| p != 0), step: 1 };
            let mut at = vec![SliceSpec::FULL; axis];
            at.push(one);
            e.sliced(&at)?.squeezed(&[axis])
        })
    }

    /// Reverses the elements along these axes, or along all if the list is empty.
    pub fn flip(&self, axes: &[i64]) -> LazyArray {
        self.seen(|e| match axes.is_empty() {
            true => e.flipped(&(0..e.rank()).collect::<Places>()),
            false => e.flipped(&places(axes, e)?),
        })
    }

    /// The diagonal of the first two axes, as a last axis. A positive `offset` is above the main
    /// diagonal.
    pub fn diagonal(&self, offset: i64) -> LazyArray {
        self.seen(|e| e.diagonal(offset, 0, 1))
    }

    /// The elements in row-major order, with other extents. If only axes of extent 1 come or go, it is an
    /// index map; else the elements are forced. An array in that order is shared.
    pub fn reshape(&self, shape: &[u64]) -> LazyArray {
        let dims = Attr::Dims(shape.iter().map(|&extent| Dim::Const(extent)).collect());
        let attrs = Attrs::new().with("dims", dims);
        LazyArray::apply_with("reshape", [self], &attrs).unwrap_or_else(LazyArray::failed)
    }

    fn seen(&self, view: impl FnOnce(&LazyExpr) -> Result<LazyExpr, EvalError>) -> LazyArray {
        self.view(view).unwrap_or_else(LazyArray::failed)
    }
}

fn places(axes: &[i64], expr: &LazyExpr) -> Result<Places, EvalError> {
    axes.iter().map(|&axis| place(axis, expr.rank(), expr)).collect()
}

/// Converts an axis to its index from the start.
fn place(axis: i64, rank: usize, expr: &LazyExpr) -> Result<usize, EvalError> {
    let from_start = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    let found = from_start.and_then(|axis| usize::try_from(axis).ok()).filter(|&axis| axis < rank);
    found.ok_or_else(|| EvalError::shape(format!("of `{expr}`: there is no axis {axis} at rank {rank}")))
}
