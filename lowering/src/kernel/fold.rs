//! Reductions along the innermost axis.
//!
//! The points of the innermost axis are a *row*. What is computed at each of them is combined with what the others gave, in an
//! [`Order`] that is part of the meaning: the same bits come out of every schedule. After a row the kernel goes on with its total, one
//! loop further out.

use super::{KInst, KValue, Kernel};
use rewright_ir::expr::Order;
use std::ops::Range;

/// How the points of a row are combined. One tuple of values is combined with another, an accumulator each.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// The order of combination within a row.
    pub order: Order,
    /// True if any other order gives the same bits, as of integers.
    pub any_order: bool,
    /// What each point gives: values of the innermost level.
    pub items: Vec<KValue>,
    /// The bits of what may stand on the left of anything and changes nothing. It need not be the monoid's identity: that of float
    /// sums is -0, since 0 would change -0. What is combined in sequence begins with it, whatever it is.
    pub neutral: Vec<u64>,
    /// What is combined: values that no instruction defines.
    pub left: Vec<KValue>,
    /// See `left`: what comes later in the row.
    pub right: Vec<KValue>,
    /// What the combination is.
    pub both: Vec<KValue>,
    /// The instructions, by number, that compute `both` of `left` and `right`: pure, at the innermost level.
    pub combine: Range<usize>,
    /// The same in another way, for a `left` that is of points before all of `right`, if there is one that is simpler.
    pub onward: Option<Combination>,
    /// What the first accumulators come to without the others, if they do not depend on these: a value without its position.
    pub alone: Option<Combination>,
    /// What a row came to: values of the level around the innermost loop, that no instruction defines.
    pub totals: Vec<KValue>,
    /// The instructions, by number, that run after a row, at the level around the innermost loop.
    pub after: Range<usize>,
}

/// Another way to combine all accumulators, or the first of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    /// What the combination is.
    pub both: Vec<KValue>,
    /// The instructions, by number: pure, at the innermost level.
    pub combine: Range<usize>,
}

impl Fold {
    /// All instructions that combine.
    fn combining(&self) -> impl Iterator<Item = usize> {
        let others = [&self.onward, &self.alone].into_iter().flatten();
        self.combine.clone().chain(others.flat_map(|other| other.combine.clone()))
    }
}

impl Kernel {
    /// True if an instruction is part of a fold rather than run at each point of its level.
    pub fn is_of_fold(&self, inst: usize) -> bool {
        let is_of = |fold: &Fold| fold.combining().any(|n| n == inst) || fold.after.contains(&inst);
        self.fold.as_ref().is_some_and(is_of)
    }

    /// The numbers of the instructions of each level, without those of a fold, and those after steps.
    pub fn levels(&self) -> Vec<Vec<usize>> {
        let mut levels = vec![Vec::new(); self.axes + 1];
        for (number, inst) in
            self.insts.iter().enumerate().filter(|(n, _)| !self.is_of_fold(*n) && !self.is_after_steps(*n))
        {
            levels[self.level(inst) as usize].push(number);
        }
        levels
    }

    /// Where a fold breaks a rule: the instruction and what is wrong.
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
        if let Order::Tree { lanes, leaf, apart, part } = fold.order
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
