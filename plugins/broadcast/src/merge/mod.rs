//! Sorted lists of places together: those that any of several arrays has, or those that all of them have.
//!
//! Two lists at a time are gone through side by side (`side_by_side.rs`), or a short one is put into a long one (`insert.rs`). Of many the shorter
//! results are merged first, so that an array's places are gone through as often as the logarithm of their number.

mod along;
mod insert;
mod seen;
mod side_by_side;

pub use along::{Along, Run};

use crate::terms::Terms;
use along::{FEW, NONE};
use insert::insert;
use side_by_side::merge;
use std::borrow::Cow;

/// The places of a matrix, column by column: where each column begins and the last one ends, and rows, which increase in a column.
#[derive(Clone, PartialEq)]
pub struct Lists<'a> {
    /// One more than there are columns.
    pub starts: Cow<'a, [i64]>,
    /// For each place.
    pub rows: Cow<'a, [i64]>,
}

/// Places, and where the values of arrays are that are laid along them.
#[derive(Clone)]
pub struct Merged<'a> {
    /// The places.
    pub lists: Lists<'a>,
    /// Of arrays by number; of others nothing is at these places.
    pub from: Vec<(usize, Along)>,
}

/// Which places of two lists are kept: those that one of them has, or those that both have.
#[derive(Clone, Copy)]
enum Keep {
    Any,
    Both,
}

impl<'a> Merged<'a> {
    /// The places of one array.
    fn of(number: usize, lists: Lists<'a>) -> Merged<'a> {
        Merged { lists, from: vec![(number, Along::All)] }
    }

    /// The places that all arrays of one of these terms have.
    pub fn terms(lists: &[Lists<'a>], terms: &Terms) -> Result<Option<Merged<'a>>, String> {
        let of = |&number: &usize| Some(Merged::of(number, lists.get(number)?.clone()));
        let both = |term: &Vec<usize>| Merged::all(term.iter().filter_map(of).collect(), Keep::Both).transpose();
        Merged::all(terms.list().iter().filter_map(both).collect::<Result<_, _>>()?, Keep::Any)
    }

    /// Those of several together; nothing if there are none.
    fn all(mut parts: Vec<Merged<'a>>, keep: Keep) -> Result<Option<Merged<'a>>, String> {
        while parts.len() > 1 {
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
        Ok(parts.pop())
    }

    fn with(mut self, mut other: Merged<'a>, keep: Keep) -> Result<Merged<'a>, String> {
        if self.lists != other.lists {
            let (a, b) = (&self.lists, &other.lists);
            let count = a.rows.len() + b.rows.len();
            if count >= NONE as usize {
                return Err(format!("{count} places are more than the {} that can be put together", NONE - 1));
            }
            let (lists, [at, other_at]) = match keep {
                Keep::Any if b.rows.len() < a.rows.len() / FEW => insert(a, b)?,
                Keep::Any if a.rows.len() < b.rows.len() / FEW => {
                    let (lists, [b, a]) = insert(b, a)?;
                    (lists, [a, b])
                }
                _ => merge(a, b, keep)?,
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
    /// Where the first column is, from this one on, that isn't empty.
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
        Merged::all(parts.collect(), keep).unwrap().unwrap()
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
}
