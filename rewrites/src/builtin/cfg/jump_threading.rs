//! `jump-threading`: redirects branches to the blocks where they end up.

use crate::prelude::*;
use rewright_ir::{InstData, Target, ValueDef};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::rc::Rc;

/// Redirects each branch past blocks that contain only a terminator: past a `jump`, and past a branch that
/// is decided by an argument of the first branch or by the condition that led there. Removes the blocks that
/// become unreachable.
///
/// It is exact because the bypassed blocks compute nothing, and their parameters are only branched on. A
/// branch is not redirected if a parameter's type is more precise than its argument's, because the branch
/// checks the type and an error names its line.
///
/// Loops stay loops: a block that decides whether a loop continues is not bypassed, so that the loop nest
/// does not change and each loop keeps one entry. If some loop of the function has several entries, no
/// branch is decided. So redirection only moves a branch forward in reverse postorder, and ends. All of a
/// function is one application, in linear time. Of a long chain of decided branches, each application
/// bypasses 16.
pub struct JumpThreading;

static JUMP_THREADING: RewriteDef =
    RewriteDef::block("jump-threading", "lets branches go at once where they will end up", &JumpThreading)
        .roots(&["jump", "br_if", "switch"])
        .stage(Stage::AfterInference)
        .after(&["canonicalize"])
        .before(&["merge-blocks"]);
register_rewrite!(JUMP_THREADING);

/// The most decided branches that one branch is redirected past in one application.
const FAR: usize = 16;

/// New targets of terminators, and the blocks that become unreachable.
#[derive(Default)]
pub struct Threads {
    targets: Vec<(Inst, SmallVec<[Target; 2]>)>,
    unreached: Vec<Block>,
}

impl Rewrite for JumpThreading {
    type Match = Rc<Threads>;

    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        let func = cx.func();
        if !func.successors(block).any(|to| only_branch(func, to).is_some()) {
            return Err(NoMatch::quiet());
        }
        let found = cx.cached(Threads::of);
        if found.targets.is_empty() { Err(NoMatch::quiet()) } else { Ok(found) }
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        for (terminator, targets) in &found.targets {
            rw.set_targets(*terminator, targets.iter().cloned())?;
        }
        if found.unreached.is_empty() { Ok(()) } else { rw.remove_blocks(&found.unreached) }
    }
}

/// The branch of a block that contains nothing else, if only that branch uses the block's parameters.
fn only_branch(func: &Function, block: Block) -> Option<&InstData> {
    let end = func.terminator(block).filter(|&end| func.first_inst(block) == Some(end))?;
    let data = func.inst(end);
    let known = matches!(data.op.name, "jump" | "br_if" | "switch");
    let here = data.uses().filter(|&v| param_of(func, block, v).is_some()).count();
    let uses: usize = func.block_params(block).iter().map(|&param| func.use_count(param)).sum();
    (known && here == uses).then_some(data)
}

/// The number of the block parameter that a value is.
fn param_of(func: &Function, block: Block, value: Value) -> Option<usize> {
    match func.def(value) {
        ValueDef::Param(home, index) if home == block => Some(index as usize),
        _ => None,
    }
}

/// True if the branch checks nothing: no parameter's type is more precise than its argument's.
fn is_unchecked(func: &Function, target: &Target) -> bool {
    let params = func.block_params(target.block).iter().zip(&target.args);
    { params }.all(|(&param, &arg)| func.ty(arg).refines(func.ty(param)))
}

/// A branch of a block as seen from a branch to that block: with its arguments in place of the parameters.
fn seen_from(func: &Function, to: &Target, onward: &Target) -> Target {
    Target { block: onward.block, args: onward.args.iter().map(|&v| value_seen_from(func, to, v)).collect() }
}

fn value_seen_from(func: &Function, to: &Target, value: Value) -> Value {
    param_of(func, to.block, value).map_or(value, |index| to.args[index])
}

