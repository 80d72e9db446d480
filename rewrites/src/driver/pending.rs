//! What is yet to be looked at.

use super::plan::Roots;
use crate::change::Touched;
use rewright_ir::{Block, Function, Inst};
use rustc_hash::FxHashSet;

/// A value with more users than this changes a user more or less without their being asked again for that alone: else a value that
/// everything uses would make the time quadratic.
const FEW: usize = 8;

/// Instructions to ask root rewrites about. The one that was put in last comes first, so that work stays where something changed.
#[derive(Default)]
pub(super) struct PendingInsts {
    stack: Vec<Inst>,
    waiting: FxHashSet<Inst>,
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
        self.waiting.remove(&inst);
        Some(inst)
    }
    pub fn push(&mut self, func: &Function, roots: &Roots, inst: Inst) {
        if func.is_linked(inst) && !roots.at(func.inst(inst).op).is_empty() && self.waiting.insert(inst) {
            self.stack.push(inst);
        }
    }

    /// Puts in what an application touched, and what is near enough to see it.
    pub fn touch(&mut self, func: &Function, roots: &Roots, touched: &Touched) {
        for def in touched.values.iter().filter(|&&v| func.has_value(v)).filter_map(|&v| func.def_inst(v)) {
            if func.is_linked(def) {
                self.near(func, roots, def, Some(FEW));
            }
        }
        for &inst in touched.insts.iter().filter(|&&i| func.is_linked(i)) {
            self.near(func, roots, inst, None);
        }
    }

    /// Puts in an instruction and those within reach: users, their users and so on, and definitions of operands.
    fn near(&mut self, func: &Function, roots: &Roots, inst: Inst, few: Option<usize>) {
        let mut ring = vec![inst];
        for _ in 0..roots.reach {
            let mut next = Vec::new();
            for &at in &ring {
                let results = func.inst(at).results.iter();
                for &value in results.filter(|&&v| few.is_none_or(|few| func.use_count(v) <= few)) {
                    next.extend(func.users(value));
                }
            }
            next.iter().for_each(|&user| self.push(func, roots, user));
            ring = next;
        }
        let mut ring = vec![inst];
        for _ in 0..roots.reach {
            let defs = |at: &Inst| func.inst(*at).uses().filter_map(|v| func.def_inst(v)).collect::<Vec<_>>();
            ring = ring.iter().flat_map(defs).collect();
            ring.iter().for_each(|&def| self.push(func, roots, def));
        }
        self.push(func, roots, inst);
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
