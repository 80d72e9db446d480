//! The order in which the elements of a reduction are combined.
//!
//! Sums of floats depend on this order, so it is part of the semantics. Every schedule and code generator
//! keeps it, for any vector width, thread count and memory layout.
//!
//! The order is a reduction tree over interleaved accumulators (lanes). The lanes suffice to keep the vector
//! units busy at any register width.
//!
//! The tree bounds rounding errors as NumPy's pairwise summation does. No element of a row goes through more
//! additions than in full leaves of NumPy's summation. An element of a column goes through those of a block
//! and of a tree of blocks; NumPy sums columns sequentially unless they are contiguous. If several rows of
//! several elements reduce to one result, an element goes through the additions of its row and then those of
//! the rows.
//!
//! The points of a scan axis are combined in sequence, from first to last, whatever the monoid: the value at
//! each point depends on all before it. So a running sum has the bits of NumPy's `cumsum`, takes linear time,
//! and has its rounding errors, which are those of a sequential sum. If there are reduce axes, too, the total
//! of the points at one index of the scan axis is combined in the order above, from nothing, and then joined.

use super::{ArrayExpr, AxisKind, BodyRef, Combine, Monoid, Reduction};
use crate::dtype::DType;
use smallvec::SmallVec;

/// The number of rows of a block. Joining blocks of this size costs little, and their rounding errors are
/// small. Few adjacent columns fill vectors by blocks, so these are not large.
const BLOCK: usize = 128;

/// How a reduction combines its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Sequentially, from left to right.
    Sequential,
    /// A reduction tree for each row. Blocks of rows are combined sequentially, and blocks form a tree, too.
    ///
    /// - Leaves: a row is cut into leaves of `leaf` elements; the last leaf may be shorter. Several leaves
    ///   are combined as two parts. The number of leaves in the first part is the greatest power of two
    ///   below their total.
    /// - Lanes: element `i` of a leaf goes to lane `i % lanes`, and each lane is combined from left to
    ///   right. Then the upper half of the lanes is combined onto the lower half, until `apart` lanes are
    ///   left.
    /// - Parts: leaves are combined lane by lane up to parts of `part` elements. Then the halving of lanes
    ///   continues until one is left: eight lanes as `((0 4)(2 6))((1 5)(3 7))`. Lanes without elements are
    ///   left out.
    /// - Blocks: they are combined as leaves are, as two parts with a power of two of blocks in the first.
    ///   The initial value is combined before the first row.
    Tree {
        /// The number of interleaved accumulators, a power of two.
        lanes: usize,
        /// The number of elements of a leaf, a power of two of at least `lanes`.
        leaf: usize,
        /// The number of lanes on which leaves are combined, a power of two of at most `lanes`.
        apart: usize,
        /// The number of elements of a part, a power of two of at least `leaf`.
        part: usize,
        /// The number of rows of a block.
        block: usize,
    },
}

impl Order {
    /// Pairwise summation of 8-byte numbers; also the order of every other associative and commutative
    /// monoid.
    pub const PAIRWISE: Order = Order::Tree { lanes: 32, leaf: 512, apart: 8, part: 8192, block: BLOCK };
    /// Pairwise summation of floats of up to 4 bytes, twice as many of which fit a register.
    pub const PAIRWISE_NARROW: Order = Order::Tree { lanes: 64, leaf: 1024, apart: 16, part: 16_384, block: BLOCK };
    /// Pairwise summation of complex numbers.
    pub const PAIRWISE_COMPLEX: Order = Order::Tree { lanes: 16, leaf: 256, apart: 8, part: 4096, block: BLOCK };
    /// A tree that keeps the order of elements, for associative monoids that do not commute.
    pub(crate) const IN_ORDER: Order = Order::Tree { lanes: 1, leaf: 128, apart: 1, part: 128, block: BLOCK };

    /// The number of rows of a block; 1 if rows are combined sequentially.
    pub fn block(self) -> usize {
        match self {
            Order::Tree { block, .. } => block,
            Order::Sequential => 1,
        }
    }

    /// The order of a builtin monoid at the dtype of its (first) accumulator. Products are sequential.
    pub fn of(monoid: Monoid, dtype: DType) -> Order {
        match monoid {
            Monoid::Prod => Order::Sequential,
            _ if dtype.is_complex() => Order::PAIRWISE_COMPLEX,
            _ if dtype.is_float() && dtype.size() <= 4 => Order::PAIRWISE_NARROW,
            _ => Order::PAIRWISE,
        }
    }

