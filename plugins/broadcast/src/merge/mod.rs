//! Merges sorted lists of places: the union of several patterns, or their intersection.
//!
//! Two lists are merged side by side (`side_by_side.rs`), or a short one is inserted into a long one
//! (`insert.rs`). Several lists are merged in pairs, as a balanced tree, so each place is visited a
//! logarithmic number of times. The last merge also lays out the values of all arrays along the merged
//! places (`lay.rs`).

mod along;
mod insert;
mod lay;
mod seen;
mod side_by_side;

pub use lay::in_order;

use crate::pattern::list;
use crate::terms::Terms;
use along::{Along, FEW, NONE};
use insert::insert;
use lay::{Laying, Pair};
use rewright::ir::eval::Memory;
use rewright::ndarray::{ArcArray, IxDyn};
use rewright::{Array, Element, Scalar, with_array};
use side_by_side::{Blocks, merge, most};
use std::borrow::Cow;

/// The places of a matrix in compressed-column form; rows increase within a column.
#[derive(Clone, PartialEq)]
pub struct Lists<'a> {
    /// Where each column begins in `rows`, and where the last one ends.
    pub starts: Cow<'a, [i64]>,
    /// The row of each place.
    pub rows: Cow<'a, [i64]>,
}

/// Places, and the values of all arrays along them.
pub struct Aligned<'a> {
    /// The places.
    pub lists: Lists<'a>,
    /// For each array, its values there, zero where it has none.
    pub values: Vec<Array>,
}

/// Merged places, with maps to the values of arrays.
#[derive(Clone)]
struct Merged<'a> {
    /// The places.
    lists: Lists<'a>,
    /// The maps of arrays by number; other arrays have no values at these places.
    from: Vec<(usize, Along)>,
}

/// Which places of two lists are kept: their union or their intersection.
#[derive(Clone, Copy)]
enum Keep {
    Any,
    Both,
}

/// The places where all arrays of some term are stored, and the values of each array there; none without
/// terms.
pub fn align<'a>(
    lists: &[Lists<'a>],
    values: &[&Array],
    terms: &Terms,
    memory: Option<&dyn Memory>,
) -> Result<Option<Aligned<'a>>, String> {
    let of = |&number: &usize| Some(Merged::of(number, lists.get(number)?.clone()));
    let both = |term: &Vec<usize>| Last::of(term.iter().filter_map(of).collect(), Keep::Both);
    let last = match terms.list() {
        [term] => both(term)?,
        terms => {
            let merged = |term| both(term)?.map(Last::merged).transpose();
            let parts = terms.iter().filter_map(|term| merged(term).transpose());
            Last::of(parts.collect::<Result<_, _>>()?, Keep::Any)?
        }
    };
    last.map(|last| last.aligned(values, memory)).transpose()
}

/// A merge of several arrays, done except for the last step.
enum Last<'a> {
    One(Merged<'a>),
    Two(Merged<'a>, Merged<'a>, Keep),
}

impl<'a> Last<'a> {
    /// Merges parts until at most two are left; none if there are no parts.
    fn of(mut parts: Vec<Merged<'a>>, keep: Keep) -> Result<Option<Last<'a>>, String> {
        while parts.len() > 2 {
            let mut merged = Vec::with_capacity(parts.len().div_ceil(2));
            let mut left = parts.into_iter();
            while let Some(a) = left.next() {
                merged.push(match left.next() {
                    Some(b) => a.with(b, keep)?,
                    None => a,
                });
            }
            parts = merged;
        }
        let mut parts = parts.into_iter();
        Ok(match (parts.next(), parts.next()) {
            (Some(a), Some(b)) => Some(Last::Two(a, b, keep)),
            (a, _) => a.map(Last::One),
        })
    }

    /// Does the last step.
    fn merged(self) -> Result<Merged<'a>, String> {
        match self {
            Last::One(merged) => Ok(merged),
            Last::Two(a, b, keep) => a.with(b, keep),
        }
    }

