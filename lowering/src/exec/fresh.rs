//! The result array of a step that writes it by itself: the caller's buffer if the function returns it,
//! otherwise a new one.

use super::buffers::RawBuffer;
use super::machine::{Activation, Machine};
use super::value::{Held, Lent, Place, Shape, Target, row_major};
use rewright_ir::{DType, EvalError};

/// Memory for a result.
pub struct Fresh {
    dtype: DType,
    shape: Shape,
    /// The destination of its elements.
    pub target: Target,
    /// None if the memory is the caller's, or a part of another array.
    buffer: Option<RawBuffer>,
}

impl Machine<'_> {
    /// Memory for a result. `exit` is its position among the function's results, if the block ends by
    /// returning it. No operand aliases the memory.
    pub(super) fn fresh(
        &self,
        act: &Activation<'_, '_>,
        exit: Option<u32>,
        dtype: DType,
        shape: Shape,
    ) -> Result<Fresh, EvalError> {
        self.room(&shape, dtype.size())?;
        let place = exit.and_then(|at| act.frame.into.get(at as usize));
        if let Some(place) = place.filter(|p| p.direct && p.dtype == dtype && p.shape == shape) {
            let target = Target { pointer: place.pointer, strides: place.strides.clone(), used: true };
            return Ok(Fresh { dtype, shape, target, buffer: None });
        }
        let buffer = self.buffers.borrow_mut().get(dtype, &shape)?;
        let strides = row_major(&shape, dtype.size());
        let target = Target { pointer: buffer.pointer(), strides, used: buffer.is_used() };
        Ok(Fresh { dtype, shape, target, buffer: Some(buffer) })
    }
}

impl Fresh {
    /// A result in memory that is part of another array.
    pub fn within(dtype: DType, shape: Shape, target: Target) -> Fresh {
        Fresh { dtype, shape, target, buffer: None }
    }

    /// The place of its elements.
    pub fn place(&self) -> Place<'_> {
        let Fresh { dtype, shape, target, .. } = self;
        Place { dtype: *dtype, pointer: target.pointer, shape, strides: &target.strides, unit: 1 }
    }

    /// The array.
    ///
    /// # Safety
    /// Every element was initialized with a valid value.
    pub unsafe fn into_held(self) -> Held {
        let Fresh { dtype, shape, target, buffer } = self;
        match buffer {
            // SAFETY: the buffer was obtained for this dtype and shape; the rest is the caller's promise.
            Some(buffer) => Held::Array(unsafe { buffer.into_array(dtype, &shape, None) }),
            None => Held::Lent(Lent { dtype, pointer: target.pointer, shape, strides: target.strides, keep: None }),
        }
    }
}
