//! The rewriting of one function.

use super::Run;
use super::cycle::Cycles;
use super::missed::MissedMatches;
use super::pending::{Distant, Near, PendingBlocks, PendingInsts};
use super::plan::{Blocks, Group, Id, RootStop, Roots};
use super::summary::Summaries;
use crate::analyses::Analyses;
use crate::change::Touched;
use crate::check::{Check, Checker};
use crate::error::{RewriteError, guarded};
use crate::match_cx::MatchCx;
use crate::observer::{Event, Remark, RemarkKind};
use crate::rewrite::{AnyMatch, NoMatch};
use rewright_ir::{Block, Function, Inst, Loc, Module, Op, registry, verify_function};
use std::time::{Duration, Instant};

/// A place where a rewrite is tested for a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Inst(Inst),
    Block(Block),
}

impl Place {
    /// The location in the source; for a block, that of its first instruction.
    pub fn loc(self, func: &Function) -> Loc {
        match self {
            Place::Inst(inst) if func.is_linked(inst) => func.inst(inst).loc,
            Place::Block(block) if func.has_block(block) => {
                func.first_inst(block).map_or_else(Loc::default, |i| func.inst(i).loc)
            }
            _ => Loc::default(),
        }
    }
}

pub(super) enum Pending {
    Insts(PendingInsts),
    Blocks(PendingBlocks),
}

impl Pending {
    fn is_empty(&self) -> bool {
        match self {
            Pending::Insts(list) => list.is_empty(),
            Pending::Blocks(list) => list.is_empty(),
        }
    }
}

/// Records that the function has an op.
pub(super) fn note_op(pending: &mut [Pending], groups: &[Group], noted: &mut [bool], op: Op) {
    match noted.get_mut(op.number()) {
        Some(noted @ false) => *noted = true,
        _ => return,
    }
    for (pending, group) in pending.iter_mut().zip(groups) {
        if let (Pending::Insts(list), Group::Roots(roots)) = (pending, group) {
            list.note_op(roots, op);
        }
    }
}

/// Pushes all instructions on the worklists of the rewrites that can start there, the first one on top.
pub(super) fn push_all(pending: &mut [Pending], groups: &[Group], noted_ops: &mut [bool], func: &Function) {
    for inst in func.blocks().rev().flat_map(|b| func.insts(b).rev()) {
        note_op(pending, groups, noted_ops, func.inst(inst).op);
        for (pending, group) in pending.iter_mut().zip(groups) {
            if let (Pending::Insts(list), Group::Roots(roots)) = (pending, group) {
                list.push(func, roots, inst);
            }
        }
    }
}

/// The state of one function's turn.
pub(super) struct Turn<'a, 'r> {
    pub run: &'a mut Run<'r>,
    pub module: &'a Module,
    pub func: Function,
    pub analyses: Analyses,
    pub summaries: Summaries,
    /// The worklist of each group.
    pub pending: Vec<Pending>,
    /// The ops that the function has or had, by number.
    pub noted_ops: Vec<bool>,
    /// The instructions near the last change.
    pub near: Near,
    pub distant: Distant,
    pub tally: Vec<Tally>,
    pub missed: MissedMatches,
    pub cycles: Cycles,
    /// A buffer for the next application.
    pub touched: Touched,
    /// Compares the forms of the function, if the options ask for it.
    pub checker: Option<Checker>,
    /// The number of instructions at the start.
    pub from: usize,
    /// The state to restore; `None` if a failure ends the run.
    start: Option<Start>,
    /// Rewrites were disabled because of their combined effect: the function will be restored.
    pub spoiled: bool,
}

/// A function before its turn, and the state of the report.
struct Start {
    func: Function,
    applied: Vec<u64>,
    remarks: usize,
}

/// Statistics of a rewrite in this function.
#[derive(Clone, Copy, Default)]
pub(super) struct Tally {
    pub applied: u64,
    /// The growth in instructions.
    pub grown: i64,
    /// Applications that were undone because of the consequences of more precise types.
    pub declined: u64,
    /// The rewrite is disabled.
    pub out: bool,
    /// The rewrite failed, and stays disabled after the function is restored.
    pub failed: bool,
}

impl<'a, 'r> Turn<'a, 'r> {
    pub fn new(run: &'a mut Run<'r>, module: &'a Module, func: Function) -> Self {
        let pending = run.plan.groups.iter().map(|group| match group {
            Group::Roots(_) => Pending::Insts(PendingInsts::default()),
            Group::Blocks(_) => Pending::Blocks(PendingBlocks::all(&func)),
        });
        let mut pending: Vec<Pending> = pending.collect();
        let mut noted_ops = vec![false; registry().ops().len()];
        push_all(&mut pending, &run.plan.groups, &mut noted_ops, &func);
        let start = run.options.keep_going.then(|| Start {
            func: func.clone(),
            applied: run.report.stats.iter().map(|s| s.applied).collect(),
            remarks: run.report.remarks.len(),
        });
        Turn {
            start,
            spoiled: false,
            pending,
            noted_ops,
            near: Near::default(),
            distant: Distant::default(),
            summaries: Summaries::default(),
            tally: vec![Tally::default(); run.plan.rewrites.len()],
            analyses: Analyses::sharing(run.known.clone(), run.state.clone()),
            missed: MissedMatches::default(),
            cycles: Cycles::default(),
            touched: Touched::default(),
            checker: run.options.check.as_ref().map(|check| {
                let liberties = check.liberties | run.options.liberties;
                Checker::new(&func, module, &Check { liberties, ..check.clone() })
            }),
            from: func.inst_count(),
            run,
            module,
            func,
        }
    }

