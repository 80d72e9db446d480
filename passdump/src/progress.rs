//! Progress bars of long commands.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::thread;
use std::time::Duration;

/// The delay before a progress bar appears.
const PATIENCE: Duration = Duration::from_secs(1);

/// A progress bar on the standard error. It appears after a second, and only on a terminal.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// Starts a bar; `all` is the total number of steps, if known.
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
        // The bar must appear even during a single long step.
        let waiting = bar.downgrade();
        thread::spawn(move || {
            thread::sleep(PATIENCE);
            if let Some(bar) = waiting.upgrade().filter(|bar| !bar.is_finished()) {
                bar.set_draw_target(ProgressDrawTarget::stderr());
                bar.tick();
            }
        });
        Progress { bar }
    }

    /// Begins a step.
    pub fn step(&mut self, message: impl Into<String>) {
        self.bar.inc(1);
        self.bar.set_message(message.into());
    }

    /// Hides the bar while something is printed.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }
}
