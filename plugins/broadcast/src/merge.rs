//! Sorted lists of places together: those that any of several arrays has, or those that all of them have.
//!
//! Two lists at a time are gone through side by side, without branches that depend on the places, which are as good as random. Of many the
//! shorter results are merged first, so that an array's places are gone through as often as the logarithm of their number.

use crate::pattern::reserved;
use crate::terms::Terms;
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
    pub from: Vec<(usize, From)>,
}

/// Where an array's values are that are laid along some places.
#[derive(Clone, Debug, PartialEq)]
pub enum From {
    /// All, in their order.
    All,
    /// For each place the number of the value, or [`NONE`].
    At(Vec<u32>),
}

/// The number of no value.
pub const NONE: u32 = u32::MAX;

/// Which places of two lists are kept: those that one of them has, or those that both have.
#[derive(Clone, Copy)]
enum Keep {
    Any,
    Both,
}

impl<'a> Merged<'a> {
    /// The places of one array.
    fn of(number: usize, lists: Lists<'a>) -> Merged<'a> {
        Merged { lists, from: vec![(number, From::All)] }
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
            let (lists, [at, other_at]) = merge(&self.lists, &other.lists, keep)?;
            self.lists = lists;
            self.moved(at);
            other.moved(other_at);
        }
        for (number, values) in other.from {
            match self.from.iter_mut().find(|(known, _)| *known == number) {
                Some((_, known)) => known.or(values),
                None => self.from.push((number, values)),
            }
        }
        Ok(self)
    }

    /// What the values are along other places, for each of which it is said which of the places before it is.
    fn moved(&mut self, at: Vec<u32>) {
        let Some(((_, last), others)) = self.from.split_last_mut() else { return };
        others.iter_mut().for_each(|(_, from)| from.moved(Cow::Borrowed(&at)));
        last.moved(Cow::Owned(at));
    }
}

impl From {
    fn moved(&mut self, at: Cow<'_, [u32]>) {
        *self = From::At(match self {
            From::All => at.into_owned(),
            From::At(before) => at.iter().map(|&at| before.get(at as usize).copied().unwrap_or(NONE)).collect(),
        });
    }

    /// Of the same array, where this has nothing.
    fn or(&mut self, other: From) {
        if let (From::At(here), From::At(other)) = (&mut *self, other) {
            here.iter_mut().zip(other).filter(|(here, _)| **here == NONE).for_each(|(here, other)| *here = other);
        } else {
            // One of them has all.
            *self = From::All;
        }
    }

    /// For each of some places the value there, and zero where there is none.
    pub fn values<T: Copy + Default>(&self, values: &[T]) -> Result<Vec<T>, String> {
        match self {
            From::All => {
                let mut all = reserved(values.len())?;
                all.extend_from_slice(values);
                Ok(all)
            }
            From::At(at) => {
                let mut laid = reserved(at.len())?;
                // Something is read for each place, so that no branch depends on it.
                match values.len().checked_sub(1) {
                    Some(last) => laid.extend(at.iter().map(|&at| {
                        let value = values[(at as usize).min(last)];
                        if at == NONE { T::default() } else { value }
                    })),
                    None => laid.resize(at.len(), T::default()),
                }
                Ok(laid)
            }
        }
    }
}

