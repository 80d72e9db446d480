//! Liveness of values at block boundaries: a backward dataflow analysis of the values that cross blocks.

use rewright_ir::analysis::Dominators;
use rewright_ir::{Block, Function, Value, ValueDef};
use rustc_hash::FxHashMap;

/// The values that are live at block boundaries, without constants.
pub struct Liveness {
    /// Values that are used outside of the block that defines them, numbered.
    crossing: FxHashMap<Value, usize>,
    live_in: FxHashMap<Block, BitSet>,
    live_out: FxHashMap<Block, BitSet>,
    /// The reachable blocks, each before the blocks that it dominates.
    pub blocks: Vec<Block>,
    /// The index of each block in `blocks`.
    pub numbers: FxHashMap<Block, usize>,
}

/// A set of small numbers.
#[derive(Clone, PartialEq, Eq)]
struct BitSet(Vec<u64>);

impl BitSet {
    fn new(len: usize) -> Self {
        BitSet(vec![0; len.div_ceil(64)])
    }
    fn insert(&mut self, n: usize) {
        self.0[n / 64] |= 1 << (n % 64);
    }
    fn remove(&mut self, n: usize) {
        self.0[n / 64] &= !(1 << (n % 64));
    }
    fn contains(&self, n: usize) -> bool {
        self.0[n / 64] >> (n % 64) & 1 == 1
    }
    /// Adds the elements of another set, and returns whether the set grew.
    fn union(&mut self, other: &BitSet) -> bool {
        let mut grew = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            grew |= *b & !*a != 0;
            *a |= *b;
        }
        grew
    }
}

/// The block that defines a value; none for constants.
pub fn home(func: &Function, value: Value) -> Option<Block> {
    match func.def(value) {
        ValueDef::Param(block, _) => Some(block),
        ValueDef::Result(inst, _) => func.block_of(inst),
        ValueDef::Const(_) => None,
    }
}

impl Liveness {
    /// Computes the liveness. The values `kept` are live wherever the function ends.
    pub fn new(func: &Function, kept: &[Value]) -> Liveness {
        let blocks = Dominators::of(func).reverse_postorder().to_vec();
        let mut crossing = FxHashMap::default();
        let mut exposed: FxHashMap<Block, Vec<Value>> = FxHashMap::default();
        for &block in &blocks {
            for inst in func.insts(block) {
                for value in func.inst(inst).uses() {
                    if home(func, value).is_some_and(|h| h != block) {
                        let next = crossing.len();
                        crossing.entry(value).or_insert(next);
                        exposed.entry(block).or_default().push(value);
                    }
                }
            }
        }
        for &value in kept {
            let next = crossing.len();
            crossing.entry(value).or_insert(next);
        }
        let empty =
            || -> FxHashMap<Block, BitSet> { blocks.iter().map(|&b| (b, BitSet::new(crossing.len()))).collect() };
        let (mut live_in, mut live_out) = (empty(), empty());
        for (block, values) in &exposed {
            if let Some(set) = live_in.get_mut(block) {
                values.iter().for_each(|v| set.insert(crossing[v]));
            }
        }
        let mut defined: FxHashMap<Block, Vec<usize>> = FxHashMap::default();
        for (&value, &n) in &crossing {
            if let Some(block) = home(func, value) {
                defined.entry(block).or_default().push(n);
            }
        }
        for &block in &blocks {
            if func.successors(block).next().is_none()
                && let Some(set) = live_out.get_mut(&block)
            {
                kept.iter().for_each(|v| set.insert(crossing[v]));
            }
        }
        loop {
            let mut changed = false;
            for &block in blocks.iter().rev() {
                let Some(mut out) = live_out.remove(&block) else { continue };
                for next in func.successors(block) {
                    changed |= out.union(&live_in[&next]);
                }
                let mut through = out.clone();
                for &n in defined.get(&block).into_iter().flatten() {
                    through.remove(n);
                }
                if let Some(into) = live_in.get_mut(&block) {
                    changed |= into.union(&through);
                }
                live_out.insert(block, out);
            }
            if !changed {
                break;
            }
        }
        let numbers = (0..).zip(&blocks).map(|(number, &block)| (block, number)).collect();
        Liveness { crossing, live_in, live_out, blocks, numbers }
    }

    /// Whether a value is used, or kept, outside of the block that defines it.
    pub fn crosses(&self, value: Value) -> bool {
        self.crossing.contains_key(&value)
    }
    /// Whether a value is live at the beginning of a block; the block's own parameters are not.
    pub fn at_begin(&self, block: Block, value: Value) -> bool {
        self.holds(&self.live_in, block, value)
    }
    /// Whether a value is live at the end of a block.
    pub fn at_end(&self, block: Block, value: Value) -> bool {
        self.holds(&self.live_out, block, value)
    }
    /// The values that are live at the end of a block, in a fixed order.
    pub fn all_at_end(&self, block: Block) -> Vec<Value> {
        let mut alive: Vec<(usize, Value)> = self
            .crossing
            .iter()
            .filter(|&(_, &n)| self.live_out.get(&block).is_some_and(|set| set.contains(n)))
            .map(|(&v, &n)| (n, v))
            .collect();
        alive.sort_unstable_by_key(|&(n, _)| n);
        alive.into_iter().map(|(_, v)| v).collect()
    }

    fn holds(&self, sets: &FxHashMap<Block, BitSet>, block: Block, value: Value) -> bool {
        match (self.crossing.get(&value), sets.get(&block)) {
            (Some(&n), Some(set)) => set.contains(n),
            _ => false,
        }
    }
}
