//! Summaries of blocks, shared by all rewrites.

use super::plan::Blocks;
use crate::change::Touched;
use crate::def::Holds;
use crate::op_set::OpSet;
use rewright_ir::{Block, Function, InstData, Value};
use slotmap::SecondaryMap;

/// The contents of a block: most rewrites can skip most blocks.
pub(super) struct BlockSummary {
    ops: OpSet,
    holds: Holds,
}

impl BlockSummary {
    pub fn of(func: &Function, block: Block) -> Self {
        let mut this = BlockSummary::of_empty(func, block);
        func.insts(block).for_each(|inst| this.add(func, func.inst(inst)));
        this
    }
    /// The summary of a block without instructions.
    pub fn of_empty(func: &Function, block: Block) -> Self {
        let holds = if func.entry() == Some(block) { Holds::empty() } else { Holds::INNER };
        BlockSummary { ops: OpSet::default(), holds }
    }
    /// Adds an instruction of the block.
    #[inline]
    pub fn add(&mut self, func: &Function, data: &InstData) {
        self.ops.insert(data.op);
        self.holds |= held(func, data);
    }
    /// True if the block has an op that a block rewrite starts at.
    pub fn has_root(&self, blocks: &Blocks) -> bool {
        blocks.roots.as_ref().is_none_or(|roots| self.ops.may_meet(roots))
    }
    /// True if the block has a property that a block rewrite requires; if not, the rewrite does not match.
    pub fn holds_any(&self, blocks: &Blocks) -> bool {
        blocks.holding.is_empty() || self.holds.intersects(blocks.holding)
    }
}

#[inline]
fn held(func: &Function, data: &InstData) -> Holds {
    let constant = |value: &Value| func.is_const(*value);
    let mut holds = Holds::empty();
    if data.op.is_terminator() {
        let decided = data.targets.len() > 1 && data.args.iter().any(constant);
        let given = data.targets.iter().any(|target| target.args.iter().any(constant));
        holds.set(Holds::CONSTANTS, decided || given);
        return holds;
    }
    let mut used = false;
    for &result in &data.results {
        used |= func.use_count(result) > 0;
        holds.set(Holds::ARRAYS, func.ty(result).is_array() || holds.contains(Holds::ARRAYS));
    }
    holds.set(Holds::UNUSED, !used);
    holds.set(Holds::CONSTANTS, data.args.iter().all(constant) && data.op.is_elementwise());
    holds.set(Holds::CALLEES, !data.attrs.is_empty() && data.attrs.func("callee").is_some());
    holds
}

/// The summaries of a function's blocks, computed on demand.
#[derive(Default)]
pub(super) struct Summaries(SecondaryMap<Block, BlockSummary>);

impl Summaries {
    pub fn of(&mut self, func: &Function, block: Block) -> &BlockSummary {
        if !self.0.contains_key(block) {
            self.0.insert(block, BlockSummary::of(func, block));
        }
        &self.0[block]
    }
    /// Drops the summaries that a change invalidates.
    pub fn forget(&mut self, touched: &Touched) {
        for &block in touched.blocks.iter() {
            self.0.remove(block);
        }
    }
}
