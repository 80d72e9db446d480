//! Options of a pipeline run.

use crate::check::Check;
use crate::rule::Liberties;
use crate::target::Target;
use rewright_ir::Name;

/// When the whole function is verified. The places that an application touched are checked in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Verify {
    /// At the end of each function's turn.
    #[default]
    Last,
    /// Also after every application, which takes time proportional to the function's size each time.
    Each,
}

/// Options of a run. The defaults are for production: stop at the first failure, with limits that only a
/// rewrite that does not terminate reaches.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// When the whole function is verified.
    pub verify: Verify,
    /// Checks after every application that the function still computes the same, by running both forms; see
    /// [`check`](crate::check). An application that fails this check is a failure like any other.
    pub check: Option<Check>,
    /// Continues after a failure: the failed application is undone, the rewrite is disabled for the rest of
    /// that function, and the error goes to the [`Report`](crate::Report). If rewrites do not terminate, the
    /// function is restored to its original form, and the other rewrites start again. Without this option
    /// the run ends with the error, and the module is unchanged.
    pub keep_going: bool,
    /// The most applications of a rewrite to one function; by default 10,000, and 100 for each instruction.
    pub fuel: Option<u64>,
    /// The most instructions that a function may grow to; by default 10,000, and 32 for each original one.
    pub max_size: Option<usize>,
    /// Stops after this number of applications, counted over all functions, to find the application that
    /// causes an error.
    pub stop_after: Option<u64>,
    /// Measures times. Reports then differ from run to run.
    pub times: bool,
    /// The ways in which results may differ. Rules that take other liberties are not applied.
    pub liberties: Liberties,
    /// Rewrites this function only.
    pub only: Option<Name>,
    /// The target of the compilation, if known; [`MatchCx::target`](crate::MatchCx::target) gives it to
    /// rewrites.
    pub target: Target,
}

impl Options {
    pub(crate) fn fuel_for(&self, insts: usize) -> u64 {
        self.fuel.unwrap_or(10_000 + 100 * insts as u64)
    }
    pub(crate) fn max_size_for(&self, insts: usize) -> usize {
        self.max_size.unwrap_or(10_000 + 32 * insts)
    }
}
