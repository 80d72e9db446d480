//! What is yet to be looked at.

use super::plan::Roots;
use crate::change::Touched;
use crate::key_set::KeySet;
use rewright_ir::{Block, Function, Inst};
use rustc_hash::FxHashSet;
use slotmap::SecondaryMap;

/// A value with more users than this changes a user more or less without their being asked again for that alone: else a value that
/// everything uses would make the time quadratic.
const FEW: usize = 8;

/// Instructions to ask root rewrites about. The one that was put in last comes first, so that work stays where something changed.
#[derive(Default)]
pub(super) struct PendingInsts {
    stack: Vec<Inst>,
    waiting: SecondaryMap<Inst, ()>,
    /// What an application touched and what is near, for the next time.
    ring: KeySet<Inst>,
}

impl PendingInsts {
    /// All instructions, the first on top.
    pub fn all(func: &Function, roots: &Roots) -> Self {
        let mut this = Self::default();
        func.blocks().rev().flat_map(|b| func.insts(b).rev()).for_each(|inst| this.push(func, roots, inst));
        this
    }
    pub fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }
    pub fn pop(&mut self) -> Option<Inst> {
        let inst = self.stack.pop()?;
        self.waiting.remove(inst);
        Some(inst)
    }
    pub fn push(&mut self, func: &Function, roots: &Roots, inst: Inst) {
        if func.is_linked(inst) && !roots.at(func.inst(inst).op).is_empty() && self.waiting.insert(inst, ()).is_none() {
            self.stack.push(inst);
        }
    }

    /// Puts in what an application touched, and what is near enough to see it: users, their users and so on, and definitions of
    /// operands, as far as the rewrites reach.
    pub fn touch(&mut self, func: &Function, roots: &Roots, touched: &Touched) {
        let values = || touched.values.iter().filter(|&&v| func.has_value(v));
        let defs = || values().filter_map(|&v| func.def_inst(v)).filter(|&i| func.is_linked(i));
        let insts = || touched.insts.iter().copied().filter(|&i| func.is_linked(i));
        self.rings(func, roots, defs(), |inst, ring| users(func, inst, FEW, ring));
        self.rings(func, roots, insts(), |inst, ring| users(func, inst, usize::MAX, ring));
        self.rings(func, roots, defs().chain(insts()), |inst, ring| {
            ring.extend(func.inst(inst).uses().filter_map(|v| func.def_inst(v)));
        });
    }

    /// Puts in instructions and those around them, ring by ring, so that the innermost come first.
    fn rings(
        &mut self,
        func: &Function,
        roots: &Roots,
        inner: impl Iterator<Item = Inst>,
        around: impl Fn(Inst, &mut KeySet<Inst>),
    ) {
        let mut ring = std::mem::take(&mut self.ring);
        ring.clear();
        ring.extend(inner);
        let mut begin = 0;
        for _ in 0..roots.reach {
            let end = ring.as_slice().len();
            for at in begin..end {
                around(ring.as_slice()[at], &mut ring);
            }
            begin = end;
        }
        ring.iter().rev().for_each(|&inst| self.push(func, roots, inst));
        self.ring = ring;
    }
}

/// The users of the results that have no more than some.
fn users(func: &Function, inst: Inst, most: usize, to: &mut KeySet<Inst>) {
    for &value in func.inst(inst).results.iter().filter(|&&v| func.use_count(v) <= most) {
        to.extend(func.each_user(value));
    }
}

/// Blocks to ask a block rewrite about.
#[derive(Default)]
pub(super) struct PendingBlocks {
    waiting: FxHashSet<Block>,
}

impl PendingBlocks {
    pub fn all(func: &Function) -> Self {
        PendingBlocks { waiting: func.blocks().collect() }
    }
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
    pub fn touch(&mut self, func: &Function, touched: &Touched) {
        self.waiting.extend(touched.blocks.iter().copied().filter(|&b| func.has_block(b)));
    }
    pub fn push(&mut self, func: &Function, block: Block) {
        if func.has_block(block) {
            self.waiting.insert(block);
        }
    }
    pub fn take(&mut self, block: Block) -> bool {
        self.waiting.remove(&block)
    }
    /// Those that wait, in layout order. Blocks that are gone are forgotten.
    pub fn in_order(&mut self, func: &Function) -> Vec<Block> {
        let found: Vec<Block> = func.blocks().filter(|b| self.waiting.contains(b)).collect();
        if found.len() < self.waiting.len() {
            self.waiting = found.iter().copied().collect();
        }
        found
    }
}
