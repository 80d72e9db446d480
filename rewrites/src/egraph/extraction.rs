//! How a form is chosen: greedily, or exactly, which is a rewrite of its own that a cargo feature adds.

use super::extract::{Problem, Solution};
use crate::pipeline::{EXACT, Pipeline};

/// How a form is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extraction {
    Greedy,
    Exact,
}

impl Extraction {
    /// The extraction of the pipeline's rewrite.
    pub fn of(pipeline: &Pipeline) -> Self {
        let exact = pipeline.stops().iter().any(|stop| stop.entry.def.name == EXACT);
        if exact { Extraction::Exact } else { Extraction::Greedy }
    }

    /// A form, and the end of a remark that says why it may not be the cheapest, if exact extraction was
    /// requested.
    pub fn solve(self, problem: &Problem) -> (Option<Solution>, String) {
        let greedy = problem.solve();
        #[cfg(feature = "exact-extraction")]
        if self == Extraction::Exact
            && let Some(greedy) = greedy
        {
            let (solution, stopped) = problem.solve_exactly(greedy, super::exact::SearchLimits::default());
            let doubt = |why| format!("; it is not certain that no form costs less: {why}");
            return (Some(solution), stopped.map(doubt).unwrap_or_default());
        }
        (greedy, String::new())
    }
}
