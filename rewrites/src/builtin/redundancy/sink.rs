//! `sink`: sinks arrays into the block that needs them.

use crate::builtin::cannot_fail::cannot_fail;
use crate::prelude::*;
use rewright_ir::op::Effects;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::rc::Rc;

/// Moves an instruction without effects whose users are all in one other block to the beginning of that
/// block. `array-expr` can then fuse both, and paths that do not need the result do not compute it. Only ops
/// on arrays move: scalars cost almost nothing. Instructions may leave loops, but never enter one.
///
/// It is exact because moved instructions can't fail, nothing stores to their operands or results, and no
/// `del` ends the operands. `del`s of the results in other blocks are removed. Chains move together, all in
/// one application, in linear time. Instructions only move down the dominator tree, so the rewrite ends.
pub struct Sink;

static SINK: RewriteDef = RewriteDef::block("sink", "computes arrays in the block that needs them", &Sink)
    .stage(Stage::BeforeLowering)
    .before(&["array-expr"]);
register_rewrite!(SINK);

/// Instructions, each after its users, with the blocks that they move to.
pub struct Moves(Vec<SunkInst>);

struct SunkInst {
    inst: Inst,
    to: Block,
    /// `del`s of its results in other blocks.
    dels: SmallVec<[Inst; 1]>,
}

impl Rewrite for Sink {
    type Match = Rc<Moves>;

    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        if cx.func().blocks().len() == 1 || !cx.func().insts(block).any(|inst| may_be_last(cx, block, inst)) {
            return Err(NoMatch::quiet());
        }
        let moves = cx.cached(Moves::of);
        if moves.0.is_empty() { Err(NoMatch::quiet()) } else { Ok(moves) }
    }

    fn apply(&self, moves: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        for found in &moves.0 {
            for &del in &found.dels {
                rw.erase(del)?;
            }
            if let Some(first) = rw.func().first_inst(found.to) {
                rw.move_before(found.inst, first)?;
            }
        }
        Ok(())
    }
}

/// A quick test of one instruction: all users of the last instruction of a moving chain are in one other
/// block.
fn may_be_last(cx: &MatchCx<'_>, block: Block, inst: Inst) -> bool {
    let func = cx.func();
    let data = func.inst(inst);
    if !data.op.is_pure() || !data.results.iter().chain(&data.args).any(|&v| func.ty(v).is_array()) {
        return false;
    }
    let users = data.results.iter().flat_map(|&result| func.each_user(result));
    let mut places =
        users.filter(|&user| !func.inst(user).op.effects.contains(Effects::FREES)).map(|u| func.block_of(u));
    let first = places.next().flatten();
    first.is_some_and(|to| to != block && is_no_deeper(cx, block, to)) && places.all(|place| place == first)
}

impl Moves {
    fn of(cx: &MatchCx<'_>) -> Moves {
        let func = cx.func();
        // The new blocks of instructions. Users come after their operands, so the reverse order visits users
        // first.
        let mut places: FxHashMap<Inst, Block> = FxHashMap::default();
        let mut found = Vec::new();
        for &block in cx.dominators().reverse_postorder().iter().rev() {
            for inst in func.insts(block).rev().filter(|&inst| may_move(cx, inst)) {
                let users = func.inst(inst).results.iter().flat_map(|&result| func.users(result));
                let (dels, users): (Vec<Inst>, Vec<Inst>) =
                    users.partition(|&user| func.inst(user).op.effects.contains(Effects::FREES));
                let place = |user: Inst| places.get(&user).copied().or_else(|| func.block_of(user));
                let Some(to) = users.first().and_then(|&user| place(user)) else { continue };
                let alone = to != block && users.iter().all(|&user| place(user) == Some(to));
                if alone && cx.is_reachable(to) && is_no_deeper(cx, block, to) {
                    places.insert(inst, to);
                    let elsewhere = |del: &Inst| func.block_of(*del) != Some(to);
                    found.push(SunkInst { inst, to, dels: dels.into_iter().filter(elsewhere).collect() });
                }
            }
        }
        Moves(found)
    }
}

/// True if an instruction on arrays computes the same at any position.
fn may_move(cx: &MatchCx<'_>, inst: Inst) -> bool {
    let func = cx.func();
    let data = func.inst(inst);
    data.op.is_pure()
        && data.results.iter().chain(&data.args).any(|&v| func.ty(v).is_array())
        && cannot_fail(func, inst)
        && data.args.iter().all(|&v| !cx.is_written(v) && !cx.is_ended(v))
        && !data.results.iter().any(|&v| cx.is_written(v))
}

/// True if `to` is in no loop that `from` is not in.
fn is_no_deeper(cx: &MatchCx<'_>, from: Block, to: Block) -> bool {
    cx.loops().innermost(to).is_none_or(|id| cx.loops().contains(id, from))
}
