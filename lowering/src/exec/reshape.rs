//! View steps, and reshapes that need a copy.
//!
//! A reshape keeps the row-major order of elements. If strides describe that order, it is a view. Otherwise
//! the elements are copied once, directly to the destination of the result.

use super::by_reference::Why;
use super::machine::{Activation, Machine};
use super::plan::{ArrayEval, Step};
use super::value::{Held, Shape, Strides, copy_elements, fill_elements, row_major};
use super::view::{Reshape, ViewOp};
use rewright_ir::{EvalError, Scalar};
use smallvec::SmallVec;

/// The strides for the extents `new` of an array with extents `old`, in row-major order; `None` if there are
/// none, so that elements must be copied. Both have the same number of elements, of `size` bytes.
pub fn regrouped(old: &[usize], strides: &[isize], new: &[usize], size: usize) -> Option<Strides> {
    if new.contains(&0) {
        return Some(row_major(new, size));
    }
    // Collapses adjacent axes whose elements are evenly spaced, the outermost first: the extent and the
    // stride of each collapsed axis.
    let mut runs: SmallVec<[(usize, isize); 4]> = SmallVec::new();
    for (&extent, &stride) in old.iter().zip(strides).filter(|(extent, _)| **extent > 1) {
        match runs.last_mut() {
            Some(run) if run.1 == stride * extent as isize => *run = (run.0 * extent, stride),
            _ => runs.push((extent, stride)),
        }
    }
    let mut found = Strides::from_elem(0, new.len());
    let (mut left, mut step) = (1, size as isize);
    for axis in (0..new.len()).rev() {
        if left == 1 && new[axis] > 1 {
            (left, step) = runs.pop()?;
        }
        if left % new[axis] != 0 {
            return None;
        }
        found[axis] = step;
        left /= new[axis];
        step = step.wrapping_mul(new[axis] as isize);
    }
    Some(found)
}

impl Machine<'_> {
    /// Views an operand, and copies its elements only if no strides describe the result.
    pub(super) fn view(&self, act: &mut Activation<'_, '_>, step: &Step, view: &ViewOp) -> Result<(), EvalError> {
        let [def] = &step.defs[..] else { return Err(EvalError::shape("has one result")) };
        let one;
        let held = match self.operand(act, step, 0) {
            Held::Scalar(scalar) => {
                one = self.of_rank_0(act, *scalar)?;
                &one
            }
            held => held,
        };
        let found = match (view.apply(held, &def.dims, act.frame), view) {
            (None, ViewOp::Reshape(reshape)) => self.reshaped(act, step, *reshape, held)?,
            (found, _) => found,
        };
        match found {
            Some(held) => {
                self.put(act.frame, def.slot, held)?;
                self.admit(act, def, "result")
            }
            None => self.array(act, step, ArrayEval::Op, Why::WRONG),
        }
    }

    /// An array of rank 0 with the scalar as its element.
    fn of_rank_0(&self, act: &Activation<'_, '_>, scalar: Scalar) -> Result<Held, EvalError> {
        let fresh = self.fresh(act, None, scalar.dtype(), Shape::new())?;
        // SAFETY: the memory is that of one element of this dtype, which is written.
        unsafe {
            fill_elements(scalar, scalar.dtype(), &[], &fresh.target);
            Ok(fresh.into_held())
        }
    }

    /// A copy of an array's elements in row-major order, with other extents; `None` if these do not fit.
    fn reshaped(
        &self,
        act: &Activation<'_, '_>,
        step: &Step,
        reshape: Reshape,
        held: &Held,
    ) -> Result<Option<Held>, EvalError> {
        let Some(place) = held.place() else { return Ok(None) };
        let len = place.shape.iter().product();
        let dims = step.defs.first().map_or(&[][..], |def| &def.dims);
        let Some(shape) = reshape.shape(len, dims, act.frame) else { return Ok(None) };
        self.spend(len as u64)?;
        let size = place.dtype.size();
        let mut fresh = self.fresh(act, reshape.exit, place.dtype, shape.clone())?;
        let mut to = regrouped(&shape, &fresh.target.strides, place.shape, size);
        if to.is_none() {
            // The strides of the caller's buffer do not allow to collapse its axes to those of the operand.
            fresh = self.fresh(act, None, place.dtype, shape)?;
            to = Some(row_major(place.shape, size));
        }
        // SAFETY: the operand is held. The memory is that of an array of the same number of elements and the
        // same dtype, which does not alias the operand, and the strides lead to each element once.
        unsafe {
            copy_elements(&place, fresh.target.pointer, &to.unwrap_or_default());
            Ok(Some(fresh.into_held()))
        }
    }
}
