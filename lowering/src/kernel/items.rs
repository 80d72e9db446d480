//! Splits a reduction into a map kernel, which computes the values of points, and a fold kernel, which
//! combines them (fission).
//!
//! A vector has at most the points of one row. With rows of three points that are costly to compute, most
//! lanes are idle. The map kernel fills all lanes with points of several consecutive rows, and combining the
//! values afterwards is cheap.

use super::{Binary, Combination, Fold, KOp, KValue, Kernel, Unary};
use rewright_ir::DType;
use smallvec::SmallVec;

/// The two kernels of a reduction. Both have the buffers of its kernel, and one more for each value of a
/// point.
#[derive(Clone, Debug)]
pub struct ItemSplit {
    /// Stores the values of points to the additional buffers, and nothing else. Points are independent, and
    /// all loads are at the innermost level.
    pub items: Kernel,
    /// Loads the values from the additional buffers, combines them, and continues as the original kernel.
    pub fold: Kernel,
    /// The dtypes of the additional buffers.
    pub dtypes: Vec<DType>,
}

/// The work at a point of a row before points are combined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ItemWork {
    /// An estimate of the number of instructions; divisions and roots count as 8.
    pub insts: u32,
    /// Whether positions in the row are combined as well.
    pub positions: bool,
    /// The bytes of the smallest real dtype of complex operands, if there are any.
    pub pairs: Option<usize>,
}

impl Kernel {
    /// The two kernels; `None` if [`item_work`](Kernel::item_work) is `None`.
    pub fn split_items(&self) -> Option<ItemSplit> {
        let (fold, inner) = (self.fold.as_ref()?, self.axes as u32);
        self.item_work()?;
        let made = self.made(fold);
        let varies = || SmallVec::from_elem(true, self.axes);

        let (mut items, _) = self.only(|number| !self.is_of_fold(number));
        items.fold = None;
        made.iter().for_each(|&value| items.store_besides(value, varies()));
        items.drop_unused();

        let counts = |number: usize| fold.items.contains(&self.insts[number].first) && self.is_position(number);
        let outside = |number: usize| self.level(&self.insts[number]) < inner && !self.is_of_fold(number);
        let (mut kernel, kept) = self.only(|number| self.is_of_fold(number) || outside(number) || counts(number));
        let dtypes: Vec<DType> = made.iter().map(|&value| self.dtype(value)).collect();
        let loaded: Vec<KValue> = dtypes.iter().map(|&dtype| kernel.load_besides(dtype, varies())).collect();
        let moved = |other: &Combination| Combination { both: other.both.clone(), combine: kept.range(&other.combine) };
        let now = |item: &KValue| made.iter().position(|value| value == item).map_or(*item, |number| loaded[number]);
        kernel.fold = Some(Fold {
            items: fold.items.iter().map(now).collect(),
            combine: kept.range(&fold.combine),
            after: kept.range(&fold.after),
            onward: fold.onward.as_ref().map(moved),
            alone: fold.alone.as_ref().map(moved),
            ..fold.clone()
        });
        kernel.drop_unused();
        let mut items = items.by_point();
        [&mut items, &mut kernel].into_iter().for_each(Kernel::forget_unused_buffers);
        Some(ItemSplit { items, fold: kernel, dtypes })
    }

    /// Makes buffers that no instruction accesses invariant along all axes.
    fn forget_unused_buffers(&mut self) {
        let used = self.used_buffers();
        for (buffer, _) in self.buffers.iter_mut().zip(used).filter(|(_, used)| !used) {
            buffer.varies.fill(false);
        }
    }

    /// For each buffer, whether an instruction accesses it.
    pub fn used_buffers(&self) -> Vec<bool> {
        let mut used = vec![false; self.buffers.len()];
        for inst in self.insts.iter() {
            if let KOp::Load(buffer, _) | KOp::Store(buffer, _) = inst.op {
                used[buffer as usize] = true;
            }
        }
        used
    }

    /// An estimate of the instructions per point before points are combined. `None` if the values of points
    /// can't be computed separately: because they depend on indices, need calls, or other instructions
    /// store. Also `None` if too much of the work is computed once per row, since the map kernel would
    /// compute it at each point.
    pub fn item_work(&self) -> Option<ItemWork> {
        let fold = self.fold.as_ref()?;
        let (inner, made) = (self.axes as u32, self.made(fold));
        if inner < 2 || made.is_empty() || made.iter().any(|value| self.values[value.0 as usize].level != inner) {
            return None;
        }
        let mut wanted = vec![false; self.values.len()];
        made.iter().for_each(|value| wanted[value.0 as usize] = true);
        let (mut work, mut once) = (0, 0);
        for (number, inst) in self.insts.iter().enumerate().rev() {
            let results = inst.first.0..inst.first.0 + inst.results;
            if matches!(inst.op, KOp::Store(..)) && !self.is_of_fold(number) {
                return None;
            }
            if !results.into_iter().any(|result| wanted[result as usize]) {
                continue;
            }
            let takes = match &inst.op {
                KOp::Store(..) | KOp::Index(_) | KOp::Math(_) | KOp::Reference(_) => return None,
                KOp::Const(_) | KOp::Param(_) | KOp::Load(..) => 0,
                KOp::Binary(Binary::Div) | KOp::Unary(Unary::Sqrt) => 8,
                _ => 1,
            };
            match self.level(inst) {
                0 => (),
                level if level == inner => work += takes,
                _ => once += takes,
            }
            inst.args.iter().for_each(|arg| wanted[arg.0 as usize] = true);
        }
        let complex = self.buffers.iter().filter(|buffer| !buffer.written && buffer.dtype.is_complex());
        let pairs = complex.map(|buffer| buffer.dtype.real().size()).min();
        let positions = fold.items.iter().any(|item| !made.contains(item));
        (2 * once <= work).then_some(ItemWork { insts: work, positions, pairs })
    }

    /// The computed values of points, each once, without positions in a row.
    fn made(&self, fold: &Fold) -> Vec<KValue> {
        let positions = (0..self.insts.len()).filter(|&number| self.is_position(number));
        let positions: Vec<KValue> = positions.map(|number| self.insts[number].first).collect();
        let mut made: Vec<KValue> = fold.items.iter().copied().filter(|item| !positions.contains(item)).collect();
        made.sort_by_key(|value| value.0);
        made.dedup();
        made
    }

    /// Whether an instruction is the index along the innermost axis.
    fn is_position(&self, number: usize) -> bool {
        self.insts[number].op == KOp::Index(self.axes as u32 - 1)
    }
}
