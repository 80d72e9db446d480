//! `gvn`: global value numbering.

mod number;
mod quick_test;

use crate::prelude::*;
use number::Numbers;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Like [`cse`](super::cse), but also finds equal block parameters, those of loops included, and knows which
/// values no instruction stores to on any path between two instructions.
///
/// Values are numbered in reverse postorder until no number changes. The numbering is optimistic: a value
/// without a number is assumed to equal anything (Simpson, "Value-Driven Redundancy Elimination", 1996,
/// section 4.3). So two counters with the same start and step are one. The results of an instruction are
/// then replaced by those of a dominating instruction with the same number, and a parameter by one of the
/// same block. All of it is one application. Time is linear, because after a fixed number of rounds all
/// block parameters count as different.
///
/// It is exact for the same reasons as `cse`. An operand that is stored to counts as the same for two reads
/// if no path between them has such a store. An op that may fail and is computed again has already failed
/// the first time. Live ranges grow up to the new uses: the `del`s in between are removed or moved behind
/// them. In functions of one block `cse` finds everything, so `gvn` does not run.
pub struct Gvn;

static GVN: RewriteDef = RewriteDef::block("gvn", "merges redundant computations, across branches and joins", &Gvn)
    .stage(Stage::AfterInference)
    .after(&["cse"])
    .before(&["dce"]);
register_rewrite!(GVN);

/// The redundant parameters and instructions of a function.
#[derive(Default)]
pub struct Redundant {
    /// Parameters, each with an equal one of the same block.
    params: Vec<((Block, usize), Value, Value)>,
    /// Instructions, each with an equal one that dominates it.
    insts: Vec<(Inst, Inst)>,
}

impl Rewrite for Gvn {
    type Match = Rc<Redundant>;

    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        if cx.func().blocks().len() == 1 || !quick_test::may_repeat(cx, block) {
            return Err(NoMatch::quiet());
        }
        let found = cx.cached(Redundant::of);
        if found.params.is_empty() && found.insts.is_empty() { Err(NoMatch::quiet()) } else { Ok(found) }
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        for &(_, param, same) in &found.params {
            if rw.func().use_count(param) > 0 {
                rw.replace_uses(param, same)?;
            }
        }
        for &(inst, earlier) in &found.insts {
            let results = rw.func().inst(earlier).results.clone();
            // Earlier replacements may have refined the types of operands.
            let mut pairs = results.iter().zip(&rw.func().inst(inst).results);
            if pairs.all(|(&new, &old)| rw.func().ty(new).refines(rw.func().ty(old))) {
                rw.replace(inst, &results)?;
            }
        }
        let params: Vec<(Block, usize)> = found.params.iter().map(|&(place, ..)| place).collect();
        rw.erase_all(&[], &params)
    }
}

impl Redundant {
    fn of(cx: &MatchCx<'_>) -> Redundant {
        let func = cx.func();
        let numbers = Numbers::of(cx);
        let mut found = Redundant::default();
        // The latest value of each number. A value that does not dominate the current block dominates no
        // later one either.
        let mut latest: FxHashMap<Value, Value> = FxHashMap::default();
        for block in cx.dominators().preorder() {
            for (index, &param) in func.block_params(block).iter().enumerate() {
                let same = latest.insert(numbers.get(param), param);
                if let Some(same) = same.filter(|&same| func.ty(same).refines(func.ty(param))) {
                    latest.insert(numbers.get(param), same);
                    found.params.push(((block, index), param, same));
                }
            }
            for inst in func.insts(block).filter(|&inst| cx.is_pure(inst)) {
                let Some(&result) = func.inst(inst).results.first() else { continue };
                let earlier = latest.get(&numbers.get(result)).and_then(|&value| func.def_inst(value));
                match earlier.filter(|&earlier| cx.can_replace(inst, &func.inst(earlier).results)) {
                    Some(earlier) => found.insts.push((inst, earlier)),
                    None => drop(latest.insert(numbers.get(result), result)),
                }
            }
        }
        found
    }
}