    /// Does the last step, and lays out the values of each array.
    fn aligned(self, values: &[&Array], memory: Option<&dyn Memory>) -> Result<Aligned<'a>, String> {
        match self {
            Last::Two(a, b, keep) if a.lists != b.lists && !is_inserted(&a.lists, &b.lists, keep) => {
                a.lists.check_numbers(&b.lists)?;
                let most = most(&a.lists, &b.lists, keep);
                if let (Some(first), Some(second), 2) = (a.single(), b.single(), values.len())
                    && first != second
                    && values[0].dtype() == values[1].dtype()
                {
                    return with_array!(values[first], |x| pair(
                        &a.lists,
                        &b.lists,
                        keep,
                        first,
                        [x, of_dtype(values[second])?],
                        memory
                    ));
                }
                let laying =
                    |(number, values)| Laying::new(values, [a.of_number(number), b.of_number(number)], most, memory);
                let numbered = values.iter().copied().enumerate();
                let mut laid = numbered.map(laying).collect::<Result<Vec<_>, _>>()?;
                let mut blocks = Blocks::new(|at: [&[u32]; 2]| laid.iter_mut().for_each(|laying| laying.block(at)))?;
                let lists = merge(&a.lists, &b.lists, keep, memory, &mut blocks)?;
                blocks.tell();
                Ok(Aligned { lists, values: laid.into_iter().map(Laying::finish).collect() })
            }
            other => {
                let merged = other.merged()?;
                let along = |(number, &values): (usize, &&Array)| merged.along(number, values);
                let values = values.iter().enumerate().map(along).collect::<Result<_, _>>()?;
                Ok(Aligned { lists: merged.lists, values })
            }
        }
    }
}

/// The array with elements of type `T`, which is the dtype of another array.
fn of_dtype<T: Element>(array: &Array) -> Result<&ArcArray<T, IxDyn>, String> {
    T::unwrap(array).ok_or_else(|| format!("values are {}, not {}", array.dtype(), T::DTYPE))
}

/// Merges two arrays of one dtype. `first` is the number of the array of list `a`.
fn pair<'a, T: Element + Default>(
    a: &Lists<'_>,
    b: &Lists<'_>,
    keep: Keep,
    first: usize,
    values: [&ArcArray<T, IxDyn>; 2],
    memory: Option<&dyn Memory>,
) -> Result<Aligned<'a>, String> {
    let mut pair = Pair::new(values, most(a, b, keep), memory)?;
    let lists = merge(a, b, keep, memory, &mut pair)?;
    let mut values = pair.finish();
    values.rotate_right(first);
    Ok(Aligned { lists, values: values.into() })
}

/// Whether one list is short enough to be inserted into the other.
fn is_inserted(a: &Lists<'_>, b: &Lists<'_>, keep: Keep) -> bool {
    let (less, more) = (a.rows.len().min(b.rows.len()), a.rows.len().max(b.rows.len()));
    matches!(keep, Keep::Any) && less < more / FEW
}

impl<'a> Merged<'a> {
    /// The places of one array.
    fn of(number: usize, lists: Lists<'a>) -> Merged<'a> {
        Merged { lists, from: vec![(number, Along::All)] }
    }

    /// The number of the array, if these are the places of a single one.
    fn single(&self) -> Option<usize> {
        match self.from[..] {
            [(number, Along::All)] => Some(number),
            _ => None,
        }
    }

    /// The map to the values of an array.
    fn of_number(&self, number: usize) -> Option<&Along> {
        self.from.iter().find(|(known, _)| *known == number).map(|(_, from)| from)
    }

    /// The values of an array at each place, zero where it has none.
    fn along(&self, number: usize, values: &Array) -> Result<Array, String> {
        match self.of_number(number) {
            Some(Along::All) => Ok(values.clone()),
            Some(from) => with_array!(values, |values| { from.values(&in_order(values)).map(list) }),
            None => {
                let zeros = Array::full(Scalar::Bool(false).cast(values.dtype()), &[self.lists.rows.len()]);
                zeros.ok_or_else(|| "it is too large".into())
            }
        }
    }

    fn with(mut self, mut other: Merged<'a>, keep: Keep) -> Result<Merged<'a>, String> {
        if self.lists != other.lists {
            let (a, b) = (&self.lists, &other.lists);
            a.check_numbers(b)?;
            let (lists, [at, other_at]) = match is_inserted(a, b, keep) {
                true if b.rows.len() < a.rows.len() => insert(a, b)?,
                true => {
                    let (lists, [b, a]) = insert(b, a)?;
                    (lists, [a, b])
                }
                false => {
                    let mut numbers = [Vec::new(), Vec::new()];
                    let mut blocks = Blocks::new(|at: [&[u32]; 2]| {
                        numbers.iter_mut().zip(at).for_each(|(numbers, at)| numbers.extend_from_slice(at));
                    })?;
                    let lists = merge(a, b, keep, None, &mut blocks)?;
                    blocks.tell();
                    (lists, numbers.map(Along::At))
                }
            };
            self.lists = lists;
            self.from.iter_mut().for_each(|(_, from)| *from = from.through(&at));
            other.from.iter_mut().for_each(|(_, from)| *from = from.through(&other_at));
        }
        for (number, values) in other.from {
            match self.from.iter_mut().find(|(known, _)| *known == number) {
                Some((_, known)) => *known = std::mem::replace(known, Along::All).or(values),
                None => self.from.push((number, values)),
            }
        }
        Ok(self)
    }
}

impl Lists<'_> {
    /// Checks that the places of two lists can be numbered.
    fn check_numbers(&self, other: &Lists<'_>) -> Result<(), String> {
        let count = self.rows.len() + other.rows.len();
        match count < NONE as usize {
            true => Ok(()),
            false => Err(format!("{count} places are more than the {} that can be put together", NONE - 1)),
        }
    }

    /// The first column that is not empty, from this one on.
    fn empty_from(&self, column: usize) -> usize {
        let same = self.starts[column..].iter().take_while(|&&start| start == self.starts[column]).count();
        column + same - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(columns: &[&[i64]]) -> Lists<'static> {
        let mut starts = vec![0];
        starts.extend(columns.iter().scan(0, |sum, rows| {
            *sum += rows.len() as i64;
            Some(*sum)
        }));
        Lists { starts: starts.into(), rows: columns.concat().into() }
    }

    fn merged(parts: &[&[&[i64]]], keep: Keep) -> Merged<'static> {
        let parts = parts.iter().enumerate().map(|(number, columns)| Merged::of(number, lists(columns)));
        Last::of(parts.collect(), keep).unwrap().unwrap().merged().unwrap()
    }

