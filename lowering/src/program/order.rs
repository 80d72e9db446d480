//! The order of a reduction as loops.
//!
//! [`Order`](rewright_ir::expr::Order) defines the reduction tree. Its parts become loops and local buffers:
//!
//! ```text
//! for each row (the reduce axes before the last parallel axis):
//!   for each leaf of the row:
//!     lanes[..] = nothing
//!     for each round of the leaf, for each lane:   lanes[lane] += element
//!     halve the lanes down to `apart`
//!     join the leaves so far on the stack `leaves`, until the part is full
//!     halve the lanes down to one, and join parts on the stack `parts`
//!   block += row; after some rows, join blocks on the stack `blocks`
//! ```
//!
//! A stack is a binary counter: its n-th entry holds a group of twice the size of the entry after it.

use super::reduce::{Accumulator, Reduce, Slots, Tuple};
use super::replay::Replay;
use super::{Condition, Linear, ProgramBuilder, Trip};
use crate::kernel::{Binary, KValue, Part, Unary};
use rewright_ir::DType;
use smallvec::SmallVec;
use std::slice::from_ref;

/// More entries than a binary counter of points has.
pub const ENTRIES: usize = 56;

/// Reductions of one order: how tuples are combined, and the total.
pub type Group<'g> = [(&'g Accumulator, &'g Slots)];

/// Tuples of each reduction of a group.
pub type GroupSlots = Vec<Slots>;

/// Stacks of tuples, one for each reduction of a group, and their height.
pub struct Stack {
    slots: GroupSlots,
    height: u32,
}

/// A box of points of parallel axes, each of which has a total: adjacent indices along each axis, at least
/// one. Without axes it is one point.
#[derive(Clone, Default)]
pub struct Tile {
    /// The axes, outermost first.
    pub spans: SmallVec<[Span; 2]>,
}

/// Adjacent indices along an axis.
#[derive(Clone)]
pub struct Span {
    /// The first index.
    pub first: Linear,
    /// One past the last index: the least of these.
    pub end: Vec<Linear>,
    /// The most there are.
    pub each: u32,
}

impl Tile {
    /// The most points along each axis.
    pub fn extents(&self) -> SmallVec<[u32; 2]> {
        self.spans.iter().map(|span| span.each).collect()
    }
}

impl ProgramBuilder {
    /// Appends statements for each point of a tile, given its place in the tile.
    fn each_point(&mut self, tile: &Tile, body: impl FnOnce(&mut Self, &[Linear])) {
        let mut loops: SmallVec<[(KValue, &Span); 2]> = SmallVec::new();
        for span in &tile.spans {
            loops.push((self.open_loop(), span));
        }
        let at: SmallVec<[Linear; 2]> =
            loops.iter().map(|(index, span)| Linear::from(*index).minus(&span.first)).collect();
        body(self, &at);
        for (index, span) in loops.into_iter().rev() {
            self.close_loop(index, Trip::NotEmpty, span.first.clone(), &span.end);
        }
    }

