//! `licm`: loop-invariant code motion.

mod plan;
mod profitability;

use crate::prelude::*;
use plan::HoistPlan;
use rewright_ir::analysis::LoopId;
use rewright_ir::{Target, Type as ValueType, ValueDef};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// Hoists instructions without effects whose operands are loop-invariant to the block before a natural loop,
/// out of as many loops as possible. Creates a preheader where there is none.
///
/// It is exact because a hoisted instruction computes the same before the loop: nothing in the loop stores
/// to its operands or results. A loop may run no iteration, so instructions that may fail are not hoisted.
/// The exception is the beginning of the loop's header, which is sure to run, as long as no earlier
/// instruction there can fail or has an effect.
///
/// An array that is cheap to compute element by element at its use is not hoisted, because keeping it would
/// cost more: views, constructors, broadcasts, and cheap ops on one array. These are hoisted if a hoisted
/// instruction needs them. Arrays are hoisted only from blocks that run in each iteration. A `del` of a
/// value that leaves its loop is removed. All loops of a function are one application, in linear time.
pub struct Licm;

static LICM: RewriteDef = RewriteDef::block("licm", "hoists loop-invariant computations", &Licm)
    .stage(Stage::AfterInference)
    .after(&["gvn"])
    .before(&["dce"]);
register_rewrite!(LICM);

impl Rewrite for Licm {
    type Match = Rc<HoistPlan>;

    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        if cx.func().blocks().len() == 1 {
            return Err(NoMatch::quiet());
        }
        let around = cx.loops().innermost(block);
        if !around.is_some_and(|around| cx.func().insts(block).any(|inst| is_invariant(cx, around, inst))) {
            return Err(NoMatch::quiet());
        }
        let plan = cx.cached(HoistPlan::of);
        if plan.moves.is_empty() { Err(NoMatch::quiet()) } else { Ok(plan) }
    }

    fn apply(&self, plan: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        let mut before: FxHashMap<Block, Inst> = FxHashMap::default();
        for way in &plan.ways {
            before.insert(way.header, block_before(rw, way.header, &way.from)?);
        }
        for found in &plan.moves {
            let Some(&place) = before.get(&found.header) else { continue };
            for &del in &found.dels {
                rw.erase(del)?;
            }
            rw.move_before(found.inst, place)?;
            let data = rw.func().inst(found.inst);
            let (op, loc) = (data.op, data.loc);
            rw.remark(loc, format!("`{op}` is computed once, before the loop"));
        }
        Ok(())
    }
}

/// A quick test of one instruction: the first one that is hoisted has no operand from the loop.
fn is_invariant(cx: &MatchCx<'_>, around: LoopId, inst: Inst) -> bool {
    let func = cx.func();
    let data = func.inst(inst);
    let outside = |&arg: &Value| match func.def(arg) {
        ValueDef::Const(_) => true,
        ValueDef::Param(block, _) => !cx.loops().contains(around, block),
        ValueDef::Result(def, _) => func.block_of(def).is_some_and(|block| !cx.loops().contains(around, block)),
    };
    data.op.is_pure() && !data.results.is_empty() && data.args.iter().all(outside)
}

/// The jump to a loop's header that is the only entry, from the blocks given. Creates a preheader if there
/// is none.
fn block_before(rw: &mut Rewriter<'_>, header: Block, from: &[Block]) -> Result<Inst, RewriteError> {
    let ends: SmallVec<[Inst; 2]> = from.iter().filter_map(|&block| rw.func().terminator(block)).collect();
    if let [end] = ends[..]
        && rw.func().inst(end).targets.len() == 1
    {
        return Ok(end);
    }
    let types: Vec<ValueType> = rw.func().block_params(header).iter().map(|&p| rw.func().ty(p).clone()).collect();
    let block = rw.create_block(None);
    let params = types.into_iter().map(|ty| rw.add_block_param(block, ty)).collect::<Result<_, _>>()?;
    let jump =
        rw.set_terminator(block, "jump", [] as [Value; 0], Attrs::new(), [Target { block: header, args: params }])?;
    for end in ends {
        let mut targets = rw.func().inst(end).targets.clone();
        targets.iter_mut().filter(|target| target.block == header).for_each(|target| target.block = block);
        rw.set_targets(end, targets)?;
    }
    Ok(jump)
}
