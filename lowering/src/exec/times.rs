//! How long steps take.

use super::plan::Plan;
use rewright_ir::{Loc, Name, Op};
use std::sync::Mutex;
use std::time::Duration;

/// How long one step of a plan took, all calls together. That of a call includes what it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTime {
    /// The function.
    pub func: Name,
    /// The number of the step in the function's plan.
    pub step: usize,
    /// The op that the step comes from.
    pub op: Op,
    /// Where it was written.
    pub loc: Loc,
    /// How often it ran.
    pub runs: u64,
    /// How long, altogether.
    pub total: Duration,
    /// How long the fastest run took.
    pub least: Duration,
}

/// The times of all steps, by function and number.
pub struct Times(Mutex<Vec<Vec<StepTime>>>);

impl Times {
    /// Nothing has run yet. `loc` tells where a step was written.
    pub fn new(plan: &Plan, loc: impl Fn(Name, rewright_ir::Inst) -> Loc) -> Self {
        let functions = plan.functions.iter().map(|function| {
            let steps = function.steps.iter().enumerate().map(|(number, step)| StepTime {
                func: function.name,
                step: number,
                op: step.op,
                loc: loc(function.name, step.inst),
                runs: 0,
                total: Duration::ZERO,
                least: Duration::MAX,
            });
            steps.collect()
        });
        Times(Mutex::new(functions.collect()))
    }

    /// Takes note of a run.
    pub fn add(&self, function: usize, step: usize, time: Duration) {
        let mut all = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(one) = all.get_mut(function).and_then(|steps| steps.get_mut(step)) {
            one.runs += 1;
            one.total = one.total.saturating_add(time);
            one.least = one.least.min(time);
        }
    }

    /// Those of the steps that ran.
    pub fn all(&self) -> Vec<StepTime> {
        let all = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        all.iter().flatten().filter(|step| step.runs > 0).copied().collect()
    }
}
