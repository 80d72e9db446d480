//! Merges two lists of places side by side, without branches that depend on the places.
//!
//! Columns are merged in pieces that fit the first-level cache. A [`Sink`] is told piece by piece where the
//! values come from. It lays them out while the numbers of the piece are in the cache, or without numbers.

use super::along::NONE;
use super::seen::{LOOKED_AT, Seen};
use super::{Keep, Lists};
use crate::pattern::reserved;
use rewright::ir::eval::{Memory, reserve};
use std::hint::select_unpredictable;
use std::ops::Range;

impl Lists<'_> {
    fn columns(&self, columns: Range<usize>) -> Column<'_> {
        let first = self.starts[columns.start];
        Column { first: first as u32, rows: &self.rows[first as usize..self.starts[columns.end] as usize] }
    }
}

/// One or more columns of a list, merged as one.
#[derive(Clone, Copy)]
pub struct Column<'a> {
    /// The number of its first place.
    first: u32,
    rows: &'a [i64],
}

impl<'a> Column<'a> {
    /// The column's part of the values of all places.
    #[inline]
    pub fn of<T>(self, values: &[T]) -> &[T] {
        &values[self.first as usize..][..self.rows.len()]
    }

    fn split(self, at: usize) -> (Column<'a>, Column<'a>) {
        let (before, after) = self.rows.split_at(at);
        (Column { rows: before, ..self }, Column { first: self.first + at as u32, rows: after })
    }
}

/// The most places of both lists in a piece.
const PIECE: usize = 1024;
/// The places of a block: room for a piece, and for the places before it.
const BLOCK: usize = 2 * PIECE;

/// Splits two columns into a piece and the rest, which follows it in the merged order.
fn cut<'a>(a: Column<'a>, b: Column<'a>) -> ([Column<'a>; 2], [Column<'a>; 2]) {
    let half = |column: Column<'_>| column.rows.get(PIECE / 2).copied();
    let (a_end, b_end) = match (half(a), half(b)) {
        _ if a.rows.len() + b.rows.len() <= PIECE => (a.rows.len(), b.rows.len()),
        // Rows of several columns merged as one need not increase. One side is empty then.
        _ if a.rows.is_empty() || b.rows.is_empty() => (a.rows.len().min(PIECE), b.rows.len().min(PIECE)),
        (x, y) => {
            let end = x.into_iter().chain(y).min().unwrap_or(i64::MAX);
            let before = |column: Column<'_>| {
                let first = &column.rows[..column.rows.len().min(PIECE / 2)];
                first.partition_point(|&row| row < end)
            };
            (before(a), before(b))
        }
    };
    let ((a, a_left), (b, b_left)) = (a.split(a_end), b.split(b_end));
    ([a, b], [a_left, b_left])
}

/// The most places that a merge of two lists can give.
pub fn most(a: &Lists<'_>, b: &Lists<'_>, keep: Keep) -> usize {
    match keep {
        Keep::Any => a.rows.len() + b.rows.len(),
        Keep::Both => a.rows.len().min(b.rows.len()),
    }
}

/// Receives, piece by piece, the origin of each merged place in the two lists.
pub trait Sink {
    /// The places of one piece.
    type Piece<'p>: Piece
    where
        Self: 'p;
    /// Begins a piece with at most `most` places of the two columns.
    fn piece(&mut self, most: usize, a: Column<'_>, b: Column<'_>) -> Self::Piece<'_>;
    /// Ends a piece, which has `count` places.
    fn end(&mut self, count: usize);
}

/// The places of a piece. Positions in both columns count from the columns' beginning.
pub trait Piece {
    /// Writes a place: place `i` of the first column if `is_a`, place `j` of the second one if `is_b`.
    fn put(&mut self, count: usize, i: usize, j: usize, is_a: bool, is_b: bool);
    /// Writes a place of the first column alone.
    fn put_a(&mut self, count: usize, i: usize);
    /// Writes a place of the second column alone.
    fn put_b(&mut self, count: usize, j: usize);
}

