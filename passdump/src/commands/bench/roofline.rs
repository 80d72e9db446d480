//! Roofline: a lower bound on the time of a call, from loops that only move memory or only compute.
//!
//! Every implementation must read the arguments and write the results, and a kernel must issue its
//! instructions.

use super::case::BenchCase;
use crate::error::Error;
use cpu_time::ProcessTime;
use rewright::lowering::internals::kernel::Kernel;
use rewright::lowering::internals::kernel::{KOp, KValue};
use serde_json::{Value, json};
use std::time::Duration;

/// The measuring time of each loop.
const TIME: Duration = Duration::from_millis(60);

/// The roofline of a case: see the module documentation.
#[derive(Clone, Copy, Debug)]
pub struct Roofline {
    /// Nanoseconds to read the arguments and write the results, measured on equally many arrays of equal
    /// total size.
    pub memory_ns: f64,
    /// The bandwidth of these reads and writes, in gigabytes per second.
    pub bandwidth: f64,
    /// Nanoseconds to issue the vector instructions of the kernels.
    pub issue_ns: f64,
    /// Vector instructions per nanosecond, half multiply-adds and half additions.
    pub issue: f64,
}

impl Roofline {
    /// The least time of a call.
    pub fn bound_ns(&self) -> f64 {
        self.memory_ns.max(self.issue_ns)
    }
    /// The limiting resource: `memory` or `issue`.
    pub fn bound_by(&self) -> &'static str {
        if self.memory_ns >= self.issue_ns { "memory" } else { "issue" }
    }
    /// The roofline as a JSON object.
    pub fn as_json(&self) -> Value {
        json!({
            "memory_ns": self.memory_ns,
            "gigabytes_a_second": self.bandwidth,
            "issue_ns": self.issue_ns,
            "vector_instructions_a_ns": self.issue,
            "bound_ns": self.bound_ns(),
            "bound_by": self.bound_by(),
        })
    }
}

/// The vector register bytes that a kernel's instructions process per point. Each instruction counts the
/// bytes of its widest operand. Addresses, constants and loop-invariant values count nothing. Neither do
/// conversions to wider integers, because processors can accumulate narrower integers directly.
fn bytes_a_point(kernel: &Kernel) -> usize {
    let mut made_by = vec![None; kernel.values.len()];
    for inst in kernel.insts.iter().filter(|inst| inst.results > 0) {
        made_by[inst.first.0 as usize] = Some(inst);
    }
    // The size of the integer that the value is widened from, if any.
    let narrower = |value: KValue| {
        let inst = made_by[value.0 as usize].filter(|inst| inst.op == KOp::Convert)?;
        let [from, to] = [inst.args[0], value].map(|value| kernel.dtype(value));
        (!from.is_float() && !to.is_float() && from.size() < to.size()).then_some(from.size())
    };
    let size = |&value: &KValue| {
        let combined = |list: &[KValue]| list.iter().position(|&other| other == value);
        match &kernel.fold {
            // The accumulator is as wide as the item that is combined with it.
            Some(fold) if combined(&fold.left).is_some() => 0,
            Some(fold) => {
                let item = combined(&fold.right).map_or(value, |at| fold.items[at]);
                narrower(item).unwrap_or(kernel.dtype(item).size())
            }
            None => narrower(value).unwrap_or(kernel.dtype(value).size()),
        }
    };
    let counts = |op: &KOp| {
        !matches!(op, KOp::Const(_) | KOp::Param(_) | KOp::Index(_) | KOp::Load(..) | KOp::Store(..) | KOp::Bitcast)
    };
    // The `onward` instructions run in place of the fold's other ones, so they do not count.
    let other_way =
        kernel.fold.iter().filter_map(|fold| Some(fold.onward.as_ref()?.combine.clone())).next().unwrap_or_default();
    let inner = kernel.insts.iter().enumerate().filter(|(number, inst)| {
        kernel.level(inst) as usize == kernel.axes && counts(&inst.op) && !other_way.contains(number)
    });
    let issued = inner.map(|(_, inst)| inst).filter(|inst| narrower(inst.first).is_none());
    issued.map(|inst| inst.args.iter().map(size).max().unwrap_or(8)).sum()
}

/// Measures the roofline of a case.
#[cfg(target_arch = "x86_64")]
pub fn measure(case: &BenchCase) -> Result<Roofline, Error> {
    use rewright::lowering::internals::x64::Level;
    use rewright::lowering::internals::x64::probe::{Issue, Stores, Sweep};

    let level = Level::ALL.into_iter().rfind(|level| level.is_available());
    let level =
        level.ok_or_else(|| Error::message("--roofline: the processor has no AVX2, or REWRIGHT_X64 forbids it"))?;
    let refused = |e: rewright::lowering::internals::kernel::KernelError| Error::message(format!("--roofline: {e}"));
    // The probe takes at most four inputs and two outputs. For more arrays it moves the same bytes in
    // fewer arrays.
    let (reads, writes) = (case.reads.min(4), case.writes.min(2));
    let mut memory_ns = f64::INFINITY;
    let bytes = usize::try_from(case.bytes).unwrap_or(usize::MAX);
    if reads + writes > 0 {
        for stores in [Stores::Cached, Stores::Streaming] {
            let mut sweep = Sweep::new(level, reads, writes, bytes, stores).map_err(refused)?;
            let scale = case.bytes as f64 / sweep.bytes() as f64;
            let times = (1 << 16) / sweep.bytes().max(1) + 1;
            let ns = best(|| (0..times).for_each(|_| sweep.run())) / times as f64;
            memory_ns = memory_ns.min(ns * scale);
        }
    } else {
        memory_ns = 0.0;
    }
    let issue = Issue::new(level).map_err(refused)?;
    let rate = issue.run(1 << 16) as f64
        / best(|| {
            issue.run(1 << 16);
        });
    let bytes_of = if level == Level::Avx512 { 64 } else { 32 };
    let instructions: f64 =
        case.kernels().map(|kernel| bytes_a_point(kernel) as f64 * case.elements as f64 / f64::from(bytes_of)).sum();
    let bandwidth = if memory_ns > 0.0 { case.bytes as f64 / memory_ns } else { 0.0 };
    Ok(Roofline { memory_ns, bandwidth, issue_ns: instructions / rate, issue: rate })
}

/// Other processors are not supported.
#[cfg(not(target_arch = "x86_64"))]
pub fn measure(_: &BenchCase) -> Result<Roofline, Error> {
    Err(Error::message("--roofline measures x86-64 processors with AVX2 only"))
}

/// The least processor time of a run, in nanoseconds.
fn best(mut run: impl FnMut()) -> f64 {
    let begin = ProcessTime::now();
    let (mut least, mut count) = (Duration::MAX, 0);
    while count < 5 || begin.elapsed() < TIME {
        let start = ProcessTime::now();
        run();
        least = least.min(start.elapsed());
        count += 1;
    }
    least.as_secs_f64().max(1e-9) * 1e9
}
