//! `gvn`: computes once what is computed twice, whatever the paths between.

mod number;
mod quick;

use crate::prelude::*;
use number::Numbers;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Global value numbering: like [`cse`](super::cse), and knows besides which block parameters are always the same, round loops too, and
/// which values nothing on any path between two instructions stores to.
///
/// Values are numbered in reverse postorder, again and again until no number changes, beginning with the assumption that what has not
/// been looked at yet differs from nothing (Simpson, "Value-Driven Redundancy Elimination", 1996, section 4.3): so two counters that
/// begin with the same and are stepped alike are one. An instruction's results are then replaced by those of one of the same number
/// that dominates it, and a parameter by one of its block. All of it is one application; the time is linear, for after so many
/// rounds the parameters of blocks count as different from each other.
///
/// It is exact for the reasons for which `cse` is. An operand that something stores to counts as the same where on no path between two
/// reads of it there is such a store. An op that may fail has failed before where it is computed before. Values live on to where they
/// are used again: their `del`s go, or move behind. In functions of one block `cse` finds all there is, so this is not asked.
pub struct Gvn;

static GVN: RewriteDef =
    RewriteDef::block("gvn", "computes once what is computed twice, whatever the paths between", &Gvn)
        .stage(Stage::AfterInference)
        .after(&["fold", "canonicalize", "block-args", "merge-blocks", "cse"])
        .before(&["dce"]);
register_rewrite!(GVN);

/// What is computed twice.
#[derive(Default)]
pub struct Redundant {
    /// Parameters, each with another one of the block.
    params: Vec<((Block, usize), Value, Value)>,
    /// Instructions, each with one that dominates it.
    insts: Vec<(Inst, Inst)>,
}

impl Rewrite for Gvn {
    type Match = Rc<Redundant>;

    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        if cx.func().blocks().len() == 1 || !quick::may_repeat(cx, block) {
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
            // Other replacements may have made the types of operands say more.
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
        // The latest value of each number. One that does not dominate where the walk has got to never will again.
        let mut latest: FxHashMap<Value, Value> = FxHashMap::default();
        for block in cx.dominators().tree_order() {
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
