//! One application of a rewrite, as a transaction.

use super::plan::{Group, Id};
use super::turn::{Pending, Place, Turn, note_op, push_all};
use crate::analyses::Analyses;
use crate::change::Touched;
use crate::error::{RewriteError, guarded};
use crate::observer::{Event, RemarkKind};
use crate::options::Verify;
use crate::rewrite::{AnyMatch, NoMatch};
use crate::rewriter::{Outcome, Rewriter};
use rewright_ir::Loc;
use rewright_ir::VerifyErrors;
use std::time::{Duration, Instant};

/// The most declined applications of a rewrite in one function: a rewrite that changes much takes long each
/// time.
const MAX_DECLINED: u64 = 64;

impl Turn<'_, '_> {
    /// Applies a match, or rolls it back.
    pub fn apply(
        &mut self,
        groups: &[Group],
        id: Id,
        place: Place,
        found: AnyMatch<'static>,
    ) -> Result<(), RewriteError> {
        let (seq, rewrite, loc) = (self.run.seq, self.run.plan.rewrites[id].def.name, place.loc(&self.func));
        if self.tally[id].applied >= self.run.options.fuel_for(self.from) {
            let limit = self.tally[id].applied;
            let error = RewriteError::Fuel { step: self.run.plan.step(id), function: self.func.name, limit };
            return self.give_up_all(&[id], error);
        }
        self.run.seq += 1;
        self.run.observer.event(&Event::Match { seq, rewrite, func: &self.func, loc });
        let begun = self.run.options.times.then(Instant::now);
        let size = self.func.inst_count();
        let result = self.transaction(place, found);
        let time = begun.map_or(Duration::ZERO, |t| t.elapsed());
        self.run.report.stats[id].time += time;
        let declined = matches!(result, Err(RewriteError::Declined { .. }));
        if !declined {
            self.ask_again(groups, place);
        }
        match result {
            Err(cause) if declined => {
                self.run.observer.event(&Event::Declined { seq, rewrite, func: &self.func, error: &cause });
                self.missed.note(id, place, Some(NoMatch::because(cause.to_string())));
                self.tally[id].declined += 1;
                if self.tally[id].declined == MAX_DECLINED {
                    self.tally[id].out = true;
                    let message =
                        format!("{MAX_DECLINED} applications were undone, no more are tried in this function");
                    self.remark(rewrite, RemarkKind::Missed, Loc::default(), message);
                }
                Ok(())
            }
            Err(cause) => {
                let error = self.failed(id, Some(seq), loc, cause);
                self.run.observer.event(&Event::Failed { seq, rewrite, func: &self.func, error: &error });
                self.disable(&[id], error)
            }
            Ok(outcome) => {
                self.run.report.stats[id].applied += 1;
                self.tally[id].applied += 1;
                self.tally[id].grown += self.func.inst_count() as i64 - size as i64;
                let changes = &outcome.log;
                self.run.observer.event(&Event::Applied { seq, rewrite, func: &self.func, changes, time });
                for said in outcome.said {
                    self.remark(rewrite, said.kind, said.loc, said.message);
                }
                self.ask_around(groups, &outcome.touched);
                let ended = self.ends(id, &outcome.touched);
                self.reuse(outcome.touched);
                ended
            }
        }
    }

    /// Applies a match and checks the result, or rolls everything back.
    fn transaction(&mut self, place: Place, found: AnyMatch<'static>) -> Result<Outcome, RewriteError> {
        let root = if let Place::Inst(inst) = place { Some(inst) } else { None };
        self.func.begin();
        let mut rewriter =
            Rewriter::new(&mut self.func, self.module, &self.analyses, root, std::mem::take(&mut self.touched));
        let each = self.run.options.verify == Verify::Each;
        let done = guarded(|| {
            found.0.apply(&mut rewriter)?;
            if rewriter.changes().is_empty() { Err(RewriteError::Idle) } else { rewriter.check(each) }
        });
        let outcome = rewriter.into_outcome();
        match done.and_then(|result| result).and_then(|()| self.computes_the_same()) {
            Ok(()) => {
                self.func.commit();
                self.analyses.forget(&self.func, self.module, &outcome.touched);
                self.summaries.forget(&outcome.touched);
                Ok(outcome)
            }
            Err(cause) => {
                self.reuse(outcome.touched);
                let after = matches!(cause, RewriteError::Differs(_)).then(|| self.func.clone());
                self.func.rollback();
                let cause = match (cause, after, &self.checker) {
                    (RewriteError::Differs(found), Some(after), Some(checker)) => {
                        let forms = ((&self.func, self.module), (&after, self.module));
                        RewriteError::Differs(checker.explained(found, forms.0, forms.1))
                    }
                    (cause, ..) => cause,
                };
                // Some analyses may be incomplete.
                self.analyses = Analyses::sharing(self.run.known.clone(), self.run.state.clone());
                Err(cause)
            }
        }
    }