    #[test]
    fn places_and_where_values_come_from() {
        let parts: [&[&[i64]]; 3] = [&[&[1, 3, 4], &[], &[0]], &[&[3, 9], &[5], &[]], &[&[0, 3], &[5], &[0]]];
        let any = merged(&parts, Keep::Any);
        assert_eq!((&*any.lists.starts, &*any.lists.rows), (&[0, 5, 6, 7][..], &[0, 1, 3, 4, 9, 5, 0][..]));
        let value = |number: usize, list: &[i64]| any.from[number].1.values(list).unwrap();
        assert_eq!(value(0, &[10, 11, 12, 13]), [0, 10, 11, 12, 0, 0, 13]);
        assert_eq!(value(1, &[10, 11, 12]), [0, 0, 10, 0, 11, 12, 0]);
        assert_eq!(value(2, &[10, 11, 12, 13]), [10, 0, 11, 0, 0, 12, 13]);
        let both = merged(&parts[..2], Keep::Both);
        assert_eq!((&*both.lists.starts, &*both.lists.rows), (&[0, 1, 1, 1][..], &[3][..]));
        assert_eq!(both.from, [(0, Along::At(vec![1])), (1, Along::At(vec![0]))]);
    }

    #[test]
    fn few_places_are_put_among_many() {
        let many: Vec<i64> = (0..40).map(|row| 2 * row).collect();
        let parts: [&[&[i64]]; 2] = [&[&[], &many, &[], &[7], &[]], &[&[3], &[5, 6], &[], &[], &[]]];
        for swapped in [false, true] {
            let any = merged(&if swapped { [parts[1], parts[0]] } else { parts }, Keep::Any);
            assert_eq!((&*any.lists.starts, any.lists.rows.len()), (&[0, 1, 42, 42, 43, 43][..], 43));
            assert_eq!(any.lists.rows[..7], [3, 0, 2, 4, 5, 6, 8]);
            let value = |which: bool, list: &[i64]| any.from[usize::from(which)].1.values(list).unwrap();
            let long = value(swapped, &(1..42).collect::<Vec<_>>());
            assert_eq!((&long[..7], long[42]), (&[0, 1, 2, 3, 0, 4, 5][..], 41));
            assert_eq!(value(!swapped, &[-1, -2, -3])[..8], [-1, 0, 0, 0, -2, -3, 0, 0]);
        }
    }

    #[test]
    fn lists_that_are_the_same_need_no_numbers() {
        let same: [&[&[i64]]; 2] = [&[&[1, 3], &[2]]; 2];
        for keep in [Keep::Any, Keep::Both] {
            assert_eq!(merged(&same, keep).from, [(0, Along::All), (1, Along::All)]);
        }
    }

