//! `merge-blocks`: merges a block with its only successor if that has no other predecessor.

use crate::prelude::*;
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// Appends a block to its only predecessor, which jumps to it. The arguments of the jump replace its
/// parameters. Rewrites of one block then see the longer instruction sequence.
///
/// It is exact because the same instructions run in the same order. A parameter holds the argument's value
/// at the jump. If something stores to one of them, the two differ later, and the blocks are not merged.
/// Neither are they if the parameter's type is more precise than the argument's, which the jump checks. All
/// chains of blocks are one application, in linear time.
pub struct MergeBlocks;

static MERGE_BLOCKS: RewriteDef =
    RewriteDef::block("merge-blocks", "makes one block of two where nothing comes between them", &MergeBlocks)
        .roots(&["jump"])
        .stage(Stage::AfterInference)
        .after(&["canonicalize"])
        .before(&["cse"]);
register_rewrite!(MERGE_BLOCKS);

/// Blocks, each with the chain of blocks that is merged into it.
pub struct Chains(Vec<(Block, Vec<Block>)>);

impl Rewrite for MergeBlocks {
    type Match = Rc<Chains>;

    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        // Blocks with a conditional branch are covered by the ones that only jump.
        let end = cx.func().terminator(block).map(|end| cx.func().inst(end)).filter(|end| end.op.name == "jump");
        if end.is_none_or(|end| end.targets.iter().any(|target| cx.predecessors(target.block).len() != 1)) {
            return Err(NoMatch::quiet());
        }
        let chains = cx.cached(Chains::of);
        if chains.0.is_empty() { Err(NoMatch::quiet()) } else { Ok(chains) }
    }

    fn apply(&self, chains: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        for (head, rest) in &chains.0 {
            for &block in rest {
                let args = rw.func().terminator(*head).map(|jump| rw.func().inst(jump).targets[0].args.clone());
                let params = rw.func().block_params(block).to_vec();
                for (param, arg) in params.into_iter().zip(args.into_iter().flatten()) {
                    rw.replace_uses(param, arg)?;
                }
                rw.append_block(*head, block)?;
            }
        }
        let empty: Vec<Block> = chains.0.iter().flat_map(|(_, rest)| rest.iter().copied()).collect();
        rw.remove_blocks(&empty)
    }
}

impl Chains {
    fn of(cx: &MatchCx<'_>) -> Chains {
        let func = cx.func();
        let next = |block: Block| {
            let [only] = &cx.func().inst(func.terminator(block)?).targets[..] else { return None };
            let alone = cx.predecessors(only.block).len() == 1;
            let params = func.block_params(only.block).iter().zip(&only.args);
            let same = |(&param, &arg): (&Value, &Value)| {
                func.ty(arg).refines(func.ty(param)) && !cx.is_written(param) && !cx.is_written(arg)
            };
            (alone && { params }.all(same)).then_some(only.block)
        };
        // A reachable block is on no cycle of blocks with one predecessor each.
        let reachable = || func.blocks().filter(|&b| cx.is_reachable(b));
        let inner: FxHashSet<Block> = reachable().filter_map(next).collect();
        let heads = reachable().filter(|block| !inner.contains(block));
        let chains = heads.map(|head| (head, std::iter::successors(next(head), |&block| next(block)).collect()));
        Chains(chains.filter(|(_, rest): &(Block, Vec<Block>)| !rest.is_empty()).collect())
    }
}
