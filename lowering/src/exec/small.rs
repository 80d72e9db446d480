//! Small results that were dropped, kept by the thread that dropped them: for so few bytes sharing a store among threads takes longer than
//! computing them.

use rewright_ir::{Array, DType, Datum, Styled, with_array};
use std::cell::RefCell;
use std::sync::Arc;

/// The most bytes of the elements of a small result.
pub const SMALL: usize = 16 << 10;
/// No more than this are kept by a thread.
const MOST: usize = 8;

thread_local! {
    /// Nobody has another share in any of these, or in components of theirs.
    static KEPT: RefCell<Vec<Datum>> = const { RefCell::new(Vec::new()) };
}

/// Keeps an array, if nobody else has a share in it and there is room.
pub fn keep(array: Array) {
    if with_array!(&array, |a| a.is_unique()) {
        push(Datum::Array(array));
    }
}

/// Keeps an array of a storage style as a whole, so that it need not be put together again; gives it back if
/// somebody else has a share in it or in a component, or a component is not small.
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
    // Where the thread is ending, or a result is dropped while another one is kept, it is dropped for good.
    let _ = KEPT.try_with(|kept| {
        if let Ok(mut kept) = kept.try_borrow_mut()
            && kept.len() < MOST
        {
            kept.push(datum);
        }
    });
}

/// An array of this dtype, shape and strides (in bytes), of which nobody else has a share.
pub fn take(dtype: DType, shape: &[usize], strides: &[isize]) -> Option<Array> {
    match find(|kept| matches!(kept, Datum::Array(array) if is_like(array, dtype, shape, strides)))? {
        Datum::Array(array) => Some(array),
        _ => None,
    }
}

/// An array of a storage style that is wanted, of which, and of whose components, nobody else has a share.
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
