//! Telling how far a long command is.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// What is done sooner is not told about.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on the standard error, if that is a terminal, from a second on.
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    shown: bool,
}

impl Progress {
    /// Begins; `all` are the steps that there will be, if that is known.
    pub fn new(what: &'static str, all: Option<u64>) -> Progress {
        let bar = match all {
            Some(all) => ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::hidden()),
            None => ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
        };
        let template = if all.is_some() { "{prefix} {bar:30} {pos}/{len} {msg}" } else { "{prefix} {pos} {msg}" };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_prefix(what);
        Progress { bar, begun: Instant::now(), shown: false }
    }

    /// One step is done, or begins.
    pub fn step(&mut self, message: impl Into<String>) {
        if !self.shown && self.begun.elapsed() > PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
        self.bar.inc(1);
        if self.shown {
            self.bar.set_message(message.into());
        }
    }

    /// Prints something without leaving traces of the bar in it.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Takes the bar away.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
