//! Checks the successive forms of a function against each other.

use super::Check;
use super::difference::{Allowed, Difference, Ended, differs};
use super::inputs::FreeExtents;
use super::shrink::smaller;
use crate::error::guarded;
use crate::rule::Liberties;
use rewright_ir::eval::{Floats, evaluate_watched};
use rewright_ir::text::{Numbering, Printer};
use rewright_ir::{Datum, EvalError, EvalErrorKind, Function, Limits, Module, Outcome, infer_function};
use std::borrow::Cow;

/// The step limit of one call of the first form. Longer calls are not compared.
const MAX_STEPS: u64 = 1 << 18;

/// A later form that takes more than this factor of the previous form's steps, plus a margin, counts as not
/// terminating.
const SLOWER: u64 = 16;

/// The number of applications that may each take all steps of a check. The n-th later one takes the fraction
/// `FIRST / n` of them. So a rewrite that never ends, and lets the function grow, reaches its limit soon.
const FIRST: u64 = 32;

/// Limits of every call: elements of arrays, bytes of values and call depth.
const LIMITS: Limits = Limits { steps: 0, elements: 1 << 20, bytes: 1 << 28, depth: 64 };

/// One input, and the result of the latest form for it.
struct InputTrial {
    args: Vec<Datum>,
    ended: Ended,
    steps: u64,
    /// The special floats that occurred.
    floats: Floats,
}

/// Checks the forms of one function, each against the previous one.
pub struct Checker {
    trials: Vec<InputTrial>,
    allowed: Allowed,
    notes: Vec<String>,
    /// The steps of a whole check.
    steps: u64,
    /// The number of checks so far.
    checks: u64,
    /// The input that the next check tries first, if it can't try all.
    next: usize,
    /// The number of inputs that checks left out.
    left_out: u64,
}

impl Checker {
    /// Starts with a form of the function; `module` holds its callees.
    pub fn new(func: &Function, module: &Module, options: &Check) -> Self {
        let axes = FreeExtents::of(func);
        let (sets, mut notes) = axes.sets();
        let given = options.given.iter().filter(|(name, _)| *name == func.name).map(|(_, args)| args.clone());
        let given: Vec<Vec<Datum>> = given.collect();
        let all = given.len() + sets.len();
        let mut inputs = given.into_iter().map(Some).chain(sets.iter().map(|set| axes.make(set)));
        let (mut trials, mut left, mut large) = (Vec::new(), options.steps, 0);
        for input in inputs.by_ref() {
            let Some(args) = input else {
                large += 1;
                continue;
            };
            let steps = left.min(MAX_STEPS);
            let (ended, steps, floats) = call(func, module, args.clone(), steps);
            trials.push(InputTrial { args, ended, steps, floats });
            left = left.saturating_sub(steps);
            if left == 0 {
                break;
            }
        }
        let rest = inputs.count();
        if rest > 0 {
            let steps = options.steps;
            notes.push(format!("{rest} of {all} inputs were not tried, for the others take {steps} steps"));
        }
        if large > 0 {
            notes.push(format!("{large} of {all} inputs were not tried, for their arrays would be too large"));
        }
        let allowed = Allowed { ulp: options.ulp, liberties: options.liberties };
        Checker { trials, allowed, notes, steps: options.steps, checks: 0, next: 0, left_out: 0 }
    }

    /// Checks that another form of the function computes the same as the previous one. The forms are not in
    /// the difference yet. After many checks, inputs take turns; each is compared with the form for which it
    /// was tried last.
    pub fn check(&mut self, func: &Function, module: &Module) -> Result<(), Box<Difference>> {
        self.checks += 1;
        let mut left = self.steps * FIRST / self.checks.max(FIRST);
        let all = self.trials.len();
        let mut later = Vec::with_capacity(all);
        let (first, mut tried) = (self.next, 0);
        for at in (first..all).chain(0..first) {
            let trial = &self.trials[at];
            if left == 0 {
                break;
            }
            tried += 1;
            if trial.ended.as_ref().is_err_and(|e| e.kind == EvalErrorKind::Limit) {
                continue;
            }
            let most = SLOWER * trial.steps + MAX_STEPS;
            let (ended, steps, floats) = call(func, module, trial.args.clone(), most.min(left));
            left = left.saturating_sub(steps);
            if left == 0 && ended.as_ref().is_err_and(|e| e.kind == EvalErrorKind::Limit) {
                self.left_out += 1;
                break;
            }
            if self.is_compared(trial)
                && let Some(what) = differs(&trial.ended, &ended, [trial.floats, floats], self.allowed)
            {
                let names = func.params().iter().map(|&p| func.value_label(p));
                return Err(Box::new(Difference {
                    function: func.name,
                    what,
                    input: names.zip(trial.args.iter().cloned()).collect(),
                    before: trial.ended.clone(),
                    after: ended,
                    forms: Default::default(),
                }));
            }
            later.push((at, ended, steps, floats));
        }
        for (at, ended, steps, floats) in later {
            let trial = &mut self.trials[at];
            (trial.ended, trial.steps, trial.floats) = (ended, steps, floats);
        }
        self.left_out += (all - tried) as u64;
        self.next = if tried < all { (first + tried) % all } else { 0 };
        Ok(())
    }

