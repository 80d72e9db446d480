//! Reductions along the innermost axis.
//!
//! The points of the innermost axis are a *row*. The values of its points are combined in an [`Order`] that
//! is part of the meaning: every schedule gives the same bits. After a row the kernel continues with its
//! total, one loop further out.

use super::{KInst, KValue, Kernel};
use rewright_ir::expr::Order;
use std::ops::Range;

/// The reduction of a row. Two tuples of values are combined, with one element per accumulator.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// The order of combination within a row.
    pub order: Order,
    /// Whether any other order gives the same bits, as for integers.
    pub any_order: bool,
    /// The values of each point, of the innermost level.
    pub items: Vec<KValue>,
    /// The bits of a left identity. It need not be the monoid's identity: for float sums it is -0, since 0
    /// would change -0. A sequential reduction begins with it, and it may be any value then.
    pub neutral: Vec<u64>,
    /// The left operands of a combination. No instruction defines them.
    pub left: Vec<KValue>,
    /// The right operands, of points that are later in the row.
    pub right: Vec<KValue>,
    /// The result of a combination.
    pub both: Vec<KValue>,
    /// The instructions, by number, that compute `both` from `left` and `right`: pure, and of the innermost
    /// level.
    pub combine: Range<usize>,
    /// A simpler combination that requires that all points of `left` are before those of `right`, if there
    /// is one.
    pub onward: Option<Combination>,
    /// The combination of the first accumulators alone, if it does not depend on the others: values without
    /// their positions.
    pub alone: Option<Combination>,
    /// The totals of a row: values of the level around the innermost loop, which no instruction defines.
    pub totals: Vec<KValue>,
    /// The instructions, by number, that run after a row (its epilogue), of the level around the innermost
    /// loop.
    pub after: Range<usize>,
}

/// An alternative combination of all accumulators, or of the first ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// The result of the combination.
    pub both: Vec<KValue>,
    /// The instructions, by number: pure, and of the innermost level.
    pub combine: Range<usize>,
}

impl Fold {
    /// The instructions of all combinations.
    fn combining(&self) -> impl Iterator<Item = usize> {
        let others = [&self.onward, &self.alone].into_iter().flatten();
        self.combine.clone().chain(others.flat_map(|other| other.combine.clone()))
    }
}

impl Kernel {
    /// Whether an instruction belongs to a fold, and does not run at each point of its level.
    pub fn is_of_fold(&self, inst: usize) -> bool {
        let is_of = |fold: &Fold| fold.combining().any(|n| n == inst) || fold.after.contains(&inst);
        self.fold.as_ref().is_some_and(is_of)
    }

    /// The instructions of each level, by number, without those of a fold and those after steps.
    pub fn levels(&self) -> Vec<Vec<usize>> {
        let mut levels = vec![Vec::new(); self.axes + 1];
        for (number, inst) in
            self.insts.iter().enumerate().filter(|(n, _)| !self.is_of_fold(*n) && !self.is_after_steps(*n))
        {
            levels[self.level(inst) as usize].push(number);
        }
        levels
    }

    /// The violation of a rule of folds: the instruction and the message.
    pub(super) fn fold_problem(&self) -> Option<(usize, String)> {
        let fold = self.fold.as_ref()?;
        let count = fold.items.len();
        let wrong = |at: usize, message: &str| Some((at, message.to_string()));
        let onward = fold.onward.as_ref().map_or(&fold.both, |onward| &onward.both);
        let lists = [&fold.left, &fold.right, &fold.both, onward, &fold.totals];
        if self.axes == 0 || count == 0 || fold.neutral.len() != count || lists.iter().any(|list| list.len() != count) {
            return wrong(fold.combine.start, "a fold has a loop, and of each list as many values as it has items");
        }
        if fold.combining().chain(fold.after.clone()).any(|number| number >= self.insts.len()) {
            return wrong(fold.combine.start, "a fold of instructions that there are not");
        }
        if let Order::Tree { lanes, leaf, apart, part, .. } = fold.order
            && !([apart, lanes, leaf, part].is_sorted()
                && [apart, lanes, leaf, part].iter().all(|n| n.is_power_of_two()))
        {
            return wrong(
                fold.combine.start,
                "lanes, those apart, leaves and parts are powers of two, a leaf has a point for each lane, and a part is no shorter",
            );
        }
        let (inner, around) = (self.axes as u32, self.axes as u32 - 1);
        if fold.alone.as_ref().is_some_and(|alone| !(1..=count).contains(&alone.both.len())) {
            return wrong(fold.combine.start, "the first of its accumulators alone, which are none or too many");
        }
        if let Some(alone) = &fold.alone {
            let others = [&fold.left, &fold.right].map(|list| &list[alone.both.len()..]).concat();
            let depends = |at: &usize| self.insts[*at].args.iter().any(|arg| others.contains(arg));
            if let Some(at) = alone.combine.clone().find(depends) {
                return wrong(at, "the first of its accumulators alone, which depend on others");
            }
        }
        for at in 0..count {
            let dtype = self.dtype(fold.items[at]);
            if lists.iter().any(|list| self.dtype(list[at]) != dtype) {
                return wrong(fold.combine.start, "an item of a fold has one dtype everywhere");
            }
            let levels = [fold.left[at], fold.right[at], fold.totals[at]].map(|v| self.values[v.0 as usize].level);
            if levels != [inner, inner, around] {
                return wrong(
                    fold.combine.start,
                    "operands of a fold are of the innermost level, totals of that around it",
                );
            }
        }
        let pure =
            |inst: &KInst| !matches!(inst.op, super::KOp::Store(..) | super::KOp::Load(..) | super::KOp::Reference(_));
        let inner_one = |inst: &KInst| self.level(inst) == inner;
        if let Some(at) = fold.combining().find(|&at| !pure(&self.insts[at]) || !inner_one(&self.insts[at])) {
            return wrong(at, "a combination only computes, with what it combines");
        }
        let inside = |v: &KValue| self.values[v.0 as usize].level == inner;
        let late = |at: &usize| self.insts[*at].args.iter().any(inside);
        fold.after.clone().find(late).and_then(|at| wrong(at, "a value of the innermost loop after it"))
    }
}
