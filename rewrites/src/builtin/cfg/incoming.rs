//! The values that branches pass for block parameters.

use crate::prelude::*;

/// Quick tests skip blocks with more predecessors and terminators with more targets.
const MANY: usize = 8;

/// The values that branches from reachable blocks pass for a parameter, in the same order for all parameters
/// of the block. `None` if there are too many for a quick test.
pub(crate) fn incoming<'a>(
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
