//! What block parameters get.

use crate::prelude::*;

/// Blocks with more branches to them, or terminators with more targets, are not for a quick look.
const MANY: usize = 8;

/// What branches from blocks that can be reached give for a parameter, in an order that is the same for all parameters of the block. None
/// if there are too many to look at them again and again.
pub(super) fn incoming<'a>(
    cx: &MatchCx<'a>,
    block: Block,
    index: usize,
) -> Option<impl Iterator<Item = Value> + 'a + use<'a>> {
    let (cx, func) = (*cx, cx.func());
    let preds = cx.predecessors(block);
    let ends = move || preds.iter().filter_map(|&from| func.terminator(from)).map(|end| func.inst(end));
    if preds.len() > MANY || ends().any(|end| end.targets.len() > MANY) {
        return None;
    }
    let ends = preds.iter().filter(move |&&from| cx.is_reachable(from)).filter_map(|&from| func.terminator(from));
    let targets = ends.flat_map(|end| &func.inst(end).targets);
    Some(targets.filter(move |target| target.block == block).filter_map(move |target| target.args.get(index).copied()))
}