    /// Runs the groups in turn until all worklists are empty. Returns the function.
    pub fn run(mut self) -> Result<Function, RewriteError> {
        self.run.observer.event(&Event::Begin { func: &self.func });
        self.left_out();
        loop {
            while !self.stopped() && self.refill_worklists() {
                for group in 0..self.pending.len() {
                    self.group(group)?;
                }
            }
            let Some(start) = self.start.take_if(|_| self.spoiled) else { break };
            self = self.start_over(start);
        }
        if self.tally.iter().any(|t| t.applied > 0) {
            verify_function(&self.func, Some(self.module)).map_err(|why| self.invalid(why))?;
        }
        for (id, loc, message) in std::mem::take(&mut self.missed).finish(&self.func) {
            self.remark(self.run.plan.rewrites[id].def.name, RemarkKind::Missed, loc, message);
        }
        for (late, first) in self.run.plan.late.clone() {
            if self.tally[first].applied > 0 {
                let (late, first) = (self.run.plan.rewrites[late].def.name, self.run.plan.rewrites[first].def.name);
                let message =
                    format!("it does not see computations that `{first}` has fused: name it before `{first}`");
                self.remark(late, RemarkKind::Missed, Loc::default(), message);
            }
        }
        if let Some(checker) = self.checker.take().filter(|_| self.tally.iter().any(|t| t.applied > 0 || t.out)) {
            for note in checker.notes() {
                self.remark("check-each", RemarkKind::Note, Loc::default(), note);
            }
        }
        self.run.observer.event(&Event::End { func: &self.func });
        Ok(self.func)
    }

    /// Reports rewrites that the pipeline names but the run leaves out, if one of their ops occurs.
    fn left_out(&mut self) {
        let granted = self.run.options.liberties;
        let list = self.run.plan.left_out.clone();
        for id in list {
            let (func, def) = (&self.func, self.run.plan.rewrites[id].def);
            if func.blocks().flat_map(|b| func.insts(b)).any(|i| def.roots.contains(&func.inst(i).op.name)) {
                let message = match granted.contains(def.liberties) {
                    true => "it is not applied: it is for equality saturation only".to_string(),
                    false => format!(
                        "it is not applied: it takes liberties that are not granted: {}",
                        def.liberties - granted
                    ),
                };
                self.remark(def.name, RemarkKind::Missed, Loc::default(), message);
            }
        }
    }

    /// Restarts the turn without the rewrites that failed. Each restart has more of these, so it terminates.
    fn start_over(self, start: Start) -> Self {
        let Turn { run, module, tally, .. } = self;
        for (stats, applied) in run.report.stats.iter_mut().zip(start.applied) {
            stats.applied = applied;
        }
        run.report.remarks.truncate(start.remarks);
        let mut turn = Turn::new(run, module, start.func);
        for (new, old) in turn.tally.iter_mut().zip(tally) {
            (new.out, new.failed) = (old.failed, old.failed);
        }
        turn.left_out();
        turn
    }

    /// True if work is left. If all worklists are empty, places far from the changes that matter to them are
    /// queued.
    fn refill_worklists(&mut self) -> bool {
        let waits = |pending: &[Pending]| pending.iter().any(|p| !p.is_empty());
        if waits(&self.pending) {
            return true;
        }
        let (insts, blocks) = self.distant.take(&self.func);
        for (pending, group) in self.pending.iter_mut().zip(&self.run.plan.groups) {
            match (pending, group) {
                (Pending::Insts(list), Group::Roots(roots)) => {
                    insts.iter().rev().for_each(|&inst| list.push(&self.func, roots, inst));
                }
                (Pending::Blocks(list), _) => blocks.iter().for_each(|&block| list.push(&self.func, block)),
                _ => {}
            }
        }
        waits(&self.pending)
    }

    /// True if the limit of applications is reached, or the turn will be restarted.
    fn stopped(&self) -> bool {
        self.spoiled || self.run.options.stop_after.is_some_and(|limit| self.run.seq >= limit)
    }

    fn group(&mut self, at: usize) -> Result<(), RewriteError> {
        // Taken out of `self`, because the methods borrow `self` mutably; put back afterwards.
        let groups = std::mem::take(&mut self.run.plan.groups);
        let done = match &groups[at] {
            Group::Roots(roots) => self.roots(&groups, at, roots),
            Group::Blocks(blocks) => self.blocks(&groups, at, blocks),
        };
        self.run.plan.groups = groups;
        done
    }

