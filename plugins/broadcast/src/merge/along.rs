//! Where the values of arrays are that are laid along places.

use super::lay::append;
use crate::pattern::reserved;
use std::borrow::Cow;
use std::hint::select_unpredictable;

/// Where an array's values are that are laid along some places.
#[derive(Clone, Debug, PartialEq)]
pub enum Along {
    /// All, in their order.
    All,
    /// For each place the number of the value, or `NONE`.
    At(Vec<u32>),
    /// Those of some runs of places, and nothing at the others.
    Runs {
        /// In their order.
        runs: Vec<Run>,
        /// How many places there are.
        places: usize,
    },
}

/// The number of no value.
pub const NONE: u32 = u32::MAX;

/// Where there are so many times fewer values than places, each by itself takes less than all places.
pub const FEW: usize = 16;

/// Values at places that follow one another, as the values do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// The first place.
    pub place: usize,
    /// The number of the first value.
    pub number: usize,
    /// How many.
    pub len: usize,
}

impl Along {
    /// The same along places that are themselves laid along others.
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

    /// Where an array has values by itself, or where it has them by other places.
    pub fn or(self, other: Along) -> Along {
        match (&self, &other) {
            // All of them are at all places.
            (Along::All, _) | (_, Along::All) => Along::All,
            _ => {
                let (mut at, other) = (self.numbers().into_owned(), other.numbers());
                at.iter_mut().zip(&*other).filter(|(at, _)| **at == NONE).for_each(|(at, other)| *at = *other);
                Along::At(at)
            }
        }
    }

    /// For each place; of `All` nothing is said.
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

    /// For each of some places the value there, and zero where there is none.
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

/// One of two, of which both are read, so that no branch depends on which: places are as good as random.
pub fn either<'t, T>(first: bool, a: &'t T, b: &'t T) -> &'t T {
    select_unpredictable(first, a, b)
}

/// `len` zeros, from memory that the allocator zeroes lazily.
fn zeros<T: Copy + Default>(len: usize) -> Result<Vec<T>, String> {
    reserved::<T>(len)?;
    Ok(vec![T::default(); len])
}
