//! The order of a reduction as loops.
//!
//! [`Order`] defines the reduction tree. Its parts become loops and local buffers:
//!
//! ```text
//! for each row (the reduce axes before the last parallel axis):
//!   for each leaf of the row:
//!     lanes[..] = nothing
//!     for each round of the leaf, for each lane:   lanes[lane] += element
//!     halve the lanes down to `apart`
//!     join the leaves so far on the stack `leaves`, until the part is full
//!     halve the lanes down to one, and join parts on the stack `parts`
//!   block += row; after 16 rows, join blocks on the stack `blocks`
//! ```
//!
//! A stack is a binary counter: its n-th entry holds a group of twice the size of the entry after it.

use super::ProgramLowering;
use super::reduction::{Accumulators, Reducer, Tuple};
use crate::kernel::{Binary, KValue, Part, Unary};
use crate::lower::NotLowered;
use crate::program::{Condition, Linear};
use crate::scalar::Elem;
use rewright_ir::expr::Order;
use rewright_ir::{ArrayExpr, DType, Scalar};
use smallvec::SmallVec;
use std::slice;

/// More entries than a binary counter of points has.
const STACK: u32 = 56;

/// The reductions of one order: the reducer, its total, and the flag that says whether there was a point.
pub(super) type Group<'g> = [(&'g Reducer<'g>, &'g Accumulators, Option<u32>)];

/// Accumulators of each reduction of a group.
type Accs = Vec<Accumulators>;

/// Stacks of tuples, one for each reduction of a group, and their height.
struct Stack {
    accs: Accs,
    height: u32,
}

/// A tree of a row.
struct Tree {
    lanes: u32,
    leaf: u32,
    apart: u32,
    part: u32,
}

