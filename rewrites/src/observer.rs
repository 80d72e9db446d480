//! Observers: everything that happens while rewrites run is an event.

use crate::change::Change;
use crate::rewrite::NoMatch;
use rewright_ir::{Function, Loc, Name};
use std::fmt;
use std::time::Duration;

/// The kind of a remark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RemarkKind {
    /// A rewrite was applied.
    Done,
    /// A rewrite was not applied, and why.
    Missed,
    /// Other information.
    Note,
}

/// A message of a rewrite about something that it did or did not do.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Remark {
    /// The rewrite.
    pub rewrite: &'static str,
    /// The function.
    pub function: Name,
    /// The kind.
    pub kind: RemarkKind,
    /// The location; none if it is about the whole function.
    pub loc: Loc,
    /// The message, one lower-case sentence.
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
    /// The reason, one lower-case sentence.
    pub message: String,
    /// The location; if none, the place where the rewrite was tried.
    pub loc: Loc,
}

/// An event. `func` is the current form of the function.
pub enum Event<'a> {
    /// A function's turn begins.
    Begin {
        /// The function.
        func: &'a Function,
    },
    /// The types of a function's values were inferred.
    Inferred {
        /// The typed function.
        func: &'a Function,
    },
    /// A rewrite gave a reason for not matching.
    NoMatch {
        /// The rewrite.
        rewrite: &'static str,
        /// The function.
        func: &'a Function,
        /// The reason.
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
        /// The location of the match.
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
        /// The time that it took; zero unless the options ask for times.
        time: Duration,
    },
    /// An application was undone because of the consequences of more precise types; see
    /// [`crate::RewriteError::Declined`].
    Declined {
        /// The number of the application.
        seq: u64,
        /// The rewrite.
        rewrite: &'static str,
        /// The restored function.
        func: &'a Function,
        /// The reason.
        error: &'a crate::RewriteError,
    },
    /// An application failed and was undone.
    Failed {
        /// The number of the application.
        seq: u64,
        /// The rewrite.
        rewrite: &'static str,
        /// The restored function.
        func: &'a Function,
        /// The cause.
        error: &'a crate::RewriteError,
    },
    /// An error that is not due to a single application: rewrites that undo each other or do not terminate,
    /// or a panic of `matches`. If the run continues after the former, the function returns to its form at
    /// [`Event::Begin`], and the applications since then no longer count.
    GaveUp {
        /// The function.
        func: &'a Function,
        /// The error.
        error: &'a crate::RewriteError,
    },
    /// A rewrite left a remark.
    Remark(&'a Remark),
    /// No rewrite matches any more. Remarks about rewrites that were not applied, if they still hold, come
    /// just before.
    End {
        /// The function.
        func: &'a Function,
    },
}

/// Watches a pipeline run.
pub trait Observer {
    /// Receives an event. An [`Event::Match`] is always followed directly by [`Event::Applied`],
    /// [`Event::Declined`] or [`Event::Failed`] with the same number. An observer that needs the old form
    /// keeps it at the match.
    fn event(&mut self, event: &Event<'_>);
}

/// Ignores all events.
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