/// Merges two lists.
pub fn merge<'a, S: Sink>(
    a: &Lists<'_>,
    b: &Lists<'_>,
    keep: Keep,
    memory: Option<&dyn Memory>,
    sink: &mut S,
) -> Result<Lists<'a>, String> {
    let rows = reserve(memory, most(a, b, keep) + 1).map_err(|error| error.message)?;
    let mut starts: Vec<i64> = reserve(memory, a.starts.len()).map_err(|error| error.message)?;
    starts.push(0);
    let mut to = To { rows, count: 0, sink };
    match keep {
        Keep::Any => to.columns_of_any(a, b, &mut starts),
        Keep::Both => to.columns_of_both(a, b, &mut starts),
    }
    to.rows.truncate(to.count);
    Ok(Lists { starts: starts.into(), rows: to.rows.into() })
}

/// A sink that passes on numbers block by block: those of each list, or `NONE`.
pub struct Blocks<F> {
    tell: F,
    /// The numbers of the current block's places, and unused elements behind them.
    at: [Vec<u32>; 2],
    /// The number of places in the current block.
    count: usize,
}

impl<F: FnMut([&[u32]; 2])> Blocks<F> {
    /// A sink that calls `tell` for each block.
    pub fn new(tell: F) -> Result<Blocks<F>, String> {
        let block = || -> Result<Vec<u32>, String> {
            let mut block = reserved(BLOCK)?;
            block.resize(BLOCK, NONE);
            Ok(block)
        };
        Ok(Blocks { tell, at: [block()?, block()?], count: 0 })
    }

    /// Passes on the current block.
    pub fn tell(&mut self) {
        let [a, b] = &self.at;
        (self.tell)([&a[..self.count], &b[..self.count]]);
        self.count = 0;
    }
}

/// The numbers of a piece.
pub struct NumbersOf<'p> {
    first: [u32; 2],
    a: &'p mut [u32],
    b: &'p mut [u32],
}

impl<F: FnMut([&[u32]; 2])> Sink for Blocks<F> {
    type Piece<'p>
        = NumbersOf<'p>
    where
        F: 'p;
    #[inline]
    fn piece(&mut self, most: usize, a: Column<'_>, b: Column<'_>) -> NumbersOf<'_> {
        if self.count + most > BLOCK {
            self.tell();
        }
        let first = [a.first, b.first];
        let [a, b] = &mut self.at;
        NumbersOf { first, a: &mut a[self.count..][..most], b: &mut b[self.count..][..most] }
    }
    #[inline]
    fn end(&mut self, count: usize) {
        self.count += count;
    }
}

impl Piece for NumbersOf<'_> {
    #[inline]
    fn put(&mut self, count: usize, i: usize, j: usize, is_a: bool, is_b: bool) {
        // `NONE` is all ones.
        self.a[count] = (self.first[0] + i as u32) | u32::from(is_a).wrapping_sub(1);
        self.b[count] = (self.first[1] + j as u32) | u32::from(is_b).wrapping_sub(1);
    }
    #[inline]
    fn put_a(&mut self, count: usize, i: usize) {
        (self.a[count], self.b[count]) = (self.first[0] + i as u32, NONE);
    }
    #[inline]
    fn put_b(&mut self, count: usize, j: usize) {
        (self.a[count], self.b[count]) = (NONE, self.first[1] + j as u32);
    }
}

/// The output of a merge.
struct To<'t, S> {
    /// The merged places, and unused elements behind them.
    rows: Vec<i64>,
    /// How many places there are.
    count: usize,
    sink: &'t mut S,
}

/// Grows a list to at least `len` elements, within its capacity. It adds about a block at a time, which the
/// cache still holds when the block is written.
pub fn lengthen<T: Copy + Default>(list: &mut Vec<T>, len: usize) {
    if list.len() < len {
        list.resize((len + BLOCK).min(list.capacity()), T::default());
    }
}

