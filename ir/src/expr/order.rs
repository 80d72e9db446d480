//! The order in which the elements of a reduction are combined.
//!
//! Sums of floats depend on it, so it is part of the meaning: every schedule and code generator keeps it, whatever its vectors and
//! threads. It is that of NumPy's `sum` and `prod`, and it bounds the rounding errors of sums along rows.

use super::{Combine, Monoid, Reduction};
use crate::dtype::DType;
use smallvec::SmallVec;

/// How elements are combined with what comes before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other, from left to right.
    Sequential,
    /// Rows one after the other; each of them is first combined by itself, as a tree:
    ///
    /// - More than `leaf` elements are cut in two, the first part being half of them, rounded down to a multiple of `lanes`.
    /// - Otherwise element `i` goes to lane `i % lanes`, as far as whole rounds of lanes go; each lane is combined from left to
    ///   right. Eight lanes are then combined as `((0 1)(2 3))((4 5)(6 7))`, four as `(0 1)(2 3)`. The elements that are left
    ///   follow one after the other; fewer than `lanes` elements have no lanes.
    Tree {
        /// The number of interleaved partial results; at most [`Order::MAX_LANES`].
        lanes: usize,
        /// The greatest number of elements that is not cut in two.
        leaf: usize,
    },
}

impl Order {
    /// The greatest number of lanes.
    pub const MAX_LANES: usize = 8;
    /// Pairwise summation as NumPy does it, of real numbers and of anything else that associates and commutes.
    pub const PAIRWISE: Order = Order::Tree { lanes: 8, leaf: 128 };
    /// The same of complex numbers, whose parts NumPy counts as elements.
    pub const PAIRWISE_COMPLEX: Order = Order::Tree { lanes: 4, leaf: 64 };
    /// A tree that keeps the order of elements, for what associates and does not commute.
    pub const IN_ORDER: Order = Order::Tree { lanes: 1, leaf: 128 };

    /// The order of a monoid with a name, at the dtype of its (first) accumulator. Products are sequential.
    pub fn of(monoid: Monoid, dtype: DType) -> Order {
        match monoid {
            Monoid::Prod => Order::Sequential,
            _ if dtype.is_complex() => Order::PAIRWISE_COMPLEX,
            _ => Order::PAIRWISE,
        }
    }
}

impl Reduction {
    /// The order of combination.
    pub fn order(&self) -> Order {
        match (&self.combine, self.associative, self.commutative) {
            (_, false, _) => Order::Sequential,
            (_, true, false) => Order::IN_ORDER,
            (Combine::Region(_), true, true) => Order::PAIRWISE,
            (Combine::Builtin(monoid), true, true) => match self.accumulators.first() {
                Some(&dtype) => Order::of(*monoid, dtype),
                None => Order::PAIRWISE,
            },
        }
    }
}

/// What waits until a part of a row is combined.
enum Pending<T> {
    /// So many elements follow it, to be combined with it.
    Right(usize),
    /// It is to be combined with what came before.
    Left(Option<T>),
}

/// Combines elements, given one after the other, in an [`Order`].
pub struct Fold<T, F> {
    combine: F,
    order: Order,
    row: usize,
    total: Option<T>,
    pending: SmallVec<[Pending<T>; 8]>,
    lanes: [Option<T>; Order::MAX_LANES],
    /// The leaf, once its lanes are combined.
    leaf: Option<T>,
    /// Elements in the leaf, and how many of them came; no leaf has begun where both are 0.
    len: usize,
    at: usize,
}

impl<T, E, F: FnMut(T, T) -> Result<T, E>> Fold<T, F> {
    /// No elements yet of rows of `row` elements each. They are combined onto `start`.
    pub fn new(order: Order, row: usize, start: Option<T>, combine: F) -> Self {
        let lanes = std::array::from_fn(|_| None);
        let row = row.max(1);
        Fold { combine, order, row, total: start, pending: SmallVec::new(), lanes, leaf: None, len: 0, at: 0 }
    }

    /// The next element.
    pub fn push(&mut self, x: T) -> Result<(), E> {
        self.next(Some(x))
    }

    /// Leaves out the next element, which keeps its place in the row.
    pub fn skip(&mut self) -> Result<(), E> {
        self.next(None)
    }

    fn next(&mut self, x: Option<T>) -> Result<(), E> {
        let Order::Tree { lanes, leaf } = self.order else {
            let total = self.total.take();
            self.total = self.both(total, x)?;
            return Ok(());
        };
        if self.len == 0 {
            self.descend(self.row, lanes, leaf);
        }
        let whole = self.len - self.len % lanes;
        if self.at < whole {
            let lane = self.at % lanes;
            let so_far = self.lanes[lane].take();
            self.lanes[lane] = self.both(so_far, x)?;
        } else {
            let so_far = self.leaf.take();
            self.leaf = self.both(so_far, x)?;
        }
        self.at += 1;
        if self.at == whole {
            self.join_lanes(lanes)?;
        }
        if self.at == self.len { self.end_leaf(lanes, leaf) } else { Ok(()) }
    }

    /// Begins the first leaf of `n` elements.
    fn descend(&mut self, mut n: usize, lanes: usize, leaf: usize) {
        while n > leaf {
            let half = n / 2 - n / 2 % lanes;
            self.pending.push(Pending::Right(n - half));
            n = half;
        }
        (self.len, self.at) = (n, 0);
    }

