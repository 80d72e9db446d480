//! Decides which instructions of a block become one node.
//!
//! Two candidates may be fused along an edge from producer to consumer. Fusion must not create a cycle
//! through an instruction outside of the group, nor move a read past a write. Both follow from *levels*:
//!
//! - The level of a candidate is at least that of its producers, and one more than that of producers that it
//!   can't be fused with.
//! - Instructions that are no candidates are one level above the candidates that they depend on.
//! - An instruction that writes depends on earlier readers of the written values, and later readers depend
//!   on it.
//!
//! Only candidates of one level are fused. A path from a group through an outside instruction back to the
//! group would climb a level, so there is none. A block in which groups are units can therefore always be
//! ordered.
//!
//! Levels start as low as possible. Then each candidate whose consumers all have higher levels is raised to
//! theirs, so that it can be fused with work that waits for another value anyway. Every step is one pass
//! over the block, so time is linear.

use super::candidate::{Candidate, Role, is_del, is_needed};
use super::effects::BlockEffects;
use super::space::{Relation, Spaces, align, relate};
use super::views::{AxisMap, Viewed, is_exact, look_through};
use crate::MatchCx;
use rewright_ir::expr::{BodyOp, BodyRef, Index, IndexExpr, Source};
use rewright_ir::{Block, Function, Inst, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::cell::RefCell;

/// The most cycles of a producer that is recomputed for every element along a broadcast axis.
pub const MAX_REPEATED_CYCLES: u32 = 4;

/// The uses of a value with more uses are not examined.
const MANY: usize = 16;

/// A candidate's place in a group.
pub struct Member {
    /// The instruction.
    pub inst: Inst,
    /// How it is inlined.
    pub candidate: Candidate,
    /// For each of its axes the axis of the group; `None` where its extent is 1.
    pub map: AxisMap,
}

/// Instructions that become one node.
#[derive(Default)]
pub struct FusionGroup {
    /// In block order; the last one has the group's index space.
    pub members: Vec<Member>,
    /// Views between members that have no other use.
    pub views: Vec<Inst>,
}

/// A producer that is not fused with a consumer, and why.
pub struct MissedFusion {
    /// The producer.
    pub producer: Inst,
    /// The reason.
    pub reason: String,
}

/// The plan for a block.
pub struct FusionPlan {
    /// Its instructions, by position.
    pub insts: Vec<Inst>,
    /// The groups, in the order of their last members.
    pub groups: Vec<FusionGroup>,
    /// The order that effects require.
    pub effects: BlockEffects,
    /// The producers that are not fused.
    pub missed: Vec<MissedFusion>,
}

/// An edge along which two candidates may be fused.
struct Edge {
    producer: u32,
    consumer: u32,
    /// `None`: both have the same space, axis by axis. Otherwise the producer is private to the consumer,
    /// and this maps its axes to the consumer's.
    map: Option<AxisMap>,
    views: SmallVec<[Inst; 2]>,
}

/// The producer of an operand, and how it may be fused, or why not.
type Joint = (u32, Result<Option<AxisMap>, String>);

/// Facts about an instruction of the block.
#[derive(Clone, Default)]
struct InstInfo {
    candidate: Option<Candidate>,
    level: u32,
    /// The fused producer chain has a single use.
    private: bool,
    /// Cycles an element, including all fused producers.
    cycles: u32,
    /// The instruction sets an extent itself, or reads through a view that does. It can't be fused into a
    /// space where that extent may differ.
    pinned: bool,
}

/// Plans a block. The plan has no groups if nothing can be fused.
pub fn plan(cx: &MatchCx<'_>, block: Block) -> FusionPlan {
    let func = cx.func();
    let insts: Vec<Inst> = func.insts(block).collect();
    let nodes = insts.iter().map(|&i| InstInfo { candidate: Candidate::of(cx, i), ..InstInfo::default() }).collect();
    let mut planner = FusionPlanner {
        cx,
        func,
        at: insts.iter().enumerate().map(|(at, &i)| (i, at as u32)).collect(),
        effects: BlockEffects::of(cx, &insts),
        insts,
        nodes,
        spaces: Spaces::default(),
        edges: Vec::new(),
        missed: Vec::new(),
        only_users: RefCell::default(),
    };
    planner.assign_levels();
    planner.raise_levels();
    let groups = planner.groups();
    FusionPlan { insts: planner.insts, groups, effects: planner.effects, missed: planner.missed }
}

struct FusionPlanner<'a> {
    cx: &'a MatchCx<'a>,
    func: &'a Function,
    insts: Vec<Inst>,
    at: FxHashMap<Inst, u32>,
    nodes: Vec<InstInfo>,
    effects: BlockEffects,
    spaces: Spaces,
    edges: Vec<Edge>,
    missed: Vec<MissedFusion>,
    /// Whether the second instruction is the only user of the first. Memoized, because two expressions may
    /// share thousands of values.
    only_users: RefCell<FxHashMap<(Inst, Inst), bool>>,
}

