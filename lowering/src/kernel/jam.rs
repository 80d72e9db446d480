//! Unrolls a loop around the rows of a reduction and jams the copies into one row loop.
//!
//! An iteration of the row loop then has a point of several rows. Elements that these rows share are loaded
//! once, and the rows' accumulators are combined side by side.

use super::{Combination, Fold, KInst, KOp, KValue, Kernel, ValueInfo};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// A kernel under construction.
struct Copies<'k> {
    kernel: &'k Kernel,
    axis: usize,
    values: Vec<ValueInfo>,
    insts: Vec<KInst>,
    /// By iteration, the new number of each value and of each buffer.
    value_of: Vec<Vec<KValue>>,
    buffer_of: Vec<Vec<u32>>,
    /// By instruction, the number of new instructions before it.
    before: Vec<usize>,
}

impl Kernel {
    /// Unrolls a loop around the rows of a reduction by `times` iterations, which are jammed. The loop has
    /// `times` times fewer iterations. Buffers that vary along it have copies for the other iterations,
    /// iteration by iteration, after all buffers. `None` if this is not possible: there are no rows, an index
    /// along the loop is a value, a point may fail, or iterations write the same elements.
    pub fn jammed(&self, axis: usize, times: usize) -> Option<Kernel> {
        let fold = self.fold.as_ref().filter(|fold| axis + 1 < self.axes && fold.alone.is_none())?;
        let alike = |op: &KOp| !matches!(op, KOp::Reference(_)) && !matches!(op, KOp::Index(a) if *a as usize == axis);
        let is_apart = self.buffers.iter().all(|buffer| !buffer.written || buffer.varies[axis]);
        if times == 0 || !is_apart || !self.insts.iter().all(|inst| alike(&inst.op)) {
            return None;
        }
        let mut buffers = self.buffers.clone();
        let mut buffer_of = vec![(0..buffers.len() as u32).collect::<Vec<_>>()];
        for _ in 1..times {
            let mut own = buffer_of[0].clone();
            for (number, buffer) in self.buffers.iter().enumerate().filter(|(_, buffer)| buffer.varies[axis]) {
                own[number] = buffers.len() as u32;
                buffers.push(buffer.clone());
            }
            buffer_of.push(own);
        }
        let value_of = vec![vec![KValue(0); self.values.len()]; times];
        let (values, insts, before) = (Vec::new(), Vec::new(), Vec::new());
        let mut copies = Copies { kernel: self, axis, values, insts, value_of, buffer_of, before };
        [&fold.left, &fold.right, &fold.totals].into_iter().flatten().for_each(|&value| copies.undefined(value));
        self.insts.iter().for_each(|inst| copies.copy(inst));
        copies.before.push(copies.insts.len());
        let fold = copies.fold(fold, times);
        let Copies { values, insts, .. } = copies;
        Some(Kernel {
            buffers,
            values: Arc::new(values),
            insts: Arc::new(insts),
            fold: Some(fold),
            interleaved: Vec::new(),
            ..self.clone()
        })
    }
}

impl Copies<'_> {
    /// Gives each iteration a copy of a value that no instruction defines.
    fn undefined(&mut self, value: KValue) {
        for own in &mut self.value_of {
            own[value.0 as usize] = KValue(self.values.len() as u32);
            self.values.push(self.kernel.values[value.0 as usize]);
        }
    }

    /// Gives each iteration a copy of an instruction, or all of them one if they share its operands.
    fn copy(&mut self, inst: &KInst) {
        self.before.push(self.insts.len());
        let moves = match inst.op {
            KOp::Load(buffer, _) | KOp::Store(buffer, _) => self.kernel.buffers[buffer as usize].varies[self.axis],
            _ => false,
        };
        let args_of = |own: &[KValue]| inst.args.iter().map(|arg| own[arg.0 as usize]).collect::<SmallVec<[_; 3]>>();
        let is_shared = !moves && self.value_of.iter().all(|own| args_of(own) == args_of(&self.value_of[0]));
        let results = inst.first.0 as usize..(inst.first.0 + inst.results) as usize;
        for iteration in 0..self.value_of.len() {
            if iteration == 0 || !is_shared {
                let op = match inst.op {
                    KOp::Load(buffer, part) => KOp::Load(self.buffer_of[iteration][buffer as usize], part),
                    KOp::Store(buffer, part) => KOp::Store(self.buffer_of[iteration][buffer as usize], part),
                    ref op => op.clone(),
                };
                let (args, first) = (args_of(&self.value_of[iteration]), KValue(self.values.len() as u32));
                self.values.extend_from_slice(&self.kernel.values[results.clone()]);
                self.insts.push(KInst { op, args, first, ..inst.clone() });
            }
            let first = self.values.len() - results.len();
            for (at, old) in results.clone().enumerate() {
                self.value_of[iteration][old] = KValue((first + at) as u32);
            }
        }
    }

    /// The fold of all rows: the tuples of the iterations, one after the other.
    fn fold(&self, fold: &Fold, times: usize) -> Fold {
        let all = |list: &[KValue]| -> Vec<KValue> {
            self.value_of.iter().flat_map(|own| list.iter().map(|value| own[value.0 as usize])).collect()
        };
        let range = |range: &Range<usize>| self.before[range.start]..self.before[range.end];
        let combination = |other: &Combination| Combination { both: all(&other.both), combine: range(&other.combine) };
        Fold {
            items: all(&fold.items),
            neutral: fold.neutral.repeat(times),
            left: all(&fold.left),
            right: all(&fold.right),
            both: all(&fold.both),
            combine: range(&fold.combine),
            onward: fold.onward.as_ref().map(combination),
            alone: None,
            totals: all(&fold.totals),
            after: range(&fold.after),
            ..fold.clone()
        }
    }
}