    fn join_lanes(&mut self, mut width: usize) -> Result<(), E> {
        while width > 1 {
            for i in 0..width / 2 {
                let (a, b) = (self.lanes[2 * i].take(), self.lanes[2 * i + 1].take());
                self.lanes[i] = self.both(a, b)?;
            }
            width /= 2;
        }
        self.leaf = self.lanes[0].take();
        Ok(())
    }

    fn end_leaf(&mut self, lanes: usize, leaf: usize) -> Result<(), E> {
        let mut part = self.leaf.take();
        (self.len, self.at) = (0, 0);
        loop {
            match self.pending.pop() {
                Some(Pending::Left(left)) => part = self.both(left, part)?,
                Some(Pending::Right(n)) => {
                    self.pending.push(Pending::Left(part));
                    self.descend(n, lanes, leaf);
                    return Ok(());
                }
                None => {
                    let total = self.total.take();
                    self.total = self.both(total, part)?;
                    return Ok(());
                }
            }
        }
    }

    fn both(&mut self, a: Option<T>, b: Option<T>) -> Result<Option<T>, E> {
        Ok(match (a, b) {
            (Some(a), Some(b)) => Some((self.combine)(a, b)?),
            (one, other) => one.or(other),
        })
    }

    /// The combination of all; `None` if there was nothing to combine. What is missing of the last row is left out.
    pub fn finish(mut self) -> Result<Option<T>, E> {
        while self.len > 0 {
            self.skip()?;
        }
        Ok(self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How `n` elements are combined, those that `keep` names.
    fn shown(order: Order, row: usize, n: usize, keep: impl Fn(usize) -> bool) -> String {
        let join = |a: String, b: String| Ok::<_, ()>(format!("({a} {b})"));
        let mut fold = Fold::new(order, row, None, join);
        (0..n).for_each(|i| if keep(i) { fold.push(i.to_string()) } else { fold.skip() }.unwrap());
        fold.finish().unwrap().unwrap_or_default()
    }

    #[test]
    fn the_order_is_fixed() {
        let all = |order, row, n| shown(order, row, n, |_| true);
        assert_eq!(all(Order::PAIRWISE, 0, 0), "");
        assert_eq!(all(Order::PAIRWISE, 1, 1), "0");
        assert_eq!(all(Order::PAIRWISE, 4, 4), "(((0 1) 2) 3)");
        assert_eq!(all(Order::PAIRWISE, 10, 10), "(((((0 1) (2 3)) ((4 5) (6 7))) 8) 9)");
        assert_eq!(all(Order::PAIRWISE_COMPLEX, 9, 9), "((((0 4) (1 5)) ((2 6) (3 7))) 8)");
        assert_eq!(all(Order::PAIRWISE, 3, 6), "(((0 1) 2) ((3 4) 5))");
        assert_eq!(all(Order::Sequential, 3, 6), "(((((0 1) 2) 3) 4) 5)");
        assert_eq!(all(Order::Tree { lanes: 2, leaf: 4 }, 10, 10), "(((0 2) (1 3)) ((4 5) ((6 8) (7 9))))");
        assert_eq!(all(Order::Tree { lanes: 1, leaf: 2 }, 5, 5), "((0 1) (2 (3 4)))");
    }

    #[test]
    fn rows_are_cut_as_numpy_cuts_them() {
        let sizes = |n: usize| {
            let join = |a: (usize, String), b: (usize, String)| {
                let n = a.0 + b.0;
                Ok::<_, ()>((n, if n <= 128 { n.to_string() } else { format!("({} {})", a.1, b.1) }))
            };
            let mut fold = Fold::new(Order::PAIRWISE, n, None, join);
            (0..n).for_each(|_| fold.push((1, String::new())).unwrap());
            fold.finish().unwrap().unwrap().1
        };
        assert_eq!(sizes(128), "128");
        assert_eq!(sizes(129), "(64 65)");
        assert_eq!(sizes(300), "((72 72) (72 84))");
        assert_eq!(sizes(1000), "(((120 128) (120 128)) ((120 128) (128 128)))");
    }

    #[test]
    fn what_is_left_out_keeps_its_place() {
        assert_eq!(shown(Order::PAIRWISE, 10, 10, |i| i % 3 != 1), "((((0 (2 3)) (5 6)) 8) 9)");
        assert_eq!(shown(Order::PAIRWISE, 4, 8, |i| i > 3), "(((4 5) 6) 7)");
        assert_eq!(shown(Order::PAIRWISE, 200, 200, |i| i == 150), "150");
        assert_eq!(shown(Order::Sequential, 1, 4, |i| i % 2 == 1), "(1 3)");
    }

    #[test]
    fn order_is_kept_where_it_matters() {
        let join = |a: String, b: String| Ok::<_, ()>(format!("{a}{b}"));
        let all: String = (0..1000).map(|i| format!("{i},")).collect();
        for order in [Order::IN_ORDER, Order::Sequential] {
            let mut fold = Fold::new(order, 500, Some("start:".to_string()), join);
            (0..1000).for_each(|i| fold.push(format!("{i},")).unwrap());
            assert_eq!(fold.finish(), Ok(Some(format!("start:{all}"))));
        }
    }

    #[test]
    fn rounding_errors_stay_small() {
        let mut fold = Fold::new(Order::PAIRWISE, 1_000_000, None, |a: f32, b: f32| Ok::<_, ()>(a + b));
        (0..1_000_000).for_each(|_| fold.push(0.1).unwrap());
        let sum = fold.finish().unwrap().unwrap();
        assert!((f64::from(sum) / (1e6 * f64::from(0.1f32)) - 1.0).abs() < 1e-6, "{sum}");
    }
}
