//! Loop fission: decides where the innermost loop is cut into [`stages`](super::stages).
//!
//! The cuts are found by dynamic programming over a time estimate of each stage. The estimate combines the
//! throughput of instruction issue, or of the multiplication units, with the latency that remains after
//! out-of-order overlap. Neither part fully hides the other: the estimate is the root of the sum of their
//! squares. Interleaved groups ([`together`](super::together)) act like a larger reorder window.

use super::level::Level;
use super::together::fit_registers;

/// For each number of interleaved groups, the reciprocal of the effective reorder window, in instructions.
const WINDOWS: [(usize, f64); 3] = [(3, 1.0 / 160.0), (2, 1.0 / 130.0), (1, 1.0 / 90.0)];

/// Rates that depend on the vector width. These constants, and those above and below, are tuned: of those
/// tried, they gave the least time on Zen 4 for the functions and workloads of `docs/performance.md`.
struct Rates {
    /// Cycles to issue an instruction, and a multiplication.
    issue: f64,
    multiply: f64,
    /// The cycles of loop overhead of a stage.
    round: f64,
    /// The least share of the time that the cuts have to save.
    gain: f64,
}

const AVX2: Rates = Rates { issue: 1.0 / 3.0, multiply: 0.5, round: 2.0, gain: 0.1 };
const EVEX: Rates = Rates { issue: 0.5, multiply: 1.0, round: 1.0, gain: 0.02 };

/// The most instructions of a stage that are considered.
const MOST: usize = 256;
/// A stage is not extended further once its time for each instruction is this factor above the least one.
const SLOW: f64 = 1.1;

/// The place of no instruction.
pub const NOWHERE: u32 = u32::MAX;

/// An instruction with the costs and dependences that the estimate needs.
#[derive(Clone, Copy)]
pub struct Link {
    pub latency: f64,
    pub issue: f64,
    pub multiplications: f64,
    /// The number of machine instructions; 0.5 for a folded operand.
    pub count: f64,
    /// The places of the instructions that define its operands.
    pub from: [u32; 4],
    /// The number of registers of its results, and the place of their last use.
    pub results: u32,
    pub last_use: u32,
}

/// The instructions by place, and where they can be cut.
pub struct Cutting<'a> {
    pub level: Level,
    pub links: &'a [Link],
    /// For each place, the cycles that a cut before it costs besides loop overhead; `None` if no cut is
    /// possible there.
    pub crossing: &'a [Option<f64>],
    /// The last place at which a cut is allowed.
    pub last: usize,
}

/// The estimate of a stage to which instructions are added.
#[derive(Clone, Copy, Default)]
struct Stage {
    issued: f64,
    multiplied: f64,
    /// The number of entries that its instructions take in the reorder window.
    count: f64,
    /// The present register pressure of its values, and the greatest one.
    live: u32,
    most: u32,
    /// The length of the critical path in cycles.
    longest: f64,
}

/// The state of each instruction of a stage.
struct Marks {
    /// By place, the cycle at which the result is ready; 0 if it is defined before the stage. The last entry
    /// stands for no instruction.
    ready: Vec<f64>,
    /// By place, the number of registers of the stage's results whose last use is there.
    freed: Vec<u32>,
}

