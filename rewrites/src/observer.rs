//! Who watches: everything that happens while rewrites run is an event.

use crate::change::Change;
use crate::rewrite::NoMatch;
use rewright_ir::{Function, Loc, Name};
use std::fmt;
use std::time::Duration;

/// What kind of remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RemarkKind {
    /// Something was done.
    Done,
    /// Something was not done, and why.
    Missed,
    /// Something worth knowing.
    Note,
}

/// What a rewrite says about what it did or did not do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Remark {
    /// The rewrite.
    pub rewrite: &'static str,
    /// The function.
    pub function: Name,
    /// What kind.
    pub kind: RemarkKind,
    /// The place; nowhere if it is about the whole function.
    pub loc: Loc,
    /// What; one lower-case sentence.
    pub message: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: @{}", self.rewrite, self.function)?;
        if !self.loc.is_none() {
            write!(f, " line {}", self.loc.line)?;
        }
        write!(f, ": {}", self.message)
    }
}

/// A reason for not matching.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Missed {
    /// The reason; one lower-case sentence.
    pub message: String,
    /// The place; where the rewrite looked, if nowhere.
    pub loc: Loc,
}

/// What happens. `func` is the function as it is at that moment.
pub enum Event<'a> {
    /// A function's turn comes.
    Begin {
        /// The function.
        func: &'a Function,
    },
    /// A function's values got their types.
    Inferred {
        /// The function, typed.
        func: &'a Function,
    },
    /// A rewrite gave a reason for not matching.
    NoMatch {
        /// The rewrite.
        rewrite: &'static str,
        /// The function.
        func: &'a Function,
        /// Why.
        why: &'a NoMatch,
    },
    /// A rewrite matches, and is about to change the function.
    Match {
        /// The number of the application, from 0, in this run of the pipeline.
        seq: u64,
        /// The rewrite.
        rewrite: &'static str,
        /// The function before.
        func: &'a Function,
        /// The place where it matches.
        loc: Loc,
    },
    /// A rewrite has changed the function.
    Applied {
        /// The number of the application.
        seq: u64,
        /// The rewrite.
        rewrite: &'static str,
        /// The function after.
        func: &'a Function,
        /// The changes, in order.
        changes: &'a [Change],
        /// How long it took; zero unless the options ask for times.
        time: Duration,
    },
    /// An application was undone because of what more precise types would mean; see [`crate::RewriteError::Declined`].
    Declined {
        /// The number of the application.
        seq: u64,
        /// The rewrite.
        rewrite: &'static str,
        /// The function, as it was before.
        func: &'a Function,
        /// Why.
        error: &'a crate::RewriteError,
    },
    /// An application failed and was undone.
    Failed {
        /// The number of the application.
        seq: u64,
        /// The rewrite.
        rewrite: &'static str,
        /// The function, as it was before.
        func: &'a Function,
        /// Why.
        error: &'a crate::RewriteError,
    },
    /// Something went wrong that no single application is to blame for: rewrites that undo each other or never end, or a panic of `matches`.
    /// If the run keeps going after the former, the function goes back to the form that it had at [`Event::Begin`], and the applications since
    /// then count no more.
    GaveUp {
        /// The function.
        func: &'a Function,
        /// What went wrong.
        error: &'a crate::RewriteError,
    },
    /// A rewrite left a remark.
    Remark(&'a Remark),
    /// No rewrite matches any more. Remarks of what was not done, as far as they still hold, come just before.
    End {
        /// The function.
        func: &'a Function,
    },
}

/// Watches a pipeline run.
pub trait Observer {
    /// Something happens. A [`Event::Match`] is always followed by [`Event::Applied`], [`Event::Declined`] or [`Event::Failed`] with the same
    /// number, and nothing between, so an observer that wants the form before keeps it from the former.
    fn event(&mut self, event: &Event<'_>);
}

/// Watches nothing.
pub struct NoObserver;

impl Observer for NoObserver {
    fn event(&mut self, _: &Event<'_>) {}
}

/// A function that is called with every event.
impl<F: FnMut(&Event<'_>)> Observer for F {
    fn event(&mut self, event: &Event<'_>) {
        self(event)
    }
}