/// Two lists together, and for each place its number in both.
fn merge<'a>(a: &Lists<'_>, b: &Lists<'_>, keep: Keep) -> Result<(Lists<'a>, [Vec<u32>; 2]), String> {
    let most = match keep {
        Keep::Any => a.rows.len() + b.rows.len(),
        Keep::Both => a.rows.len().min(b.rows.len()),
    };
    if most >= NONE as usize {
        return Err(format!("{most} places are more than the {} that can be put together", NONE - 1));
    }
    // An intersection is written a place beyond its end.
    let room = most + 1;
    let (mut starts, mut rows) = (reserved(a.starts.len())?, zeros(room)?);
    let mut at = [zeros(room)?, zeros(room)?];
    let mut count = 0;
    starts.push(0);
    for (a_ends, b_ends) in a.starts.windows(2).zip(b.starts.windows(2)) {
        let part = |ends: &[i64]| (ends[0] as usize, (ends[1] - ends[0]) as usize);
        let ((a_first, a_count), (b_first, b_count)) = (part(a_ends), part(b_ends));
        let [to_a, to_b] = &mut at;
        let mut to = To { rows: &mut rows[count..], at: [&mut to_a[count..], &mut to_b[count..]] };
        let a = Column { first: a_first as u32, rows: &a.rows[a_first..][..a_count] };
        let b = Column { first: b_first as u32, rows: &b.rows[b_first..][..b_count] };
        count += match keep {
            Keep::Any => to.any(a, b),
            Keep::Both => to.both(a, b),
        };
        starts.push(count as i64);
    }
    rows.truncate(count);
    at.iter_mut().for_each(|at| at.truncate(count));
    Ok((Lists { starts: starts.into(), rows: rows.into() }, at))
}

/// One column of a list.
#[derive(Clone, Copy)]
struct Column<'a> {
    /// The number of its first place.
    first: u32,
    rows: &'a [i64],
}

/// Where the places of a column are written.
struct To<'a> {
    rows: &'a mut [i64],
    at: [&'a mut [u32]; 2],
}

impl To<'_> {
    /// The places of one column or the other, in order; how many.
    fn any(&mut self, a: Column<'_>, b: Column<'_>) -> usize {
        let (mut i, mut j, mut count) = (0, 0, 0);
        let most = a.rows.len() + b.rows.len();
        let (rows, [at_a, at_b]) = (&mut self.rows[..most], &mut self.at);
        let (at_a, at_b) = (&mut at_a[..most], &mut at_b[..most]);
        while let (Some(&x), Some(&y)) = (a.rows.get(i), b.rows.get(j)) {
            let (is_a, is_b) = (x <= y, y <= x);
            rows[count] = x.min(y);
            // All ones where it is not there.
            at_a[count] = (a.first + i as u32) | u32::from(is_a).wrapping_sub(1);
            at_b[count] = (b.first + j as u32) | u32::from(is_b).wrapping_sub(1);
            i += usize::from(is_a);
            j += usize::from(is_b);
            count += 1;
        }
        let mut rest = |column: Column<'_>, from: usize, at: &mut [u32], other: &mut [u32]| {
            let left = &column.rows[from..];
            rows[count..][..left.len()].copy_from_slice(left);
            let numbers = (column.first + from as u32)..;
            at[count..][..left.len()].iter_mut().zip(numbers).for_each(|(at, number)| *at = number);
            other[count..][..left.len()].fill(NONE);
            count += left.len();
        };
        rest(a, i, at_a, at_b);
        rest(b, j, at_b, at_a);
        count
    }

    /// The places that both columns have; how many. What comes after them is written to.
    fn both(&mut self, a: Column<'_>, b: Column<'_>) -> usize {
        let (mut i, mut j, mut count) = (0, 0, 0);
        let most = a.rows.len().min(b.rows.len()) + 1;
        let (rows, [at_a, at_b]) = (&mut self.rows[..most], &mut self.at);
        let (at_a, at_b) = (&mut at_a[..most], &mut at_b[..most]);
        while let (Some(&x), Some(&y)) = (a.rows.get(i), b.rows.get(j)) {
            rows[count] = x;
            at_a[count] = a.first + i as u32;
            at_b[count] = b.first + j as u32;
            count += usize::from(x == y);
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        count
    }
}

/// A list of zeros, of memory that is not touched yet.
fn zeros<T: Clone + Default>(len: usize) -> Result<Vec<T>, String> {
    reserved::<T>(len)?;
    Ok(vec![T::default(); len])
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
        assert_eq!(both.from, [(0, From::At(vec![1])), (1, From::At(vec![0]))]);
    }

    #[test]
    fn lists_that_are_the_same_need_no_numbers() {
        let same: [&[&[i64]]; 2] = [&[&[1, 3], &[2]]; 2];
        for keep in [Keep::Any, Keep::Both] {
            assert_eq!(merged(&same, keep).from, [(0, From::All), (1, From::All)]);
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
