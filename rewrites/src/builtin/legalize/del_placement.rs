//! `del-placement`: ends each array's life after its last use.

use crate::prelude::*;
use indexmap::{IndexMap, IndexSet};
use rewright_ir::ValueDef;
use rewright_ir::analysis::predecessors;
use rewright_ir::builder::find_op;
use rewright_ir::op::Effects;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;
use std::rc::Rc;

/// Places a `del` of each array after its last use on each path, and removes the other `del`s. After a
/// function is rewritten, the `del`s state the live ranges, whatever became of the original ones. If a value
/// is still needed on another path, the `del` stands at the beginning of the block that no longer needs it,
/// unless that block is also reached without the value. An array that is returned or passed to a block has
/// no `del` after that. Arguments of the function belong to the caller: their `del`s stay as they are.
///
/// It is exact because a `del` stands where no path leads to another use. An `Executable` gains nothing,
/// because it finds free buffers itself; the reference evaluator needs less memory. So it is opt-in.
pub struct DelPlacement;

static DEL_PLACEMENT: RewriteDef =
    RewriteDef::block("del-placement", "ends each array's life after its last use", &DelPlacement)
        .stage(Stage::BeforeLowering)
        .after(&["array-expr"])
        .opt_in();
register_rewrite!(DEL_PLACEMENT);

/// A position for `del`s: after an instruction, or at the beginning of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum DelPlace {
    Behind(Inst),
    Begin(Block),
}

/// Values with misplaced `del`s.
pub struct Misplaced(Vec<MisplacedDels>);

struct MisplacedDels {
    value: Value,
    /// The existing `del`s.
    old: SmallVec<[Inst; 2]>,
    /// The positions of the new ones.
    places: SmallVec<[DelPlace; 2]>,
}

impl Rewrite for DelPlacement {
    type Match = Rc<Misplaced>;

    fn matches(&self, cx: &MatchCx<'_>, _: Block) -> Result<Self::Match, NoMatch> {
        let found = cx.cached(Misplaced::of);
        if found.0.is_empty() { Err(NoMatch::quiet()) } else { Ok(found) }
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        for ends in &found.0 {
            for &del in &ends.old {
                rw.erase(del)?;
            }
        }
        // In reverse order, since each is inserted directly at its position, before those inserted earlier.
        for ends in found.0.iter().rev() {
            for place in &ends.places {
                let point = match *place {
                    DelPlace::Behind(inst) => Point::After(inst),
                    DelPlace::Begin(block) => match rw.func().first_inst(block) {
                        Some(first) => Point::Before(first),
                        None => continue,
                    },
                };
                rw.set_point(point);
                rw.insert(find_op("del")?, [ends.value], Attrs::new())?;
            }
        }
        Ok(())
    }
}

impl Misplaced {
    fn of(cx: &MatchCx<'_>) -> Misplaced {
        let func = cx.func();
        let preds = predecessors(func).into_iter().collect();
        let lives = Lives { cx: *cx, preds, places: places_of_dels(cx) };
        let blocks = || func.blocks().filter(|&block| cx.is_reachable(block));
        let params = blocks().skip(1).flat_map(|b| func.block_params(b).iter().copied());
        let results = blocks().flat_map(|b| func.insts(b)).flat_map(|i| func.inst(i).results.iter().copied());
        let values = params.chain(results).filter(|&value| func.ty(value).is_array());
        Misplaced(values.filter_map(|value| lives.ends(value)).collect())
    }
}

fn is_del(func: &Function, inst: Inst) -> bool {
    func.inst(inst).op.effects.contains(Effects::FREES)
}

/// The position of each `del` in reachable blocks, ignoring other `del`s before it.
fn places_of_dels(cx: &MatchCx<'_>) -> FxHashMap<Inst, DelPlace> {
    let func = cx.func();
    let mut places = FxHashMap::default();
    for block in func.blocks().filter(|&block| cx.is_reachable(block)) {
        let mut place = DelPlace::Begin(block);
        for inst in func.insts(block) {
            match is_del(func, inst) {
                true => drop(places.insert(inst, place)),
                false => place = DelPlace::Behind(inst),
            }
        }
    }
    places
}

type Set<T> = IndexSet<T, FxBuildHasher>;

struct Lives<'a> {
    cx: MatchCx<'a>,
    preds: FxHashMap<Block, SmallVec<[Block; 2]>>,
    places: FxHashMap<Inst, DelPlace>,
}

impl Lives<'_> {
    /// The `del`s that a value has and the positions that it should have, if they differ.
    fn ends(&self, value: Value) -> Option<MisplacedDels> {
        let func = self.cx.func();
        let (begin, home) = match func.def(value) {
            ValueDef::Param(block, _) => (DelPlace::Begin(block), block),
            ValueDef::Result(inst, _) => (DelPlace::Behind(inst), func.block_of(inst)?),
            ValueDef::Const(_) => return None,
        };
        let mut old: SmallVec<[Inst; 2]> = SmallVec::new();
        // The last position in each block that needs the value.
        let mut last: IndexMap<Block, DelPlace, FxBuildHasher> = [(home, begin)].into_iter().collect();
        for user in func.users(value) {
            let Some(block) = func.block_of(user).filter(|&block| self.cx.is_reachable(block)) else { continue };
            if is_del(func, user) {
                old.push(user);
                continue;
            }
            let place = last.entry(block).or_insert(DelPlace::Behind(user));
            if !matches!(*place, DelPlace::Behind(other) if func.comes_before(user, other)) {
                *place = DelPlace::Behind(user);
            }
        }
        let places = self.places_for(home, &last);
        let right =
            old.len() == places.len() && old.iter().all(|del| self.places.get(del).is_some_and(|p| places.contains(p)));
        (!right).then_some(MisplacedDels { value, old, places })
    }

    /// The positions where a value's live range ends, given the last uses.
    fn places_for(&self, home: Block, last: &IndexMap<Block, DelPlace, FxBuildHasher>) -> SmallVec<[DelPlace; 2]> {
        let func = self.cx.func();
        let (mut into, mut out): (Set<Block>, Set<Block>) = (Set::default(), Set::default());
        let mut work: Vec<Block> = last.keys().copied().filter(|&block| block != home).collect();
        while let Some(block) = work.pop() {
            if into.insert(block) {
                for &pred in self.preds.get(&block).into_iter().flatten().filter(|&&p| self.cx.is_reachable(p)) {
                    out.insert(pred);
                    work.extend((pred != home).then_some(pred));
                }
            }
        }
        let ends = |place: &DelPlace| !matches!(*place, DelPlace::Behind(inst) if func.inst(inst).op.is_terminator());
        let within = last.iter().filter(|(block, place)| !out.contains(*block) && ends(place)).map(|(_, &place)| place);
        let next: Set<Block> = out.iter().flat_map(|&block| func.successors(block)).collect();
        let left = |block: &Block| {
            let mut preds = self.preds.get(block).into_iter().flatten();
            !into.contains(block) && *block != home && preds.all(|pred| out.contains(pred))
        };
        within.chain(next.iter().copied().filter(left).map(DelPlace::Begin)).collect()
    }
}
