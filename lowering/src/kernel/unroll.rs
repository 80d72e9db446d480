//! Unrolls a loop of a kernel.

use super::{KOp, KValue, Kernel, KernelBuilder, Part};
use indexmap::IndexMap;
use smallvec::SmallVec;

impl Kernel {
    /// Unrolls a loop by `times` iterations, in order. Elements that do not vary along the loop are loaded
    /// and stored once. The loop has `times` times fewer iterations. Buffers that vary along it have copies
    /// for the other iterations, iteration by iteration, after all buffers. `None` if this is not possible.
    pub fn unrolled(&self, axis: usize, times: usize) -> Option<Kernel> {
        let alike = |op: &KOp| !matches!(op, KOp::Reference(_)) && !matches!(op, KOp::Index(a) if *a as usize == axis);
        let apart = self.buffers.iter().any(|buffer| buffer.written && buffer.varies[axis]);
        if apart || self.fold.is_some() || !self.insts.iter().all(|inst| alike(&inst.op)) {
            return None;
        }
        let mut k = KernelBuilder::new(self.axes);
        let params: Vec<KValue> = self.params.iter().map(|&dtype| k.param(dtype)).collect();
        let mut number_of: Vec<u32> = self.buffers.iter().map(|buffer| k.buffer(buffer.clone())).collect();
        let mut held: IndexMap<(u32, Part), KValue> = IndexMap::new();
        let mut values = vec![KValue(0); self.values.len()];
        for iteration in 0..times {
            if iteration > 0 {
                let moving = number_of.iter_mut().zip(&self.buffers).filter(|(_, buffer)| buffer.varies[axis]);
                moving.for_each(|(number, buffer)| *number = k.buffer(buffer.clone()));
            }
            for inst in self.insts.iter() {
                let args: SmallVec<[KValue; 3]> = inst.args.iter().map(|arg| values[arg.0 as usize]).collect();
                let results = inst.first.0 as usize..(inst.first.0 + inst.results) as usize;
                let first = match inst.op {
                    KOp::Param(n) => params[n as usize],
                    KOp::Store(buffer, part) => {
                        held.insert((buffer, part), args[0]);
                        continue;
                    }
                    KOp::Load(buffer, part) => match held.get(&(buffer, part)) {
                        Some(&value) => value,
                        None => k.load(number_of[buffer as usize], part),
                    },
                    ref op => {
                        k.set_loc(inst.loc);
                        match self.values[results.clone()] {
                            [only] => k.push(op.clone(), &args, only.dtype),
                            ref several => {
                                let dtypes: SmallVec<[_; 2]> = several.iter().map(|value| value.dtype).collect();
                                k.push_many(op.clone(), &args, &dtypes)
                            }
                        }
                    }
                };
                for (at, number) in results.enumerate() {
                    values[number] = KValue(first.0 + at as u32);
                }
            }
        }
        for ((buffer, part), value) in held {
            k.store(buffer, part, value);
        }
        Some(Kernel { wishes: self.wishes, ..k.finish() })
    }
}
