//! The results of a call.

use super::buffers::RawBuffer;
use super::kept::Kept;
use super::small::{self, SMALL};
use rewright_ir::{Array, Datum};
use smallvec::SmallVec;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The results of a call: a slice of values that the caller owns.
///
/// When they are dropped, on any thread, the memory of unshared arrays is kept for later calls: by the
/// executable, up to [`Options::kept_bytes`](super::Options::kept_bytes), or for small results, of up to 16
/// KiB, by the thread, which keeps eight of them. [`into_vec`](Results::into_vec) and loops by value take
/// the values out. Their memory then goes back to the allocator, unless
/// [`Executable::recycle`](super::Executable::recycle) gets it. Results may outlive their executable.
pub struct Results {
    values: SmallVec<[Datum; 1]>,
    home: Home,
}

/// The owner of the memory of dropped results.
#[derive(Clone)]
pub enum Home {
    /// The allocator.
    Nowhere,
    /// The thread that drops them.
    Thread,
    /// The executable. If they are `whole`, the block of each array was allocated for an array of its size.
    Executable { kept: Arc<Kept>, whole: bool },
}

impl Home {
    /// Keeps the memory of an array. `made` tells whether the call allocated it.
    fn keep(&self, array: Array, made: bool) {
        match self {
            Home::Nowhere => {}
            Home::Thread if made || array.len() * array.dtype().size() <= SMALL => small::keep(array),
            Home::Thread => {}
            Home::Executable { kept, whole: true } if made => kept.keep_array(array),
            Home::Executable { kept, .. } => {
                RawBuffer::of(array).into_iter().for_each(|block| kept.keep_block(block));
            }
        }
    }
}

impl Results {
    /// Results with an owner of their memory after the drop.
    #[inline]
    pub(super) fn new(values: SmallVec<[Datum; 1]>, home: Home) -> Results {
        Results { values, home }
    }

    /// The values. Their memory is not kept when they are dropped.
    pub fn into_vec(mut self) -> Vec<Datum> {
        std::mem::take(&mut self.values).into_vec()
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        if let Home::Nowhere = self.home {
            return;
        }
        for value in self.values.drain(..) {
            match value {
                Datum::Scalar(_) => {}
                Datum::Array(array) => self.home.keep(array, true),
                // The components may be those of arguments.
                Datum::Styled(styled) => {
                    let styled = match self.home {
                        Home::Thread => match small::keep_whole(styled) {
                            Ok(()) => continue,
                            Err(styled) => styled,
                        },
                        _ => styled,
                    };
                    Arc::into_inner(styled).into_iter().for_each(|styled| {
                        styled.into_components().for_each(|component| self.home.keep(component, false));
                    });
                }
            }
        }
    }
}

impl Deref for Results {
    type Target = [Datum];
    fn deref(&self) -> &[Datum] {
        &self.values
    }
}

impl Clone for Results {
    fn clone(&self) -> Results {
        Results { values: self.values.clone(), home: self.home.clone() }
    }
}

impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values.fmt(f)
    }
}

impl From<Results> for Vec<Datum> {
    fn from(results: Results) -> Vec<Datum> {
        results.into_vec()
    }
}

impl IntoIterator for Results {
    type Item = Datum;
    type IntoIter = std::vec::IntoIter<Datum>;
    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a Results {
    type Item = &'a Datum;
    type IntoIter = std::slice::Iter<'a, Datum>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Results {
    fn eq(&self, other: &Results) -> bool {
        self[..] == other[..]
    }
}

impl PartialEq<[Datum]> for Results {
    fn eq(&self, other: &[Datum]) -> bool {
        self[..] == *other
    }
}

impl PartialEq<Vec<Datum>> for Results {
    fn eq(&self, other: &Vec<Datum>) -> bool {
        self[..] == other[..]
    }
}

impl<const N: usize> PartialEq<[Datum; N]> for Results {
    fn eq(&self, other: &[Datum; N]) -> bool {
        self[..] == other[..]
    }
}