    /// Checks that other code, such as compiled code, gives the results that the reference evaluator gives
    /// for the last form.
    pub fn against(
        &self,
        func: &Function,
        mut other: impl FnMut(&[Datum]) -> Result<Outcome, EvalError>,
    ) -> Result<(), Box<Difference>> {
        for trial in self.trials.iter().filter(|trial| comparable(&trial.ended)) {
            let after = other(&trial.args);
            // Compiled code takes no liberties.
            let allowed = Allowed { liberties: Liberties::empty(), ..self.allowed };
            if let Some(what) = differs(&trial.ended, &after, [trial.floats; 2], allowed) {
                let names = func.params().iter().map(|&p| func.value_label(p));
                let input = names.zip(trial.args.iter().cloned()).collect();
                let (function, before) = (func.name, trial.ended.clone());
                return Err(Box::new(Difference { function, what, input, before, after, forms: Default::default() }));
            }
        }
        Ok(())
    }

    /// The difference with both forms, on a smaller input if it occurs there too.
    pub(crate) fn explained(
        &self,
        found: Box<Difference>,
        before: (&Function, &Module),
        after: (&Function, &Module),
    ) -> Box<Difference> {
        let mut found = smaller(found, before, after, self.allowed);
        let mut numbering = Numbering::default();
        found.forms = [before.0, after.0].map(|func| Printer::numbered(func, &mut numbering).function());
        found
    }

    /// True if a later form must give the same result.
    fn is_compared(&self, trial: &InputTrial) -> bool {
        comparable(&trial.ended) && !self.allowed.leaves_out(trial.floats)
    }

    /// The number of inputs that are compared, and the checks that are left out.
    pub(crate) fn notes(&self) -> Vec<String> {
        let (mut notes, all) = (self.notes.clone(), self.trials.len());
        let compared = self.trials.iter().filter(|t| comparable(&t.ended)).count();
        let left_out = self.trials.iter().filter(|t| comparable(&t.ended) && !self.is_compared(t)).count();
        if left_out > 0 {
            let liberties = self.allowed.liberties;
            notes.push(format!("{left_out} inputs meet NaN or infinities, which the liberties {liberties} leave out"));
        }
        if self.left_out > 0 {
            let (checks, steps) = (self.checks, self.steps);
            notes.push(format!(
                "inputs took turns in {checks} checks, and were left out {} times: the first {FIRST} checks take at \
                 most {steps} steps each, later ones less",
                self.left_out
            ));
        }
        let why = self.trials.iter().find(|t| !comparable(&t.ended)).and_then(|t| t.ended.as_ref().err());
        match why {
            Some(why) => notes.insert(0, format!("checked on {compared} of {all} inputs; others end with: {why}")),
            None => notes.insert(0, format!("checked on {all} inputs")),
        }
        notes
    }
}

/// The function with types, as far as they can be inferred.
fn typed<'f>(func: &'f Function, module: &Module) -> Cow<'f, Function> {
    if !func.untyped {
        return Cow::Borrowed(func);
    }
    let mut typed = func.clone();
    if infer_function(&mut typed, module).is_ok() { Cow::Owned(typed) } else { Cow::Borrowed(func) }
}

/// Calls the function; a panic in a plugin's op is an error.
pub(super) fn call(func: &Function, module: &Module, args: Vec<Datum>, steps: u64) -> (Ended, u64, Floats) {
    let limits = Limits { steps, ..LIMITS };
    // Creating and comparing arguments costs steps too.
    let elements: u64 = args.iter().map(|arg| arg.shape().iter().product::<usize>() as u64).sum();
    let called = guarded(|| evaluate_watched(&typed(func, module), Some(module), args, limits));
    match called {
        // A call that exceeds the limit counts as the limit.
        Ok((Err(e), _, floats)) if e.kind == EvalErrorKind::Limit => (Err(e), steps, floats),
        Ok((ended, taken, floats)) => (ended, taken + elements, floats),
        Err(panic) => (Err(EvalError::unsupported(format!("evaluating it, {panic}"))), steps, Floats::default()),
    }
}

/// True if later forms must end in the same way.
pub(super) fn comparable(ended: &Ended) -> bool {
    match ended {
        Ok(_) => true,
        Err(e) => matches!(e.kind, EvalErrorKind::Raised(_)),
    }
}
