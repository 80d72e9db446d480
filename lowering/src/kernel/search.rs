//! The first of the greatest elements of a row, in two steps.
//!
//! To keep a position beside each value takes more than twice the work, as positions are wider than most values. Of a long row only values are combined,
//! block by block; what these came to says which block has the one that is sought, and its position is found in that block alone.

use super::{Combination, Fold, KInst, KOp, KValue, Kernel};

/// The kernels of such a row. All have its buffers, and one for the value and one for the position besides.
#[derive(Clone, Debug)]
pub struct Search {
    /// Leaves the value that a block comes to.
    pub values: Kernel,
    /// Leaves the value and its position, from the beginning of a block.
    pub part: Kernel,
    /// Combines what blocks have, adjacent along the innermost loop, and leaves that to two more buffers.
    pub pick: Kernel,
    /// Goes on as after the row, with what the additional buffers hold.
    pub join: Kernel,
}

impl Kernel {
    /// The kernels, if all that is combined is a value and the index of its point in a row, which nothing else looks at.
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

    /// Of a kernel that leaves a value and its position, one that leaves the value.
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