impl Threads {
    fn of(cx: &MatchCx<'_>) -> Threads {
        let func = cx.func();
        let onward = onward(func);
        let mut heads = heads(cx);
        if let Some(heads) = &mut heads {
            let followed: Vec<Block> = heads.iter().filter_map(|head| Some(onward.get(head)?.block)).collect();
            heads.extend(followed);
        }
        let ways = Ways { func, onward, heads };
        let mut found = Threads::default();
        let mut reached: FxHashSet<Block> = func.entry().into_iter().collect();
        let mut work: Vec<Block> = func.entry().into_iter().collect();
        while let Some(end) = work.pop().and_then(|block| func.terminator(block)) {
            let data = func.inst(end);
            let targets: SmallVec<[Target; 2]> = (0..data.targets.len()).map(|way| ways.follow(data, way)).collect();
            work.extend(targets.iter().map(|t| t.block).filter(|&b| reached.insert(b)));
            if targets[..] != data.targets[..] {
                found.targets.push((end, targets));
            }
        }
        if !found.targets.is_empty() {
            found.unreached = func.blocks().filter(|b| !reached.contains(b)).collect();
        }
        found
    }
}

/// Where branches lead.
struct Ways<'a> {
    func: &'a Function,
    /// For blocks that only jump and check nothing, the final target, in terms of their own parameters.
    onward: FxHashMap<Block, Target>,
    /// The headers of loops; `None` if some loop has several entries.
    heads: Option<FxHashSet<Block>>,
}

impl Ways<'_> {
    /// The final target of a terminator's target.
    fn follow(&self, from: &InstData, way: usize) -> Target {
        let mut target = from.targets[way].clone();
        let decided = from.args.first().filter(|_| from.op.name == "br_if").map(|&c| (c, way == 0));
        for _ in 0..FAR {
            if let Some(onward) = self.onward.get(&target.block).filter(|_| is_unchecked(self.func, &target)) {
                target = seen_from(self.func, &target, onward);
            }
            match self.decide(&target, decided) {
                Some(next) => target = next,
                None => break,
            }
        }
        target
    }

    /// The next target, if the target block contains only a branch that is decided.
    fn decide(&self, to: &Target, decided: Option<(Value, bool)>) -> Option<Target> {
        let func = self.func;
        let heads = self.heads.as_ref()?;
        let data = only_branch(func, to.block).filter(|_| !heads.contains(&to.block) && is_unchecked(func, to))?;
        let [operand] = data.args[..] else { return None };
        let operand = value_seen_from(func, to, operand);
        let known = decided.filter(|(condition, _)| *condition == operand).map(|(_, yes)| Scalar::Bool(yes));
        let scalar = func.as_const(operand).or(known)?;
        let way = match data.op.name {
            "br_if" => usize::from(scalar == Scalar::Bool(false)),
            _ => {
                let (at, cases) = (scalar.to_i128()?, data.attrs.ints("cases")?);
                cases.iter().position(|&case| i128::from(case) == at).unwrap_or(cases.len())
            }
        };
        data.targets.get(way).filter(|onward| is_unchecked(func, onward)).map(|onward| seen_from(func, to, onward))
    }
}

/// The final targets of blocks that only jump. Leaves out those that jump in a cycle.
fn onward(func: &Function) -> FxHashMap<Block, Target> {
    let mut found: FxHashMap<Block, Target> = FxHashMap::default();
    let mut seen: FxHashSet<Block> = func.entry().into_iter().collect();
    for block in func.blocks() {
        let mut path: Vec<(Block, &Target)> = Vec::new();
        let mut at = block;
        let jumps_on = |data: &InstData| data.op.name == "jump" && is_unchecked(func, &data.targets[0]);
        while let Some(jump) = only_branch(func, at).filter(|data| jumps_on(data) && seen.insert(at)) {
            path.push((at, &jump.targets[0]));
            at = jump.targets[0].block;
        }
        // The blocks of a cycle stay.
        let circle = path.iter().position(|&(block, _)| block == at).unwrap_or(path.len());
        for (block, target) in path.drain(..).enumerate().filter(|(at, _)| *at < circle).map(|(_, way)| way).rev() {
            let end = found.get(&target.block).map_or_else(|| target.clone(), |onward| seen_from(func, target, onward));
            found.insert(block, end);
        }
    }
    found
}

/// The headers of loops; `None` if a loop has several entries.
fn heads(cx: &MatchCx<'_>) -> Option<FxHashSet<Block>> {
    let dominators = cx.dominators();
    let place: FxHashMap<Block, usize> = dominators.reverse_postorder().iter().copied().zip(0..).collect();
    let mut heads = FxHashSet::default();
    for (&block, &at) in &place {
        for pred in cx.predecessors(block).iter().filter(|p| place.get(*p).is_some_and(|&from| from >= at)) {
            if !dominators.dominates(block, *pred) {
                return None;
            }
            heads.insert(block);
        }
    }
    Some(heads)
}
