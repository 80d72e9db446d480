//! The order in which the elements of a reduction are combined.
//!
//! Sums of floats depend on it, so it is part of the meaning: every schedule and code generator keeps it, whatever its vectors and
//! threads, and however arrays lie in memory. It has as many partial results side by side as vector units keep busy, at any width of their
//! registers, and bounds the rounding errors of sums as NumPy's pairwise summation does: no element of a row goes through more additions
//! than there in full leaves, nor does one of a column, along which NumPy adds up one by one unless it is contiguous. Where rows of several
//! elements come to one result, it goes through both.

use super::{ArrayExpr, AxisKind, BodyRef, Combine, Monoid, Reduction};
use crate::dtype::DType;
use smallvec::SmallVec;

/// How elements are combined with what comes before them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other, from left to right.
    Sequential,
    /// Each row is first combined by itself, as a tree. [`BLOCK`](Order::BLOCK) rows at a time are combined one after the other, and these blocks as a tree, too.
    ///
    /// - A row is cut in leaves of `leaf` elements, of which the last one may have fewer. Several leaves are combined as two parts, the
    ///   first one of as many leaves as the greatest power of two below their number.
    /// - Element `i` of a leaf goes to lane `i % lanes`; each lane is combined from left to right. Then the upper half of the lanes is
    ///   combined onto the lower half, until `apart` lanes are left.
    /// - Leaves are combined lane by lane up to parts of `part` elements. Then the lanes go on as before, until one is left: eight lanes as
    ///   `((0 4)(2 6))((1 5)(3 7))`. Lanes to which nothing went are left out.
    /// - Blocks are combined as leaves are: as two parts, the first one of as many as the greatest power of two below their number. What
    ///   it all starts from is before the first row.
    Tree {
        /// The number of interleaved partial results, a power of two.
        lanes: usize,
        /// The number of elements of a leaf, a power of two, and no less than there are lanes.
        leaf: usize,
        /// The number of lanes on which leaves are combined, a power of two, and no more than there are.
        apart: usize,
        /// The number of elements up to which they are, a power of two, and no less than those of a leaf.
        part: usize,
    },
}

impl Order {
    /// Pairwise summation of numbers of 8 bytes, and of anything else that associates and commutes.
    pub const PAIRWISE: Order = Order::Tree { lanes: 32, leaf: 512, apart: 8, part: 8192 };
    /// The same of floats of up to 4 bytes, of which as many more fill the same registers.
    pub const PAIRWISE_NARROW: Order = Order::Tree { lanes: 64, leaf: 1024, apart: 16, part: 16_384 };
    /// The same of complex numbers.
    pub const PAIRWISE_COMPLEX: Order = Order::Tree { lanes: 16, leaf: 256, apart: 8, part: 4096 };
    /// A tree that keeps the order of elements, for what associates and does not commute.
    pub const IN_ORDER: Order = Order::Tree { lanes: 1, leaf: 128, apart: 1, part: 128 };

    /// The rows that are combined one after the other: so many that as many elements of a column go through no more additions than a row's.
    pub const BLOCK: usize = 16;

    /// The order of a monoid with a name, at the dtype of its (first) accumulator. Products are sequential.
    pub fn of(monoid: Monoid, dtype: DType) -> Order {
        match monoid {
            Monoid::Prod => Order::Sequential,
            _ if dtype.is_complex() => Order::PAIRWISE_COMPLEX,
            _ if dtype.is_float() && dtype.size() <= 4 => Order::PAIRWISE_NARROW,
            _ => Order::PAIRWISE,
        }
    }