    fn roots(&mut self, groups: &[Group], at: usize, roots: &Roots) -> Result<(), RewriteError> {
        while !self.stopped() {
            let Pending::Insts(list) = &mut self.pending[at] else { break };
            let Some(inst) = list.pop() else { break };
            if !self.func.is_linked(inst) {
                continue;
            }
            let place = Place::Inst(inst);
            for stop in roots.at(self.func.inst(inst).op) {
                let found = match *stop {
                    RootStop::Rewrite(id, rewrite) => {
                        self.ask(id, place, |cx| rewrite.find(cx, inst))?.map(|found| (id, found))
                    }
                    RootStop::Rules => self.ask_rules(roots, inst),
                };
                let Some((id, found)) = found else { continue };
                self.apply(groups, id, place, found)?;
                break;
            }
        }
        Ok(())
    }

    fn blocks(&mut self, groups: &[Group], at: usize, blocks: &Blocks) -> Result<(), RewriteError> {
        while let Pending::Blocks(list) = &mut self.pending[at] {
            let round = list.in_order(&self.func);
            for &block in &round {
                if self.stopped() {
                    return Ok(());
                }
                let Pending::Blocks(list) = &mut self.pending[at] else { break };
                if !list.take(block) || !self.func.has_block(block) {
                    continue;
                }
                let summary = self.summaries.of(&self.func, block);
                if !summary.has_root(blocks) {
                    continue;
                }
                let (place, holds) = (Place::Block(block), summary.holds_any(blocks));
                let find = |cx: &MatchCx<'_>| match holds {
                    true => blocks.rewrite.find(cx, block),
                    false => Err(NoMatch::quiet()),
                };
                if let Some(found) = self.ask(blocks.id, place, find)? {
                    self.apply(groups, blocks.id, place, found)?;
                }
            }
            if round.is_empty() || !blocks.star {
                break;
            }
        }
        Ok(())
    }

    /// Finds the first rule that matches, with one tree for all rules. A rule that matches counts as tried,
    /// even if it may not be applied there.
    fn ask_rules(&mut self, roots: &Roots, inst: Inst) -> Option<(Id, AnyMatch<'static>)> {
        let begun = self.run.options.times.then(Instant::now);
        let cx = MatchCx::new(&self.func, self.module, &self.analyses);
        let mut refused: Vec<(Id, String)> = Vec::new();
        let found = roots.tree.find(&cx, inst, |id| self.tally[id].out, |id, why| refused.push((id, why)));
        let place = Place::Inst(inst);
        self.missed.forget(place, |id| roots.tree.has(id));
        for (id, why) in refused {
            self.run.report.stats[id].asked += 1;
            self.missed(id, place, NoMatch::because(why));
        }
        let (id, found) = found?;
        let stats = &mut self.run.report.stats[id];
        stats.asked += 1;
        stats.time += begun.map_or(Duration::ZERO, |t| t.elapsed());
        Some((id, AnyMatch(Box::new(found))))
    }

    /// Tests whether a rewrite matches.
    fn ask(
        &mut self,
        id: Id,
        place: Place,
        find: impl FnOnce(&MatchCx<'_>) -> Result<AnyMatch<'static>, NoMatch>,
    ) -> Result<Option<AnyMatch<'static>>, RewriteError> {
        if self.tally[id].out {
            return Ok(None);
        }
        let begun = self.run.options.times.then(Instant::now);
        let cx = MatchCx::new(&self.func, self.module, &self.analyses);
        let found = guarded(|| find(&cx));
        let stats = &mut self.run.report.stats[id];
        stats.asked += 1;
        stats.time += begun.map_or(Duration::ZERO, |t| t.elapsed());
        match found {
            Ok(Ok(found)) => {
                self.missed.note(id, place, None);
                Ok(Some(found))
            }
            Ok(Err(why)) => {
                self.missed(id, place, why);
                Ok(None)
            }
            Err(panic) => {
                let error = self.failed(id, None, place.loc(&self.func), panic);
                self.give_up(&[id], error).map(|()| None)
            }
        }
    }

    /// Records that a rewrite does not match at a place.
    fn missed(&mut self, id: Id, place: Place, why: NoMatch) {
        if !why.reasons().is_empty() {
            let rewrite = self.run.plan.rewrites[id].def.name;
            self.run.observer.event(&Event::NoMatch { rewrite, func: &self.func, why: &why });
        }
        self.missed.note(id, place, Some(why));
    }

    pub fn remark(&mut self, rewrite: &'static str, kind: RemarkKind, loc: Loc, message: String) {
        let remark = Remark { rewrite, function: self.func.name, kind, loc, message };
        self.run.observer.event(&Event::Remark(&remark));
        self.run.report.remarks.push(remark);
    }
}