    /// The order of a sum of products (`dot`) whose rows are points, as in products of matrices. Blocks are
    /// larger, so that joining them costs little beside the products.
    pub fn of_products(dtype: DType) -> Order {
        match Order::of(Monoid::Dot, dtype) {
            Order::Tree { lanes, leaf, apart, part, .. } => Order::Tree { lanes, leaf, apart, part, block: 512 },
            order => order,
        }
    }

    /// The single order that all of `orders` are equal to, or `None` if they differ. Without any,
    /// [`PAIRWISE`](Order::PAIRWISE).
    pub fn common(mut orders: impl Iterator<Item = Order>) -> Option<Order> {
        let first = orders.next().unwrap_or(Order::PAIRWISE);
        orders.all(|order| order == first).then_some(first)
    }
}

impl Reduction {
    /// The order in which this reduction combines elements, in rows that are points or not.
    pub fn order(&self, rows_are_points: bool) -> Order {
        match (&self.combine, self.associative, self.commutative) {
            (_, false, _) => Order::Sequential,
            (_, true, false) => Order::IN_ORDER,
            (Combine::Region(_), true, true) => Order::PAIRWISE,
            (Combine::Builtin(monoid), true, true) => match self.accumulators.first() {
                Some(&dtype) if *monoid == Monoid::Dot && rows_are_points => Order::of_products(dtype),
                Some(&dtype) => Order::of(*monoid, dtype),
                None => Order::PAIRWISE,
            },
        }
    }
}

impl ArrayExpr {
    /// For each reduction, whether all orders give the same bits. This holds for integers and bools. It also
    /// holds for the first of equal extrema if every element has a distinct position: the index along the
    /// only axis whose points are combined.
    pub fn any_order(&self) -> impl Iterator<Item = bool> {
        let mut combined = (0..).zip(&self.axes).filter(|(_, axis)| axis.kind != AxisKind::Parallel);
        let only = combined.next().filter(|_| combined.next().is_none()).map(|(number, _)| BodyRef::Axis(number));
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

    /// The orders of the reductions whose bits depend on the order. If rows are single points, all trees are
    /// the same, and each order keeps the first of equal extrema.
    pub fn orders(&self) -> impl Iterator<Item = Order> {
        let points = self.rows_are_points();
        let bound =
            self.reductions.iter().zip(self.any_order()).filter(|(_, any)| !any).map(|(reduction, _)| reduction);
        let extremum = |reduction: &Reduction| matches!(reduction.combine, Combine::Builtin(Monoid::Min | Monoid::Max));
        let orders = bound.filter(move |reduction| !(points && extremum(reduction)));
        orders.map(move |reduction| match (reduction.order(points), Order::PAIRWISE) {
            (Order::Tree { block, .. }, Order::Tree { lanes, leaf, apart, part, .. }) if points => {
                Order::Tree { lanes, leaf, apart, part, block }
            }
            (order, _) => order,
        })
    }

    /// True if the rows of reductions are points: the last axis has results, so the points of the reduce axes
    /// are combined one by one.
    pub fn rows_are_points(&self) -> bool {
        self.axes.last().is_some_and(|axis| axis.kind.has_results())
    }
}

/// Combines a stream of elements in an [`Order`].
pub struct Fold<T, F> {
    combine: F,
    order: Order,
    row: usize,
    /// The accumulator of the current block of rows (with the initial value in the first), and the number of
    /// rows so far.
    block: Option<T>,
    rows: usize,
    /// The totals of whole groups of blocks. Each group has a power of two of blocks, fewer than the group
    /// before.
    blocks: SmallVec<[Option<T>; 8]>,
    /// The totals of whole groups of parts. Each group has a power of two of parts, fewer than the group
    /// before.
    parts: SmallVec<[Option<T>; 8]>,
    /// The totals of whole groups of leaves in the current part, as `apart` lanes each.
    leaves: Vec<Option<T>>,
    lanes: Vec<Option<T>>,
    /// The number of lanes on which leaves are combined.
    apart: usize,
    /// The number of elements so far in the current leaf, and in the row before that leaf.
    at: usize,
    before: usize,
    /// How an element becomes a total, where it is the first one of a lane (unless rows are points) or of a
    /// block.
    first: fn(T) -> T,
    rows_are_points: bool,
}

impl<T, E, F: FnMut(T, T) -> Result<T, E>> Fold<T, F> {
    /// A fold without elements yet, over rows of `row` elements each. Elements are combined onto `start`.
    pub fn new(order: Order, row: usize, start: Option<T>, combine: F) -> Self {
        let row = row.max(1);
        let [lanes, apart] = match order {
            Order::Sequential => [0, 0],
            Order::Tree { lanes, apart, .. } => [lanes, apart].map(|n| n.min(row.next_power_of_two())),
        };
        let lanes = std::iter::repeat_with(|| None).take(lanes).collect();
        let (blocks, parts, leaves) = (SmallVec::new(), SmallVec::new(), Vec::new());
        let (block, first) = (start, std::convert::identity);
        let (rows, at, before, rows_are_points) = (0, 0, 0, false);
        Fold {
            combine,
            order,
            row,
            block,
            rows,
            blocks,
            parts,
            leaves,
            lanes,
            apart,
            at,
            before,
            first,
            rows_are_points,
        }
    }

