//! Finds the first of the greatest elements of a row, in two passes.
//!
//! Keeping a position with each value takes more than twice the work, as positions are wider than most
//! values. For a long row, the first pass combines only values, block by block. The results tell which block
//! has the greatest value, and the second pass finds the position in that block alone.

use super::{Combination, Fold, KInst, KOp, KValue, Kernel};

/// The kernels of the search. All have the row kernel's buffers, and one more for the value and one for the
/// position.
#[derive(Clone, Debug)]
pub struct Search {
    /// Stores the greatest value of a block.
    pub values: Kernel,
    /// Stores the value and its position, from the beginning of a block.
    pub part: Kernel,
    /// Combines the results of blocks, contiguous along the innermost loop, and stores the result to two
    /// more buffers.
    pub pick: Kernel,
    /// Loads the result from the additional buffers, and runs the epilogue of the row.
    pub join: Kernel,
}

impl Kernel {
    /// The kernels, if a row combines only a value and the index of its point, and no other instruction uses
    /// the index.
    pub fn search(&self) -> Option<Search> {
        let fold = self.fold.as_ref().filter(|fold| fold.any_order && fold.alone.is_some())?;
        let &[_, position] = &fold.items[..] else { return None };
        let is_index = |inst: &&KInst| inst.op == KOp::Index(self.axes as u32 - 1);
        let indices: Vec<KValue> = self.insts.iter().filter(is_index).map(|inst| inst.first).collect();
        if indices != [position] || self.insts.iter().any(|inst| inst.args.contains(&position)) {
            return None;
        }
        let split = self.split_fold()?;
        let pick = split.join.split_fold()?.part;
        Some(Search { values: split.part.of_values()?, part: split.part, pick, join: split.join })
    }

    /// The kernel that stores only the value, of a kernel that stores a value and its position.
    fn of_values(&self) -> Option<Kernel> {
        let fold = self.fold.as_ref()?;
        let alone = fold.alone.as_ref()?;
        let gone = |number: usize| {
            let is_in = |other: &Option<Combination>| other.as_ref().is_some_and(|o| o.combine.contains(&number));
            fold.combine.contains(&number) || is_in(&fold.onward) || number == fold.after.end - 1
        };
        let (mut kernel, kept) = self.only(|number| !gone(number));
        kernel.fold = Some(Fold {
            items: vec![fold.items[0]],
            neutral: vec![fold.neutral[0]],
            left: vec![fold.left[0]],
            right: vec![fold.right[0]],
            both: alone.both.clone(),
            totals: vec![fold.totals[0]],
            combine: kept.range(&alone.combine),
            after: kept.range(&fold.after),
            onward: None,
            alone: None,
            ..fold.clone()
        });
        Some(kernel)
    }
}