    /// Combines a row, and then the totals with it. The body of the reduction has no reduction.
    pub fn row(&mut self, reduce: &Reduce) {
        let group: Vec<(&Accumulator, &Slots)> = reduce.accumulators.iter().map(|(a, total)| (a, total)).collect();
        let (group, tree) = (&group[..], reduce.tree);
        let known = reduce.points.iter().filter_map(Linear::as_constant).min();
        let lanes_needed =
            known.map_or(tree.lanes, |n| (n.max(1) as u64).next_power_of_two().min(tree.lanes.into()) as u32);
        let apart = tree.apart.min(lanes_needed);
        let at_most = |limit: u32| known.is_some_and(|n| n <= i64::from(limit));
        let lanes: GroupSlots = group.iter().map(|(a, _)| self.slots(a, &[lanes_needed])).collect();
        let leaf_groups = (tree.part / tree.leaf).ilog2() + 1;
        let leaves = (!at_most(tree.leaf)).then(|| self.stack(group, leaf_groups, apart));
        let parts = (!at_most(tree.part)).then(|| self.stack(group, ENTRIES as u32, 1));
        let points = self.extreme(Binary::Min, &reduce.points);
        let leaf_count = self.ceil_div(&points, tree.leaf.into());
        self.for_each(Linear::default(), from_ref(&leaf_count), |this, leaf| {
            this.for_each(Linear::default(), &[Linear::constant(lanes_needed.into())], |this, lane| {
                group.iter().zip(&lanes).for_each(|((a, _), slots)| this.clear(a, slots, from_ref(&lane)));
            });
            let base = Linear::default().plus_scaled(&leaf, tree.leaf.into());
            let left = points.clone().minus(&base);
            let rounds = this.ceil_div(&left, lanes_needed.into());
            let most = Linear::constant((tree.leaf / lanes_needed).into());
            this.for_each(Linear::default(), &[most, rounds], |this, round| {
                let start = base.clone().plus_scaled(&round, lanes_needed.into());
                let left = points.clone().minus(&start);
                this.for_each(Linear::default(), &[Linear::constant(lanes_needed.into()), left], |this, lane| {
                    let point = start.clone().plus_scaled(&lane, 1);
                    let mut replay = Replay::new([(reduce.index, point)].into_iter());
                    replay.scope(this, &reduce.body, &mut |this, items| {
                        let mut items = items.iter();
                        for ((a, _), slots) in group.iter().zip(&lanes) {
                            let values = items.by_ref().take(a.dtypes.len()).copied().collect();
                            this.join(a, (slots, from_ref(&lane)), &Tuple { values, flag: None });
                        }
                    });
                });
            });
            this.halve(group, &lanes, lanes_needed, apart);
            let (Some(leaves), is_last) = (&leaves, leaf.clone().plus(1).minus(&leaf_count)) else {
                this.halve(group, &lanes, apart, 1);
                return this.join_rows(group, &lanes);
            };
            // `is_last` is 0 at the last leaf and negative before.
            let number = this.value(&leaf.clone().plus(1));
            let leaves_of_part = this.int((tree.part / tree.leaf).into());
            let into_part = this.k.binary(Binary::Rem, number, leaves_of_part);
            let part_goes_on = this.is_not_zero(into_part);
            let last = Condition::NotNegative(SmallVec::from_iter([is_last]));
            let end_part = |this: &mut Self| {
                let height = this.height(leaves);
                this.pop(leaves, height, |this, top| this.join_lanes(group, leaves, &lanes, apart, &top));
                this.halve(group, &lanes, apart, 1);
            };
            this.when(
                last,
                |this| {
                    end_part(this);
                    if let Some(parts) = &parts {
                        let height = this.height(parts);
                        this.pop(parts, height, |this, top| this.join_lanes(group, parts, &lanes, 1, &top));
                    }
                    this.join_rows(group, &lanes);
                },
                |this| {
                    this.when(
                        part_goes_on,
                        |this| {
                            let joins = this.trailing_zeros(number);
                            this.pop(leaves, joins, |this, top| this.join_lanes(group, leaves, &lanes, apart, &top));
                            this.push_lanes(leaves, &lanes, apart);
                        },
                        |this| {
                            end_part(this);
                            let Some(parts) = &parts else { return };
                            let part = this.k.binary(Binary::Quot, number, leaves_of_part);
                            let joins = this.trailing_zeros(part);
                            this.pop(parts, joins, |this, top| this.join_lanes(group, parts, &lanes, 1, &top));
                            this.push_lanes(parts, &lanes, 1);
                        },
                    );
                },
            );
        });
    }

