//! What is yet to be looked at.

use super::plan::Roots;
use crate::change::{Touched, is_wide};
use crate::key_set::KeySet;
use rewright_ir::{Block, Function, Inst, Op, Value};
use rustc_hash::FxHashSet;
use slotmap::SecondaryMap;

/// A value with more users than this changes a user more or less without their being asked again for that alone: else a value that
/// everything uses would make the time quadratic.
const FEW: usize = 8;

/// An application that touches more instructions and values than this is followed by a look at all instructions, if it has touched a
/// good part of them.
const MANY: usize = 64;

/// Instructions to ask root rewrites about. The one that was put in last comes first, so that work stays where something changed.
#[derive(Default)]
pub(super) struct PendingInsts {
    stack: Vec<Inst>,
    waiting: SecondaryMap<Inst, ()>,
    /// How far rewrites look that start at ops of the function; none if there are no such.
    pub reach: Option<u8>,
}

impl PendingInsts {
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
    /// Puts in what is near to a change, as far as the rewrites reach, so that the nearest comes first.
    pub fn push_near(&mut self, func: &Function, roots: &Roots, near: &Near) {
        let Some(reach) = self.reach else { return };
        for rings in &near.around {
            rings.within(reach).iter().rev().for_each(|&inst| self.push(func, roots, inst));
        }
    }
    /// Takes note of an op that the function has.
    pub fn note_op(&mut self, roots: &Roots, op: Op) {
        self.reach = self.reach.max(roots.reach_at(op));
    }
}

/// What an application touched, and what is near enough to see it: users, their users and so on, and definitions of operands. Found
/// once for all worklists of instructions, in room that is used again.
#[derive(Default)]
pub(super) struct Near {
    around: [Rings; 3],
}

/// Instructions and those around them, ring by ring.
#[derive(Default)]
struct Rings {
    insts: KeySet<Inst>,
    /// Where each ring ends.
    ends: Vec<usize>,
}

impl Near {
    /// Looks around. Nothing if so much was touched that looking at all instructions takes less time.
    pub fn look(&mut self, func: &Function, reach: u8, touched: &Touched) -> Option<&Near> {
        let count = touched.values.as_slice().len() + touched.insts.as_slice().len();
        if count > MANY && 4 * count > func.inst_count() {
            return None;
        }
        let values = || touched.values.iter().filter(|&&v| func.has_value(v));
        let defs = || values().filter_map(|&v| func.def_inst(v)).filter(|&i| func.is_linked(i));
        let insts = || touched.insts_and_reconnected().filter(|&i| func.is_linked(i));
        let [users_of_values, users_of_insts, operands] = &mut self.around;
        users_of_values.find(reach, defs(), |inst, ring| users(func, inst, FEW, ring));
        users_of_insts.find(reach, insts(), |inst, ring| users(func, inst, usize::MAX, ring));
        operands.find(reach, defs().chain(insts()), |inst, ring| {
            if !is_wide(func, inst) {
                ring.extend(func.inst(inst).uses().filter_map(|v| func.def_inst(v)));
            }
        });
        Some(self)
    }
}

impl Rings {
    fn find(&mut self, reach: u8, inner: impl Iterator<Item = Inst>, around: impl Fn(Inst, &mut KeySet<Inst>)) {
        let Rings { insts, ends } = self;
        insts.clear();
        ends.clear();
        insts.extend(inner);
        let mut begin = 0;
        for _ in 0..reach {
            let end = insts.as_slice().len();
            ends.push(end);
            for at in begin..end {
                around(insts.as_slice()[at], insts);
            }
            begin = end;
        }
        ends.push(insts.as_slice().len());
    }

    /// Those not farther away than so many steps.
    fn within(&self, reach: u8) -> &[Inst] {
        let end = self.ends.get(usize::from(reach)).or(self.ends.last());
        &self.insts.as_slice()[..end.copied().unwrap_or_default()]
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

/// Changes that matter to places that are not near to them, which are found out when nothing else waits, for all changes at once.
#[derive(Default)]
pub(super) struct Distant {
    /// Blocks about which something has changed that matters to those who branch there: they hold nothing but a terminator now, so
    /// that branches may lead past them, or other branches lead there, or no others any more.
    blocks: KeySet<Block>,
    /// Branches have changed, and with them which blocks begin loops: that matters for every such block.
    edges: bool,
    /// Values that fewer instructions write to or end: that matters to those who use them, and to those who get them by a branch.
    freed: KeySet<Value>,
}

impl Distant {
    pub fn note(&mut self, func: &Function, touched: &Touched) {
        self.edges |= touched.edges;
        let matters = |block: &Block| func.has_block(*block) && (touched.edges || only_ends(func, *block));
        self.blocks.extend(touched.blocks.iter().copied().filter(matters));
        self.freed.extend(touched.freed.iter().copied());
    }
    /// The instructions and the blocks that are to be looked at again.
    pub fn take(&mut self, func: &Function) -> (Vec<Inst>, Vec<Block>) {
        let Distant { blocks, edges, freed } = std::mem::take(self);
        let (mut insts, mut found) = (Vec::new(), KeySet::default());
        if edges || !blocks.as_slice().is_empty() {
            let matters = |to: Block| blocks.contains(to) || edges && only_ends(func, to);
            found.extend(func.blocks().filter(|&block| func.successors(block).any(matters)));
            insts.extend(found.iter().filter_map(|&block| func.terminator(block)));
        }
        for &value in freed.iter().filter(|&&value| func.has_value(value)) {
            for user in func.users(value) {
                insts.push(user);
                found.extend(func.block_of(user));
                found.extend(func.inst(user).targets.iter().map(|target| target.block));
            }
        }
        (insts, found.as_slice().to_vec())
    }
}

/// True if a terminator is all there is in the block.
fn only_ends(func: &Function, block: Block) -> bool {
    func.first_inst(block).is_some_and(|first| func.terminator(block) == Some(first))
}
