//! Whether threads that sleep are worth waking up for a call that is too short for that by itself.
//!
//! Short calls come in series. Who is woken up for one of them is late for it, but not for the next ones, and lingers from one to the next (`thread_pool.rs`).

use super::thread_pool::{LINGER, idle};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// A series of calls that took so long is likely to go on for as long as waking up takes.
const LONG: Duration = Duration::from_micros(100);

/// Calls of a thread, each soon after the one before.
#[derive(Clone, Copy, Default)]
struct Series {
    /// What they took.
    took: Duration,
    /// When the latest one is thought to have ended.
    end: Option<Instant>,
}

thread_local! {
    static SERIES: Cell<Series> = Cell::default();
}

impl Series {
    /// With one more call, of so much time from now on, if it still belongs to it.
    fn with(self, now: Instant, call: Duration) -> Series {
        let goes_on = self.end.is_some_and(|end| now.saturating_duration_since(end) <= LINGER[0]);
        Series { took: call + if goes_on { self.took } else { Duration::ZERO }, end: Some(now + call) }
    }
}

/// How many threads, of so many, a call of so many nanoseconds need not wait for: those that are idle, or all of these if the series
/// which it is in is long enough to wake more up for the next calls.
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
        // From the end of one, however long it is, to the beginning of the next.
        let second = first.with(start + call + LINGER[0] / 2, call);
        assert_eq!(second.took, 2 * call);
        let late = start + Duration::from_millis(10);
        assert_eq!(second.with(late, call).took, call);
    }
}
