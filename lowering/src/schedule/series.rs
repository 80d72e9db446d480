//! Decides whether to wake sleeping threads for a call that is too short to pay for the wake-up by itself.
//!
//! Short calls come in series. A thread that is woken for one call comes too late for it, but in time for
//! the next calls: it lingers between them (`thread_pool.rs`).

use super::thread_pool::{LINGER, idle};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// A series that has lasted this long is likely to continue for longer than a wake-up takes.
const LONG: Duration = Duration::from_micros(100);

/// Calls of one thread in quick succession.
#[derive(Clone, Copy, Default)]
struct Series {
    /// The total time of the calls.
    took: Duration,
    /// The estimated end of the latest call.
    end: Option<Instant>,
}

thread_local! {
    static SERIES: Cell<Series> = Cell::default();
}

impl Series {
    /// Appends a call that begins now and takes `call`. Starts a new series if the last call ended too long
    /// ago.
    fn with(self, now: Instant, call: Duration) -> Series {
        let goes_on = self.end.is_some_and(|end| now.saturating_duration_since(end) <= LINGER[0]);
        Series { took: call + if goes_on { self.took } else { Duration::ZERO }, end: Some(now + call) }
    }
}

/// The number of threads, of `wanted`, that a call of `nanos` nanoseconds need not wait for: the idle ones,
/// or all `wanted` if its series is long enough to pay for waking more threads for the next calls.
pub fn ready(nanos: f64, wanted: u32) -> u32 {
    let idle = u32::try_from(idle()).unwrap_or(u32::MAX);
    if idle >= wanted {
        return wanted;
    }
    let series = SERIES.get().with(Instant::now(), Duration::from_nanos(nanos as u64));
    let long = series.took >= LONG;
    SERIES.set(if long { Series::default() } else { series });
    if long { wanted } else { idle }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_one_soon_after_another_are_a_series() {
        let (start, call) = (Instant::now(), Duration::from_micros(200));
        let first = Series::default().with(start, call);
        assert_eq!(first.took, call);
        // The gap between two calls counts from the end of the first call to the beginning of the next one.
        let second = first.with(start + call + LINGER[0] / 2, call);
        assert_eq!(second.took, 2 * call);
        let late = start + Duration::from_millis(10);
        assert_eq!(second.with(late, call).took, call);
    }
}
