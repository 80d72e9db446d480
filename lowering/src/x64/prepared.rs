//! Use information of a segment for register allocation: the uses of each value, inputs and outputs,
//! register pressure, and the values that stay in registers during the loop.

use super::machine::{Class, Info, Inst, Origin, Segment, V};
use super::together::{fit_together, together};

/// Later than any use.
pub const NEVER: u32 = u32::MAX;

/// A segment with its use information.
pub struct Prepared {
    pub segment: Segment,
    /// For each value the beginning of its uses in `uses`; at the end, the end of the last one's.
    starts: Vec<u32>,
    /// The numbers of the using instructions.
    uses: Vec<u32>,
    /// Values that stay in registers during the loop.
    pub pins: Vec<V>,
    /// The inputs of the segment, by number.
    pub inputs: Vec<Option<V>>,
    /// The values of outputs, with the output numbers.
    targets: Vec<(V, u32)>,
    /// The greatest number of vectors that are live at once, without those from outside, and of masks.
    pub most_live: [usize; 2],
    /// The number of interleaved groups, and the group of each instruction if there are several.
    pub groups: usize,
    pub turns: Vec<u8>,
    /// The interleaved segment of several groups.
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

    /// The registers of pinned values, one bit each.
    pub fn pinned(&self) -> u32 {
        (1 << self.pins.len()) - 1
    }

    /// The number of uses of a value.
    pub fn count(&self, v: V) -> u32 {
        self.starts[v.0 as usize + 1] - self.starts[v.0 as usize]
    }

    /// The next instruction that uses a value, after `done` uses; `NEVER` after the last one.
    pub fn next_use(&self, v: V, done: u32) -> u32 {
        let at = self.starts[v.0 as usize] + done;
        if at < self.starts[v.0 as usize + 1] { self.uses[at as usize] } else { NEVER }
    }

    /// The number of the output that a value becomes.
    pub fn target(&self, v: V) -> Option<u32> {
        self.targets.iter().find(|(src, _)| *src == v).map(|(_, number)| *number)
    }

    /// Pins values from outside in registers, those with most uses first, as far as register pressure
    /// allows.
    pub fn pin(&mut self, registers: usize) {
        if !self.segment.clobbers() {
            self.pins = self.outside();
            // One more register is needed for reloads.
            let room = registers.saturating_sub(self.most_live[0] + 1);
            let spare = usize::from(self.pins.len() > room);
            self.pins.truncate(room.saturating_sub(spare));
        }
    }

    /// The greatest number of live vectors, without those from outside and without outputs, which replace
    /// inputs.
    pub fn most_live_besides_outputs(&self) -> usize {
        most_live(&self.segment, &self.starts, &|v| self.target(v).is_none())[0]
    }

    /// Interleaves the segment for several groups.
    pub fn of_groups(&self, groups: usize) -> Prepared {
        let (segment, turns) = together(&self.segment, groups);
        Prepared { groups, turns, ..Prepared::new(segment) }
    }

    /// Pins values for a round of `groups` groups. Interleaves as many groups as the free vector and mask
    /// registers allow.
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

    /// Vectors from outside, those with most uses first.
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

/// See [`Prepared::most_live`]. `starts` gives the number of uses; only values for which `counts` holds are
/// counted.
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
