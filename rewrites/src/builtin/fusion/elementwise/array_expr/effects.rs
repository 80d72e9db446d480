//! The order that effects impose on the instructions of a block.

use crate::MatchCx;
use rewright_ir::{Effects, Inst, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The order of instructions that effects require, in addition to use-def order.
pub struct BlockEffects {
    after: FxHashMap<u32, SmallVec<[u32; 4]>>,
    dels: FxHashMap<u32, Value>,
}

impl BlockEffects {
    /// Collects the effects of a block's instructions, in order.
    pub fn of(cx: &MatchCx<'_>, insts: &[Inst]) -> Self {
        let mut this = BlockEffects { after: FxHashMap::default(), dels: FxHashMap::default() };
        let mut last_io: Option<u32> = None;
        let mut last_write: FxHashMap<Value, u32> = FxHashMap::default();
        let mut readers: FxHashMap<Value, Vec<u32>> = FxHashMap::default();
        for (at, &inst) in (0..).zip(insts) {
            let data = cx.func().inst(inst);
            if data.op.effects.contains(Effects::FREES) {
                this.dels.insert(at, data.args[0]);
                continue;
            }
            let mut before: SmallVec<[u32; 4]> = SmallVec::new();
            for value in data.uses().filter(|&v| cx.is_written(v)) {
                before.extend(last_write.get(&value).copied());
                readers.entry(value).or_default().push(at);
            }
            let effects = cx.effects(inst);
            for value in effects.writes {
                before.extend(readers.remove(&value).into_iter().flatten().filter(|&r| r != at));
                last_write.insert(value, at);
            }
            if effects.io {
                before.extend(last_io);
                last_io = Some(at);
            }
            if !before.is_empty() {
                this.after.insert(at, before);
            }
        }
        this
    }

    /// The instructions after which the one at `at` must stay.
    pub fn after(&self, at: u32) -> &[u32] {
        self.after.get(&at).map_or(&[], |list| list)
    }
    /// The value that the `del` at `at` ends.
    pub fn del(&self, at: u32) -> Option<Value> {
        self.dels.get(&at).copied()
    }
}
