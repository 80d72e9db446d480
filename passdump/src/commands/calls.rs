//! Times calls. `exec --time` and `bench` share it, so both report the same figure.
//!
//! Calls are timed in batches, after warm-up calls. Each result is dropped at once, so that the
//! executable reuses its buffer. Results that are kept would need fresh pages in each call, and page
//! faults take several times as long as filling the pages.

use crate::error::Error;
use cpu_time::ProcessTime;
use rewright::exec;
use rewright::ndarray::{ArcArray, Axis, IxDyn, Slice};
use rewright::{Array, Datum, Element, EvalError, with_array};
use std::time::{Duration, Instant};

/// The minimal time of a batch, to amortize the cost of reading the clock.
const SHORTEST: Duration = Duration::from_micros(20);

/// The maximal number of calls in a batch.
const MOST: u64 = 1 << 20;

/// Warm-up calls before the measurement, if time allows: the first calls plan and allocate memory.
const FIRST: usize = 3;

/// Bytes of a cache line.
const LINE: usize = 64;

/// The times of a number of calls.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Wall-clock time.
    pub elapsed: Duration,
    /// Processor time, over all threads of this process.
    pub processor: Duration,
}

/// The times of calls.
pub struct Calls {
    /// Wall-clock nanoseconds for each call, one value for each batch, sorted.
    pub elapsed: Vec<f64>,
    /// Processor nanoseconds, likewise.
    pub processor: Vec<f64>,
    /// The number of calls in a batch.
    pub batch: u64,
}

/// Times `count` calls.
pub fn timed(count: u64, mut call: impl FnMut() -> Result<(), EvalError>) -> Result<Round, EvalError> {
    let (processor, start) = (ProcessTime::now(), Instant::now());
    (0..count).try_for_each(|_| call())?;
    Ok(Round { elapsed: start.elapsed(), processor: processor.elapsed() })
}

/// Measures batches of calls until the time is over, at least one batch. `run` makes the given number of
/// calls.
pub fn measure<E>(time: Duration, mut run: impl FnMut(u64) -> Result<Round, E>) -> Result<Calls, E> {
    let begin = Instant::now();
    for _ in 0..FIRST {
        run(1)?;
        if begin.elapsed() >= time {
            break;
        }
    }
    let mut batch = 1;
    let mut rounds = vec![run(batch)?];
    while rounds[0].elapsed < SHORTEST && batch < MOST {
        batch *= 2;
        rounds[0] = run(batch)?;
    }
    while begin.elapsed() < time {
        rounds.push(run(batch)?);
    }
    let sorted = |time: fn(&Round) -> Duration| {
        let mut times: Vec<f64> = rounds.iter().map(|r| time(r).as_secs_f64() * 1e9 / batch as f64).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    Ok(Calls { elapsed: sorted(|r| r.elapsed), processor: sorted(|r| r.processor), batch })
}

/// The quantile of sorted times.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = (part * (sorted.len().max(1) - 1) as f64).round() as usize;
    sorted.get(at).copied().unwrap_or_default()
}

/// Copies an array to a buffer that is aligned to cache lines, on huge pages if it is large. Otherwise
/// the placement by the allocator, and with it the time of calls, varies.
pub fn aligned(datum: &Datum) -> Result<Datum, Error> {
    let Datum::Array(array) = datum else { return Ok(datum.clone()) };
    with_array!(array, |a| in_line(a).map(Datum::Array)).ok_or_else(no_memory)
}

fn in_line<T: Element>(array: &ArcArray<T, IxDyn>) -> Option<Array> {
    let spare = LINE / size_of::<T>();
    let Some(&first) = array.first() else { return Some(T::wrap(array.clone())) };
    let mut buffer = Vec::with_capacity(array.len() + spare);
    exec::prefer_huge_pages(buffer.spare_capacity_mut());
    buffer.resize(array.len() + spare, first);
    let skip = buffer.as_ptr().align_offset(LINE).min(spare);
    buffer[skip..].iter_mut().zip(array.iter()).for_each(|(to, from)| *to = *from);
    let mut line = ArcArray::from_vec(buffer);
    line.slice_axis_inplace(Axis(0), Slice::from(skip..skip + array.len()));
    Some(T::wrap(line.into_shape_with_order(IxDyn(array.shape())).ok()?))
}

/// The out-of-memory error.
pub fn no_memory() -> Error {
    Error::message("there is no memory for the arrays")
}
