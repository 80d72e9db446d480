//! Exact extraction: the cheapest choice of nodes, with shared work counted once, as an integer program.
//!
//! Each node has a variable that says whether it is chosen. A root class chooses one node, and a chosen node
//! requires one chosen node in each of its operands' classes. These constraints alone allow cycles of cheap
//! nodes that compute each other. So for each cycle in a solution a constraint is added: a class of the
//! cycle may be chosen only if one of these classes chooses a node that needs no class of the cycle. The
//! constraints are first added for solutions of the linear relaxation, whose cost is a lower bound. Often
//! the bound is tight, and no search is needed.
//!
//! Before that, dominated and too expensive nodes are removed. The solver and the limits do not depend on
//! time, so the same graph gives the same result on every machine. The solver's result is accepted only
//! after its cost is recomputed in integers.

mod candidates;
mod search;
#[cfg(test)]
mod tests;

use super::extract::{Problem, Solution};
use super::{BetterForm, Extraction};
use crate::pipeline::EXACT;
use crate::prelude::*;
use search::ExactSearch;
use std::fmt;

/// Equality saturation with exact extraction.
pub(crate) struct SaturateExact;

static SATURATE_EXACT: RewriteDef =
    RewriteDef::block(EXACT, "saturate, and the cheapest form is found for certain", &SaturateExact)
        .stage(Stage::AfterInference)
        .after(&["saturate"])
        .before(&["array-expr"])
        .applies_rules()
        .opt_in();
register_rewrite!(SATURATE_EXACT);

impl Rewrite for SaturateExact {
    type Match = Vec<BetterForm>;

    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        super::found(cx, block, Extraction::Exact)
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        super::apply(found, rw)
    }
}

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchLimits {
    /// The most nodes to choose from.
    pub choices: usize,
    /// The most branches of the solver in total.
    pub branches: u64,
    /// The most times that the program is solved again because of a cycle; separately for the relaxation and
    /// for the integer program.
    pub rounds: usize,
}

impl Default for SearchLimits {
    fn default() -> Self {
        SearchLimits { choices: 500, branches: 500, rounds: 64 }
    }
}

/// Why the solution may not be the cheapest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// There are more nodes to choose from than the limit.
    Choices(usize),
    /// The limit of branches was reached.
    Branches(u64),
    /// The limit of rounds was reached.
    Circles(usize),
    /// The costs are too large for floats to hold exactly.
    Costs,
    /// The solver failed.
    Solver(String),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::Choices(n) => write!(f, "there are {n} nodes to choose from, more than the limit"),
            Stopped::Branches(n) => write!(f, "it is not found within {n} branches"),
            Stopped::Circles(n) => write!(f, "the best solution still has cycles after {n} rounds"),
            Stopped::Costs => f.write_str("costs are too large to be added up exactly"),
            Stopped::Solver(why) => write!(f, "the solver gave up: {why}"),
        }
    }
}

/// The solution, and why it may not be the cheapest.
pub(crate) type SearchResult = (Solution, Option<Stopped>);

impl Problem {
    /// The cheapest solution. Returns the known one unless another costs less.
    pub fn solve_exactly(&self, known: Solution, limits: SearchLimits) -> SearchResult {
        match ExactSearch::new(self, &known, limits) {
            Ok(search) => search.run(known),
            Err(stopped) => (known, Some(stopped)),
        }
    }
}
