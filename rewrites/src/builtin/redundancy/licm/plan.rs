//! Decides which instructions are hoisted out of which loop.

use super::profitability;
use crate::builtin::cannot_fail::cannot_fail;
use crate::prelude::*;
use rewright_ir::ValueDef;
use rewright_ir::analysis::{LoopId, Loops, predecessors};
use rewright_ir::op::Effects;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// A value that more instructions store to counts as stored to everywhere.
const FEW_WRITERS: usize = 8;

/// For a loop with more back edges, only the header counts as run in each iteration.
const FEW_LATCHES: usize = 4;

/// The moves in a function.
#[derive(Default)]
pub struct HoistPlan {
    /// The moves, each after those that it depends on.
    pub moves: Vec<HoistedInst>,
    /// The loops that instructions are hoisted out of.
    pub ways: Vec<Way>,
}

/// An instruction that is hoisted out of a loop.
pub struct HoistedInst {
    pub inst: Inst,
    pub header: Block,
    /// The `del`s of its results in the loop.
    pub dels: SmallVec<[Inst; 1]>,
}

/// The entry of a loop.
pub struct Way {
    pub header: Block,
    /// The blocks outside that branch to it.
    pub from: SmallVec<[Block; 2]>,
}

impl HoistPlan {
    pub fn of(cx: &MatchCx<'_>) -> HoistPlan {
        let mut planner = HoistPlanner::new(cx);
        let order = cx.dominators().reverse_postorder();
        let mut found: Vec<(Inst, LoopId)> = Vec::new();
        for &block in order {
            planner.block(block, &mut found);
        }
        // Users come after their operands, so the reverse order knows all users of an instruction before it
        // visits it.
        let mut needed: FxHashSet<Inst> = FxHashSet::default();
        for &(inst, _) in found.iter().rev() {
            if profitability::is_profitable(cx.func(), inst) || needed.contains(&inst) {
                needed.insert(inst);
                needed.extend(cx.func().inst(inst).args.iter().filter_map(|&v| cx.func().def_inst(v)));
            }
        }
        found.retain(|(inst, _)| needed.contains(inst));
        planner.finish(&found)
    }
}

struct HoistPlanner<'a> {
    cx: MatchCx<'a>,
    loops: &'a Loops,
    /// The blocks of the instructions that store to each value.
    writers: FxHashMap<Value, SmallVec<[Block; 2]>>,
    /// The loops that instructions are hoisted out of.
    out_of: FxHashMap<Inst, LoopId>,
    /// The predecessors of each block.
    preds: FxHashMap<Block, SmallVec<[Block; 2]>>,
}

impl<'a> HoistPlanner<'a> {
    fn new(cx: &MatchCx<'a>) -> Self {
        let func = cx.func();
        let mut writers: FxHashMap<Value, SmallVec<[Block; 2]>> = FxHashMap::default();
        for block in func.blocks() {
            for value in func.insts(block).flat_map(|inst| cx.effects(inst).writes) {
                let list = writers.entry(value).or_default();
                if list.len() <= FEW_WRITERS {
                    list.push(block);
                }
            }
        }
        HoistPlanner {
            cx: *cx,
            loops: cx.loops(),
            writers,
            out_of: FxHashMap::default(),
            preds: predecessors(func).into_iter().collect(),
        }
    }

    fn block(&mut self, block: Block, found: &mut Vec<(Inst, LoopId)>) {
        let Some(innermost) = self.loops.innermost(block) else { return };
        let func = self.cx.func();
        // Whether all instructions so far run when the loop is entered, and none that stays can fail or has
        // an effect.
        let mut sure = self.loops.get(innermost).header == block && self.is_free(innermost);
        for inst in func.insts(block).filter(|&inst| !func.inst(inst).op.is_terminator()) {
            let total = cannot_fail(func, inst);
            let out_of = self.outermost(block, innermost, inst).filter(|_| total || sure);
            match out_of {
                Some(_) if !total => self.take(inst, innermost, found),
                Some(id) => self.take(inst, id, found),
                None => sure &= total,
            }
        }
    }

    fn take(&mut self, inst: Inst, out_of: LoopId, found: &mut Vec<(Inst, LoopId)>) {
        self.out_of.insert(inst, out_of);
        found.push((inst, out_of));
    }