impl FusionPlanner<'_> {
    fn node(&self, at: u32) -> &InstInfo {
        &self.nodes[at as usize]
    }
    /// The op that computes a result: for a result of a node, the op in its body.
    fn op_name(&self, at: u32, result: Value) -> &'static str {
        let data = self.func.inst(self.insts[at as usize]);
        let Some(expr) = data.attrs.expr() else { return data.op.name };
        let number = data.results.iter().position(|&r| r == result).unwrap_or_default();
        match expr.body.yields.get(number) {
            Some(&BodyRef::Inst(n, _)) => match &expr.body.insts[n as usize].op {
                BodyOp::Op(op, _) => op.name,
                BodyOp::Nested(_) => data.op.name,
            },
            _ => data.op.name,
        }
    }
    /// The position of a value's definition, if that is in this block.
    fn position(&self, value: Value) -> Option<u32> {
        self.at.get(&self.func.def_inst(value)?).copied()
    }
    /// The level of dependents of the instruction at `at` outside of its group.
    fn level_after(&self, at: u32) -> u32 {
        let node = self.node(at);
        node.level + u32::from(node.candidate.is_some())
    }

    fn assign_levels(&mut self) {
        for at in 0..self.insts.len() as u32 {
            if self.effects.del(at).is_some() {
                continue;
            }
            let operands: SmallVec<[Value; 4]> = self.func.inst(self.insts[at as usize]).uses().collect();
            let mut level = self.effects.after(at).iter().map(|&b| self.level_after(b)).max().unwrap_or(0);
            if self.node(at).candidate.is_some() {
                level = level.max(self.join(at, &operands));
            } else {
                let producers = operands.iter().filter_map(|&v| self.position(v));
                level = level.max(producers.map(|p| self.level_after(p)).max().unwrap_or(0));
            }
            self.nodes[at as usize].level = level;
        }
    }

    /// Finds the edges along which the candidate at `at` may be fused with its producers. Returns the level
    /// that follows from them.
    fn join(&mut self, at: u32, operands: &[Value]) -> u32 {
        let inst = self.insts[at as usize];
        let candidate = self.node(at).candidate;
        for &result in &self.func.inst(inst).results {
            if candidate.is_some_and(|c| c.role != Role::Expression) {
                self.spaces.record(self.func, result, operands.iter().copied());
            }
        }
        // A node may have lost the operands that determined its extents.
        let pinned = candidate.is_some_and(|c| c.role == Role::Expression);
        let cycles = candidate.map_or(0, |c| c.cycles);
        let mut node = InstInfo { private: true, cycles, candidate, pinned, ..InstInfo::default() };
        let mut seen: FxHashSet<Value> = FxHashSet::default();
        let mut found: Vec<(Value, Viewed, Option<Joint>)> = Vec::with_capacity(operands.len());
        let mut maps: FxHashMap<u32, Option<AxisMap>> = FxHashMap::default();
        let mut torn: FxHashSet<u32> = FxHashSet::default();
        for &operand in operands.iter().filter(|v| seen.insert(**v)) {
            let viewed = look_through(self.cx, operand);
            let from = self.position(viewed.base).filter(|&from| self.node(from).candidate.is_some());
            let joint = from.map(|from| (from, self.edge(from, at, operand, &viewed)));
            // A producer is fused if all reads of it use one axis map.
            if let Some((from, map)) = &joint
                && map.as_ref().map_or(true, |map| maps.entry(*from).or_insert_with(|| map.clone()) != map)
            {
                torn.insert(*from);
            }
            found.push((operand, viewed, joint));
        }
        for (operand, viewed, joint) in found {
            node.pinned |= !viewed.views.is_empty();
            match joint {
                Some((from, Ok(map))) if !torn.contains(&from) => {
                    let producer = self.node(from);
                    node.level = node.level.max(producer.level);
                    node.private &= producer.private && self.is_private(from, inst, &viewed.views);
                    node.cycles = node.cycles.saturating_add(producer.cycles);
                    node.pinned |= producer.pinned;
                    self.edges.push(Edge { producer: from, consumer: at, map, views: viewed.views });
                }
                joint => {
                    if let Some(direct) = self.position(operand) {
                        node.level = node.level.max(self.level_after(direct));
                    }
                    if let Some((from, map)) = joint {
                        let name = self.op_name(from, viewed.base);
                        let torn = || format!("`{name}` is computed apart: its results are read at different places");
                        let producer = self.insts[from as usize];
                        self.missed.push(MissedFusion { producer, reason: map.err().unwrap_or_else(torn) });
                    }
                }
            }
        }
        self.nodes[at as usize] = node;
        self.nodes[at as usize].level
    }

    /// Whether the consumer, through these views alone, is the only user of all results of the producer at
    /// `from`.
    fn is_private(&self, from: u32, consumer: Inst, views: &[Inst]) -> bool {
        let mut user = consumer;
        for &view in views {
            if !self.is_only_user(view, user) {
                return false;
            }
            user = view;
        }
        self.is_only_user(self.insts[from as usize], user)
    }

    fn is_only_user(&self, of: Inst, user: Inst) -> bool {
        let find = || {
            let results = &self.func.inst(of).results;
            let uses = self.func.inst(user).uses().filter(|&v| self.func.def_inst(v) == Some(of)).count();
            let others = results.iter().map(|&r| self.func.use_count(r)).sum::<usize>() - uses;
            let only_del = |&r: &Value| self.func.users(r).iter().all(|&u| u == user || is_del(self.func, u));
            others == 0 || (others < MANY && results.iter().all(only_del))
        };
        *self.only_users.borrow_mut().entry((of, user)).or_insert_with(find)
    }

    /// Whether the producer at `from` may be fused with the consumer at `at`, which reads it as `operand`,
    /// or why not.
    fn edge(&self, from: u32, at: u32, operand: Value, viewed: &Viewed) -> Result<Option<AxisMap>, String> {
        let name = self.op_name(from, viewed.base);
        let results = &self.func.inst(self.insts[from as usize]).results;
        if results.iter().any(|&r| self.cx.is_written(r)) {
            return Err(format!("`{name}` is computed apart: its result is stored to later"));
        }
        let Some(&result) = self.func.inst(self.insts[at as usize]).results.first() else {
            return Err(format!("`{name}` is computed apart: its user has no result"));
        };
        let consumer = self.op_name(at, result);
        let own = self.spaces.of(self.func, result);
        let inner = self.spaces.of(self.func, viewed.base);
        let Some(lies) = self.lies(at, operand, own.len()) else {
            return Err(format!("`{name}` is computed apart: `{consumer}` reads it in more than one way"));
        };
        let map: AxisMap = match &viewed.map {
            None => lies,
            Some(view) if is_exact(self.func, operand, viewed.base, view, &lies, self.func.ty(result).dims()) => {
                view.iter().map(|axis| axis.and_then(|a| lies[a])).collect()
            }
            Some(_) => return Err(format!("`{name}` is computed apart: a view of it sets an extent for `{consumer}`")),
        };
        let relation = relate(&inner, &own, &map);
        if relation == Relation::Same && viewed.views.is_empty() && map.iter().copied().eq((0..own.len()).map(Some)) {
            return Ok(None);
        }
        if !self.node(from).private || !self.is_private(from, self.insts[at as usize], &viewed.views) {
            return Err(format!(
                "`{name}` is computed apart: its shape is not that of `{consumer}`, and it is needed elsewhere too"
            ));
        }
        let producer = self.node(from);
        if relation == Relation::Repeated && (producer.cycles > MAX_REPEATED_CYCLES || producer.pinned) {
            return Err(format!(
                "`{name}` is computed apart: inside `{consumer}` its {} cycles an element might be spent again along a \
                 broadcast axis (limit {MAX_REPEATED_CYCLES})",
                producer.cycles
            ));
        }
        Ok(Some(map))
    }

    /// The axes of the space at `at` that an operand's axes map to; `None` if it is read through several
    /// maps.
    fn lies(&self, at: u32, operand: Value, rank: usize) -> Option<AxisMap> {
        let data = self.func.inst(self.insts[at as usize]);
        let Some(expr) = data.attrs.expr() else { return Some(align(self.func.ty(operand).rank(), rank)) };
        let reads = expr.operands.iter().filter(|o| match o.source {
            Source::Array(arg) => data.args[arg as usize] == operand,
            _ => false,
        });
        let axis = |index: &Index| match &index.expr {
            IndexExpr::Affine(form) => form.as_axis().map(|a| a as usize),
            _ => None,
        };
        let mut maps = reads.map(|o| o.index.iter().map(axis).collect::<AxisMap>());
        let first = maps.next()?;
        let mut once: SmallVec<[usize; 4]> = first.iter().flatten().copied().collect();
        once.sort_unstable();
        (once.windows(2).all(|pair| pair[0] != pair[1]) && maps.all(|map| map == first)).then_some(first)
    }

    /// Raises candidates to the level of consumers that wait for another value.
    fn raise_levels(&mut self) {
        let mut bound = vec![u32::MAX; self.insts.len()];
        let mut joined: FxHashMap<u32, SmallVec<[u32; 4]>> = FxHashMap::default();
        for edge in &self.edges {
            joined.entry(edge.consumer).or_default().push(edge.producer);
        }
        joined.values_mut().for_each(|producers| producers.sort_unstable());
        let dissolved: FxHashSet<Inst> =
            self.edges.iter().filter(|e| e.map.is_some()).flat_map(|e| e.views.iter().copied()).collect();
        for at in (0..self.insts.len() as u32).rev() {
            let inst = self.insts[at as usize];
            let data = self.func.inst(inst);
            // Terminators and `del`s come after everything and delay nothing; neither do views that are
            // removed.
            if self.effects.del(at).is_some() || data.op.is_terminator() || dissolved.contains(&inst) {
                continue;
            }
            let node = &mut self.nodes[at as usize];
            if node.candidate.is_some() && bound[at as usize] != u32::MAX {
                node.level = node.level.max(bound[at as usize]);
            }
            let level = node.level;
            let joined = joined.get(&at).map_or(&[][..], |producers| producers);
            for &from in joined {
                bound[from as usize] = bound[from as usize].min(level);
            }
            let outside = data.uses().filter_map(|v| self.position(v)).filter(|p| joined.binary_search(p).is_err());
            for from in outside.chain(self.effects.after(at).iter().copied()) {
                bound[from as usize] = bound[from as usize].min(level.saturating_sub(1));
            }
        }
    }

    /// Groups the candidates of one level along the edges. Leaves out groups that are one node already.
    fn groups(&mut self) -> Vec<FusionGroup> {
        let n = self.insts.len();
        let mut sets = UnionFind::new(n);
        // The edge along which a candidate is fused into its consumer; a private one has only one.
        let mut taken: Vec<Option<usize>> = vec![None; n];
        for (number, edge) in self.edges.iter().enumerate() {
            if self.node(edge.producer).level == self.node(edge.consumer).level {
                sets.union(edge.producer, edge.consumer);
                taken[edge.producer as usize] = Some(number);
            }
        }
        let mut groups: Vec<FusionGroup> = Vec::new();
        let mut number: FxHashMap<u32, usize> = FxHashMap::default();
        let mut maps: Vec<AxisMap> = vec![AxisMap::new(); n];
        // Consumers come before producers, whose maps extend theirs.
        for at in (0..n as u32).rev() {
            let Some(candidate) = self.node(at).candidate else { continue };
            let inst = self.insts[at as usize];
            let group = *number.entry(sets.find(at)).or_insert_with(|| {
                groups.push(FusionGroup::default());
                groups.len() - 1
            });
            maps[at as usize] = match taken[at as usize].map(|e| &self.edges[e]) {
                None => (0..self.rank(inst)).map(Some).collect(),
                Some(Edge { consumer, map: None, .. }) => maps[*consumer as usize].clone(),
                Some(Edge { consumer, map: Some(map), views, .. }) => {
                    groups[group].views.extend(views);
                    map.iter().map(|axis| axis.and_then(|a| maps[*consumer as usize][a])).collect()
                }
            };
            groups[group].members.push(Member { inst, candidate, map: maps[at as usize].clone() });
        }
        groups.retain(|g| g.members.len() > 1 || !self.is_settled(&g.members[0]));
        groups.reverse();
        groups.iter_mut().for_each(|g| g.members.reverse());
        groups
    }

    /// True for a node all of whose results are needed.
    fn is_settled(&self, member: &Member) -> bool {
        let results = &self.func.inst(member.inst).results;
        member.candidate.role == Role::Expression && results.iter().all(|&r| is_needed(self.func, r))
    }

    fn rank(&self, inst: Inst) -> usize {
        self.func.inst(inst).results.first().map_or(0, |&r| self.func.ty(r).rank())
    }
}

/// Disjoint sets with path halving.
struct UnionFind(Vec<u32>);

impl UnionFind {
    fn new(n: usize) -> Self {
        UnionFind((0..n as u32).collect())
    }
    fn find(&mut self, mut x: u32) -> u32 {
        while self.0[x as usize] != x {
            self.0[x as usize] = self.0[self.0[x as usize] as usize];
            x = self.0[x as usize];
        }
        x
    }
    fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        // The later instruction represents the set, so that groups are numbered in block order.
        self.0[a.min(b) as usize] = a.max(b);
    }
}
