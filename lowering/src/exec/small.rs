//! Small results that were dropped. The thread that dropped them keeps them: synchronization on a shared
//! store would take longer than computing such small results.

use rewright_ir::{Array, DType, Datum, Styled, with_array};
use std::cell::RefCell;
use std::sync::Arc;

/// The most bytes of the elements of a small result.
pub const SMALL: usize = 16 << 10;
/// The most results that a thread keeps.
const MOST: usize = 8;

thread_local! {
    /// Neither these values nor their components are shared.
    static KEPT: RefCell<Vec<Datum>> = const { RefCell::new(Vec::new()) };
}

/// Keeps an array, if it is not shared and there is room.
pub fn keep(array: Array) {
    if with_array!(&array, |a| a.is_unique()) {
        push(Datum::Array(array));
    }
}

/// Keeps a whole array of a storage style, so that it need not be assembled again. Returns it if the array
/// or a component is shared, or if a component is not small.
pub fn keep_whole(mut whole: Arc<Styled>) -> Result<(), Arc<Styled>> {
    let is_alone = |array: &Array| with_array!(array, |a| a.is_unique()) && array.len() * array.dtype().size() <= SMALL;
    match Arc::get_mut(&mut whole).is_some_and(|whole| whole.components().iter().all(is_alone)) {
        true => {
            push(Datum::Styled(whole));
            Ok(())
        }
        false => Err(whole),
    }
}

fn push(datum: Datum) {
    // If the thread is ending, or another result is just being kept, the result is dropped.
    let _ = KEPT.try_with(|kept| {
        if let Ok(mut kept) = kept.try_borrow_mut()
            && kept.len() < MOST
        {
            kept.push(datum);
        }
    });
}

/// An unshared array of this dtype, shape and strides (in bytes).
pub fn take(dtype: DType, shape: &[usize], strides: &[isize]) -> Option<Array> {
    match find(|kept| matches!(kept, Datum::Array(array) if is_like(array, dtype, shape, strides)))? {
        Datum::Array(array) => Some(array),
        _ => None,
    }
}

/// An array of a storage style that satisfies a condition. Neither the array nor its components are shared.
pub fn take_whole(is_wanted: impl Fn(&Styled) -> bool) -> Option<Arc<Styled>> {
    match find(|kept| matches!(kept, Datum::Styled(whole) if is_wanted(whole)))? {
        Datum::Styled(whole) => Some(whole),
        _ => None,
    }
}

fn find(is_wanted: impl Fn(&Datum) -> bool) -> Option<Datum> {
    let found = KEPT.try_with(|kept| {
        let mut kept = kept.try_borrow_mut().ok()?;
        let at = kept.iter().rposition(is_wanted);
        match at {
            Some(at) => Some(kept.swap_remove(at)),
            None => {
                // Evict the oldest, so that values which no call requests do not stay for ever.
                if kept.len() == MOST {
                    kept.remove(0);
                }
                None
            }
        }
    });
    found.ok().flatten()
}

/// Whether an array has this dtype, shape and strides (in bytes).
#[inline]
pub fn is_like(array: &Array, dtype: DType, shape: &[usize], strides: &[isize]) -> bool {
    let unit = dtype.size() as isize;
    array.dtype() == dtype && array.shape() == shape && array.strides().iter().zip(strides).all(|(s, t)| s * unit == *t)
}