impl ProgramLowering<'_> {
    /// Combines all points of the reduce axes onto the totals of a group.
    pub(super) fn fold(
        &mut self,
        expr: &ArrayExpr,
        captures: &[Elem],
        order: Order,
        group: &Group<'_>,
    ) -> Result<(), NotLowered> {
        let first = self.axes.len() - expr.axes.len();
        let (outer, row) = self.outer_and_row(expr);
        let onto_total = |this: &mut Self| {
            this.point(expr, captures, group, |this, number, tuple| {
                let (reducer, total, _) = group[number];
                this.join(reducer, (total, &[]), tuple)
            })
        };
        let Order::Tree { lanes, leaf, apart, part } = order else {
            let all: Vec<usize> = outer.into_iter().chain(row).collect();
            return self.nest(expr, &all, first, onto_total);
        };
        let tree = [lanes, leaf, apart, part].map(|n| n as u32);
        let tree = Tree { lanes: tree[0], leaf: tree[1], apart: tree[2], part: tree[3] };
        if outer.is_empty() {
            return self.row(expr, captures, &tree, &row, group);
        }
        let blocks = self.stack(group, STACK, 1);
        let rows = self.counter();
        self.nest(expr, &outer, first, |this| {
            if row.is_empty() {
                onto_total(this)?;
            } else {
                this.row(expr, captures, &tree, &row, group)?;
            }
            let count = this.count(rows);
            let block = this.cx().int(DType::I64, Order::BLOCK as i64);
            let into_block = this.b.k.binary(Binary::Rem, count, block);
            let is_full = this.is_zero(into_block);
            this.when(
                is_full,
                |this| {
                    let number = this.b.k.binary(Binary::Quot, count, block);
                    this.push_totals(group, &blocks, number)
                },
                |_| Ok(()),
            )
        })?;
        let height = self.height(&blocks);
        self.join_blocks(group, &blocks, height)
    }

    /// Combines a row, and then the totals with it.
    fn row(
        &mut self,
        expr: &ArrayExpr,
        captures: &[Elem],
        tree: &Tree,
        row: &[usize],
        group: &Group<'_>,
    ) -> Result<(), NotLowered> {
        let (extents, points) = self.row_points(expr, row);
        let known = points.as_constant();
        let lanes_needed =
            known.map_or(tree.lanes, |n| (n.max(1) as u64).next_power_of_two().min(tree.lanes.into()) as u32);
        let apart = tree.apart.min(lanes_needed);
        let at_most = |limit: u32| known.is_some_and(|n| n <= i64::from(limit));
        let lanes: Accs = group.iter().map(|(r, ..)| self.accumulators(r, &[lanes_needed])).collect();
        let leaf_groups = (tree.part / tree.leaf).ilog2() + 1;
        let leaves = (!at_most(tree.leaf)).then(|| self.stack(group, leaf_groups, apart));
        let parts = (!at_most(tree.part)).then(|| self.stack(group, STACK, 1));
        let leaf_count = self.ceil_div(&points, tree.leaf.into());
        self.for_each(Linear::default(), slice::from_ref(&leaf_count), |this, leaf| {
            this.for_each(Linear::default(), &[Linear::constant(lanes_needed.into())], |this, lane| {
                group.iter().zip(&lanes).for_each(|((r, ..), acc)| this.clear(r, acc, slice::from_ref(&lane)));
                Ok(())
            })?;
            let base = Linear::default().plus_scaled(&leaf, tree.leaf.into());
            let left = points.clone().minus(&base);
            let rounds = this.ceil_div(&left, lanes_needed.into());
            let most = Linear::constant((tree.leaf / lanes_needed).into());
            this.for_each(Linear::default(), &[most, rounds], |this, round| {
                let start = base.clone().plus_scaled(&round, lanes_needed.into());
                let left = points.clone().minus(&start);
                this.for_each(Linear::default(), &[Linear::constant(lanes_needed.into()), left], |this, lane| {
                    let point = start.clone().plus_scaled(&lane, 1);
                    this.at_row_point(row, &extents, point);
                    this.point(expr, captures, group, |this, number, tuple| {
                        this.join(group[number].0, (&lanes[number], slice::from_ref(&lane)), tuple)
                    })
                })
            })?;
            this.halve(group, &lanes, lanes_needed, apart)?;
            let (Some(leaves), is_last) = (&leaves, leaf.clone().plus(1).minus(&leaf_count)) else {
                this.halve(group, &lanes, apart, 1)?;
                let tuples = this.first_lanes(&lanes);
                return this.join_all(group, &tuples);
            };
            // `is_last` is 0 at the last leaf and negative before.
            let number = this.b.value(&leaf.clone().plus(1));
            let leaves_of_part = this.cx().int(DType::I64, (tree.part / tree.leaf).into());
            let into_part = this.b.k.binary(Binary::Rem, number, leaves_of_part);
            let part_goes_on = this.is_not_zero(into_part);
            let last = Condition::NotNegative(SmallVec::from_iter([is_last]));
            let end_part = |this: &mut Self| {
                let height = this.height(leaves);
                this.pop(leaves, height, |this, top| this.join_lanes(group, leaves, &lanes, apart, &top))?;
                this.halve(group, &lanes, apart, 1)
            };
            this.when(
                last,
                |this| {
                    end_part(this)?;
                    if let Some(parts) = &parts {
                        let height = this.height(parts);
                        this.pop(parts, height, |this, top| this.join_lanes(group, parts, &lanes, 1, &top))?;
                    }
                    let tuples = this.first_lanes(&lanes);
                    this.join_all(group, &tuples)
                },
                |this| {
                    this.when(
                        part_goes_on,
                        |this| {
                            let joins = this.trailing_zeros(number);
                            this.pop(leaves, joins, |this, top| this.join_lanes(group, leaves, &lanes, apart, &top))?;
                            this.push(leaves, &lanes, apart)
                        },
                        |this| {
                            end_part(this)?;
                            let Some(parts) = &parts else { return Ok(()) };
                            let part = this.b.k.binary(Binary::Quot, number, leaves_of_part);
                            let joins = this.trailing_zeros(part);
                            this.pop(parts, joins, |this, top| this.join_lanes(group, parts, &lanes, 1, &top))?;
                            this.push(parts, &lanes, 1)
                        },
                    )
                },
            )
        })
    }

    /// The extents along the axes of a row, and the number of its points.
    fn row_points(&mut self, expr: &ArrayExpr, row: &[usize]) -> (Vec<(Linear, Linear)>, Linear) {
        let first = self.axes.len() - expr.axes.len();
        let mut extents = Vec::new();
        for &axis in row {
            let (lo, hi) = self.bounds(expr, axis, first);
            extents.push((lo.clone(), hi.minus(&lo)));
        }
        if let [(_, only)] = &extents[..] {
            let points = only.clone();
            return (extents, points);
        }
        let mut product = Linear::constant(1);
        for (_, extent) in &extents {
            product = match (product.as_constant(), extent.as_constant()) {
                (Some(a), Some(b)) => Linear::constant(a.saturating_mul(b.max(0))),
                _ => {
                    let (a, b) = (self.b.value(&product), self.b.value(extent));
                    let zero = self.cx().int(DType::I64, 0);
                    let b = self.b.k.binary(Binary::Max, b, zero);
                    self.cx().mul(a, b).into()
                }
            };
        }
        (extents, product)
    }

    /// Sets the indices along the axes of a row to those of its n-th point.
    fn at_row_point(&mut self, row: &[usize], extents: &[(Linear, Linear)], point: Linear) {
        let mut rest = point;
        for (n, (&axis, (lo, extent))) in row.iter().zip(extents).enumerate().rev() {
            if n == 0 {
                self.axes[axis] = rest.clone().plus_scaled(lo, 1);
                break;
            }
            let (value, extent) = (self.b.value(&rest), self.b.value(extent));
            let index = self.b.k.binary(Binary::Rem, value, extent);
            self.axes[axis] = lo.clone().plus_term(index, 1);
            rest = self.b.k.binary(Binary::Quot, value, extent).into();
        }
    }

    /// Combines the upper half of the lanes onto the lower half, until `to` are left.
    fn halve(&mut self, group: &Group<'_>, lanes: &Accs, from: u32, to: u32) -> Result<(), NotLowered> {
        let mut half = from;
        while half > to {
            half /= 2;
            self.for_each(Linear::default(), &[Linear::constant(half.into())], |this, lane| {
                for ((reducer, ..), acc) in group.iter().zip(lanes) {
                    let right = this.get(acc, &[lane.clone().plus(half.into())]);
                    this.join(reducer, (acc, slice::from_ref(&lane)), &right)?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Combines the entry of a stack with the first lanes, and leaves the result in the lanes.
    fn join_lanes(
        &mut self,
        group: &Group<'_>,
        stack: &Stack,
        lanes: &Accs,
        count: u32,
        top: &Linear,
    ) -> Result<(), NotLowered> {
        self.for_each(Linear::default(), &[Linear::constant(count.into())], |this, lane| {
            for (n, (reducer, ..)) in group.iter().enumerate() {
                let at = [top.clone(), lane.clone()];
                let at: &[Linear] = if count == 1 { &at[..1] } else { &at };
                let right = this.get(&lanes[n], slice::from_ref(&lane));
                this.join(reducer, (&stack.accs[n], at), &right)?;
                let joined = this.get(&stack.accs[n], at);
                this.set(&lanes[n], slice::from_ref(&lane), &joined);
            }
            Ok(())
        })
    }

    /// Pushes the first lanes.
    fn push(&mut self, stack: &Stack, lanes: &Accs, count: u32) -> Result<(), NotLowered> {
        let height = self.height(stack);
        self.for_each(Linear::default(), &[Linear::constant(count.into())], |this, lane| {
            for (accs, lanes) in stack.accs.iter().zip(lanes) {
                let at = [Linear::from(height), lane.clone()];
                let at: &[Linear] = if count == 1 { &at[..1] } else { &at };
                let tuple = this.get(lanes, slice::from_ref(&lane));
                this.set(accs, at, &tuple);
            }
            Ok(())
        })?;
        self.set_height(stack, Linear::from(height).plus(1));
        Ok(())
    }

    /// Joins the totals, which hold the n-th full block, with earlier groups of blocks of the same size,
    /// pushes the result, and empties the totals.
    fn push_totals(&mut self, group: &Group<'_>, blocks: &Stack, number: KValue) -> Result<(), NotLowered> {
        let joins = self.trailing_zeros(number);
        self.join_blocks(group, blocks, joins)?;
        let height = self.height(blocks);
        for (n, (reducer, total, _)) in group.iter().enumerate() {
            let tuple = self.get(total, &[]);
            self.set(&blocks.accs[n], &[height.into()], &tuple);
            self.clear(reducer, total, &[]);
        }
        self.set_height(blocks, Linear::from(height).plus(1));
        Ok(())
    }

    /// Joins the totals with this many earlier groups of blocks, from the top of the stack down.
    fn join_blocks(&mut self, group: &Group<'_>, blocks: &Stack, count: KValue) -> Result<(), NotLowered> {
        self.pop(blocks, count, |this, top| {
            for (n, (reducer, total, _)) in group.iter().enumerate() {
                let right = this.get(total, &[]);
                this.join(reducer, (&blocks.accs[n], slice::from_ref(&top)), &right)?;
                let joined = this.get(&blocks.accs[n], slice::from_ref(&top));
                this.set(total, &[], &joined);
            }
            Ok(())
        })
    }

    /// Combines the totals with later tuples.
    fn join_all(&mut self, group: &Group<'_>, rows: &[Tuple]) -> Result<(), NotLowered> {
        let mut rows = group.iter().zip(rows);
        rows.try_for_each(|((reducer, total, _), row)| self.join(reducer, (total, &[]), row))
    }

    fn first_lanes(&mut self, lanes: &Accs) -> Vec<Tuple> {
        lanes.iter().map(|acc| self.get(acc, &[Linear::default()])).collect()
    }

    // --- Stacks and counters -------------------------------------------------------------------------------

    /// An empty stack of this many entries, which have this many tuples each.
    fn stack(&mut self, group: &Group<'_>, entries: u32, width: u32) -> Stack {
        let extents: &[u32] = if width == 1 { &[entries] } else { &[entries, width] };
        let accs = group.iter().map(|(reducer, ..)| self.accumulators(reducer, extents)).collect();
        Stack { accs, height: self.counter() }
    }

    /// A counter, which is 0.
    fn counter(&mut self) -> u32 {
        let counter = self.b.local(DType::I64, &[]);
        let zero = self.cx().int(DType::I64, 0);
        self.b.store(counter, Part::Re, &[], zero);
        counter
    }

    /// Adds 1 to a counter, and returns its value.
    fn count(&mut self, counter: u32) -> KValue {
        let (old, one) = (self.b.load(counter, Part::Re, &[]), self.cx().int(DType::I64, 1));
        let new = self.cx().add(old, one);
        self.b.store(counter, Part::Re, &[], new);
        new
    }

    fn height(&mut self, stack: &Stack) -> KValue {
        self.b.load(stack.height, Part::Re, &[])
    }

    fn set_height(&mut self, stack: &Stack, height: Linear) {
        let height = self.b.value(&height);
        self.b.store(stack.height, Part::Re, &[], height);
    }

    /// Calls `each` for this many entries of a stack, from the top down, and drops them.
    fn pop(
        &mut self,
        stack: &Stack,
        count: KValue,
        each: impl FnOnce(&mut Self, Linear) -> Result<(), NotLowered>,
    ) -> Result<(), NotLowered> {
        let height = self.height(stack);
        self.for_each(Linear::default(), &[count.into()], |this, n| {
            each(this, Linear::from(height).plus(-1).minus(&n))
        })?;
        self.set_height(stack, Linear::from(height).plus_term(count, -1));
        Ok(())
    }

    /// The number of trailing zero bits of a positive number.
    fn trailing_zeros(&mut self, value: KValue) -> KValue {
        let (negative, one) = (self.cx().neg(value), self.cx().int(DType::I64, 1));
        let lowest = self.cx().and(value, negative);
        let below = self.cx().sub(lowest, one);
        self.b.k.unary(Unary::PopCount, below)
    }

    /// The quotient of a form by a positive number, rounded up; at most 0 if the form is not positive.
    fn ceil_div(&mut self, form: &Linear, by: i64) -> Linear {
        let sum = form.clone().plus(by - 1);
        match sum.as_constant() {
            Some(sum) => Linear::constant(sum.div_euclid(by)),
            None if by == 1 => sum,
            None => {
                let (sum, by) = (self.b.value(&sum), self.b.k.constant(Scalar::I64(by)));
                self.b.k.binary(Binary::Quot, sum, by).into()
            }
        }
    }

    fn is_zero(&mut self, value: KValue) -> Condition {
        let zero = self.cx().int(DType::I64, 0);
        Condition::Value(self.cx().eq(value, zero))
    }

    fn is_not_zero(&mut self, value: KValue) -> Condition {
        let zero = self.cx().int(DType::I64, 0);
        Condition::Value(self.cx().ne(value, zero))
    }
}