    fn reuse(&mut self, mut touched: Touched) {
        touched.clear();
        self.touched = touched;
    }

    /// Checks, if the options ask for it, that the function still computes the same.
    fn computes_the_same(&mut self) -> Result<(), RewriteError> {
        let Some(checker) = &mut self.checker else { return Ok(()) };
        checker.check(&self.func, self.module).map_err(RewriteError::Differs)
    }

    /// Queues the place again: this rewrite and the others may match there now.
    fn ask_again(&mut self, groups: &[Group], place: Place) {
        for (pending, group) in self.pending.iter_mut().zip(groups) {
            match (pending, group, place) {
                (Pending::Insts(list), Group::Roots(roots), Place::Inst(inst)) => list.push(&self.func, roots, inst),
                (Pending::Blocks(list), _, Place::Block(block)) => list.push(&self.func, block),
                _ => {}
            }
        }
    }

    /// Queues all places near the change, where rewrites may match now.
    fn ask_around(&mut self, groups: &[Group], touched: &Touched) {
        self.distant.note(&self.func, touched);
        for &inst in touched.insts.iter().filter(|&&inst| self.func.is_linked(inst)) {
            note_op(&mut self.pending, groups, &mut self.noted_ops, self.func.inst(inst).op);
        }
        let reach = |pending: &Pending| if let Pending::Insts(list) = pending { list.reach } else { None };
        let near = self.near.look(&self.func, self.pending.iter().filter_map(reach).max().unwrap_or(0), touched);
        for (pending, group) in self.pending.iter_mut().zip(groups) {
            match (pending, group, near) {
                (Pending::Insts(list), Group::Roots(roots), Some(near)) => list.push_near(&self.func, roots, near),
                (Pending::Blocks(list), ..) => list.touch(&self.func, touched),
                _ => {}
            }
        }
        if near.is_none() {
            push_all(&mut self.pending, groups, &mut self.noted_ops, &self.func);
        }
    }

    /// Checks, after an application, that the limits hold and that rewrites do not undo each other.
    fn ends(&mut self, id: Id, touched: &Touched) -> Result<(), RewriteError> {
        if let Some((ids, forms)) = self.cycles.applied(&self.func, id, touched) {
            let steps = ids.iter().map(|&id| self.run.plan.step(id)).collect();
            let error = RewriteError::Cycle { function: self.func.name, steps, forms: Box::new(forms) };
            return self.give_up_all(&ids, error);
        }
        let to = self.func.inst_count();
        if to > self.run.options.max_size_for(self.from) && self.tally[id].grown > 0 {
            let mut ids: Vec<Id> = (0..self.tally.len()).filter(|&id| self.tally[id].grown > 0).collect();
            ids.sort_by_key(|&id| std::cmp::Reverse(self.tally[id].grown));
            ids.truncate(3);
            let steps = ids.iter().map(|&id| self.run.plan.step(id)).collect();
            let error = RewriteError::Growth { function: self.func.name, from: self.from, to, steps };
            return self.give_up_all(&ids, error);
        }
        Ok(())
    }

    /// The failure of an application, or of a test for a match.
    pub fn failed(&self, id: Id, seq: Option<u64>, loc: Loc, cause: RewriteError) -> RewriteError {
        let (step, function) = (self.run.plan.step(id), self.func.name);
        let application = seq.map(|seq| u32::try_from(seq + 1).unwrap_or(u32::MAX));
        RewriteError::Failed { step, function, application, loc: Box::new(loc), cause: Box::new(cause) }
    }

    /// Reports an error that is not due to a single application.
    pub fn give_up(&mut self, ids: &[Id], error: RewriteError) -> Result<(), RewriteError> {
        self.run.observer.event(&Event::GaveUp { func: &self.func, error: &error });
        self.disable(ids, error)
    }

    /// The same for the effect of many applications, which are all undone.
    fn give_up_all(&mut self, ids: &[Id], error: RewriteError) -> Result<(), RewriteError> {
        self.spoiled = true;
        self.give_up(ids, error)
    }

    /// Ends the run, or disables rewrites for the rest of this function and continues.
    fn disable(&mut self, ids: &[Id], error: RewriteError) -> Result<(), RewriteError> {
        if !self.run.options.keep_going {
            return Err(error);
        }
        self.run.report.failures.push(error);
        for &id in ids {
            (self.tally[id].out, self.tally[id].failed) = (true, true);
        }
        Ok(())
    }

    /// The function is invalid at the end, although every application passed its check.
    pub fn invalid(&self, why: VerifyErrors) -> RewriteError {
        let applied = (0..self.tally.len()).filter(|&id| self.tally[id].applied > 0);
        let steps = applied.map(|id| self.run.plan.step(id)).collect();
        RewriteError::InvalidAtEnd { function: self.func.name, steps, errors: why }
    }
}