    /// True if the branches into a loop check nothing.
    fn is_free(&self, id: LoopId) -> bool {
        let func = self.cx.func();
        let header = self.loops.get(id).header;
        let ends = self.outside(id).filter_map(|b| func.terminator(b));
        let targets = ends.flat_map(|end| &func.inst(end).targets).filter(|target| target.block == header);
        { targets }.all(|target| {
            let mut pairs = func.block_params(header).iter().zip(&target.args);
            pairs.all(|(&param, &arg)| func.ty(arg).refines(func.ty(param)))
        })
    }

    /// The predecessors of a loop's header outside of the loop, with duplicates.
    fn outside(&self, id: LoopId) -> impl Iterator<Item = Block> + '_ {
        let preds = self.preds.get(&self.loops.get(id).header).into_iter().flatten().copied();
        preds.filter(move |&block| self.cx.is_reachable(block) && !self.loops.contains(id, block))
    }

    /// The outermost loop that an instruction can be hoisted out of.
    fn outermost(&self, block: Block, innermost: LoopId, inst: Inst) -> Option<LoopId> {
        let data = self.cx.func().inst(inst);
        let writes = |v: &Value| self.cx.is_written(*v);
        if data.results.is_empty() || !data.op.is_pure() || data.results.iter().any(writes) {
            return None;
        }
        let mut inside = 0;
        for &arg in &data.args {
            inside = inside.max(self.shared_depth(self.place(arg), innermost));
            if self.cx.is_written(arg) {
                let writers = self.writers.get(&arg).filter(|list| list.len() <= FEW_WRITERS)?;
                let depths = writers.iter().map(|&b| self.shared_depth(self.loops.innermost(b), innermost));
                inside = inside.max(depths.max().unwrap_or(0));
            }
        }
        let scalar = data.results.iter().all(|&r| self.cx.func().ty(r).is_scalar());
        let (mut at, mut from, mut found) = (Some(innermost), block, None);
        while let Some(id) = at.filter(|&id| self.loops.get(id).depth > inside) {
            let around = self.loops.get(id);
            if !scalar && !self.runs_each_time(from, id) {
                break;
            }
            (found, from, at) = (Some(id), around.header, around.parent);
        }
        found
    }

    fn runs_each_time(&self, block: Block, id: LoopId) -> bool {
        let around = self.loops.get(id);
        let dominators = self.cx.dominators();
        block == around.header
            || (around.latches.len() <= FEW_LATCHES
                && around.latches.iter().all(|&latch| dominators.dominates(block, latch)))
    }

    /// The innermost loop that a value will be defined in.
    fn place(&self, value: Value) -> Option<LoopId> {
        let func = self.cx.func();
        match func.def(value) {
            ValueDef::Const(_) => None,
            ValueDef::Param(block, _) => self.loops.innermost(block),
            ValueDef::Result(inst, _) => match self.out_of.get(&inst) {
                Some(&id) => self.loops.get(id).parent,
                None => self.loops.innermost(func.block_of(inst)?),
            },
        }
    }

    /// The depth of the innermost loop that contains both loops.
    fn shared_depth(&self, one: Option<LoopId>, other: LoopId) -> u32 {
        let (mut one, mut other) = (one, Some(other));
        while let (Some(a), Some(b)) = (one, other) {
            if a == b {
                return self.loops.get(a).depth;
            }
            match self.loops.get(a).depth > self.loops.get(b).depth {
                true => one = self.loops.get(a).parent,
                false => other = self.loops.get(b).parent,
            }
        }
        0
    }

    fn finish(&self, found: &[(Inst, LoopId)]) -> HoistPlan {
        let func = self.cx.func();
        let mut plan = HoistPlan::default();
        let mut seen: FxHashSet<LoopId> = FxHashSet::default();
        for &(inst, id) in found {
            let header = self.loops.get(id).header;
            let inside = |del: &Inst| func.block_of(*del).is_some_and(|b| self.loops.contains(id, b));
            plan.moves.push(HoistedInst { inst, header, dels: dels(func, inst).filter(inside).collect() });
            if seen.insert(id) {
                let mut from: SmallVec<[Block; 2]> = self.outside(id).collect();
                from.dedup();
                plan.ways.push(Way { header, from });
            }
        }
        plan
    }
}

/// The `del`s of an instruction's results.
fn dels(func: &Function, inst: Inst) -> impl Iterator<Item = Inst> + '_ {
    let users = func.inst(inst).results.iter().flat_map(|&result| func.users(result));
    users.filter(|&user| func.inst(user).op.effects.contains(Effects::FREES))
}
