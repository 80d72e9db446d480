//! A fold in two kernels: one that computes what points give, and one that combines it.
//!
//! A vector has no more points than a row: of rows of three points that are sines of something, most lanes compute nothing. Points of several rows that
//! follow one another fill all lanes, if they are computed first; to combine them then is little work.

use super::{Binary, Combination, Fold, KOp, KValue, Kernel, Unary};
use rewright_ir::DType;
use smallvec::SmallVec;

/// Two kernels for a fold. Both have its kernel's buffers, and one besides for each value that points give.
#[derive(Clone, Debug)]
pub struct ItemSplit {
    /// Leaves what points give in the additional buffers, and writes nothing else. Points are independent, and all that is read is read at each.
    pub items: Kernel,
    /// Combines what the additional buffers hold, and goes on as before.
    pub fold: Kernel,
    /// The dtypes of the additional buffers.
    pub dtypes: Vec<DType>,
}

/// What is computed at a point of a row before points are combined.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ItemWork {
    /// About how many instructions, of which divisions and roots count as several.
    pub insts: u32,
    /// Whether positions in the row are combined, too.
    pub positions: bool,
    /// The bytes of a float of complex numbers that are read, if any are.
    pub pairs: Option<usize>,
}

impl Kernel {
    /// The two kernels; `None` if [`item_work`](Kernel::item_work) is.
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

    /// Buffers that nothing reads or writes stay, but vary along no axis.
    fn forget_unused_buffers(&mut self) {
        let used = self.used_buffers();
        for (buffer, _) in self.buffers.iter_mut().zip(used).filter(|(_, used)| !used) {
            buffer.varies.fill(false);
        }
    }

    /// For each buffer, whether something reads or writes it.
    pub fn used_buffers(&self) -> Vec<bool> {
        let mut used = vec![false; self.buffers.len()];
        for inst in self.insts.iter() {
            if let KOp::Load(buffer, _) | KOp::Store(buffer, _) = inst.op {
                used[buffer as usize] = true;
            }
        }
        used
    }

    /// About how many instructions compute what a point gives to a fold; `None` if that can't be computed before points are combined, by points that
    /// know nothing of where they are, is not done in vectors, or is to a good part what is computed once a row, and would be at each point then.
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

    /// What points give that is computed, each value once; positions in a row are not.
    fn made(&self, fold: &Fold) -> Vec<KValue> {
        let positions = (0..self.insts.len()).filter(|&number| self.is_position(number));
        let positions: Vec<KValue> = positions.map(|number| self.insts[number].first).collect();
        let mut made: Vec<KValue> = fold.items.iter().copied().filter(|item| !positions.contains(item)).collect();
        made.sort_by_key(|value| value.0);
        made.dedup();
        made
    }

    /// True of the index along the innermost axis.
    fn is_position(&self, number: usize) -> bool {
        self.insts[number].op == KOp::Index(self.axes as u32 - 1)
    }
}
