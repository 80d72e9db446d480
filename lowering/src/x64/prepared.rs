//! What is known of a segment before its values have registers: when each is used, which ones are given to it, where they end, and which stay in
//! registers over all rounds of the loop.

use super::machine::{Class, Info, Inst, Origin, Segment, V};
use super::together::{fit_together, together};

/// Later than any use.
pub const NEVER: u32 = u32::MAX;

/// A segment, and when each value is used.
pub struct Prepared {
    pub segment: Segment,
    /// For each value where its uses begin in `uses`, and at the end where the last ones end.
    starts: Vec<u32>,
    /// The numbers of instructions.
    uses: Vec<u32>,
    /// Values that stay in registers over all rounds of the loop.
    pub pins: Vec<V>,
    /// What is given to the segment, by number.
    pub inputs: Vec<Option<V>>,
    /// The places, by number, that values end in.
    targets: Vec<(V, u32)>,
    /// The most vectors that are in registers at once, besides those from outside, and the most masks.
    pub most_live: [usize; 2],
    /// How many groups of a round it computes, and the group of each instruction if they are several.
    pub groups: usize,
    pub turns: Vec<u8>,
    /// The same for several groups.
    pub together: Option<Box<Prepared>>,
}

impl Prepared {
    pub fn new(segment: Segment) -> Prepared {
        let mut starts = vec![0; segment.infos.len() + 1];
        for (inst, _) in &segment.insts {
            inst.uses().iter().for_each(|v| starts[v.0 as usize + 1] += 1);
        }
        for v in 0..segment.infos.len() {
            starts[v + 1] += starts[v];
        }
        let mut next = starts.clone();
        let mut uses = vec![0; starts.last().copied().unwrap_or(0) as usize];
        for (n, (inst, _)) in (0..).zip(&segment.insts) {
            for v in inst.uses() {
                uses[next[v.0 as usize] as usize] = n;
                next[v.0 as usize] += 1;
            }
        }
        let mut inputs = Vec::new();
        for (v, info) in (0..).map(V).zip(&segment.infos) {
            if let Origin::Input(number) = info.origin {
                inputs.resize(inputs.len().max(number as usize + 1), None);
                inputs[number as usize] = Some(v);
            }
        }
        let target = |(inst, _): &(Inst, u32)| match *inst {
            Inst::Output { number, src, .. } => Some((src, number)),
            _ => None,
        };
        let targets = segment.insts.iter().filter_map(target).collect();
        let most_live = most_live(&segment, &starts, &|_| true);
        Prepared {
            segment,
            starts,
            uses,
            pins: Vec::new(),
            inputs,
            targets,
            most_live,
            groups: 1,
            turns: Vec::new(),
            together: None,
        }
    }

    /// The registers, one bit each, of what stays in them.
    pub fn pinned(&self) -> u32 {
        (1 << self.pins.len()) - 1
    }

    /// How many uses a value has.
    pub fn count(&self, v: V) -> u32 {
        self.starts[v.0 as usize + 1] - self.starts[v.0 as usize]
    }

    /// The instruction that uses a value next, after so many uses; `NEVER` after the last one.
    pub fn next_use(&self, v: V, done: u32) -> u32 {
        let at = self.starts[v.0 as usize] + done;
        if at < self.starts[v.0 as usize + 1] { self.uses[at as usize] } else { NEVER }
    }

    /// The number of the place that a value ends in.
    pub fn target(&self, v: V) -> Option<u32> {
        self.targets.iter().find(|(src, _)| *src == v).map(|(_, number)| *number)
    }

    /// Keeps values from outside in registers, those that are used most first, as far as the others leave room for them.
    pub fn pin(&mut self, registers: usize) {
        if !self.segment.clobbers() {
            self.pins = self.outside();
            // One more for what has to be loaded for an instruction.
            let room = registers.saturating_sub(self.most_live[0] + 1);
            let spare = usize::from(self.pins.len() > room);
            self.pins.truncate(room.saturating_sub(spare));
        }
    }

    /// The most vectors in registers at once, besides those from outside and outputs, which replace inputs.
    pub fn most_live_besides_outputs(&self) -> usize {
        most_live(&self.segment, &self.starts, &|v| self.target(v).is_none())[0]
    }

    /// The same segment for several groups.
    pub fn of_groups(&self, groups: usize) -> Prepared {
        let (segment, turns) = together(&self.segment, groups);
        Prepared { groups, turns, ..Prepared::new(segment) }
    }

    /// The same, for so many groups a round, of which several are computed together if there are vector registers and masks for them.
    pub fn pin_for(&mut self, groups: usize, free: [usize; 2]) {
        let registers = free[0];
        match (1..=groups).rev().find(|&n| groups.is_multiple_of(n) && fit_together(self, n, free)) {
            Some(n) if n > 1 => {
                let mut together = self.of_groups(n);
                together.pin(registers);
                self.pins.clone_from(&together.pins);
                self.together = Some(Box::new(together));
            }
            _ => self.pin(registers),
        }
    }

    /// Vectors from outside, those that are used most first.
    fn outside(&self) -> Vec<V> {
        let mut outside: Vec<V> = (0..self.segment.infos.len() as u32)
            .map(V)
            .filter(|&v| {
                let info = self.segment.info(v);
                let vector = matches!(info.class, Class::Vector(_));
                vector && !matches!(info.origin, Origin::Computed | Origin::Input(_)) && self.count(v) > 0
            })
            .collect();
        outside.sort_by_key(|&v| std::cmp::Reverse(self.count(v)));
        outside
    }
}

/// See [`Prepared::most_live`]; `starts` counts uses, and only some values count.
fn most_live(segment: &Segment, starts: &[u32], counts: &dyn Fn(V) -> bool) -> [usize; 2] {
    let kind = |info: &Info| usize::from(info.class == Class::Mask);
    let (mut live, mut most) = ([0usize; 2], [0usize; 2]);
    let mut left: Vec<u32> = starts.windows(2).map(|ends| ends[1] - ends[0]).collect();
    for (inst, _) in &segment.insts {
        if let Some(def) = inst.def().filter(|&v| counts(v)) {
            let kind = kind(segment.info(def));
            most[kind] = most[kind].max(live[kind] + 1);
            live[kind] += usize::from(left[def.0 as usize] > 0);
        }
        for v in inst.uses() {
            left[v.0 as usize] -= 1;
            let info = segment.info(v);
            let ends = info.origin == Origin::Computed && left[v.0 as usize] == 0 && counts(v);
            live[kind(info)] -= usize::from(ends);
        }
    }
    most
}