    /// The same for elements that are no totals: the first one of a lane, or of a block if rows are points,
    /// becomes a total by `first`.
    pub fn with_first(self, rows_are_points: bool, first: fn(T) -> T) -> Self {
        Fold { first, rows_are_points, ..self }
    }

    /// Adds the next element.
    pub fn push(&mut self, x: T) -> Result<(), E> {
        self.next(Some(x))
    }

    /// Leaves out the next element; its position in the row stays empty.
    pub fn skip(&mut self) -> Result<(), E> {
        self.next(None)
    }

    fn next(&mut self, x: Option<T>) -> Result<(), E> {
        let Order::Tree { leaf, part, .. } = self.order else {
            let total = self.block.take();
            self.block = self.onto(total, x)?;
            return Ok(());
        };
        let lane = self.at % self.lanes.len();
        let so_far = self.lanes[lane].take();
        self.lanes[lane] = if self.rows_are_points { x } else { self.onto(so_far, x)? };
        self.at += 1;
        if self.before + self.at == self.row {
            self.end_row()
        } else if self.at == leaf {
            self.end_leaf(leaf, part)
        } else {
            Ok(())
        }
    }

    /// Ends a full leaf: combines it with each earlier group of leaves, then of parts, that has the same
    /// size.
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
        self.block = self.onto(block, joined)?;
        self.rows += 1;
        if self.rows.is_multiple_of(self.order.block()) { self.end_block() } else { Ok(()) }
    }

    /// Ends a full block: combines it with each earlier group of blocks that has the same size.
    fn end_block(&mut self) -> Result<(), E> {
        let mut joined = self.block.take();
        for _ in 0..(self.rows / self.order.block()).trailing_zeros() {
            let left = self.blocks.pop().flatten();
            joined = self.both(left, joined)?;
        }
        self.blocks.push(joined);
        Ok(())
    }

    /// Ends a part, and returns its total.
    fn end_part(&mut self) -> Result<Option<T>, E> {
        while !self.leaves.is_empty() {
            self.onto_lanes()?;
        }
        self.halve(self.apart, 1)?;
        Ok(self.lanes[0].take())
    }

    /// Halves the lanes of a leaf until `apart` are left.
    fn narrow(&mut self) -> Result<(), E> {
        self.halve(self.lanes.len(), self.apart)
    }

    /// Combines the upper half of `lanes` lanes onto the lower half, until `left` are left.
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

    /// Combines the last pending leaf with the current lanes, lane by lane.
    fn onto_lanes(&mut self) -> Result<(), E> {
        for i in (0..self.apart).rev() {
            let (left, right) = (self.leaves.pop().flatten(), self.lanes[i].take());
            self.lanes[i] = self.both(left, right)?;
        }
        Ok(())
    }

    /// Combines an element onto a total.
    fn onto(&mut self, total: Option<T>, x: Option<T>) -> Result<Option<T>, E> {
        let x = if total.is_none() { x.map(self.first) } else { x };
        self.both(total, x)
    }

    fn both(&mut self, a: Option<T>, b: Option<T>) -> Result<Option<T>, E> {
        Ok(match (a, b) {
            (Some(a), Some(b)) => Some((self.combine)(a, b)?),
            (one, other) => one.or(other),
        })
    }

    /// The total; `None` if there was no element. Missing elements of the last row are left out.
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
    use super::super::Init;
    use super::*;

