//! Sums of bytes, and counts of bools, as wide integers.
//!
//! Lanes as wide as the sum would need eight times as many registers as the bytes fill. If nothing else in a
//! kernel is wider than a byte, the lanes are bytes, and one instruction (VPSADBW) adds each eight of them
//! to one of the eight lanes of the accumulator.

use crate::kernel::{Binary, Fold, KInst, KOp, KValue, Kernel};
use rewright_ir::DType;

/// The byte sums of a kernel.
#[derive(Clone, Debug, Default)]
pub struct ByteSums {
    /// The conversions that widen the summed elements, by instruction number.
    pub items: Vec<usize>,
    /// Whether each accumulator is such a sum.
    pub accumulators: Vec<bool>,
}

impl ByteSums {
    /// The byte sums of a kernel. `live` says which instructions are live. There are none unless all lanes
    /// can then be bytes.
    pub fn of(kernel: &Kernel, live: &[bool]) -> ByteSums {
        let Some(fold) = kernel.fold.as_ref().filter(|fold| fold.any_order) else { return ByteSums::default() };
        let found: Vec<Option<usize>> = (0..fold.items.len()).map(|n| item(kernel, live, fold, n)).collect();
        let items: Vec<usize> = found.iter().copied().flatten().collect();
        let sums = |number: usize| {
            let inst = &kernel.insts[number];
            let both = fold.both.iter().zip(&found).any(|(both, found)| found.is_some() && *both == inst.first);
            items.contains(&number) || both
        };
        let others = kernel.insts.iter().enumerate().filter(|(n, _)| live[*n] && !sums(*n));
        let narrow = others.into_iter().all(|(n, inst)| match fold.after.contains(&n) {
            // The epilogue needs one lane only. But a conversion to another size would be selected for all
            // lanes.
            true => {
                let wide = sizes(kernel, inst).all(|(size, bool)| !bool && size == 8);
                wide || is_plain(inst) || sizes(kernel, inst).all(|(size, _)| size == 1)
            }
            false => sizes(kernel, inst).all(|(size, _)| size == 1) || matches!(inst.op, KOp::Const(_)),
        });
        if items.is_empty() || !narrow {
            return ByteSums::default();
        }
        ByteSums { items, accumulators: found.iter().map(Option::is_some).collect() }
    }
}

/// The size of each operand and result, and whether it is a bool.
fn sizes<'a>(kernel: &'a Kernel, inst: &'a KInst) -> impl Iterator<Item = (usize, bool)> + 'a {
    let results = (0..inst.results).map(|r| KValue(inst.first.0 + r));
    let dtypes = inst.args.iter().copied().chain(results).map(|value| kernel.dtype(value));
    dtypes.map(|dtype| (dtype.size(), dtype.is_bool()))
}

/// True if the instruction works with lanes of any size.
fn is_plain(inst: &KInst) -> bool {
    matches!(inst.op, KOp::Const(_) | KOp::Store(..))
}

/// The instruction that widens the items of the n-th accumulator, if the accumulator only sums them.
fn item(kernel: &Kernel, live: &[bool], fold: &Fold, n: usize) -> Option<usize> {
    let (item, left, right, both) = (fold.items[n], fold.left[n], fold.right[n], fold.both[n]);
    let adds = kernel.insts[fold.combine.clone()]
        .iter()
        .any(|inst| inst.first == both && inst.op == KOp::Binary(Binary::Add) && inst.args[..] == [left, right]);
    let number = kernel.insts.iter().position(|inst| inst.first == item && inst.op == KOp::Convert)?;
    let inst = &kernel.insts[number];
    let narrow = matches!(kernel.dtype(inst.args[0]), DType::U8 | DType::Bool);
    let wide = matches!(kernel.dtype(item), DType::U64 | DType::I64);
    let inner = kernel.level(inst) as usize == kernel.axes;
    let uses = kernel.insts.iter().zip(live).filter(|(_, live)| **live).flat_map(|(inst, _)| &inst.args);
    let once = uses.filter(|arg| **arg == item).count() == 0 && fold.items.iter().filter(|i| **i == item).count() == 1;
    (adds && narrow && wide && inner && once && fold.onward.is_none()).then_some(number)
}
