//! Tests for matches without applying rewrites.

use super::plan::{Group, Id, Plan, RootStop};
use super::summary::BlockSummary;
use crate::match_cx::MatchCx;
use crate::pipeline::Pipeline;
use crate::rule::Liberties;
use rewright_ir::{Block, Inst, registry};
use smallvec::SmallVec;

/// A pipeline's rewrites, prepared for testing whether a function is at their fixed point.
///
/// If no rewrite matches, a test of a function with one block allocates nothing, as long as rewrites keep
/// the promise of [`Rewrite::matches`](crate::Rewrite::matches) and
/// [`RootRewrite::matches`](crate::RootRewrite::matches). In functions of several blocks, the built-in
/// rewrites that plan for the whole function first run a quick test. If it is true, they allocate the plan
/// even without a match: a loop that starts with a constant may have something to do for `fold`.
pub struct Matcher {
    plan: Plan,
    /// For each op, by its number, the root rewrites that can start there, with their groups, in pipeline
    /// order.
    starts: Vec<SmallVec<[(usize, RootStop); 1]>>,
}

impl Matcher {
    /// Prepares the rewrites of a pipeline, without rules that take liberties other than those granted.
    pub fn new(pipeline: &Pipeline, granted: Liberties) -> Self {
        let plan = Plan::of(pipeline, granted);
        let stops = |(at, group): (usize, &Group), op| match group {
            Group::Roots(roots) => roots.at(op).iter().map(|&stop| (at, stop)).collect(),
            Group::Blocks(_) => SmallVec::<[_; 1]>::new(),
        };
        let starts =
            registry().ops().map(|(op, _)| (0..).zip(&plan.groups).flat_map(|group| stops(group, op)).collect());
        Matcher { starts: starts.collect(), plan }
    }

    /// The first rewrite, in pipeline order, that matches somewhere in the function of `cx`. Propagates
    /// panics of rewrites.
    pub fn first_match(&self, cx: &MatchCx<'_>) -> Option<&'static str> {
        let func = cx.func();
        let mut groups = self.plan.groups.as_slice();
        let mut first = None;
        for block in func.blocks() {
            let mut summary = BlockSummary::of_empty(func, block);
            for inst in func.insts(block) {
                let data = func.inst(inst);
                summary.add(func, data);
                let Some(starts) = self.starts.get(data.op.number()) else { continue };
                for &(at, stop) in starts.iter().take_while(|(at, _)| *at < groups.len()) {
                    if let Some(id) = at_root(cx, &groups[at], stop, inst) {
                        // Later groups of the pipeline no longer matter.
                        (groups, first) = (&groups[..at], Some(id));
                        break;
                    }
                }
            }
            let mut asked = groups.iter().enumerate();
            let found = asked.find_map(|(at, group)| in_block(cx, group, block, &summary).map(|id| (at, id)));
            if let Some((at, id)) = found {
                (groups, first) = (&groups[..at], Some(id));
            }
        }
        first.map(|id| self.plan.rewrites[id].def.name)
    }
}

fn in_block(cx: &MatchCx<'_>, group: &Group, block: Block, summary: &BlockSummary) -> Option<Id> {
    match group {
        Group::Blocks(blocks) if summary.has_root(blocks) && summary.holds_any(blocks) => {
            blocks.rewrite.find(cx, block).is_ok().then_some(blocks.id)
        }
        _ => None,
    }
}

#[inline]
fn at_root(cx: &MatchCx<'_>, group: &Group, stop: RootStop, inst: Inst) -> Option<Id> {
    match (stop, group) {
        (RootStop::Rewrite(id, rewrite), _) => rewrite.find(cx, inst).is_ok().then_some(id),
        (RootStop::Rules, Group::Roots(roots)) => roots.tree.find(cx, inst, |_| false, |_, _| ()).map(|(id, _)| id),
        (RootStop::Rules, Group::Blocks(_)) => None,
    }
}
