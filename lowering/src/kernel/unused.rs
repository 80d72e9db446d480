//! Dead code elimination.

use super::{Combination, Fold, KOp, KValue, Kernel};
use std::ops::Range;
use std::sync::Arc;

impl Kernel {
    /// For each instruction, whether a store or one of these values depends on it.
    pub fn live(&self, values: impl Iterator<Item = KValue>) -> Vec<bool> {
        let mut wanted = vec![false; self.values.len()];
        values.for_each(|v| wanted[v.0 as usize] = true);
        let mut live = vec![false; self.insts.len()];
        for (n, inst) in self.insts.iter().enumerate().rev() {
            let results = inst.first.0..inst.first.0 + inst.results;
            // Instructions that may fail are live.
            let acts = matches!(inst.op, KOp::Store(..) | KOp::Reference(_));
            live[n] = acts || results.into_iter().any(|r| wanted[r as usize]);
            if live[n] {
                inst.args.iter().for_each(|a| wanted[a.0 as usize] = true);
            }
        }
        live
    }

    /// Removes dead instructions.
    pub fn drop_unused(&mut self) {
        let carried = self.steps.iter().flat_map(|steps| steps.first.iter().chain(&steps.after).copied());
        let live = self.live(self.fold.iter().flat_map(Fold::given).chain(carried));
        let mut kept = Vec::with_capacity(live.len() + 1);
        let mut count = 0;
        for &live in &live {
            kept.push(count);
            count += usize::from(live);
        }
        kept.push(count);
        let mut live = live.into_iter();
        Arc::make_mut(&mut self.insts).retain(|_| live.next().unwrap_or(true));
        if let Some(steps) = &mut self.steps {
            steps.end = kept[steps.end.start]..kept[steps.end.end];
        }
        if let Some(fold) = &mut self.fold {
            let others = [&mut fold.onward, &mut fold.alone].into_iter().flatten();
            let combining = others.map(|Combination { combine, .. }| combine);
            let moved = |range: &mut Range<usize>| *range = kept[range.start]..kept[range.end];
            [&mut fold.combine, &mut fold.after].into_iter().chain(combining).for_each(moved);
        }
    }
}

impl Fold {
    /// The values of points, and the results of all combinations.
    pub(super) fn given(&self) -> impl Iterator<Item = KValue> {
        let others = [&self.onward, &self.alone].into_iter().flatten().flat_map(|other| &other.both);
        self.items.iter().chain(&self.both).chain(others).copied()
    }
}
