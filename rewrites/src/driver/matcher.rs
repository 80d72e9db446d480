//! Asking rewrites without applying them.

use super::plan::{Group, Plan, RootStop, Roots};
use crate::match_cx::MatchCx;
use crate::pipeline::Pipeline;
use crate::rule::Liberties;
use rewright_ir::Inst;

/// A pipeline's rewrites, ready to be asked whether they match: whether a function is at their fixed point.
///
/// Where none matches, asking allocates nothing for functions of one block, as long as a rewrite keeps what
/// [`Rewrite::matches`](crate::Rewrite::matches) and [`RootRewrite::matches`](crate::RootRewrite::matches) promise. In functions of several
/// blocks some of Rewright's own plan for the whole function, once for all blocks.
pub struct Matcher {
    plan: Plan,
}

impl Matcher {
    /// Makes ready the rewrites of a pipeline, without rules that take other liberties than those granted.
    pub fn new(pipeline: &Pipeline, granted: Liberties) -> Self {
        Matcher { plan: Plan::of(pipeline, granted) }
    }

    /// The first rewrite, in pipeline order, that matches somewhere in the function of `cx`. A panic of a rewrite is passed on.
    pub fn first_match(&self, cx: &MatchCx<'_>) -> Option<&'static str> {
        let func = cx.func();
        let mut found = self.plan.groups.iter().filter_map(|group| match group {
            Group::Roots(roots) => {
                let mut insts = func.blocks().flat_map(|b| func.insts(b));
                insts.find_map(|inst| at_root(cx, roots, inst))
            }
            Group::Blocks(blocks) => {
                let starts = |inst: Inst| blocks.starts_at(func.inst(inst).op);
                let mut asked = func.blocks().filter(|&b| func.insts(b).any(starts));
                asked.any(|block| blocks.rewrite.find(cx, block).is_ok()).then_some(blocks.id)
            }
        });
        found.next().map(|id| self.plan.rewrites[id].def.name)
    }
}

fn at_root(cx: &MatchCx<'_>, roots: &Roots, inst: Inst) -> Option<usize> {
    roots.at(cx.func().inst(inst).op).iter().find_map(|stop| match *stop {
        RootStop::Rewrite(id, rewrite) => rewrite.find(cx, inst).is_ok().then_some(id),
        RootStop::Rules => roots.tree.find(cx, inst, |_| false, |_, _| ()).map(|(id, _)| id),
    })
}
