//! What a rewrite changed, as the rewriter saw it.

use crate::key_set::KeySet;
use indexmap::IndexSet;
use rewright_ir::op::Effects;
use rewright_ir::{Block, Function, Inst, Op, Value, ValueDef};
use rustc_hash::FxBuildHasher;

/// One change of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// An instruction was put in.
    Inserted(Inst),
    /// An instruction was taken out. Its key is dead.
    Erased(Inst, Op),
    /// An instruction stands elsewhere.
    Moved(Inst),
    /// An operand or branch argument was replaced.
    Operand(Inst, usize),
    /// Attributes were replaced.
    Attrs(Inst),
    /// A terminator's targets were replaced.
    Targets(Inst),
    /// All uses of a value were replaced by another one.
    Replaced {
        /// The value that was used.
        old: Value,
        /// The value that is used now.
        new: Value,
    },
    /// A value's type became more precise.
    Type(Value),
    /// A block was made.
    BlockCreated(Block),
    /// A block was taken out. Its key is dead.
    BlockRemoved(Block),
    /// A block has a parameter more.
    ParamAdded(Block),
    /// A block has a parameter less.
    ParamRemoved(Block),
}

/// What a transaction touched: what worklists, caches and the final check need to know. One is used for all, cleared between.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// Instructions that are new or have changed.
    pub insts: KeySet<Inst>,
    /// Wide instructions of which nothing has changed but an operand, and what that is now: looking at all operands for each that is replaced
    /// takes too long.
    pub reconnected: Vec<(Inst, Value)>,
    /// Those of `insts` whose uses and results are in `values`.
    noted: KeySet<Inst>,
    /// Values whose users have changed.
    pub values: KeySet<Value>,
    /// Blocks whose instructions, parameters or incoming branches have changed.
    pub blocks: KeySet<Block>,
    /// Uses of values of other blocks that stood in a block before, and so may stand there again.
    pub known_uses: IndexSet<(Block, Value), FxBuildHasher>,
    /// Blocks that have other parameters.
    pub params: KeySet<Block>,
    /// Branches have changed.
    pub edges: bool,
    /// There may be branches between blocks that had none.
    pub new_edges: bool,
    /// Instructions that may have written to values are gone.
    pub writers_gone: bool,
    /// Values that instructions which are gone may have written to, or have ended.
    pub freed: KeySet<Value>,
}

/// True of an instruction with so many operands, as a `ret` of many results, that changes of one are not looked at from all the others.
pub(crate) fn is_wide(func: &Function, inst: Inst) -> bool {
    const WIDE: usize = 32;
    func.inst(inst).uses().nth(WIDE).is_some()
}

impl Touched {
    /// Nothing is touched.
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

    /// All that is not as it was.
    pub fn insts_and_reconnected(&self) -> impl Iterator<Item = Inst> + '_ {
        self.insts.iter().copied().chain(self.reconnected.iter().map(|&(inst, _)| inst))
    }

    /// An instruction that stands in a block is about to change, or has.
    pub fn inst(&mut self, func: &Function, inst: Inst) {
        self.insts.insert(inst);
        if let Some(block) = func.block_of(inst) {
            self.blocks.insert(block);
        }
        // Changes of single uses are told one by one, and some instructions have very many.
        if !self.noted.insert(inst) {
            return;
        }
        let data = func.inst(inst);
        for value in data.uses() {
            self.use_of(func, value);
        }
        self.values.extend(data.results.iter().copied());
    }

    /// An instruction is about to use one value instead of another.
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

    /// An instruction is about to go.
    pub fn erased(&mut self, func: &Function, inst: Inst) {
        let data = func.inst(inst);
        self.writers_gone |= data.op.effects.intersects(Effects::WRITES | Effects::CALLS);
        if data.op.effects.intersects(Effects::WRITES | Effects::CALLS | Effects::FREES) {
            self.freed.extend(data.args.iter().copied());
        }
    }

    /// A value has gained or lost a use.
    pub fn use_of(&mut self, func: &Function, value: Value) {
        let home = match func.def(value) {
            ValueDef::Const(_) => return,
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Result(inst, _) => func.block_of(inst),
        };
        self.values.insert(value);
        self.blocks.extend(home);
    }

    /// The uses of an instruction that is about to go or change are known to be reached by their definitions, unless it has changed
    /// before.
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