impl<S: Sink> To<'_, S> {
    /// Adds the union of two lists.
    fn columns_of_any(&mut self, a: &Lists<'_>, b: &Lists<'_>, starts: &mut Vec<i64>) {
        let columns = a.starts.len().min(b.starts.len()) - 1;
        let mut column = 0;
        while column < columns {
            // Columns that are empty in one of the lists are merged as one.
            let (a_end, b_end) = (a.empty_from(column), b.empty_from(column));
            let end = a_end.max(b_end).max(column + 1);
            let first = self.count as i64;
            self.all_pieces(a.columns(column..end), b.columns(column..end), To::any);
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

    /// Merges two columns piece by piece.
    #[inline]
    fn all_pieces<'c>(
        &mut self,
        mut a: Column<'c>,
        mut b: Column<'c>,
        merge: impl Fn(&mut Self, Column<'c>, Column<'c>),
    ) {
        while a.rows.len() + b.rows.len() > PIECE {
            let ([first_a, first_b], left) = cut(a, b);
            merge(self, first_a, first_b);
            [a, b] = left;
        }
        merge(self, a, b);
    }

    /// Adds the union of two columns, in order.
    #[inline]
    fn any(&mut self, a: Column<'_>, b: Column<'_>) {
        let most = a.rows.len() + b.rows.len();
        lengthen(&mut self.rows, self.count + most);
        let rows = &mut self.rows[self.count..][..most];
        let mut piece = self.sink.piece(most, a, b);
        let (mut i, mut j, mut count) = (0, 0, 0);
        let mut put = |i: usize, j: usize, count: usize, x: i64, y: i64| {
            let (is_a, is_b) = (x <= y, y <= x);
            rows[count] = x.min(y);
            piece.put(count, i, j, is_a, is_b);
            (is_a, is_b)
        };
        if let (Some(&x), Some(&y)) = (a.rows.first(), b.rows.first()) {
            let (mut x, mut y) = (x, y);
            // Loads the next rows before the comparison decides whether they are needed, so that no
            // comparison waits for memory.
            while count < most
                && let (Some(&next_x), Some(&next_y)) = (a.rows.get(i + 1), b.rows.get(j + 1))
            {
                let (is_a, is_b) = put(i, j, count, x, y);
                (x, y) = (select_unpredictable(is_a, next_x, x), select_unpredictable(is_b, next_y, y));
                (i, j, count) = (i + usize::from(is_a), j + usize::from(is_b), count + 1);
            }
        }
        while count < most
            && let (Some(&x), Some(&y)) = (a.rows.get(i), b.rows.get(j))
        {
            let (is_a, is_b) = put(i, j, count, x, y);
            (i, j, count) = (i + usize::from(is_a), j + usize::from(is_b), count + 1);
        }
        // For most columns, few places are left here.
        for (i, &row) in a.rows.iter().enumerate().skip(i) {
            rows[count] = row;
            piece.put_a(count, i);
            count += 1;
        }
        for (j, &row) in b.rows.iter().enumerate().skip(j) {
            rows[count] = row;
            piece.put_b(count, j);
            count += 1;
        }
        drop(piece);
        self.sink.end(count);
        self.count += count;
    }

    /// Adds the intersection of two columns.
    #[inline]
    fn both(&mut self, a: Column<'_>, b: Column<'_>) {
        // A place that only one column has is written too, and then overwritten. So there is room for one
        // more.
        let most = a.rows.len().min(b.rows.len()) + 1;
        lengthen(&mut self.rows, self.count + most);
        let rows = &mut self.rows[self.count..][..most];
        let mut piece = self.sink.piece(most, a, b);
        let (mut i, mut j, mut count) = (0, 0, 0);
        while count < most
            && let (Some(&x), Some(&y)) = (a.rows.get(i), b.rows.get(j))
        {
            rows[count] = x;
            piece.put(count, i, j, true, true);
            count += usize::from(x == y);
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        drop(piece);
        self.sink.end(count);
        self.count += count;
    }

    /// Adds the intersection of two lists. A filter skips columns that have no rows in common.
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
                    self.all_pieces(a.columns(column..column + 1), b.columns(column..column + 1), To::both);
                    starts.push(self.count as i64);
                }
            } else {
                starts.resize(end + 1, self.count as i64);
            }
            column = end;
        }
    }
}
