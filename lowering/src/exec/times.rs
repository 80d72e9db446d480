//! The times of steps.

use super::plan::Plan;
use rewright_ir::{Loc, Name, Op};
use std::sync::Mutex;
use std::time::Duration;

/// The time of one step of a plan, over all calls. The time of a call step includes its callee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepTime {
    /// The function.
    pub func: Name,
    /// The number of the step in the function's plan.
    pub step: usize,
    /// The op that the step comes from.
    pub op: Op,
    /// The source location.
    pub loc: Loc,
    /// The number of runs.
    pub runs: u64,
    /// The total time.
    pub total: Duration,
    /// The time of the fastest run.
    pub least: Duration,
}

/// The times of all steps, by function and number.
pub struct Times(Mutex<Vec<Vec<StepTime>>>);

impl Times {
    /// Times without any run. `loc` returns the source location of a step.
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

    /// Records a run.
    pub fn add(&self, function: usize, step: usize, time: Duration) {
        let mut all = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(one) = all.get_mut(function).and_then(|steps| steps.get_mut(step)) {
            one.runs += 1;
            one.total = one.total.saturating_add(time);
            one.least = one.least.min(time);
        }
    }

    /// The times of the steps that ran.
    pub fn all(&self) -> Vec<StepTime> {
        let all = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        all.iter().flatten().filter(|step| step.runs > 0).copied().collect()
    }
}
