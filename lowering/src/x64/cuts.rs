//! Where the innermost loop is cut into [`stages`](super::stages).
//!
//! That is found by dynamic programming over an estimate of the time of each stage: of what it takes to issue its instructions, or those that
//! multiply, and, since so many of them wait at once, of what they wait. Neither is hidden by the other altogether: the estimate is the root of the
//! sum of their squares. Where groups take turns ([`together`](super::together)) it is as if more of them waited at once.

use super::level::Level;
use super::together::fit_registers;

/// Where so many groups take turns: the part of what one instruction waits that it adds, as so many wait at once.
const WINDOWS: [(usize, f64); 3] = [(3, 1.0 / 160.0), (2, 1.0 / 130.0), (1, 1.0 / 90.0)];

/// What depends on the width of vectors. These numbers, and those above and below, are the ones of those tried with which the functions and workloads of
/// `docs/performance.md` took least time on a Zen 4.
struct Rates {
    /// Cycles for an instruction, and for one that multiplies.
    issue: f64,
    multiply: f64,
    /// The cycles of a stage's loop.
    round: f64,
    /// A cut has to save this part of the time.
    gain: f64,
}

const AVX2: Rates = Rates { issue: 1.0 / 3.0, multiply: 0.5, round: 2.0, gain: 0.1 };
const EVEX: Rates = Rates { issue: 0.5, multiply: 1.0, round: 1.0, gain: 0.02 };

/// The most instructions of a stage that are thought of.
const MOST: usize = 256;
/// A stage is not made longer where its instructions take so many times as long, each, as when it was shorter.
const SLOW: f64 = 1.1;

/// The place of no instruction.
pub const NOWHERE: u32 = u32::MAX;

/// An instruction, as far as it says how long others wait.
#[derive(Clone, Copy)]
pub struct Link {
    pub latency: f64,
    pub issue: f64,
    pub multiplications: f64,
    /// The instructions that it becomes; 0.5 for part of another one.
    pub count: f64,
    /// The places of the instructions that make its operands.
    pub from: [u32; 4],
    /// The registers that its results are in, and the place of the last instruction that needs them.
    pub results: u32,
    pub last_use: u32,
}

/// The instructions by place, and where they can be cut.
pub struct Cutting<'a> {
    pub level: Level,
    pub links: &'a [Link],
    /// For each place, what it takes to cut before it besides the loop, in cycles; none if it can't be.
    pub crossing: &'a [Option<f64>],
    /// The last place before which they may be cut.
    pub last: usize,
}

/// What is known of a stage to which instructions are added.
#[derive(Clone, Copy, Default)]
struct Stage {
    issued: f64,
    multiplied: f64,
    /// Its instructions, as far as they take room among those that wait.
    count: f64,
    /// The registers of what it has made and needs, and the most that there were.
    live: u32,
    most: u32,
    /// When the last result can be used.
    longest: f64,
}

/// The same of each of its instructions.
struct Marks {
    /// By place, when the result can be used: at once, if it is made before the stage. At the end that of no instruction.
    ready: Vec<f64>,
    /// By place, the registers of results of the stage that nothing after it needs.
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

    /// For a stage that begins after this instruction.
    fn pass(&mut self, at: usize, link: &Link) {
        self.ready[at] = 0.0;
        if link.last_use != NOWHERE {
            self.freed[link.last_use as usize] -= link.results;
        }
    }

    /// When the last operand can be used.
    fn of_operands(&self, link: &Link) -> f64 {
        let none = self.ready.len() - 1;
        let [a, b, c, d] = link.from.map(|at| self.ready[(at as usize).min(none)]);
        later(later(a, b), later(c, d))
    }
}

impl Stage {
    /// With the next instruction.
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

/// What stages take.
struct Estimate {
    rates: &'static Rates,
    /// By the registers that a stage needs, the part of what its instructions wait that each adds.
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
    /// Where stages begin, besides the first, with so many stages at most.
    pub fn cuts(&self, most: usize) -> Vec<usize> {
        let prices = std::iter::successors(Some(1.0), |price| Some(price * 1.5)).take(if most > 1 { 30 } else { 0 });
        // None if few would be too long to be thought of.
        prices.map(|price| self.cuts_at(price)).find(|cuts| cuts.len() < most).unwrap_or_default()
    }

    /// Where stages begin, besides the first, if cuts cost so many times what they do.
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
        // The least time of all before a place, and where the last stage of that begins.
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
            // The least time of an instruction, with a cut after it.
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
                // Stages wait the longer for each instruction, the more they have: beyond this it is better to cut.
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

    /// True if a cut here takes no more than one place before or after. Where it is as much at all three, each third place is enough.
    fn is_low(&self, at: usize) -> bool {
        let Some(here) = self.crossing[at] else { return false };
        let crossing = |at: Option<usize>| self.crossing.get(at?).copied().flatten();
        let beside = [crossing(at.checked_sub(1)), crossing(Some(at + 1))];
        let lower = beside.into_iter().flatten().any(|other| other < here);
        let alike = beside.iter().all(|&other| other == Some(here));
        !lower && (!alike || at.is_multiple_of(3))
    }
}
