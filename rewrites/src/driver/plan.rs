//! A pipeline as the driver sees it: groups of rewrites that share a worklist.

use crate::def::{Form, RewriteEntry};
use crate::error::Step;
use crate::pipeline::Pipeline;
use crate::rewrite::{AnyRewrite, AnyRootRewrite};
use rewright_ir::{Op, registry};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// A rewrite's place in [`Plan::rewrites`].
pub(super) type Id = usize;

/// A root rewrite of the plan.
pub(super) type RootStop = (Id, &'static dyn AnyRootRewrite);

/// Root rewrites that work together.
pub(super) struct Roots {
    /// The rewrites that can start at each op, in pipeline order.
    by_op: FxHashMap<usize, SmallVec<[RootStop; 4]>>,
    /// How far the one that looks farthest looks.
    pub reach: u8,
}

impl Roots {
    /// The rewrites that can start at an op.
    pub fn at(&self, op: Op) -> &[RootStop] {
        self.by_op.get(&address(op)).map_or(&[], |list| list)
    }
    fn add(&mut self, id: Id, entry: &RewriteEntry, rewrite: &'static dyn AnyRootRewrite) {
        let ops = registry().ops().map(|(op, _)| op);
        for op in ops.filter(|op| entry.def.roots.is_empty() || entry.def.roots.contains(&op.name)) {
            self.by_op.entry(address(op)).or_default().push((id, rewrite));
        }
        self.reach = self.reach.max(entry.def.reach);
    }
}

/// A block rewrite.
pub(super) struct Blocks {
    pub id: Id,
    pub rewrite: &'static dyn AnyRewrite,
    pub star: bool,
    /// The ops that a block must hold one of; any if empty.
    roots: FxHashSet<usize>,
}

impl Blocks {
    /// True if a block that holds the op is to be looked at.
    pub fn starts_at(&self, op: Op) -> bool {
        self.roots.is_empty() || self.roots.contains(&address(op))
    }
}

pub(super) enum Group {
    Roots(Roots),
    Blocks(Blocks),
}

/// Rewrites, each once, and groups in pipeline order.
pub(super) struct Plan {
    pub rewrites: Vec<RewriteEntry>,
    pub groups: Vec<Group>,
}

impl Plan {
    pub fn of(pipeline: &Pipeline) -> Self {
        let mut plan = Plan { rewrites: Vec::new(), groups: Vec::new() };
        let mut open = false;
        for stop in pipeline.stops() {
            let def = stop.entry.def;
            let known = plan.rewrites.iter().position(|e| std::ptr::eq(e.def, def));
            let id = known.unwrap_or_else(|| {
                plan.rewrites.push(stop.entry);
                plan.rewrites.len() - 1
            });
            match def.form {
                Form::Block(rewrite) => {
                    let roots = def.roots.iter().filter_map(|name| registry().op(name)).map(address).collect();
                    plan.groups.push(Group::Blocks(Blocks { id, rewrite, star: stop.star, roots }));
                }
                Form::Root(rewrite) => {
                    if !open || stop.star {
                        plan.groups.push(Group::Roots(Roots { by_op: FxHashMap::default(), reach: 0 }));
                    }
                    if let Some(Group::Roots(roots)) = plan.groups.last_mut() {
                        roots.add(id, &stop.entry, rewrite);
                    }
                }
            }
            open = matches!(def.form, Form::Root(_)) && !stop.star;
        }
        plan
    }

    pub fn step(&self, id: Id) -> Step {
        let entry = &self.rewrites[id];
        Step { rewrite: entry.def.name, origin: entry.origin }
    }
}

/// Ops are compared by address; so are these keys.
fn address(op: Op) -> usize {
    std::ptr::from_ref(op.0) as usize
}
