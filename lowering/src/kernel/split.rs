//! A fold in two kernels: one for a part of a row, and one that joins parts and does what follows the row.
//!
//! The order of combination is a tree, so what the order calls a part, or a power of two of them, has a node of the
//! tree to itself: what the part comes to does not depend on the rest. The parts are combined as leaves are.

use super::{Buffer, Combination, Fold, KInst, KOp, KValue, Kernel, Part, ValueInfo};
use rewright_ir::expr::Order;
use rewright_ir::{DType, Loc};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// Two kernels for a fold. Both have the buffers of the fold's kernel, and one for each of its totals besides, in order.
#[derive(Clone, Debug)]
pub struct Split {
    /// Leaves what a part of the row came to in the additional buffers, and writes nothing else.
    pub part: Kernel,
    /// Combines what the additional buffers hold, adjacent along the innermost loop, and goes on as after the row.
    pub join: Kernel,
    /// The dtypes of the additional buffers.
    pub totals: Vec<DType>,
}

impl Fold {
    /// A part of a row is so many points, times a power of two; the last one may be shorter. `None` if points are combined one after the other.
    pub fn part(&self) -> Option<u64> {
        match self.order {
            Order::Tree { part, .. } => Some(part as u64),
            Order::Sequential => None,
        }
    }
}

impl Kernel {
    /// The two kernels of a fold; `None` if points are combined one after the other, or there is no fold.
    pub fn split_fold(&self) -> Option<Split> {
        let fold = self.fold.as_ref().filter(|fold| fold.part().is_some())?;
        let totals = self.totals(fold).collect();
        Some(Split { part: self.part(fold), join: self.join(fold), totals })
    }

    fn totals<'f>(&'f self, fold: &'f Fold) -> impl Iterator<Item = DType> {
        fold.totals.iter().map(|&total| self.dtype(total))
    }

    /// Instead of what follows a row the totals are stored.
    fn part(&self, fold: &Fold) -> Kernel {
        let (mut kernel, kept) = self.only(|number| !fold.after.contains(&number));
        let begin = kernel.insts.len();
        fold.totals.iter().for_each(|&total| kernel.store_besides(total, SmallVec::from_elem(false, self.axes)));
        let after = begin..kernel.insts.len();
        let moved = |other: &Combination| Combination { both: other.both.clone(), combine: kept.range(&other.combine) };
        let [onward, alone] = [&fold.onward, &fold.alone].map(|other| other.as_ref().map(moved));
        kernel.fold = Some(Fold { after, combine: kept.range(&fold.combine), onward, alone, ..fold.clone() });
        kernel
    }

    /// Instead of what is computed at each point the totals of parts are loaded.
    fn join(&self, fold: &Fold) -> Kernel {
        let inner = self.axes as u32;
        let outside = |number: usize| self.level(&self.insts[number]) < inner && !self.is_of_fold(number);
        let (mut kernel, kept) =
            self.only(|number| fold.combine.contains(&number) || fold.after.contains(&number) || outside(number));
        let along = |axis: usize| axis + 1 == self.axes;
        let varies = || (0..self.axes).map(along).collect();
        let items = self.totals(fold).map(|dtype| kernel.load_besides(dtype, varies())).collect();
        let (after, combine) = (kept.range(&fold.after), kept.range(&fold.combine));
        let order = Order::Tree { lanes: 1, leaf: 1, apart: 1, part: 1 };
        kernel.fold = Some(Fold { order, items, after, combine, onward: None, alone: None, ..fold.clone() });
        kernel
    }

    /// Stores a value to one more buffer, which varies along these axes.
    pub(super) fn store_besides(&mut self, value: KValue, varies: SmallVec<[bool; 4]>) {
        let op = KOp::Store(self.buffers.len() as u32, Part::Re);
        let first = KValue(self.values.len() as u32);
        self.buffers.push(Buffer { dtype: self.dtype(value), written: true, varies });
        let args = SmallVec::from_slice(&[value]);
        Arc::make_mut(&mut self.insts).push(KInst { op, args, results: 0, first, loc: Loc::default() });
    }

    /// Loads a value from one more buffer, which varies along these axes.
    pub(super) fn load_besides(&mut self, dtype: DType, varies: SmallVec<[bool; 4]>) -> KValue {
        let op = KOp::Load(self.buffers.len() as u32, Part::Re);
        let first = KValue(self.values.len() as u32);
        let buffer = Buffer { dtype, written: false, varies };
        Arc::make_mut(&mut self.values).push(ValueInfo { dtype, level: buffer.level() });
        self.buffers.push(buffer);
        let args = SmallVec::new();
        Arc::make_mut(&mut self.insts).push(KInst { op, args, results: 1, first, loc: Loc::default() });
        first
    }

    /// The same with some of the instructions.
    pub(super) fn only(&self, stays: impl Fn(usize) -> bool) -> (Kernel, Kept) {
        let mut kernel = self.clone();
        let mut before = vec![0];
        for number in 0..self.insts.len() {
            before.push(before[number] + usize::from(stays(number)));
        }
        let mut number = 0..;
        Arc::make_mut(&mut kernel.insts).retain(|_| number.next().is_some_and(&stays));
        (kernel, Kept { before })
    }
}

/// Where instructions are after some were taken out.
pub(super) struct Kept {
    /// By old number, how many before it are left.
    before: Vec<usize>,
}

impl Kept {
    pub fn range(&self, range: &Range<usize>) -> Range<usize> {
        self.before[range.start]..self.before[range.end]
    }
}
