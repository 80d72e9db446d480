//! Looks after the workers: a case that takes too long, or memory that grows too much, ends the test with
//! the case's number.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A case takes milliseconds; machines can be slow.
const LIMIT: Duration = Duration::from_secs(60);
/// What all workers may hold together.
const MAX_RESIDENT: u64 = 6 << 30;
/// No case.
const NONE: u64 = u64::MAX;

pub struct Watch {
    start: Instant,
    /// The case that each worker is at.
    cases: Vec<AtomicU64>,
    /// When it began, in milliseconds.
    since: Vec<AtomicU64>,
}

impl Watch {
    pub fn new(workers: usize) -> Watch {
        let many = |value: u64| (0..workers).map(|_| AtomicU64::new(value)).collect();
        Watch { start: Instant::now(), cases: many(0), since: many(0) }
    }

    fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64
    }

    pub fn begin(&self, worker: usize, number: u64) {
        self.since[worker].store(self.now(), Ordering::Relaxed);
        self.cases[worker].store(number, Ordering::Relaxed);
        // If a case kills the process, this file still names it.
        if std::env::var_os("REWRIGHT_MUTATION_LOG").is_some() {
            let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutation-{worker}"));
            let _ = std::fs::write(path, number.to_string());
        }
    }

    pub fn done(&self, worker: usize) {
        self.cases[worker].store(NONE, Ordering::Relaxed);
    }

    /// Watches until all workers are done.
    pub fn run(&self) {
        loop {
            let running: Vec<u64> =
                self.cases.iter().map(|c| c.load(Ordering::Relaxed)).filter(|&c| c != NONE).collect();
            if running.is_empty() {
                return;
            }
            for (case, since) in self.cases.iter().zip(&self.since) {
                let (case, since) = (case.load(Ordering::Relaxed), since.load(Ordering::Relaxed));
                if case != NONE && self.now().saturating_sub(since) > LIMIT.as_millis() as u64 {
                    stop(&format!("case {case} takes more than {LIMIT:?}"));
                }
            }
            if resident().is_some_and(|bytes| bytes > MAX_RESIDENT) {
                stop(&format!("more than {MAX_RESIDENT} bytes are held at cases {running:?}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A worker that hangs can't be joined, so the process ends.
fn stop(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(101)
}

/// The memory of this process, where the system tells.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    text.split_whitespace().nth(1)?.parse::<u64>().ok().map(|pages| pages * 4096)
}
