//! The driver's form of a pipeline: groups of rewrites that share a worklist.

use crate::def::{Form, Holds, RewriteEntry, Stage};
use crate::error::Step;
use crate::op_set::OpSet;
use crate::pipeline::{Pipeline, Stop};
use crate::rewrite::{AnyRewrite, AnyRootRewrite};
use crate::rule::tree::RuleTree;
use crate::rule::{Liberties, Rule};
use rewright_ir::{Op, registry};
use smallvec::SmallVec;

/// The index of a rewrite in [`Plan::rewrites`].
pub(super) type Id = usize;

/// A matcher that runs at an instruction.
#[derive(Clone, Copy)]
pub(super) enum RootStop {
    /// A root rewrite of the plan.
    Rewrite(Id, &'static dyn AnyRootRewrite),
    /// All rules at once, at the pipeline position of the first one.
    Rules,
}

/// Root rewrites that share a worklist.
pub(super) struct Roots {
    /// The rewrites that can start at each op, by its number, in pipeline order.
    by_op: Vec<SmallVec<[RootStop; 4]>>,
    /// The ops that a rewrite can start at.
    pub ops: OpSet,
    /// For each op, by its number, the greatest reach of the rewrites that start there.
    reach: Vec<u8>,
    /// The rules among them, in pipeline order.
    rules: Vec<(Id, &'static Rule)>,
    /// The rules as one matching tree.
    pub tree: RuleTree,
}

impl Roots {
    /// The rewrites that can start at an op.
    pub fn at(&self, op: Op) -> &[RootStop] {
        self.by_op.get(op.number()).map_or(&[], |list| list)
    }
    /// The greatest reach of the rewrites that start at an op; `None` if there are none.
    pub fn reach_at(&self, op: Op) -> Option<u8> {
        self.reach.get(op.number()).copied().filter(|_| !self.at(op).is_empty())
    }
    fn new() -> Self {
        let count = registry().ops().len();
        let (by_op, reach) = (vec![SmallVec::new(); count], vec![0; count]);
        Roots { by_op, ops: OpSet::default(), reach, rules: Vec::new(), tree: RuleTree::new(Vec::new()) }
    }
    fn add(&mut self, id: Id, entry: &RewriteEntry, form: Form) {
        let stop = match form {
            Form::Root(rewrite) => RootStop::Rewrite(id, rewrite),
            Form::Rule(rule) => {
                self.rules.push((id, rule));
                RootStop::Rules
            }
            Form::Block(_) => return,
        };
        let mut add = |op: Op| {
            self.ops.insert(op);
            self.reach[op.number()] = self.reach[op.number()].max(entry.def.reach);
            let stops = &mut self.by_op[op.number()];
            if !matches!(stop, RootStop::Rules) || !stops.iter().any(|s| matches!(s, RootStop::Rules)) {
                stops.push(stop);
            }
        };
        let roots = entry.def.roots;
        if roots.is_empty() {
            registry().ops().for_each(|(op, _)| add(op));
        }
        let once = roots.iter().enumerate().filter(|(at, name)| !roots[..*at].contains(name));
        once.filter_map(|(_, name)| registry().op(name)).for_each(add);
    }
}

/// A block rewrite.
pub(super) struct Blocks {
    pub id: Id,
    pub rewrite: &'static dyn AnyRewrite,
    pub star: bool,
    /// The ops of which a block must hold one; `None` if there is no restriction.
    pub roots: Option<OpSet>,
    /// The properties of which a block must have one; no restriction if empty.
    pub holding: Holds,
}

pub(super) enum Group {
    Roots(Roots),
    Blocks(Blocks),
}

/// Rewrites without duplicates, and groups in pipeline order.
pub(super) struct Plan {
    pub rewrites: Vec<RewriteEntry>,
    pub groups: Vec<Group>,
    /// The groups of the rewrites that also run before type inference.
    pub early: Vec<Group>,
    /// Rewrites that the pipeline names but cannot apply.
    pub left_out: Vec<Id>,
    /// Rewrites that run after one that they should precede: the later one shapes the function for code
    /// generation, which can't be undone.
    pub late: Vec<(Id, Id)>,
}

impl Plan {
    /// The plan of a pipeline, without rewrites whose liberties are not granted and without rules that are
    /// not for the driver.
    pub fn of(pipeline: &Pipeline, granted: Liberties) -> Self {
        let mut plan = Plan {
            rewrites: Vec::new(),
            groups: Vec::new(),
            early: Vec::new(),
            left_out: Vec::new(),
            late: Vec::new(),
        };
        let mut stops: Vec<(Id, &Stop)> = Vec::new();
        for stop in pipeline.stops() {
            let known = plan.rewrites.iter().position(|e| std::ptr::eq(e.def, stop.entry.def));
            let id = known.unwrap_or_else(|| {
                plan.rewrites.push(stop.entry);
                plan.rewrites.len() - 1
            });
            stops.push((id, stop));
        }
        let is_early = |stop: &Stop| stop.entry.def.stage == Stage::BeforeInference;
        plan.early = grouped(stops.iter().copied().filter(|(_, stop)| is_early(stop)), granted, &mut Vec::new());
        plan.groups = grouped(stops.iter().copied(), granted, &mut plan.left_out);
        if stops.iter().any(|(_, stop)| stop.entry.def.applies_rules) {
            // A rule that the pipeline names takes part in saturation, unless its liberties are not granted.
            plan.left_out.retain(|&id| !granted.contains(plan.rewrites[id].def.liberties));
        }
        // Rewrites are numbered in the order in which the pipeline first names them.
        let shapes = |first: &RewriteEntry| first.def.stage == Stage::BeforeLowering;
        for (late, entry) in plan.rewrites.iter().enumerate() {
            let firsts = plan.rewrites[..late].iter().enumerate();
            let passed = firsts.filter(|(_, first)| shapes(first) && entry.def.before.contains(&first.def.name));
            plan.late.extend(passed.map(|(first, _)| (late, first)));
        }
        plan
    }

    pub fn step(&self, id: Id) -> Step {
        let entry = &self.rewrites[id];
        Step { rewrite: entry.def.name, origin: entry.origin }
    }
}

/// Groups adjacent rewrites that can share a worklist. Leaves out named rewrites that can't be applied.
fn grouped<'s>(stops: impl Iterator<Item = (Id, &'s Stop)>, granted: Liberties, left_out: &mut Vec<Id>) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut open = false;
    for (id, stop) in stops {
        let def = stop.entry.def;
        let can_be_applied =
            granted.contains(def.liberties) && !matches!(def.form, Form::Rule(rule) if !rule.is_greedy());
        match def.form {
            _ if !can_be_applied => {
                if stop.named {
                    left_out.push(id);
                }
            }
            Form::Block(rewrite) => {
                let roots = def.roots.iter().filter_map(|name| registry().op(name)).collect();
                let roots = (!def.roots.is_empty()).then_some(roots);
                groups.push(Group::Blocks(Blocks { id, rewrite, star: stop.star, roots, holding: def.holding }));
                open = false;
            }
            form => {
                if !open || stop.star {
                    groups.push(Group::Roots(Roots::new()));
                }
                if let Some(Group::Roots(roots)) = groups.last_mut() {
                    roots.add(id, &stop.entry, form);
                }
                open = !stop.star;
            }
        }
    }
    for group in &mut groups {
        if let Group::Roots(roots) = group {
            roots.tree = RuleTree::new(std::mem::take(&mut roots.rules));
        }
    }
    groups
}
