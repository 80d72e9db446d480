//! Two lists of places, gone through side by side, without branches that depend on the places.
//!
//! Columns are merged in pieces that the first-level cache holds. A [`Sink`] learns where values come from
//! piece by piece, so it lays them along the places while the cache has their numbers, or without numbers.

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

/// Columns of a list, of which all are merged as one.
#[derive(Clone, Copy)]
pub struct Column<'a> {
    /// The number of its first place.
    first: u32,
    rows: &'a [i64],
}

impl<'a> Column<'a> {
    /// Those of the values of all places that are the column's.
    #[inline]
    pub fn of<T>(self, values: &[T]) -> &[T] {
        &values[self.first as usize..][..self.rows.len()]
    }

    fn split(self, at: usize) -> (Column<'a>, Column<'a>) {
        let (before, after) = self.rows.split_at(at);
        (Column { rows: before, ..self }, Column { first: self.first + at as u32, rows: after })
    }
}

/// The most places of both lists that are merged at once.
const PIECE: usize = 1024;
/// The places of a block: as many as a piece and what may be left before it.
const BLOCK: usize = 2 * PIECE;

/// The first places of two columns, which are no more than a piece, and the others, which are behind all of
/// these.
fn cut<'a>(a: Column<'a>, b: Column<'a>) -> ([Column<'a>; 2], [Column<'a>; 2]) {
    let half = |column: Column<'_>| column.rows.get(PIECE / 2).copied();
    let (a_end, b_end) = match (half(a), half(b)) {
        _ if a.rows.len() + b.rows.len() <= PIECE => (a.rows.len(), b.rows.len()),
        // Columns that are merged as one need not increase.
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

/// The most places that two lists together have.
pub fn most(a: &Lists<'_>, b: &Lists<'_>, keep: Keep) -> usize {
    match keep {
        Keep::Any => a.rows.len() + b.rows.len(),
        Keep::Both => a.rows.len().min(b.rows.len()),
    }
}

/// Who gets to know, piece by piece, where the values of two lists are along their places together.
pub trait Sink {
    /// The places of one piece.
    type Piece<'p>: Piece
    where
        Self: 'p;
    /// Begins a piece with at most `most` places of the two columns.
    fn piece(&mut self, most: usize, a: Column<'_>, b: Column<'_>) -> Self::Piece<'_>;
    /// How many places of the piece there are.
    fn end(&mut self, count: usize);
}

/// The places of a piece. Places of both columns count from their beginning.
pub trait Piece {
    /// Puts a place that is this one of the first column, or of the second one, or of both.
    fn put(&mut self, count: usize, i: usize, j: usize, is_a: bool, is_b: bool);
    /// Puts a place of the first column alone.
    fn put_a(&mut self, count: usize, i: usize);
    /// Puts a place of the second column alone.
    fn put_b(&mut self, count: usize, j: usize);
}

/// Two lists together.
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

/// Tells the numbers of values block by block: those of each list, or `NONE`.
pub struct Blocks<F> {
    tell: F,
    /// The numbers of the latest places, and some more.
    at: [Vec<u32>; 2],
    /// How many the latest are.
    count: usize,
}

impl<F: FnMut([&[u32]; 2])> Blocks<F> {
    /// Tells them so.
    pub fn new(tell: F) -> Result<Blocks<F>, String> {
        let block = || -> Result<Vec<u32>, String> {
            let mut block = reserved(BLOCK)?;
            block.resize(BLOCK, NONE);
            Ok(block)
        };
        Ok(Blocks { tell, at: [block()?, block()?], count: 0 })
    }

    /// Tells the latest numbers.
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
        // All ones where it is not there.
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

/// The places that are written.
struct To<'t, S> {
    /// The places, and some more.
    rows: Vec<i64>,
    /// How many places there are.
    count: usize,
    sink: &'t mut S,
}

/// Makes a list at least so long, and no longer than there is room for: some more elements, which the cache
/// still has when they are written.
pub fn lengthen<T: Copy + Default>(list: &mut Vec<T>, len: usize) {
    if list.len() < len {
        list.resize((len + BLOCK).min(list.capacity()), T::default());
    }
}

impl<S: Sink> To<'_, S> {
    /// Adds all places of two lists.
    fn columns_of_any(&mut self, a: &Lists<'_>, b: &Lists<'_>, starts: &mut Vec<i64>) {
        let columns = a.starts.len().min(b.starts.len()) - 1;
        let mut column = 0;
        while column < columns {
            // Columns that one of them has nothing in go together.
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

    /// Adds the places of one column or the other, in order.
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
            // The next rows are read before it is known whether they are wanted, so that no comparison waits
            // for memory.
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
        // Few are left of most columns.
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

    /// Adds the places that both columns have.
    #[inline]
    fn both(&mut self, a: Column<'_>, b: Column<'_>) {
        // What differs is written too, behind what is the same.
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
