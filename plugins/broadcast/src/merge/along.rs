//! Maps from places to values: which value, if any, an array has at each place of a list.

use super::lay::append;
use crate::pattern::reserved;
use std::borrow::Cow;
use std::hint::select_unpredictable;

/// The values that an array has at some places.
#[derive(Clone, Debug, PartialEq)]
pub enum Along {
    /// Every place has a value, and values are in the order of places.
    All,
    /// For each place the number of the value, or `NONE`.
    At(Vec<u32>),
    /// Runs of places have values; the other places have none.
    Runs {
        /// The runs, in the order of places.
        runs: Vec<Run>,
        /// How many places there are.
        places: usize,
    },
}

/// Stands for the number of a value where there is none.
pub const NONE: u32 = u32::MAX;

/// If there are at least this many times fewer values than places, work for each value costs less than work
/// for each place.
pub const FEW: usize = 16;

/// Consecutive values at consecutive places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The first place.
    pub place: usize,
    /// The number of the first value.
    pub number: usize,
    /// The length.
    pub len: usize,
}

impl Along {
    /// The composition: the values at other places, which `places` maps to the places of this map.
    pub fn through(&self, places: &Along) -> Along {
        match (self, places) {
            (Along::All, _) => places.clone(),
            (_, Along::All) => self.clone(),
            (_, Along::At(at)) => {
                let before = self.numbers();
                let last = before.len().saturating_sub(1);
                let before = if before.is_empty() { &[NONE][..] } else { &*before };
                Along::At(at.iter().map(|&at| *either(at == NONE, &NONE, &before[(at as usize).min(last)])).collect())
            }
            (_, Along::Runs { runs, places }) => {
                let before = self.numbers();
                let inside = |run: &Run| before[run.number..][..run.len].iter().copied();
                if runs.iter().map(|run| run.len).sum::<usize>() < places / FEW {
                    let each = |run: &Run| (run.place..).zip(inside(run)).collect::<Vec<_>>();
                    let runs = runs.iter().flat_map(each).filter(|(_, number)| *number != NONE);
                    let single = |(place, number)| Run { place, number: number as usize, len: 1 };
                    return Along::Runs { runs: runs.map(single).collect(), places: *places };
                }
                let mut at = vec![NONE; *places];
                for run in runs {
                    at[run.place..][..run.len].iter_mut().zip(inside(run)).for_each(|(at, number)| *at = number);
                }
                Along::At(at)
            }
        }
    }

    /// The union of two maps of one array over the same places.
    pub fn or(self, other: Along) -> Along {
        match (&self, &other) {
            // `All` has a value at every place already.
            (Along::All, _) | (_, Along::All) => Along::All,
            _ => {
                let (mut at, other) = (self.numbers().into_owned(), other.numbers());
                at.iter_mut().zip(&*other).filter(|(at, _)| **at == NONE).for_each(|(at, other)| *at = *other);
                Along::At(at)
            }
        }
    }

    /// The number of the value at each place, or `NONE`; empty for `All`.
    pub fn numbers(&self) -> Cow<'_, [u32]> {
        match self {
            Along::All => Cow::Borrowed(&[]),
            Along::At(at) => Cow::Borrowed(at),
            Along::Runs { runs, places } => {
                let mut at = vec![NONE; *places];
                for run in runs {
                    let numbers = run.number as u32..;
                    at[run.place..][..run.len].iter_mut().zip(numbers).for_each(|(at, number)| *at = number);
                }
                Cow::Owned(at)
            }
        }
    }

    /// The value at each place, zero where there is none.
    pub fn values<T: Copy + Default>(&self, values: &[T]) -> Result<Vec<T>, String> {
        match self {
            Along::All => {
                let mut all = reserved(values.len())?;
                all.extend_from_slice(values);
                Ok(all)
            }
            Along::At(at) => {
                let mut laid = reserved(at.len())?;
                append(&mut laid, values, at);
                Ok(laid)
            }
            Along::Runs { runs, places } => {
                let mut laid = zeros(*places)?;
                for run in runs {
                    laid[run.place..][..run.len].copy_from_slice(&values[run.number..][..run.len]);
                }
                Ok(laid)
            }
        }
    }
}

/// Selects one of two references without a branch: places are unpredictable, and branches on them would be
/// mispredicted.
pub fn either<'t, T>(first: bool, a: &'t T, b: &'t T) -> &'t T {
    select_unpredictable(first, a, b)
}

/// `len` zeros, from memory that the allocator zeroes lazily.
fn zeros<T: Copy + Default>(len: usize) -> Result<Vec<T>, String> {
    reserved::<T>(len)?;
    Ok(vec![T::default(); len])
}
