//! Worklists of the driver.

use super::plan::Roots;
use crate::change::{Touched, is_wide};
use crate::key_set::KeySet;
use rewright_ir::{Block, Function, Inst, Op, Value};
use rustc_hash::FxHashSet;
use slotmap::SecondaryMap;

/// When a user of a value is added or removed, the value's other users are queued only if there are at most
/// this many. Queuing all users of a widely used value would take quadratic time.
const FEW: usize = 8;

/// After an application that touches more instructions and values than this, and a large part of the
/// function, all instructions are queued.
const MANY: usize = 64;

/// The instructions to try root rewrites at. A stack, so that work stays near the latest change.
#[derive(Default)]
pub(super) struct PendingInsts {
    stack: Vec<Inst>,
    waiting: SecondaryMap<Inst, ()>,
    /// The greatest reach of the rewrites that start at ops of the function; `None` if there are none.
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
    /// Pushes the instructions near a change, as far as the rewrites reach, so that the nearest is popped
    /// first.
    pub fn push_near(&mut self, func: &Function, roots: &Roots, near: &Near) {
        let Some(reach) = self.reach else { return };
        for rings in &near.around {
            rings.within(reach).iter().rev().for_each(|&inst| self.push(func, roots, inst));
        }
    }
    /// Records that the function has an op.
    pub fn note_op(&mut self, roots: &Roots, op: Op) {
        self.reach = self.reach.max(roots.reach_at(op));
    }
}

/// The instructions that an application touched, and those near them: users, their users and so on, and
/// definitions of operands. Computed once for all worklists of instructions, in buffers that are reused.
#[derive(Default)]
pub(super) struct Near {
    around: [Rings; 3],
}

/// Instructions and those around them, by distance.
#[derive(Default)]
struct Rings {
    insts: KeySet<Inst>,
    /// The end of each ring of equal distance.
    ends: Vec<usize>,
}

impl Near {
    /// Collects the instructions near a change. `None` if the change is so large that visiting all
    /// instructions takes less time.
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

    /// The instructions within distance `reach`.
    fn within(&self, reach: u8) -> &[Inst] {
        let end = self.ends.get(usize::from(reach)).or(self.ends.last());
        &self.insts.as_slice()[..end.copied().unwrap_or_default()]
    }
}

/// The users of the results that have at most `most` users.
fn users(func: &Function, inst: Inst, most: usize, to: &mut KeySet<Inst>) {
    for &value in func.inst(inst).results.iter().filter(|&&v| func.use_count(v) <= most) {
        to.extend(func.each_user(value));
    }
}

/// The blocks to try a block rewrite at.
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
    /// The queued blocks, in layout order. Forgets removed blocks.
    pub fn in_order(&mut self, func: &Function) -> Vec<Block> {
        let found: Vec<Block> = func.blocks().filter(|b| self.waiting.contains(b)).collect();
        if found.len() < self.waiting.len() {
            self.waiting = found.iter().copied().collect();
        }
        found
    }
}

/// Changes that matter to distant places. These are found for all changes at once, when all worklists are
/// empty.
#[derive(Default)]
pub(super) struct Distant {
    /// Blocks whose change matters to the blocks that branch there: they have become empty except for a
    /// terminator, so that branches may bypass them, or their predecessors have changed.
    blocks: KeySet<Block>,
    /// Branches have changed, and so the set of loop headers may have, which matters to every header.
    edges: bool,
    /// Values that fewer instructions store to or end, which matters to their users and to the parameters
    /// that they are passed to.
    freed: KeySet<Value>,
}

impl Distant {
    pub fn note(&mut self, func: &Function, touched: &Touched) {
        self.edges |= touched.edges;
        let matters = |block: &Block| func.has_block(*block) && (touched.edges || only_ends(func, *block));
        self.blocks.extend(touched.blocks.iter().copied().filter(matters));
        self.freed.extend(touched.freed.iter().copied());
    }
    /// The instructions and the blocks to visit again.
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

/// True if the block has only a terminator.
fn only_ends(func: &Function, block: Block) -> bool {
    func.first_inst(block).is_some_and(|first| func.terminator(block) == Some(first))
}