    /// Combines the parts of a row, and then the totals with it. `part` combines one part, given its number,
    /// onto the totals that it is given.
    pub fn join_parts(&mut self, reduce: &Reduce, count: &Linear, part: impl FnOnce(&mut Self, KValue, Vec<Slots>)) {
        let group: Vec<(&Accumulator, &Slots)> = reduce.accumulators.iter().map(|(a, total)| (a, total)).collect();
        let parts = self.stack(&group, ENTRIES as u32, 1);
        self.for_each(Linear::default(), from_ref(count), |this, number| {
            let number = this.value(&number);
            let totals: Vec<Slots> = group.iter().map(|(a, _)| this.slots(a, &[])).collect();
            group.iter().zip(&totals).for_each(|((a, _), total)| this.clear(a, total, &[]));
            part(this, number, totals.clone());
            let (next, count) = (this.value(&Linear::from(number).plus(1)), this.value(count));
            let is_last = this.cx().eq(next, count);
            let (height, full) = (this.height(&parts), this.trailing_zeros(next));
            let joins = this.k.select(is_last, height, full);
            this.pop(&parts, joins, |this, top| {
                for (((a, _), slots), total) in group.iter().zip(&parts.slots).zip(&totals) {
                    this.join_before(a, (slots, from_ref(&top)), (total, &[]));
                }
            });
            let whole: Vec<Tuple> = totals.iter().map(|total| this.get(total, &[])).collect();
            let (height, last) = (this.height(&parts), Condition::Value(is_last));
            this.when(
                last,
                |this| group.iter().zip(&whole).for_each(|((a, total), whole)| this.join(a, (total, &[]), whole)),
                |this| {
                    let entry = [Linear::from(height)];
                    parts.slots.iter().zip(&whole).for_each(|(slots, whole)| this.set(slots, &entry, whole));
                    this.set_height(&parts, Linear::from(height).plus(1));
                },
            );
        });
    }

    /// Combines the upper half of the lanes onto the lower half, until `to` are left.
    fn halve(&mut self, group: &Group<'_>, lanes: &GroupSlots, from: u32, to: u32) {
        let mut half = from;
        while half > to {
            half /= 2;
            self.for_each(Linear::default(), &[Linear::constant(half.into())], |this, lane| {
                for ((a, _), slots) in group.iter().zip(lanes) {
                    let right = this.get(slots, &[lane.clone().plus(half.into())]);
                    this.join(a, (slots, from_ref(&lane)), &right);
                }
            });
        }
    }

    /// Combines the entry of a stack with the first lanes, and leaves the result in the lanes.
    fn join_lanes(&mut self, group: &Group<'_>, stack: &Stack, lanes: &GroupSlots, count: u32, top: &Linear) {
        self.for_each(Linear::default(), &[Linear::constant(count.into())], |this, lane| {
            for (((a, _), slots), lanes) in group.iter().zip(&stack.slots).zip(lanes) {
                let at = [top.clone(), lane.clone()];
                let at: &[Linear] = if count == 1 { &at[..1] } else { &at };
                let right = this.get(lanes, from_ref(&lane));
                this.join(a, (slots, at), &right);
                let joined = this.get(slots, at);
                this.set(lanes, from_ref(&lane), &joined);
            }
        });
    }

    /// Pushes the first lanes.
    fn push_lanes(&mut self, stack: &Stack, lanes: &GroupSlots, count: u32) {
        let height = self.height(stack);
        self.for_each(Linear::default(), &[Linear::constant(count.into())], |this, lane| {
            for (slots, lanes) in stack.slots.iter().zip(lanes) {
                let at = [Linear::from(height), lane.clone()];
                let at: &[Linear] = if count == 1 { &at[..1] } else { &at };
                let tuple = this.get(lanes, from_ref(&lane));
                this.set(slots, at, &tuple);
            }
        });
        self.set_height(stack, Linear::from(height).plus(1));
    }

    /// Joins the totals, which hold the n-th full block, with earlier groups of blocks of the same size, puts
    /// the result on the stack of blocks, and empties the totals. Before that, the height of the stack is the
    /// number of ones of n - 1.
    pub fn push_totals(&mut self, group: &Group<'_>, blocks: &GroupSlots, number: KValue) {
        let (joins, one) = (self.trailing_zeros(number), self.int(1));
        let before = self.k.binary(Binary::Sub, number, one);
        let height = self.k.unary(Unary::PopCount, before);
        self.join_blocks(group, blocks, (height, joins));
        let top = Linear::from(height).plus_term(joins, -1);
        for ((a, total), slots) in group.iter().zip(blocks) {
            let tuple = self.get(total, &[]);
            self.set(slots, from_ref(&top), &tuple);
            self.clear(a, total, &[]);
        }
    }

    /// Joins the totals with all groups of blocks, given the number of blocks.
    pub fn join_all(&mut self, group: &Group<'_>, blocks: &GroupSlots, count: KValue) {
        let height = self.k.unary(Unary::PopCount, count);
        self.join_blocks(group, blocks, (height, height));
    }

