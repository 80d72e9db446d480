//! Small results that were dropped, kept by the thread that dropped them: for so few bytes sharing a store among threads takes longer than
//! computing them.

use rewright_ir::{Array, DType, with_array};
use std::cell::RefCell;

/// The most bytes of the elements of a small result.
pub const SMALL: usize = 16 << 10;
/// No more than this are kept by a thread.
const MOST: usize = 8;

thread_local! {
    /// Nobody has another share in any of these.
    static KEPT: RefCell<Vec<Array>> = const { RefCell::new(Vec::new()) };
}

/// Keeps an array, if nobody else has a share in it and there is room.
pub fn keep(array: Array) {
    if with_array!(&array, |a| a.is_unique()) {
        // Where the thread is ending, or a result is dropped while another one is kept, it is dropped for good.
        let _ = KEPT.try_with(|kept| {
            if let Ok(mut kept) = kept.try_borrow_mut()
                && kept.len() < MOST
            {
                kept.push(array);
            }
        });
    }
}

/// An array of this dtype, shape and strides (in bytes), of which nobody else has a share.
pub fn take(dtype: DType, shape: &[usize], strides: &[isize]) -> Option<Array> {
    let found = KEPT.try_with(|kept| {
        let mut kept = kept.try_borrow_mut().ok()?;
        let at = kept.iter().rposition(|array| is_like(array, dtype, shape, strides));
        match at {
            Some(at) => Some(kept.swap_remove(at)),
            None => {
                // The oldest goes, so that what is not asked for any more does not stay for ever.
                if kept.len() == MOST {
                    kept.remove(0);
                }
                None
            }
        }
    });
    found.ok().flatten()
}

/// True if an array has this dtype, shape and strides (in bytes).
#[inline]
pub fn is_like(array: &Array, dtype: DType, shape: &[usize], strides: &[isize]) -> bool {
    let unit = dtype.size() as isize;
    array.dtype() == dtype && array.shape() == shape && array.strides().iter().zip(strides).all(|(s, t)| s * unit == *t)
}