fn later(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

impl Marks {
    /// For a stage that begins with the first instruction.
    fn new(links: &[Link]) -> Marks {
        let mut freed = vec![0; links.len()];
        for link in links.iter().filter(|link| link.last_use != NOWHERE) {
            freed[link.last_use as usize] += link.results;
        }
        Marks { ready: vec![0.0; links.len() + 1], freed }
    }

    /// Moves the beginning of the stage past this instruction.
    fn pass(&mut self, at: usize, link: &Link) {
        self.ready[at] = 0.0;
        if link.last_use != NOWHERE {
            self.freed[link.last_use as usize] -= link.results;
        }
    }

    /// The cycle at which the last operand is ready.
    fn of_operands(&self, link: &Link) -> f64 {
        let none = self.ready.len() - 1;
        let [a, b, c, d] = link.from.map(|at| self.ready[(at as usize).min(none)]);
        later(later(a, b), later(c, d))
    }
}

impl Stage {
    /// Adds the next instruction.
    fn add(&mut self, at: usize, link: &Link, marks: &mut Marks) {
        let done = marks.of_operands(link) + link.latency;
        marks.ready[at] = done;
        self.longest = later(self.longest, done);
        self.issued += link.issue;
        self.multiplied += link.multiplications;
        self.count += link.count;
        self.live += link.results;
        self.most = self.most.max(self.live);
        self.live -= marks.freed[at];
    }
}

/// The estimate of the time of stages.
struct Estimate {
    rates: &'static Rates,
    /// By the register pressure of a stage, the reciprocal of the effective reorder window.
    shares: Vec<f64>,
}

impl Estimate {
    fn new(level: Level) -> Estimate {
        let registers = level.values();
        let share = |most: usize| {
            let fit = |&&(groups, _): &&(usize, f64)| groups == 1 || fit_registers(groups, most, registers);
            WINDOWS.iter().find(fit).map_or(1.0, |(_, share)| *share)
        };
        let rates = if level.is_evex() { &EVEX } else { &AVX2 };
        Estimate { rates, shares: (0..=registers).map(share).collect() }
    }

    fn time(&self, stage: &Stage) -> f64 {
        let share = self.shares[(stage.most as usize).min(self.shares.len() - 1)];
        let busy = later(stage.issued * self.rates.issue, stage.multiplied * self.rates.multiply);
        let waits = stage.count * stage.longest * share;
        (busy * busy + waits * waits).sqrt()
    }
}

impl Cutting<'_> {
    /// The places at which stages begin, besides the first, for at most `most` stages.
    pub fn cuts(&self, most: usize) -> Vec<usize> {
        let prices = std::iter::successors(Some(1.0), |price| Some(price * 1.5)).take(if most > 1 { 30 } else { 0 });
        // There are no cuts if this takes stages that are longer than considered.
        prices.map(|price| self.cuts_at(price)).find(|cuts| cuts.len() < most).unwrap_or_default()
    }

    /// The places at which stages begin, besides the first, if cuts cost `price` times their estimate.
    fn cuts_at(&self, price: f64) -> Vec<usize> {
        let (links, count) = (self.links, self.links.len());
        let estimate = Estimate::new(self.level);
        let cut = |at: usize| {
            let crossing = self.crossing[at].filter(|_| at <= self.last && self.is_low(at))?;
            Some(price * (estimate.rates.round + crossing))
        };
        let cuts: Vec<Option<f64>> = (0..=count).map(cut).collect();
        let mut marks = Marks::new(links);
        let mut whole = Stage::default();
        links.iter().enumerate().for_each(|(at, link)| whole.add(at, link, &mut marks));
        let whole = estimate.time(&whole);
        // By place, the least time of all instructions before it, and the beginning of the last stage of
        // that solution.
        let mut best = vec![(f64::INFINITY, 0); count + 1];
        best[0].0 = 0.0;
        for begin in 0..=self.last.min(count.saturating_sub(1)) {
            if begin > 0 {
                marks.pass(begin - 1, &links[begin - 1]);
            }
            let (before, Some(paid)) = (best[begin].0, cuts[begin]) else { continue };
            if !before.is_finite() {
                continue;
            }
            let before = before + if begin == 0 { 0.0 } else { paid };
            let mut stage = Stage::default();
            // The least time for each issued instruction, including a cut after it.
            let mut pace = f64::INFINITY;
            for end in (begin + 1..=count).take(MOST) {
                stage.add(end - 1, &links[end - 1], &mut marks);
                if end < count && cuts[end].is_none() {
                    continue;
                }
                let time = estimate.time(&stage);
                if before + time < best[end].0 {
                    best[end] = (before + time, begin);
                }
                // The latency of a stage grows faster than its length; from here on a cut is better.
                if time > SLOW * pace * stage.issued {
                    break;
                }
                if let Some(cut) = cuts[end].filter(|cut| time + cut < pace * stage.issued) {
                    pace = (time + cut) / stage.issued;
                }
            }
        }
        let mut cuts = Vec::new();
        if best[count].0 < whole * (1.0 - estimate.rates.gain) {
            let mut at = best[count].1;
            while at > 0 {
                cuts.push(at);
                at = best[at].1;
            }
        }
        cuts.reverse();
        cuts
    }

    /// True if a cut here costs no more than at both neighboring places. On plateaus only each third place
    /// qualifies.
    fn is_low(&self, at: usize) -> bool {
        let Some(here) = self.crossing[at] else { return false };
        let crossing = |at: Option<usize>| self.crossing.get(at?).copied().flatten();
        let beside = [crossing(at.checked_sub(1)), crossing(Some(at + 1))];
        let lower = beside.into_iter().flatten().any(|other| other < here);
        let alike = beside.iter().all(|&other| other == Some(here));
        !lower && (!alike || at.is_multiple_of(3))
    }
}
