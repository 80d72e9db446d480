//! Exact extraction: the cheapest of all choices of nodes, shared work counted once, as an integer program.
//!
//! A variable for each node says whether it is chosen. A root chooses one, and a chosen node has each of its operands' classes choose one.
//! That alone allows classes that are computed from each other, each cheap and none ever begun. So wherever a solution goes in
//! circles, it is required that a circle begins somewhere: of some classes one may be chosen only if for one of them a node is chosen that
//! needs none of them. That is required of solutions in fractions first, whose cost bounds the others from below: often nothing
//! is left to be searched then.
//!
//! Before that, choices that can't be part of the cheapest whole are taken out. Solver and limits know no time, so the same
//! graph gives the same result, whatever the machine; and what the solver says is believed only after it was added up again in integers.

mod candidates;
mod search;
#[cfg(test)]
mod tests;

use super::extract::{Problem, Solution};
use super::{Better, EXACT, Extraction};
use crate::prelude::*;
use search::Search;
use std::fmt;

/// Equality saturation that chooses exactly.
pub struct SaturateExact;

static SATURATE_EXACT: RewriteDef =
    RewriteDef::block(EXACT, "saturate, and the cheapest form is found for certain", &SaturateExact)
        .stage(Stage::AfterInference)
        .after(&["saturate"])
        .before(&["array-expr"])
        .applies_rules()
        .opt_in();
register_rewrite!(SATURATE_EXACT);

impl Rewrite for SaturateExact {
    type Match = Vec<Better>;

    fn matches(&self, cx: &MatchCx<'_>, block: Block) -> Result<Self::Match, NoMatch> {
        super::found(cx, block, Extraction::Exact)
    }

    fn apply(&self, found: Self::Match, rw: &mut Rewriter<'_>) -> Result<(), RewriteError> {
        super::apply(found, rw)
    }
}

/// What a search may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// So many nodes may be there to choose from.
    pub choices: usize,
    /// So many branches the solver may look at, in all.
    pub branches: u64,
    /// So often may the program be solved again because something goes in circles, in fractions, and in whole nodes.
    pub rounds: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { choices: 500, branches: 500, rounds: 64 }
    }
}

/// Why the cheapest choice is not known for certain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// More nodes to choose from than the limit.
    Choices(usize),
    /// The limit of branches.
    Branches(u64),
    /// The limit of rounds.
    Circles(usize),
    /// Numbers that floats do not hold exactly.
    Costs,
    /// The solver failed.
    Solver(String),
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stopped::Choices(n) => write!(f, "there are {n} nodes to choose from, more than the limit"),
            Stopped::Branches(n) => write!(f, "it is not found within {n} branches"),
            Stopped::Circles(n) => write!(f, "what is found goes in circles after {n} rounds"),
            Stopped::Costs => f.write_str("costs are too large to be added up exactly"),
            Stopped::Solver(why) => write!(f, "the solver gave up: {why}"),
        }
    }
}

/// What to choose, and why it may not be the cheapest.
pub(crate) type Found = (Solution, Option<Stopped>);

impl Problem {
    /// The cheapest solution. What is known stays unless another costs less.
    pub fn solve_exactly(&self, known: Solution, limits: Limits) -> Found {
        match Search::new(self, &known, limits) {
            Ok(search) => search.run(known),
            Err(stopped) => (known, Some(stopped)),
        }
    }
}