    #[test]
    fn an_array_may_be_in_both() {
        let [a, b, c] = [[&[1, 2, 3][..]], [&[2, 3][..]], [&[1, 3][..]]].map(|columns| lists(&columns));
        let first = Merged::of(0, a.clone()).with(Merged::of(1, b), Keep::Both).unwrap();
        let second = Merged::of(0, a).with(Merged::of(2, c), Keep::Both).unwrap();
        let all = first.with(second, Keep::Any).unwrap();
        let value = |number: usize, list: &[i64]| all.from[number].1.values(list).unwrap();
        assert_eq!(*all.lists.rows, [1, 2, 3]);
        assert_eq!(
            (value(0, &[7, 8, 9]), value(1, &[5, 6]), value(2, &[3, 4])),
            (vec![7, 8, 9], vec![0, 5, 6], vec![3, 0, 4])
        );
    }

    /// Random rows for each column; some columns are empty, and one is long.
    fn random(seed: &mut u64, columns: usize, long: usize) -> Vec<Vec<i64>> {
        let mut next = |below: u64| {
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (*seed >> 33) % below
        };
        let rows = |column: usize, next: &mut dyn FnMut(u64) -> u64| {
            let (keep, of) = [(0, 1), (1, 8), (1, 2), (3, 4)][next(4) as usize];
            let extent = if column == columns / 2 { long } else { 20 };
            (0..extent as i64).filter(|_| next(of) < keep).collect()
        };
        (0..columns).map(|column| rows(column, &mut next)).collect()
    }

    #[test]
    fn random_places_of_all_terms_have_the_values_of_all_arrays() {
        let mut seed = 7;
        for (round, long) in [0, 1, 30, 600, 5000, 20_000].into_iter().cycle().take(60).enumerate() {
            let columns = [1, 3, 40, 300][round % 4];
            let arrays: Vec<Vec<Vec<i64>>> = (0..4).map(|_| random(&mut seed, columns, long)).collect();
            let all: Vec<Lists<'_>> =
                arrays.iter().map(|a| lists(&a.iter().map(|rows| &rows[..]).collect::<Vec<_>>())).collect();
            // Each array has another dtype, and the values 1, 2, 3 and so on.
            let count = |number: usize| all[number].rows.len();
            let values = [
                list((1..=count(0)).map(|n| n as f64).collect()),
                list((1..=count(1)).map(|n| n as u32).collect()),
                list((1..=count(2)).map(|n| n as i64).collect()),
                list((1..=count(3)).map(|n| n as f32).collect()),
            ];
            for text in
                ["0", "0 | 1", "0 & 1", "0 | 1 | 2 | 3", "0 & 1 & 2", "0 & 1 | 2", "0 & 1 | 1 & 2 | 3", "0 & 1 | 0 & 2"]
            {
                let attrs = rewright::Attrs::new().with("places", rewright::Attr::Str(text.into()));
                let terms = Terms::read(&attrs, 4).unwrap();
                let made = align(&all, &values.each_ref(), &terms, None).unwrap().unwrap();
                let (mut rows, mut starts) = (Vec::new(), vec![0]);
                let mut laid: Vec<Vec<usize>> = vec![Vec::new(); 4];
                let number_at = |number: usize, column: usize, row: i64| {
                    let found = arrays[number][column].binary_search(&row).ok()?;
                    Some(all[number].starts[column] as usize + found + 1)
                };
                for column in 0..columns {
                    for row in 0..long.max(20) as i64 {
                        let at = |number: usize| number_at(number, column, row);
                        let holds = |term: &&Vec<usize>| term.iter().all(|&number| at(number).is_some());
                        let satisfied: Vec<_> = terms.list().iter().filter(holds).collect();
                        if satisfied.is_empty() {
                            continue;
                        }
                        rows.push(row);
                        for (number, laid) in laid.iter_mut().enumerate() {
                            let counts = satisfied.iter().any(|term| term.contains(&number));
                            laid.push(if counts { at(number).unwrap_or(0) } else { 0 });
                        }
                    }
                    starts.push(rows.len() as i64);
                }
                assert_eq!((&*made.lists.starts, &*made.lists.rows), (&starts[..], &rows[..]), "{text}");
                for (number, laid) in laid.iter().enumerate() {
                    let dtype = values[number].dtype();
                    let expected = Array::from_fn(dtype, &[laid.len()], |n| Scalar::I64(laid[n] as i64).cast(dtype));
                    assert_eq!(Some(&made.values[number]), expected.as_ref(), "array {number} of {text}");
                }
            }
        }
    }
}
