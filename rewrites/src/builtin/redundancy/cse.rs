//! `cse`: common subexpression elimination.

use crate::prelude::*;
use rewright_ir::InstData;
use rewright_ir::analysis::ended_values;
use rewright_ir::analysis::hash_attrs;
use rewright_ir::op::Traits;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use slotmap::SecondaryMap;
use smallvec::SmallVec;
use std::hash::{BuildHasher, Hash, Hasher};
use std::rc::Rc;

/// Replaces the results of an instruction without effects by those of a dominating instruction that computes
/// the same.
///
/// Two instructions compute the same if their op, operands and attributes are equal: constants bit for bit,
/// operands of commutative ops in any order. The walk visits blocks in preorder of the dominator tree, with
/// a table of the instructions that dominate (as in Briggs, Cooper and Simpson, "Value numbering", 1997,
/// section 3.2). Operands are looked up by their replacements, so that all copies of a long expression go at
/// once. All of it is one application, in linear time.
///
/// It is exact because an op without effects gives the same results for the same operands. The content of an
/// operand that is stored to depends on when it is read: two instructions that read such an operand count as
/// equal only in one block with no store to it between. Values that are stored to are never shared, and
/// values that a `del` may have ended are not used again.
pub struct Cse;

static CSE: RewriteDef = RewriteDef::block("cse", "merges redundant computations", &Cse)
    .stage(Stage::AfterInference)
    .after(&["canonicalize"]);
register_rewrite!(CSE);

/// Instructions, each with an earlier one that computes the same, in an order in which they can be replaced
/// one after the other.
pub struct Twins(Vec<(Inst, Inst)>);

impl Rewrite for Cse {
    type Match = Rc<Twins>;

    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        if !cx.func().insts(block).any(|inst| may_have_twin(cx, inst)) {
            return Err(NoMatch::quiet());
        }
        let twins = cx.cached(Twins::of);
        if twins.0.is_empty() { Err(NoMatch::quiet()) } else { Ok(twins) }
    }

    fn apply(&self, twins: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        twins.0.iter().try_for_each(|&(inst, earlier)| {
            let results = rw.func().inst(earlier).results.clone();
            rw.replace(inst, &results)
        })
    }
}

/// An operand: the value, and the version of its content if it is stored to, else 0.
pub(super) type VersionedValue = (Value, u64);

type Operands = SmallVec<[VersionedValue; 3]>;

/// The computation of an instruction, for comparison.
pub(super) struct Key<'f> {
    op: Op,
    operands: Operands,
    attrs: &'f Attrs,
}

impl<'f> Key<'f> {
    /// The key of an instruction with these operands.
    pub fn of(data: &'f InstData, mut operands: Operands) -> Self {
        if data.op.traits.contains(Traits::COMMUTATIVE) {
            operands.sort_unstable();
        }
        Key { op: data.op, operands, attrs: &data.attrs }
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.op == other.op && self.operands == other.operands && self.attrs == other.attrs
    }
}
/// Attributes are equal if their bits are.
impl Eq for Key<'_> {}
impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.op.hash(state);
        self.operands.hash(state);
        hash_attrs(self.attrs, state);
    }
}

/// A quick test, true for at least one instruction of a function with twins: the first pair has identical
/// operands. Also true where only a longer test could tell.
pub(super) fn may_have_twin(cx: &MatchCx<'_>, inst: Inst) -> bool {
    const MANY: usize = 8;
    let func = cx.func();
    let data = func.inst(inst);
    if data.results.is_empty() || !cx.is_pure(inst) {
        return false;
    }
    let Some((uses, rarest)) = data.args.iter().map(|&arg| (func.use_count(arg), arg)).min() else {
        return true;
    };
    // The operand has no other user.
    if uses == 1 {
        return false;
    }
    let same = |other: &InstData| {
        other.op == data.op && other.args.iter().all(|arg| data.args.contains(arg)) && other.attrs == data.attrs
    };
    let twin = |user: Inst| func.linked_inst(user).is_some_and(same) && are_on_one_path(cx, inst, user);
    // The later one of two users finds the earlier one.
    uses > MANY || func.past_users(rarest).iter().take_while(|&&user| user != inst).any(|&user| twin(user))
}

