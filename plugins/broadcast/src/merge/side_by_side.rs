//! Two lists of places, gone through side by side, without branches that depend on the places.

use super::along::{Along, NONE};
use super::seen::{LOOKED_AT, Seen};
use super::{Keep, Lists};
use crate::pattern::reserved;
use std::ops::Range;

impl Lists<'_> {
    fn columns(&self, columns: Range<usize>) -> Column<'_> {
        let first = self.starts[columns.start];
        Column { first: first as u32, rows: &self.rows[first as usize..self.starts[columns.end] as usize] }
    }
}

/// Columns of a list, of which all are merged as one.
#[derive(Clone, Copy)]
struct Column<'a> {
    /// The number of its first place.
    first: u32,
    rows: &'a [i64],
}

/// Two lists together, and where both have their values along them.
pub fn merge<'a>(a: &Lists<'_>, b: &Lists<'_>, keep: Keep) -> Result<(Lists<'a>, [Along; 2]), String> {
    let most = match keep {
        Keep::Any => a.rows.len() + b.rows.len(),
        Keep::Both => a.rows.len().min(b.rows.len()),
    };
    let mut to = To { rows: reserved(most + 1)?, at: [reserved(most + 1)?, reserved(most + 1)?], count: 0 };
    let mut starts = reserved(a.starts.len())?;
    starts.push(0);
    match keep {
        Keep::Any => to.columns_of_any(a, b, &mut starts),
        Keep::Both => to.columns_of_both(a, b, &mut starts),
    }
    to.rows.truncate(to.count);
    to.at.iter_mut().for_each(|at| at.truncate(to.count));
    Ok((Lists { starts: starts.into(), rows: to.rows.into() }, to.at.map(Along::At)))
}

/// What is written.
struct To {
    /// The places, and some more.
    rows: Vec<i64>,
    at: [Vec<u32>; 2],
    /// How many places there are.
    count: usize,
}

/// Lists grow by so many places, which the cache still has when they are written.
const STEP: usize = 1024;

impl To {
    /// Room for so many places more.
    fn room(&mut self, more: usize) -> (&mut [i64], [&mut [u32]; 2]) {
        let end = self.count + more;
        if self.rows.len() < end {
            let more = (end + STEP).min(self.rows.capacity());
            self.rows.resize(more, 0);
            self.at.iter_mut().for_each(|at| at.resize(more, 0));
        }
        let (from, [a, b]) = (self.count, &mut self.at);
        (&mut self.rows[from..end], [&mut a[from..end], &mut b[from..end]])
    }

    /// Adds all places of two lists.
    fn columns_of_any(&mut self, a: &Lists<'_>, b: &Lists<'_>, starts: &mut Vec<i64>) {
        let columns = a.starts.len().min(b.starts.len()) - 1;
        let mut column = 0;
        while column < columns {
            // Columns that one of them has nothing in go together.
            let (a_end, b_end) = (a.empty_from(column), b.empty_from(column));
            let end = a_end.max(b_end).max(column + 1);
            let first = self.count as i64;
            self.any(a.columns(column..end), b.columns(column..end));
            if end - column > 1 {
                let own = if a_end == end { b } else { a };
                let from = own.starts[column];
                starts.extend(own.starts[column + 1..=end].iter().map(|start| start - from + first));
            } else {
                starts.push(self.count as i64);
            }
            column = end;
        }
    }

    /// Adds the places of one column or the other, in order.
    fn any(&mut self, a: Column<'_>, b: Column<'_>) {
        let (mut i, mut j, mut count) = (0, 0, 0);
        let (rows, [at_a, at_b]) = self.room(a.rows.len() + b.rows.len());
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
        self.count += count;
    }

    /// Adds the places that both columns have.
    fn both(&mut self, a: Column<'_>, b: Column<'_>) {
        let (mut i, mut j, mut count) = (0, 0, 0);
        // What differs is written too, behind what is the same.
        let (rows, [at_a, at_b]) = self.room(a.rows.len().min(b.rows.len()) + 1);
        while let (Some(&x), Some(&y)) = (a.rows.get(i), b.rows.get(j)) {
            rows[count] = x;
            at_a[count] = a.first + i as u32;
            at_b[count] = b.first + j as u32;
            count += usize::from(x == y);
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        self.count += count;
    }

    /// Adds the places that both of two lists have.
    fn columns_of_both(&mut self, a: &Lists<'_>, b: &Lists<'_>, starts: &mut Vec<i64>) {
        let columns = a.starts.len().min(b.starts.len()) - 1;
        let mut seen = Seen::default();
        let mut column = 0;
        while column < columns {
            let few = |lists: &Lists<'_>, end: usize| lists.starts[end] - lists.starts[column] <= LOOKED_AT;
            let more = (column + 1..columns).take_while(|&last| few(a, last + 1) && few(b, last + 1)).count();
            let end = column + 1 + more;
            if seen.may_meet(a.columns(column..end).rows, b.columns(column..end).rows) {
                for column in column..end {
                    self.both(a.columns(column..column + 1), b.columns(column..column + 1));
                    starts.push(self.count as i64);
                }
            } else {
                starts.resize(end + 1, self.count as i64);
            }
            column = end;
        }
    }
}
