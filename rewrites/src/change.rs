//! The changes of a rewrite, as recorded by the rewriter.

use crate::key_set::KeySet;
use indexmap::IndexSet;
use rewright_ir::op::Effects;
use rewright_ir::{Block, Function, Inst, Op, Value, ValueDef};
use rustc_hash::FxBuildHasher;

/// One change of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An instruction was inserted.
    Inserted(Inst),
    /// An instruction was erased. Its key is dead.
    Erased(Inst, Op),
    /// An instruction was moved.
    Moved(Inst),
    /// An operand or branch argument was replaced.
    Operand(Inst, usize),
    /// Attributes were replaced.
    Attrs(Inst),
    /// A terminator's targets were replaced.
    Targets(Inst),
    /// All uses of a value were replaced by another one.
    Replaced {
        /// The old value.
        old: Value,
        /// The new value.
        new: Value,
    },
    /// A value's type became more precise.
    Type(Value),
    /// A block was created.
    BlockCreated(Block),
    /// A block was removed. Its key is dead.
    BlockRemoved(Block),
    /// A parameter was added to a block.
    ParamAdded(Block),
    /// A parameter was removed from a block.
    ParamRemoved(Block),
}

/// The entities that a transaction touched, for worklists, caches and the final check. One instance is
/// reused, and cleared in between.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// New and changed instructions.
    pub insts: KeySet<Inst>,
    /// Wide instructions in which only an operand changed, with its new value. Visiting all operands for
    /// each replaced one would take too long.
    pub reconnected: Vec<(Inst, Value)>,
    /// The members of `insts` whose operands and results are in `values`.
    noted: KeySet<Inst>,
    /// Values whose users have changed.
    pub values: KeySet<Value>,
    /// Blocks whose instructions, parameters or incoming branches have changed.
    pub blocks: KeySet<Block>,
    /// Uses of values of other blocks that were in a block before, and so are valid there again.
    pub known_uses: IndexSet<(Block, Value), FxBuildHasher>,
    /// Blocks whose parameters have changed.
    pub params: KeySet<Block>,
    /// Some branches have changed.
    pub edges: bool,
    /// There may be branches between blocks that had none.
    pub new_edges: bool,
    /// Instructions that may have stored to values were removed.
    pub writers_gone: bool,
    /// Values that removed instructions may have stored to, or have ended.
    pub freed: KeySet<Value>,
}

/// True for an instruction with very many operands, such as a `ret` of many results: a change of one operand
/// does not visit the others.
pub(crate) fn is_wide(func: &Function, inst: Inst) -> bool {
    const WIDE: usize = 32;
    func.inst(inst).uses().nth(WIDE).is_some()
}

impl Touched {
    /// Clears the record.
    pub fn clear(&mut self) {
        let Touched {
            insts,
            reconnected,
            noted,
            values,
            blocks,
            known_uses,
            params,
            edges,
            new_edges,
            writers_gone,
            freed,
        } = self;
        insts.clear();
        reconnected.clear();
        noted.clear();
        values.clear();
        blocks.clear();
        known_uses.clear();
        params.clear();
        freed.clear();
        (*edges, *new_edges, *writers_gone) = (false, false, false);
    }

    /// All new and changed instructions.
    pub fn insts_and_reconnected(&self) -> impl Iterator<Item = Inst> + '_ {
        self.insts.iter().copied().chain(self.reconnected.iter().map(|&(inst, _)| inst))
    }

    /// Records an instruction that is about to change, or has changed.
    pub fn inst(&mut self, func: &Function, inst: Inst) {
        self.insts.insert(inst);
        if let Some(block) = func.block_of(inst) {
            self.blocks.insert(block);
        }
        // Changes of single uses are recorded one by one, and some instructions have very many.
        if !self.noted.insert(inst) {
            return;
        }
        let data = func.inst(inst);
        for value in data.uses() {
            self.use_of(func, value);
        }
        self.values.extend(data.results.iter().copied());
    }

    /// Records that an instruction is about to replace an operand.
    pub fn operand(&mut self, func: &Function, inst: Inst, new: Value) {
        let data = func.inst(inst);
        if is_wide(func, inst) && data.op.effects.is_empty() && data.targets.is_empty() {
            self.reconnected.push((inst, new));
            self.blocks.extend(func.block_of(inst));
        } else {
            self.know_uses(func, inst);
            self.inst(func, inst);
        }
    }

    /// Records that an instruction is about to be erased.
    pub fn erased(&mut self, func: &Function, inst: Inst) {
        let data = func.inst(inst);
        self.writers_gone |= data.op.effects.intersects(Effects::WRITES | Effects::CALLS);
        if data.op.effects.intersects(Effects::WRITES | Effects::CALLS | Effects::FREES) {
            self.freed.extend(data.args.iter().copied());
        }
    }

    /// Records that a value has gained or lost a use.
    pub fn use_of(&mut self, func: &Function, value: Value) {
        let home = match func.def(value) {
            ValueDef::Const(_) => return,
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Result(inst, _) => func.block_of(inst),
        };
        self.values.insert(value);
        self.blocks.extend(home);
    }

    /// Records that definitions reach the uses of an instruction that is about to be erased or changed,
    /// unless it has changed before.
    pub fn know_uses(&mut self, func: &Function, inst: Inst) {
        let Some(block) = func.block_of(inst).filter(|_| !self.insts.contains(inst)) else { return };
        for value in func.inst(inst).uses() {
            let elsewhere = match func.def(value) {
                ValueDef::Const(_) => false,
                ValueDef::Param(home, _) => home != block,
                ValueDef::Result(def, _) => func.block_of(def) != Some(block),
            };
            if elsewhere {
                self.known_uses.insert((block, value));
            }
        }
    }
}
