//! Splits a reduction into a kernel for a part of a row, and a kernel that joins parts and runs the epilogue
//! of the row.
//!
//! The order of combination is a tree. A part in the sense of the order, or a power of two of them, is a
//! whole subtree, so its total does not depend on the rest of the row. The join combines parts as the tree
//! combines leaves.

use super::{Buffer, Combination, Fold, KInst, KOp, KValue, Kernel, Part, ValueInfo};
use rewright_ir::expr::Order;
use rewright_ir::{DType, Loc};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// The two kernels of a reduction. Both have the buffers of its kernel, and one more for each of its totals,
/// in order.
#[derive(Clone, Debug)]
pub struct Split {
    /// Stores the totals of a part to the additional buffers, and nothing else.
    pub part: Kernel,
    /// Loads totals from the additional buffers, contiguous along the innermost loop, combines them, and
    /// runs the epilogue of the row.
    pub join: Kernel,
    /// The dtypes of the additional buffers.
    pub totals: Vec<DType>,
}

impl Fold {
    /// The least number of points of a part. A part has a power of two times as many; the last one may be
    /// shorter. `None` for sequential reductions.
    pub fn part(&self) -> Option<u64> {
        match self.order {
            Order::Tree { part, .. } => Some(part as u64),
            Order::Sequential => None,
        }
    }
}

impl Kernel {
    /// The two kernels of a reduction; `None` for sequential reductions and for kernels without a fold.
    pub fn split_fold(&self) -> Option<Split> {
        let fold = self.fold.as_ref().filter(|fold| fold.part().is_some())?;
        let totals = self.totals(fold).collect();
        Some(Split { part: self.part(fold), join: self.join(fold), totals })
    }

    fn totals<'f>(&'f self, fold: &'f Fold) -> impl Iterator<Item = DType> {
        fold.totals.iter().map(|&total| self.dtype(total))
    }

    /// The kernel of a part, which stores the totals in place of the row's epilogue.
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

    /// The kernel that joins parts, which loads the totals of parts in place of the values of points.
    fn join(&self, fold: &Fold) -> Kernel {
        let inner = self.axes as u32;
        let outside = |number: usize| self.level(&self.insts[number]) < inner && !self.is_of_fold(number);
        let (mut kernel, kept) =
            self.only(|number| fold.combine.contains(&number) || fold.after.contains(&number) || outside(number));
        let along = |axis: usize| axis + 1 == self.axes;
        let varies = || (0..self.axes).map(along).collect();
        let items = self.totals(fold).map(|dtype| kernel.load_besides(dtype, varies())).collect();
        let (after, combine) = (kept.range(&fold.after), kept.range(&fold.combine));
        let order = Order::Tree { lanes: 1, leaf: 1, apart: 1, part: 1, block: 1 };
        kernel.fold = Some(Fold { order, items, after, combine, onward: None, alone: None, ..fold.clone() });
        kernel
    }

    /// Stores a value to an additional buffer that varies along these axes.
    pub(super) fn store_besides(&mut self, value: KValue, varies: SmallVec<[bool; 4]>) {
        let op = KOp::Store(self.buffers.len() as u32, Part::Re);
        let first = KValue(self.values.len() as u32);
        self.buffers.push(Buffer { dtype: self.dtype(value), written: true, varies });
        let args = SmallVec::from_slice(&[value]);
        Arc::make_mut(&mut self.insts).push(KInst { op, args, results: 0, first, loc: Loc::default() });
    }

    /// Loads a value from an additional buffer that varies along these axes.
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

    /// The kernel with only some of its instructions.
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

/// The new numbers of instructions after some were removed.
pub(super) struct Kept {
    /// By old number, the count of remaining instructions before it.
    before: Vec<usize>,
}

impl Kept {
    pub fn range(&self, range: &Range<usize>) -> Range<usize> {
        self.before[range.start]..self.before[range.end]
    }
}