    /// The text of the tree over `n` elements, without those that `keep` rejects.
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
            all(Order::Tree { lanes: 2, leaf: 4, apart: 1, part: 4, block: BLOCK }, 10, 10),
            "((((0 2) (1 3)) ((4 6) (5 7))) (8 9))"
        );
        assert_eq!(all(Order::Tree { lanes: 1, leaf: 2, apart: 1, part: 2, block: BLOCK }, 5, 5), "(((0 1) (2 3)) 4)");
        let parts = Order::Tree { lanes: 4, leaf: 4, apart: 2, part: 8, block: BLOCK };
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
                Ok::<_, ()>((n, if n <= BLOCK * row { n.to_string() } else { format!("({} {})", a.1, b.1) }))
            };
            let mut fold = Fold::new(Order::PAIRWISE, row, start, join);
            (0..n).for_each(|_| fold.push((1, "1".to_string())).unwrap());
            fold.finish().unwrap().unwrap().1
        };
        assert_eq!(sizes(1, 128, None), "128");
        assert_eq!(sizes(1, 129, None), "(128 1)");
        assert_eq!(sizes(1, 800, None), "(((128 128) (128 128)) ((128 128) 32))");
        assert_eq!(sizes(3, 800, None), "((384 384) 32)");
        // The initial value belongs to the first block.
        assert_eq!(sizes(1, 256, Some((0, "0".to_string()))), "(128 128)");
        let join = |a: String, b: String| Ok::<_, ()>(format!("({a} {b})"));
        let mut fold = Fold::new(Order::PAIRWISE, 1, Some("s".to_string()), join);
        (0..=128).for_each(|i| fold.push(i.to_string()).unwrap());
        let total = fold.finish().unwrap().unwrap();
        assert!(total.ends_with(" 127) 128)") && total.contains("((s 0) 1)"), "{total}");
    }

    #[test]
    fn products_of_matrices_have_larger_blocks() {
        let of = |monoid| Reduction {
            combine: Combine::Builtin(monoid),
            accumulators: vec![DType::F32],
            identity: None,
            init: Init::Identity,
            associative: true,
            commutative: true,
            idempotent: false,
            loc: crate::Loc::default(),
        };
        let (dot, sum) = (of(Monoid::Dot), of(Monoid::Sum));
        let sizes = |rows_are_points: bool, row: usize| {
            let count = |(a, x): (usize, String), (b, y): (usize, String)| {
                Ok::<_, ()>((a + b, if a + b <= 512 * row { (a + b).to_string() } else { format!("({x} {y})") }))
            };
            let mut fold = Fold::new(dot.order(rows_are_points), row, None, count);
            (0..1030 * row).for_each(|_| fold.push((1, "1".to_string())).unwrap());
            fold.finish().unwrap().unwrap().1
        };
        assert_eq!(sizes(true, 1), "((512 512) 6)");
        // Blocks of 128 rows of two elements.
        assert_eq!(sizes(false, 2), "((1024 1024) 12)");
        assert_ne!(dot.order(true), sum.order(true));
        assert_eq!(dot.order(false), sum.order(false));
    }

    #[test]
    fn rows_are_cut_in_leaves() {
        let sizes = |n: usize, part: usize| {
            let join = |a: (usize, String), b: (usize, String)| {
                let n = a.0 + b.0;
                Ok::<_, ()>((n, if n <= 512 { n.to_string() } else { format!("({} {})", a.1, b.1) }))
            };
            let mut fold = Fold::new(Order::Tree { lanes: 1, leaf: 512, apart: 1, part, block: BLOCK }, n, None, join);
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
    fn omitted_terms_leave_the_order_of_the_others() {
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
    fn elements_go_through_few_additions() {
        // NumPy halves rows down to leaves of up to 128 floats on 8 lanes. For complex numbers both are half
        // as many.
        let numpys = |n: usize, leaf: usize, lanes: usize| {
            (n.div_ceil(leaf).next_power_of_two() * lanes).trailing_zeros() as usize + leaf / lanes - 1
        };
        let orders = [(Order::PAIRWISE, 1), (Order::PAIRWISE_NARROW, 1), (Order::PAIRWISE_COMPLEX, 2)];
        for (order, parts) in orders {
            for n in (1usize..3000).chain([8191, 8192, 8193, 10_000, 16_385, 100_000, 300_000]) {
                // A column goes through a block, and a tree of blocks.
                let blocks = n.div_ceil(BLOCK).next_power_of_two().trailing_zeros() as usize;
                let of_columns = n.min(BLOCK) - 1 + blocks;
                for (row, most) in [(n, numpys(n, 128 / parts, 8 / parts)), (1, of_columns)] {
                    let mut fold = Fold::new(order, row, None, |a: usize, b: usize| Ok::<_, ()>(a.max(b) + 1));
                    (0..n).for_each(|_| fold.push(0).unwrap());
                    let depth = fold.finish().unwrap().unwrap();
                    assert!(depth <= most, "{order:?}, {n}, {row} a row: {depth} additions, and not {most}");
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