/// True if one instruction's results reach the other.
fn are_on_one_path(cx: &MatchCx<'_>, a: Inst, b: Inst) -> bool {
    let func = cx.func();
    let reaches = |from: Inst, to: Inst| func.inst(from).results.iter().all(|&result| cx.reaches(result, to));
    func.block_of(a) == func.block_of(b) || reaches(a, b) || reaches(b, a)
}

impl Twins {
    fn of(cx: &MatchCx<'_>) -> Twins {
        let mut walk = DominatorWalk {
            cx: *cx,
            table: FxHashMap::with_capacity_and_hasher(cx.func().inst_count(), FxBuildHasher),
            versioned: FxHashMap::default(),
            same: SecondaryMap::new(),
            versions: FxHashMap::default(),
            last_version: 0,
            ever_ended: ended_values(cx.func()).into_iter().collect(),
            ended: FxHashSet::default(),
            twins: Vec::new(),
        };
        for block in cx.dominators().preorder() {
            walk.versions.clear();
            walk.ended.clear();
            cx.func().insts(block).for_each(|inst| walk.inst(block, inst));
        }
        Twins(walk.twins)
    }
}

/// A walk over the dominator tree.
struct DominatorWalk<'a> {
    cx: MatchCx<'a>,
    /// The latest instruction for each hash of a key; the keys are compared on a hit. An instruction that
    /// does not dominate the current block dominates no later one either.
    table: FxHashMap<u64, Inst>,
    /// The operands of instructions that read values which are stored to.
    versioned: FxHashMap<Inst, Operands>,
    /// The replacements of results of twins.
    same: SecondaryMap<Value, Value>,
    /// The versions, at this point of the block, of the values that are stored to.
    versions: FxHashMap<Value, u64>,
    last_version: u64,
    /// Values that some `del` ends.
    ever_ended: FxHashSet<Value>,
    /// Values that a `del` has ended in this block so far.
    ended: FxHashSet<Value>,
    twins: Vec<(Inst, Inst)>,
}

impl DominatorWalk<'_> {
    fn inst(&mut self, block: Block, inst: Inst) {
        let data = self.cx.func().inst(inst);
        if !data.op.effects.is_empty() {
            let effects = self.cx.effects(inst);
            for value in effects.writes {
                self.versions.remove(&value);
            }
            self.ended.extend(effects.frees);
        }
        if data.results.is_empty() || !self.cx.is_pure(inst) {
            return;
        }
        let operands: Operands = data.args.iter().map(|&v| self.operand(v)).collect();
        let is_versioned = operands.iter().any(|&(_, version)| version > 0);
        let kept = is_versioned.then(|| operands.clone());
        let key = Key::of(data, operands);
        let hash = FxBuildHasher.hash_one(&key);
        let earlier = self.table.get(&hash).copied().filter(|&earlier| key == self.key(earlier));
        if let Some(earlier) = earlier.filter(|&earlier| self.can_take(block, inst, earlier)) {
            let results = &self.cx.func().inst(earlier).results;
            self.same.extend(data.results.iter().copied().zip(results.iter().copied()));
            self.twins.push((inst, earlier));
        } else {
            self.table.insert(hash, inst);
            self.versioned.extend(kept.map(|operands| (inst, operands)));
        }
    }

    /// The key of an instruction that is in the table.
    fn key(&self, inst: Inst) -> Key<'_> {
        let data = self.cx.func().inst(inst);
        let unwritten = || data.args.iter().map(|&v| (self.now(v), 0)).collect();
        Key::of(data, self.versioned.get(&inst).cloned().unwrap_or_else(unwritten))
    }

    /// The replacement of a value, or the value itself.
    fn now(&self, value: Value) -> Value {
        self.same.get(value).copied().unwrap_or(value)
    }

    fn operand(&mut self, value: Value) -> VersionedValue {
        let value = self.now(value);
        if !self.cx.is_written(value) {
            return (value, 0);
        }
        let last = &mut self.last_version;
        let version = self.versions.entry(value).or_insert_with(|| {
            *last += 1;
            *last
        });
        (value, *version)
    }

    /// True if the results of an earlier, equal instruction can be used instead.
    fn can_take(&self, block: Block, inst: Inst, earlier: Inst) -> bool {
        let func = self.cx.func();
        let results = &func.inst(earlier).results;
        let here = func.block_of(earlier) == Some(block);
        let ended = if here { &self.ended } else { &self.ever_ended };
        !results.iter().any(|r| ended.contains(r)) && self.cx.can_replace(inst, results)
    }
}
