//! `dce`: dead code elimination.

use crate::prelude::*;
use rewright_ir::ValueDef;
use rewright_ir::op::Effects;
use rustc_hash::FxHashMap;
use slotmap::SecondaryMap;
use smallvec::{SmallVec, smallvec};
use std::rc::Rc;

/// Removes unreachable blocks, instructions without effects and block parameters whose values are not
/// needed, and the `del`s of such values.
///
/// A value is needed if it is an operand of an instruction with effects, of a terminator or of an
/// instruction whose result is needed, or a branch argument for a needed parameter. Marking backwards from
/// the effects also finds cycles that only keep themselves alive, such as an unread loop counter (Cytron,
/// Ferrante, Rosen, Wegman and Zadeck, "Efficiently computing static single assignment form and the control
/// dependence graph", 1991, section 7.1). Unlike there, all branches are kept, so that infinite loops stay
/// infinite.
///
/// It is exact because the removed instructions only compute unread values. An unneeded op that may fail is
/// removed together with its error. One application removes everything dead in the function, in linear time.
pub struct Dce;

static DCE: RewriteDef = RewriteDef::block("dce", "removes computations without uses", &Dce)
    .stage(Stage::AfterInference)
    .holding(Holds::UNUSED.union(Holds::INNER))
    .after(&["cse"]);
register_rewrite!(DCE);

/// A set of values.
type Values = SecondaryMap<Value, ()>;

/// The dead code of a function.
#[derive(Default)]
pub struct Dead {
    blocks: Vec<Block>,
    insts: Vec<Inst>,
    params: Vec<(Block, usize)>,
}

impl Rewrite for Dce {
    type Match = Rc<Dead>;

    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        if !may_hold_dead(cx, block) {
            return Err(NoMatch::quiet());
        }
        let dead = cx.cached(Dead::of);
        let none = dead.blocks.is_empty() && dead.insts.is_empty() && dead.params.is_empty();
        if none { Err(NoMatch::quiet()) } else { Ok(dead) }
    }

    fn apply(&self, dead: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        if !dead.blocks.is_empty() {
            rw.remove_blocks(&dead.blocks)?;
        }
        rw.erase_all(&dead.insts, &dead.params)
    }
}

/// A quick test of one block, true for at least one block of a function that has dead code. It suffices
/// because each chain of dead instructions ends with one that has no use but `del`s, or that leads into a
/// dead block parameter.
fn may_hold_dead(cx: &MatchCx<'_>, block: Block) -> bool {
    let func = cx.func();
    let unneeded = || func.block_params(block).iter().any(|&param| may_be_unneeded(cx, param));
    if func.entry() != Some(block) && (!cx.is_reachable(block) || unneeded()) {
        return true;
    }
    func.insts(block).any(|inst| {
        let data = func.inst(inst);
        let unused = || data.results.iter().all(|&r| func.use_count(r) == 0);
        data.op.effects.contains(Effects::FREES) || (!data.op.is_terminator() && unused() && cx.is_pure(inst))
    })
}

/// The result of a short search for uses of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Needed,
    Unneeded,
    Unknown,
}

/// False if a short search finds a use that needs the value.
fn may_be_unneeded(cx: &MatchCx<'_>, value: Value) -> bool {
    need(cx, value) != Need::Needed
}

/// True if a short search shows that an instruction is dead: `dce` removes it, so other rewrites do not fuse
/// it.
pub(crate) fn is_unneeded(cx: &MatchCx<'_>, inst: Inst) -> bool {
    cx.func().inst(inst).results.iter().all(|&result| need(cx, result) == Need::Unneeded)
}

/// Follows a value through instructions without effects and through branches.
fn need(cx: &MatchCx<'_>, value: Value) -> Need {
    const FAR: usize = 32;
    let func = cx.func();
    let mut reached: SmallVec<[Value; FAR]> = smallvec![value];
    let mut at = 0;
    while let Some(&value) = reached.get(at) {
        at += 1;
        for data in func.each_user(value).map(|user| func.inst(user)).filter(|data| data.op.effects != Effects::FREES) {
            if !data.op.is_pure() && data.args.contains(&value) {
                // The call may turn out to have no effects, and then is not needed itself.
                return if data.op.effects == Effects::CALLS { Need::Unknown } else { Need::Needed };
            }
            let params =
                data.targets.iter().flat_map(|target| func.block_params(target.block).iter().zip(&target.args));
            let given = params.filter(|(_, arg)| **arg == value).map(|(param, _)| param);
            for &next in data.results.iter().chain(given) {
                if reached.len() == FAR {
                    return Need::Unknown;
                }
                if !reached.contains(&next) {
                    reached.push(next);
                }
            }
        }
    }
    Need::Unneeded
}

impl Dead {
    fn of(cx: &MatchCx<'_>) -> Dead {
        let func = cx.func();
        let needed = needed(cx);
        let mut dead = Dead::default();
        for block in func.blocks() {
            if !cx.is_reachable(block) {
                dead.blocks.push(block);
                continue;
            }
            if func.entry() != Some(block) {
                let params = func.block_params(block).iter().enumerate().filter(|(_, p)| !needed.contains_key(**p));
                dead.params.extend(params.map(|(index, _)| (block, index)));
            }
            dead.insts.extend(func.insts(block).filter(|&inst| is_dead(cx, inst, &needed)));
        }
        dead
    }
}

/// True if an instruction of a reachable block is not needed.
fn is_dead(cx: &MatchCx<'_>, inst: Inst, needed: &Values) -> bool {
    let func = cx.func();
    let data = func.inst(inst);
    if data.op.effects != Effects::FREES {
        return cx.is_pure(inst) && !data.results.iter().any(|&r| needed.contains_key(r));
    }
    // A `del` is removed with its value. A `del` of a constant has no effect.
    data.args.iter().all(|&value| match func.def(value) {
        ValueDef::Const(_) => true,
        ValueDef::Param(block, _) => func.entry() != Some(block) && !needed.contains_key(value),
        ValueDef::Result(def, _) => {
            cx.is_pure(def) && !func.inst(def).results.iter().any(|&result| needed.contains_key(result))
        }
    })
}

/// The needed values of all reachable blocks.
fn needed(cx: &MatchCx<'_>) -> Values {
    let func = cx.func();
    let mut work: Vec<Value> = Vec::new();
    // For each block, the branches to it: the terminator, and the number of its target.
    let mut branches: FxHashMap<Block, Vec<(Inst, usize)>> = FxHashMap::default();
    for inst in func.blocks().filter(|&b| cx.is_reachable(b)).flat_map(|b| func.insts(b)) {
        let data = func.inst(inst);
        if data.op.effects != Effects::FREES && !cx.is_pure(inst) {
            work.extend(data.args.iter().copied());
        }
        for (index, target) in data.targets.iter().enumerate() {
            branches.entry(target.block).or_default().push((inst, index));
        }
    }
    let mut needed = Values::new();
    while let Some(value) = work.pop() {
        if needed.insert(value, ()).is_some() {
            continue;
        }
        match func.def(value) {
            ValueDef::Const(_) => {}
            ValueDef::Result(def, _) => work.extend(func.inst(def).args.iter().filter(|&&v| !needed.contains_key(v))),
            ValueDef::Param(block, param) => {
                let into = branches.get(&block).into_iter().flatten();
                work.extend(into.map(|&(from, index)| func.inst(from).targets[index].args[param as usize]));
            }
        }
    }
    needed
}
