//! How a pipeline is to be run.

use crate::check::Check;
use crate::rule::Liberties;
use crate::target::Target;
use rewright_ir::Name;

/// When the whole function is verified. What an application touched is checked after every one in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Verify {
    /// At the end of each function's turn.
    #[default]
    Last,
    /// After every application too, which takes time in proportion to the function's size each time.
    Each,
}

/// Options of a run. The default ones are for production: stop at the first failure, with limits that only a rewrite that never ends
/// reaches.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// When the whole function is verified.
    pub verify: Verify,
    /// Checks after every application that the function computes what it computed before, by running both forms; see
    /// [`check`](crate::check). An application that fails this is a failure like any other.
    pub check: Option<Check>,
    /// Goes on after a failure: what failed is undone, the rewrite sits out the rest of that function, and the error is in the
    /// [`Report`](crate::Report). Where rewrites never end, the function goes back to its form before the first application to it, and
    /// the others begin anew. If not, the run ends with the error, and the module is as it was.
    pub keep_going: bool,
    /// How often a rewrite may be applied to one function; if not given, 10,000 times and 100 times for each instruction.
    pub fuel: Option<u64>,
    /// The instructions that a function may grow to; if not given, 10,000 and 32 for each that it had.
    pub max_size: Option<usize>,
    /// Stops after so many applications, counted over all functions: for finding the one that breaks something.
    pub stop_after: Option<u64>,
    /// Takes times. Reports differ from run to run then.
    pub times: bool,
    /// What results may differ in. Rules that take other liberties are not applied.
    pub liberties: Liberties,
    /// Rewrites this function only.
    pub only: Option<Name>,
    /// The target of the compilation, where it is known; [`MatchCx::target`](crate::MatchCx::target) shows it to rewrites.
    pub target: Target,
}

impl Options {
    pub(super) fn fuel_for(&self, insts: usize) -> u64 {
        self.fuel.unwrap_or(10_000 + 100 * insts as u64)
    }
    pub(super) fn max_size_for(&self, insts: usize) -> usize {
        self.max_size.unwrap_or(10_000 + 32 * insts)
    }
}
