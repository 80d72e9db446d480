//! Liveness: the values that are live at block boundaries.
//!
//! Each use is followed back to its definition, so the time is that of writing the answer. Source:
//! Boissinot, Hack, Grund, Dupont de Dinechin, Rastello, "Computing Liveness Sets for SSA-Form Programs",
//! 2011.

use super::dominators::predecessors;
use crate::function::{Block, Function, Inst, Value, ValueDef};
use slotmap::SecondaryMap;
use smallvec::SmallVec;

/// The live-in and live-out values of blocks. A block's own parameters are not live-in.
#[derive(Clone, Debug, Default)]
pub struct Liveness {
    ins: SecondaryMap<Block, Vec<Value>>,
    outs: SecondaryMap<Block, Vec<Value>>,
}

impl Liveness {
    /// Computes liveness for all values but constants. A `del` counts as a use.
    pub fn of(func: &Function) -> Self {
        let params = func.blocks().flat_map(|b| func.block_params(b).to_vec());
        let results = func.blocks().flat_map(|b| func.insts(b)).flat_map(|i| func.inst(i).results.clone());
        Self::of_values(func, params.chain(results))
    }

    /// Computes liveness for some values only.
    pub fn of_values(func: &Function, values: impl IntoIterator<Item = Value>) -> Self {
        let mut this = Liveness::default();
        for block in func.blocks() {
            this.ins.insert(block, Vec::new());
            this.outs.insert(block, Vec::new());
        }
        let preds = predecessors(func);
        let mut stack = Vec::new();
        for value in values {
            let Some(home) = home(func, value) else { continue };
            for user in func.users(value) {
                stack.extend(func.block_of(user).filter(|&b| b != home || !after(func, value, user)));
            }
            while let Some(block) = stack.pop() {
                if this.ins[block].last() == Some(&value) {
                    continue;
                }
                this.ins[block].push(value);
                for &pred in preds.get(block).into_iter().flatten() {
                    if this.outs[pred].last() != Some(&value) {
                        this.outs[pred].push(value);
                    }
                    if pred != home {
                        stack.push(pred);
                    }
                }
            }
        }
        this
    }

    /// The live-in values of a block, in the order in which they were passed.
    pub fn live_in(&self, block: Block) -> &[Value] {
        self.ins.get(block).map_or(&[], Vec::as_slice)
    }
    /// The live-out values of a block.
    pub fn live_out(&self, block: Block) -> &[Value] {
        self.outs.get(block).map_or(&[], Vec::as_slice)
    }
    /// True if the value is live after an instruction.
    pub fn live_after(&self, func: &Function, value: Value, inst: Inst) -> bool {
        let Some(block) = func.block_of(inst) else { return false };
        let here = |user: Inst| func.block_of(user) == Some(block) && func.comes_before(inst, user);
        func.users(value).into_iter().any(here) || self.live_out(block).contains(&value)
    }
}

/// The block that defines a value; `None` for constants and for results of unlinked instructions.
fn home(func: &Function, value: Value) -> Option<Block> {
    match func.def(value) {
        ValueDef::Param(block, _) => Some(block),
        ValueDef::Result(inst, _) => func.block_of(inst),
        ValueDef::Const(_) => None,
    }
}

/// True if a user in the defining block follows the definition, so that it reads the value of the same pass.
fn after(func: &Function, value: Value, user: Inst) -> bool {
    func.def_inst(value).is_none_or(|def| func.comes_before(def, user))
}

/// The values that instructions free, each once, in layout order.
pub fn ended_values(func: &Function) -> SmallVec<[Value; 4]> {
    let mut seen = rustc_hash::FxHashSet::default();
    let frees = func.blocks().flat_map(|b| func.insts(b)).map(|i| func.inst(i));
    let frees = frees.filter(|d| d.op.effects.contains(crate::op::Effects::FREES));
    frees.flat_map(|d| d.args.iter().copied()).filter(|&v| seen.insert(v)).collect()
}
