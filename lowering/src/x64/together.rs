//! Several groups of a round together.
//!
//! A processor finds what can begin among the next hundred instructions or so. The groups of a round do not wait for each other: where their
//! instructions take turns, one of each, those that wait for the same have others between them that do not, and more can begin sooner than where one
//! group follows the other. On a Zen 4 loops of 20 to 70 instructions take .85 to .97 of the time. All values that are in registers at one point of a
//! group are there once for each: so many groups take turns as there are registers for.

use super::machine::{Origin, Segment, V};
use super::prepared::Prepared;
use super::schedule::{MANY_STAGES, Schedule};

/// Of stages with fewer instructions than these, loads and stores among them, nothing waits long.
const SHORT: usize = 12;
/// So many registers have to be left for what comes from outside, as constants.
const LEFT: usize = 4;
/// The masks that there are registers for.
const MASKS: usize = 6;
/// The groups of a round that are worth their compilation, where they take turns: in loops of one or two stages, and of more.
const MOST: [usize; 2] = [3, 2];

/// True if so many vector registers do for groups each of which has so many values at most.
pub fn fit_registers(groups: usize, live: usize, registers: usize) -> bool {
    groups * live + LEFT < registers
}

/// True if so many groups should take turns: there are registers for that, and it is worth it.
pub fn fit_together(group: &Prepared, groups: usize, registers: usize) -> bool {
    let ([vectors, masks], segment) = (group.most_live, &group.segment);
    let fit = fit_registers(groups, vectors, registers) && groups * masks <= MASKS;
    fit && segment.insts.len() >= SHORT && !segment.calls()
}

/// The groups of a round whose stages are these: as many as there are registers for in all of them, two where there are for two in some, and else what
/// the schedule says.
pub fn groups(stages: &[Prepared], schedule: Schedule, registers: usize) -> usize {
    if stages.len() >= MANY_STAGES {
        return schedule.groups;
    }
    let most = MOST[usize::from(stages.len() > 2)].max(schedule.groups).min(schedule.most_groups());
    let fit = |stage: &Prepared, groups| fit_together(stage, groups, registers);
    let all = (2..=most).rev().find(|&groups| stages.iter().all(|stage| fit(stage, groups)));
    all.or((most >= 2 && stages.iter().any(|stage| fit(stage, 2))).then_some(2)).unwrap_or(schedule.groups)
}

/// A segment for so many groups, whose instructions take turns. What comes from outside is the same for all of them, and keeps its name.
pub fn together(segment: &Segment, groups: usize) -> Segment {
    let mut all = Segment { insts: Vec::with_capacity(segment.insts.len() * groups), infos: segment.infos.clone() };
    // By group after the first one, what each value is there.
    let mut names: Vec<V> = Vec::with_capacity(segment.infos.len() * (groups - 1));
    for _ in 1..groups {
        for (v, info) in (0..).map(V).zip(&segment.infos) {
            names.push(if info.origin == Origin::Computed { all.fresh(info.class, info.origin) } else { v });
        }
    }
    for (inst, number) in &segment.insts {
        all.insts.push((inst.clone(), *number));
        for names in names.chunks(segment.infos.len()) {
            all.insts.push((inst.renamed(|v| names[v.0 as usize]), *number));
        }
    }
    all
}