    /// The order that all of these are, if there is one; any, if there are none.
    pub fn common(mut orders: impl Iterator<Item = Order>) -> Option<Order> {
        let first = orders.next().unwrap_or(Order::PAIRWISE);
        orders.all(|order| order == first).then_some(first)
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

impl ArrayExpr {
    /// For each reduction, whether all orders give the same bits: of integers and bools, and where the first of equal values is chosen, if
    /// each has another position: the index along the only axis that is reduced.
    pub fn any_order(&self) -> impl Iterator<Item = bool> {
        let mut reduced = (0..).zip(&self.axes).filter(|(_, axis)| axis.kind == AxisKind::Reduce);
        let only = reduced.next().filter(|_| reduced.next().is_none()).map(|(number, _)| BodyRef::Axis(number));
        let mut yields = self.body.yields.iter();
        self.reductions.iter().map(move |reduction| {
            let position = yields.by_ref().take(reduction.accumulators.len()).nth(1);
            let exact = reduction.accumulators.iter().all(|dtype| dtype.is_int() || dtype.is_bool());
            match reduction.combine {
                Combine::Builtin(Monoid::ArgMin | Monoid::ArgMax) => exact || position == only.as_ref(),
                Combine::Builtin(_) => exact,
                Combine::Region(_) => false,
            }
        })
    }

    /// The orders that its reductions are bound to: of those of which not all give the same bits. Where rows are single points, all trees are
    /// the same, and of equal extrema each order keeps the first one.
    pub fn orders(&self) -> impl Iterator<Item = Order> {
        let points = self.axes.last().is_some_and(|axis| axis.kind == AxisKind::Parallel);
        let bound =
            self.reductions.iter().zip(self.any_order()).filter(|(_, any)| !any).map(|(reduction, _)| reduction);
        let extremum = |reduction: &Reduction| matches!(reduction.combine, Combine::Builtin(Monoid::Min | Monoid::Max));
        bound.filter(move |reduction| !(points && extremum(reduction))).map(move |reduction| match reduction.order() {
            Order::Tree { .. } if points => Order::PAIRWISE,
            order => order,
        })
    }
}

/// Combines elements, given one after the other, in an [`Order`].
pub struct Fold<T, F> {
    combine: F,
    order: Order,
    row: usize,
    /// What the rows of the block that is begun came to, and how many rows there were.
    block: Option<T>,
    rows: usize,
    /// What whole blocks, each a power of two of them and of fewer than the one before, came to.
    blocks: SmallVec<[Option<T>; 8]>,
    /// What whole parts, each a power of two of them and of fewer than the one before, came to.
    parts: SmallVec<[Option<T>; 8]>,
    /// The same of leaves of the part that is begun, of each the lanes that stay apart.
    leaves: Vec<Option<T>>,
    lanes: Vec<Option<T>>,
    /// How many lanes stay apart.
    apart: usize,
    /// Elements of the leaf that came, and of the row before it.
    at: usize,
    before: usize,
}

impl<T, E, F: FnMut(T, T) -> Result<T, E>> Fold<T, F> {
    /// No elements yet of rows of `row` elements each. They are combined onto `start`.
    pub fn new(order: Order, row: usize, start: Option<T>, combine: F) -> Self {
        let row = row.max(1);
        let [lanes, apart] = match order {
            Order::Sequential => [0, 0],
            Order::Tree { lanes, apart, .. } => [lanes, apart].map(|n| n.min(row.next_power_of_two())),
        };
        let lanes = std::iter::repeat_with(|| None).take(lanes).collect();
        let (blocks, parts, leaves) = (SmallVec::new(), SmallVec::new(), Vec::new());
        Fold { combine, order, row, block: start, rows: 0, blocks, parts, leaves, lanes, apart, at: 0, before: 0 }
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
        let Order::Tree { leaf, part, .. } = self.order else {
            let total = self.block.take();
            self.block = self.both(total, x)?;
            return Ok(());
        };
        let lane = self.at % self.lanes.len();
        let so_far = self.lanes[lane].take();
        self.lanes[lane] = self.both(so_far, x)?;
        self.at += 1;
        if self.before + self.at == self.row {
            self.end_row()
        } else if self.at == leaf {
            self.end_leaf(leaf, part)
        } else {
            Ok(())
        }
    }

    /// Combines a whole leaf with what is before it and as large as what it comes to then.
    fn end_leaf(&mut self, leaf: usize, part: usize) -> Result<(), E> {
        (self.at, self.before) = (0, self.before + leaf);
        self.narrow()?;
        if !self.before.is_multiple_of(part) {
            for _ in 0..(self.before / leaf).trailing_zeros() {
                self.onto_lanes()?;
            }
            self.leaves.extend(self.lanes.iter_mut().take(self.apart).map(Option::take));
            return Ok(());
        }
        let mut joined = self.end_part()?;
        for _ in 0..(self.before / part).trailing_zeros() {
            let left = self.parts.pop().flatten();
            joined = self.both(left, joined)?;
        }
        self.parts.push(joined);
        Ok(())
    }

    fn end_row(&mut self) -> Result<(), E> {
        self.narrow()?;
        let mut joined = self.end_part()?;
        (self.at, self.before) = (0, 0);
        while let Some(left) = self.parts.pop() {
            joined = self.both(left, joined)?;
        }
        let block = self.block.take();
        self.block = self.both(block, joined)?;
        self.rows += 1;
        if self.rows.is_multiple_of(Order::BLOCK) { self.end_block() } else { Ok(()) }
    }

    /// Combines a whole block with what is before it and as large as what it comes to then.
    fn end_block(&mut self) -> Result<(), E> {
        let mut joined = self.block.take();
        for _ in 0..(self.rows / Order::BLOCK).trailing_zeros() {
            let left = self.blocks.pop().flatten();
            joined = self.both(left, joined)?;
        }
        self.blocks.push(joined);
        Ok(())
    }

    /// What a part that ends here comes to.
    fn end_part(&mut self) -> Result<Option<T>, E> {
        while !self.leaves.is_empty() {
            self.onto_lanes()?;
        }
        self.halve(self.apart, 1)?;
        Ok(self.lanes[0].take())
    }

    /// Combines the lanes of a leaf, until those are left that stay apart.
    fn narrow(&mut self) -> Result<(), E> {
        self.halve(self.lanes.len(), self.apart)
    }

    /// Combines the upper half of so many lanes onto the lower half, until so many are left.
    fn halve(&mut self, mut lanes: usize, left: usize) -> Result<(), E> {
        while lanes > left {
            lanes /= 2;
            for i in 0..lanes {
                let (low, high) = (self.lanes[i].take(), self.lanes[i + lanes].take());
                self.lanes[i] = self.both(low, high)?;
            }
        }
        Ok(())
    }

    /// Combines the leaf that came last of those that wait with what follows it, lane by lane.
    fn onto_lanes(&mut self) -> Result<(), E> {
        for i in (0..self.apart).rev() {
            let (left, right) = (self.leaves.pop().flatten(), self.lanes[i].take());
            self.lanes[i] = self.both(left, right)?;
        }
        Ok(())
    }

    fn both(&mut self, a: Option<T>, b: Option<T>) -> Result<Option<T>, E> {
        Ok(match (a, b) {
            (Some(a), Some(b)) => Some((self.combine)(a, b)?),
            (one, other) => one.or(other),
        })
    }

    /// The combination of all; `None` if there was nothing to combine. What is missing of the last row is left out.
    pub fn finish(mut self) -> Result<Option<T>, E> {
        while self.at + self.before > 0 {
            self.skip()?;
        }
        let mut total = self.block.take();
        while let Some(left) = self.blocks.pop() {
            total = self.both(left, total)?;
        }
        Ok(total)
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
        assert_eq!(all(Order::PAIRWISE, 3, 3), "((0 2) 1)");
        assert_eq!(all(Order::PAIRWISE, 4, 4), "((0 2) (1 3))");
        assert_eq!(all(Order::PAIRWISE, 8, 8), "(((0 4) (2 6)) ((1 5) (3 7)))");
        assert_eq!(all(Order::PAIRWISE, 10, 10), "((((0 8) 4) (2 6)) (((1 9) 5) (3 7)))");
        assert_eq!(all(Order::PAIRWISE, 3, 6), "(((0 2) 1) ((3 5) 4))");
        assert_eq!(all(Order::Sequential, 3, 6), "(((((0 1) 2) 3) 4) 5)");
        assert_eq!(
            all(Order::Tree { lanes: 2, leaf: 4, apart: 1, part: 4 }, 10, 10),
            "((((0 2) (1 3)) ((4 6) (5 7))) (8 9))"
        );
        assert_eq!(all(Order::Tree { lanes: 1, leaf: 2, apart: 1, part: 2 }, 5, 5), "(((0 1) (2 3)) 4)");
        let parts = Order::Tree { lanes: 4, leaf: 4, apart: 2, part: 8 };
        assert_eq!(all(parts, 4, 4), "((0 2) (1 3))");
        assert_eq!(all(parts, 7, 7), "(((0 2) (4 6)) ((1 3) 5))");
        assert_eq!(all(parts, 8, 8), "(((0 2) (4 6)) ((1 3) (5 7)))");
        assert_eq!(all(parts, 11, 11), "((((0 2) (4 6)) ((1 3) (5 7))) ((8 10) 9))");
        assert_eq!(all(parts, 3, 6), "(((0 2) 1) ((3 5) 4))");
    }

    #[test]
    fn rows_are_combined_in_blocks() {
        let sizes = |row: usize, n: usize, start: Option<(usize, String)>| {
            let join = |a: (usize, String), b: (usize, String)| {
                let n = a.0 + b.0;
                Ok::<_, ()>((n, if n <= 16 * row { n.to_string() } else { format!("({} {})", a.1, b.1) }))
            };
            let mut fold = Fold::new(Order::PAIRWISE, row, start, join);
            (0..n).for_each(|_| fold.push((1, "1".to_string())).unwrap());
            fold.finish().unwrap().unwrap().1
        };
        assert_eq!(sizes(1, 16, None), "16");
        assert_eq!(sizes(1, 17, None), "(16 1)");
        assert_eq!(sizes(1, 100, None), "(((16 16) (16 16)) ((16 16) 4))");
        assert_eq!(sizes(3, 100, None), "((48 48) 4)");
        // What it starts from is of the first block.
        assert_eq!(sizes(1, 32, Some((0, "0".to_string()))), "(16 16)");
        let join = |a: String, b: String| Ok::<_, ()>(format!("({a} {b})"));
        let mut fold = Fold::new(Order::PAIRWISE, 1, Some("s".to_string()), join);
        (0..17).for_each(|i| fold.push(i.to_string()).unwrap());
        let total = fold.finish().unwrap().unwrap();
        assert!(total.ends_with(" 15) 16)") && total.contains("((s 0) 1)"), "{total}");
    }

    #[test]
    fn rows_are_cut_in_leaves() {
        let sizes = |n: usize, part: usize| {
            let join = |a: (usize, String), b: (usize, String)| {
                let n = a.0 + b.0;
                Ok::<_, ()>((n, if n <= 512 { n.to_string() } else { format!("({} {})", a.1, b.1) }))
            };
            let mut fold = Fold::new(Order::Tree { lanes: 1, leaf: 512, apart: 1, part }, n, None, join);
            (0..n).for_each(|_| fold.push((1, "1".to_string())).unwrap());
            fold.finish().unwrap().unwrap().1
        };
        for part in [512, 1024, 2048, 8192] {
            assert_eq!(sizes(512, part), "512");
            assert_eq!(sizes(513, part), "(512 1)");
            assert_eq!(sizes(3 * 512, part), "((512 512) 512)");
            assert_eq!(sizes(4 * 512, part), "((512 512) (512 512))");
            assert_eq!(sizes(3500, part), "(((512 512) (512 512)) ((512 512) 428))");
        }
    }

    #[test]
    fn what_is_left_out_keeps_its_place() {
        assert_eq!(shown(Order::PAIRWISE, 10, 10, |i| i % 3 != 1), "(((0 8) (2 6)) ((9 5) 3))");
        assert_eq!(shown(Order::PAIRWISE, 4, 8, |i| i > 3), "((4 6) (5 7))");
        assert_eq!(shown(Order::PAIRWISE, 2000, 2000, |i| i == 1500), "1500");
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
    fn no_element_goes_through_more_additions_than_in_numpys_pairwise_sums() {
        // In leaves of up to 128 floats on 8 lanes, cut in two; of complex numbers half as many are as many floats.
        let numpys = |n: usize, leaf: usize, lanes: usize| {
            (n.div_ceil(leaf).next_power_of_two() * lanes).trailing_zeros() as usize + leaf / lanes - 1
        };
        let orders = [(Order::PAIRWISE, 1), (Order::PAIRWISE_NARROW, 1), (Order::PAIRWISE_COMPLEX, 2)];
        for (order, parts) in orders {
            for n in (1..3000).chain([8191, 8192, 8193, 10_000, 16_385, 100_000, 300_000]) {
                for row in [n, 1] {
                    let mut fold = Fold::new(order, row, None, |a: usize, b: usize| Ok::<_, ()>(a.max(b) + 1));
                    (0..n).for_each(|_| fold.push(0).unwrap());
                    let (depth, theirs) = (fold.finish().unwrap().unwrap(), numpys(n, 128 / parts, 8 / parts));
                    assert!(depth <= theirs, "{order:?}, {n}, {row} a row: {depth} additions, and not {theirs}");
                }
            }
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
