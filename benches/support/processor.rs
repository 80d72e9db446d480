//! Measures the time of the processor instead of that of the clock: what other programs do on the machine
//! counts less.

use cpu_time::ThreadTime;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use std::time::Duration;

/// The processor's time of this thread.
pub struct Processor;

impl Measurement for Processor {
    type Intermediate = ThreadTime;
    type Value = Duration;

    fn start(&self) -> ThreadTime {
        ThreadTime::now()
    }
    fn end(&self, begun: ThreadTime) -> Duration {
        begun.elapsed()
    }
    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }
    fn zero(&self) -> Duration {
        Duration::ZERO
    }
    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }
    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}