    /// Joins the totals with groups of blocks, from the top of a stack of this height down.
    fn join_blocks(&mut self, group: &Group<'_>, blocks: &GroupSlots, (height, joins): (KValue, KValue)) {
        self.for_each_of(Trip::Few, Linear::default(), &[joins.into()], |this, n| {
            let top = Linear::from(height).plus(-1).minus(&n);
            for ((a, total), slots) in group.iter().zip(blocks) {
                this.join_before(a, (slots, from_ref(&top)), (total, &[]));
            }
        });
    }

    /// Combines the totals with rows, which are in the first lanes.
    fn join_rows(&mut self, group: &Group<'_>, lanes: &GroupSlots) {
        let rows: Vec<Tuple> = lanes.iter().map(|slots| self.get(slots, &[Linear::default()])).collect();
        for ((a, total), row) in group.iter().zip(&rows) {
            self.join(a, (total, &[]), row);
        }
    }

    // --- Stacks and counters -------------------------------------------------------------------------------

    /// Room for a stack of blocks, which have a total for each point of a tile.
    pub fn block_stack(&mut self, accumulators: &[&Accumulator], tile: &Tile) -> GroupSlots {
        let extents: SmallVec<[u32; 3]> = [ENTRIES as u32].into_iter().chain(tile.extents()).collect();
        accumulators.iter().map(|a| self.slots(a, &extents)).collect()
    }

    /// Joins the entry of a stack at a height with entries below it, from the top down and in place.
    pub fn join_entries(
        &mut self,
        (accumulators, stack): (&[&Accumulator], &[Slots]),
        (height, joins): (KValue, KValue),
        tile: &Tile,
    ) {
        self.for_each_of(Trip::Few, Linear::default(), &[joins.into()], |this, n| {
            let top = Linear::from(height).minus(&n);
            this.each_point(tile, |this, at| {
                let entry =
                    |top: Linear| -> SmallVec<[Linear; 3]> { [top].into_iter().chain(at.iter().cloned()).collect() };
                let (left, right) = (entry(top.clone().plus(-1)), entry(top));
                for (a, slots) in accumulators.iter().zip(stack) {
                    let right = this.get(slots, &right);
                    this.join(a, (slots, &left), &right);
                }
            });
        });
    }

    /// An empty stack of this many entries, which have this many tuples each.
    fn stack(&mut self, group: &Group<'_>, entries: u32, width: u32) -> Stack {
        let extents: &[u32] = if width == 1 { &[entries] } else { &[entries, width] };
        let slots = group.iter().map(|(a, _)| self.slots(a, extents)).collect();
        Stack { slots, height: self.counter() }
    }

    /// A counter, which is 0.
    pub fn counter(&mut self) -> u32 {
        let counter = self.local(DType::I64, &[]);
        let zero = self.int(0);
        self.store(counter, Part::Re, &[], zero);
        counter
    }

    /// Adds 1 to a counter, and returns its value.
    pub fn count(&mut self, counter: u32) -> KValue {
        let (old, one) = (self.load(counter, Part::Re, &[]), self.int(1));
        let new = self.k.binary(Binary::Add, old, one);
        self.store(counter, Part::Re, &[], new);
        new
    }

    /// The height of a stack.
    fn height(&mut self, stack: &Stack) -> KValue {
        self.load(stack.height, Part::Re, &[])
    }

    fn set_height(&mut self, stack: &Stack, height: Linear) {
        let height = self.value(&height);
        self.store(stack.height, Part::Re, &[], height);
    }

    /// Calls `each` for this many entries of a stack, from the top down, and drops them.
    fn pop(&mut self, stack: &Stack, count: KValue, each: impl FnOnce(&mut Self, Linear)) {
        let height = self.height(stack);
        self.for_each(Linear::default(), &[count.into()], |this, n| {
            each(this, Linear::from(height).plus(-1).minus(&n));
        });
        self.set_height(stack, Linear::from(height).plus_term(count, -1));
    }

    /// The number of trailing zero bits of a positive number.
    pub fn trailing_zeros(&mut self, value: KValue) -> KValue {
        let (negative, one) = (self.k.unary(Unary::Neg, value), self.int(1));
        let lowest = self.k.binary(Binary::And, value, negative);
        let below = self.k.binary(Binary::Sub, lowest, one);
        self.k.unary(Unary::PopCount, below)
    }
}
