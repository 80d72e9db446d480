//! The axes of a reduction.

use smallvec::SmallVec;
use std::ops::RangeFull;

/// The axes of a reduction: `..` for all, `0`, `-1`, `[0, 2]`. With [`kept`](Axes::kept) the result keeps
/// them, with extent 1.
///
/// ```
/// use rewright_lazy::{Axes, LazyArray};
/// let x = LazyArray::constant("iota(i64, 4)[i: 3, j: 4 -> j]".parse()?)?;
/// assert_eq!(x.sum(..).force()?.to_string(), "18");
/// assert_eq!(x.sum(-1).force()?.to_string(), "[6 6 6]");
/// assert_eq!(x.sum(Axes::from([0, 1]).kept()).shape(), [1, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axes {
    /// The axes; negative ones count from the end. `None` for all.
    pub(crate) list: Option<SmallVec<[i64; 4]>>,
    /// Whether the result keeps them, with extent 1.
    pub(crate) keep: bool,
}

impl Axes {
    /// The same axes, which stay with extent 1: `keepdims` in NumPy.
    pub fn kept(self) -> Axes {
        Axes { keep: true, ..self }
    }

    /// Whether an axis is among them, at a rank.
    pub(crate) fn contains(&self, axis: usize, rank: usize) -> bool {
        let is_it = |&of: &i64| if of < 0 { of + rank as i64 == axis as i64 } else { of == axis as i64 };
        self.list.as_ref().is_none_or(|list| list.iter().any(is_it))
    }
}

impl From<RangeFull> for Axes {
    fn from(_: RangeFull) -> Axes {
        Axes { list: None, keep: false }
    }
}
impl From<i64> for Axes {
    fn from(axis: i64) -> Axes {
        Axes::from(&[axis][..])
    }
}
impl<const N: usize> From<[i64; N]> for Axes {
    fn from(axes: [i64; N]) -> Axes {
        Axes::from(&axes[..])
    }
}
impl From<&[i64]> for Axes {
    fn from(axes: &[i64]) -> Axes {
        Axes { list: Some(axes.into()), keep: false }
    }
}
