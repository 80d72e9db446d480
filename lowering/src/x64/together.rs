//! Interleaving: merges the instructions of several groups of a round.
//!
//! An out-of-order processor picks ready instructions among the next hundred or so. The groups of a round
//! are independent of each other. With their instructions interleaved, independent instructions stand
//! between dependent ones, and more of them can begin early than with one group after the other. On Zen 4,
//! loops of 20 to 70 instructions take 0.85 to 0.97 of the time. Live values exist once for each interleaved
//! group, so that the number of registers limits the number of groups.

use super::machine::{Inst, Origin, Segment, V};
use super::prepared::Prepared;
use super::round_plan::{MANY_STAGES, RoundPlan};

/// Stages with fewer instructions, including loads and stores, have no long latencies.
const SHORT: usize = 12;
/// The registers that are left for values from outside, such as constants.
const LEFT: usize = 4;
/// The mask registers for values, if no accumulators are masks.
pub const MASKS: usize = 6;
/// The most interleaved groups that are worth their compilation: in loops of one or two stages, and of more.
/// Reductions have their number of groups in any case.
const MOST: [usize; 2] = [3, 2];

/// True if the registers suffice for `groups` groups with at most `live` live values each.
pub fn fit_registers(groups: usize, live: usize, registers: usize) -> bool {
    groups * live + LEFT < registers
}

/// True if `groups` groups should be interleaved: the vector and mask registers suffice, and it pays.
pub fn fit_together(group: &Prepared, groups: usize, registers: [usize; 2]) -> bool {
    let ([vectors, masks], segment) = (group.most_live, &group.segment);
    let fit = fit_registers(groups, vectors, registers[0]) && groups * masks <= registers[1];
    fit && segment.insts.len() >= SHORT && !segment.clobbers()
}

/// The groups of a round with these stages: the most for which the registers suffice in all stages. If that
/// is one, but the registers of some stage suffice for two, it is two; if of none, it is the number of the
/// schedule.
pub fn groups(stages: &[Prepared], schedule: RoundPlan, registers: usize) -> usize {
    if stages.len() >= MANY_STAGES {
        return schedule.groups;
    }
    let most = MOST[usize::from(stages.len() > 2)].max(schedule.groups).min(schedule.most_groups());
    let fit = |stage: &Prepared, groups| fit_together(stage, groups, [registers, MASKS]);
    let all = (2..=most).rev().find(|&groups| stages.iter().all(|stage| fit(stage, groups)));
    all.or((most >= 2 && stages.iter().any(|stage| fit(stage, 2))).then_some(2)).unwrap_or(schedule.groups)
}

/// Interleaves copies of a segment, one for each group, and returns the group of each instruction. Values
/// from outside and uniform values are not copied. Inputs and outputs of a group are numbered after those of
/// the group before it.
pub fn together(segment: &Segment, groups: usize) -> (Segment, Vec<u8>) {
    let mut all = Segment { insts: Vec::with_capacity(segment.insts.len() * groups), infos: segment.infos.clone() };
    let places = places(segment);
    let shared = shared(segment);
    // For each group but the first, the names of all values in it.
    let mut names: Vec<V> = Vec::with_capacity(segment.infos.len() * (groups - 1));
    for group in 1..groups as u32 {
        for (v, info) in (0..).map(V).zip(&segment.infos) {
            names.push(match info.origin {
                Origin::Computed if !shared[v.0 as usize] => all.fresh(info.class, info.origin),
                Origin::Input(number) => all.fresh(info.class, Origin::Input(number + group * places)),
                _ => v,
            });
        }
    }
    let mut turns = Vec::with_capacity(segment.insts.len() * groups);
    for (inst, number) in &segment.insts {
        all.insts.push((inst.clone(), *number));
        turns.push(0);
        if inst.def().is_some_and(|v| shared[v.0 as usize]) {
            continue;
        }
        for (group, names) in (1..).zip(names.chunks(segment.infos.len().max(1))) {
            let mut inst = inst.renamed(|v| names[v.0 as usize]);
            if let Inst::Output { number, .. } = &mut inst {
                *number += group * places;
            }
            all.insts.push((inst, *number));
            turns.push(group as u8);
        }
    }
    (all, turns)
}

/// Whether each computed value is uniform: the same for all groups.
fn shared(segment: &Segment) -> Vec<bool> {
    let mut shared = vec![false; segment.infos.len()];
    for (inst, _) in &segment.insts {
        let is_shared = |v: &V| match segment.info(*v).origin {
            Origin::Computed => shared[v.0 as usize],
            Origin::Input(_) => false,
            Origin::Pool { .. } | Origin::Home(_) => true,
        };
        let same = match inst {
            Inst::Broadcast { .. } => true,
            Inst::Op(op) => op.row.is_none() && inst.uses().iter().all(is_shared),
            _ => false,
        };
        if let Some(v) = inst.def().filter(|_| same) {
            shared[v.0 as usize] = true;
        }
    }
    shared
}

/// The number of inputs or of outputs of a group, whichever is greater.
fn places(segment: &Segment) -> u32 {
    let given = segment.infos.iter().filter_map(|info| match info.origin {
        Origin::Input(number) => Some(number),
        _ => None,
    });
    let gives = segment.insts.iter().filter_map(|(inst, _)| match inst {
        Inst::Output { number, .. } => Some(*number),
        _ => None,
    });
    given.chain(gives).max().map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::x64::codes;
    use crate::x64::level::Level;
    use crate::x64::machine::{Class, Op, Over, Width};
    use smallvec::SmallVec;

    /// `out = a + c + c + ...`, with `links` additions of a constant, and then `added` additions of earlier
    /// sums.
    fn sums(links: usize, added: usize) -> Segment {
        let mut segment = Segment::default();
        let vector = Class::Vector(Width::Z);
        let constant = segment.fresh(vector, Origin::Pool { offset: 0, element: 8 });
        let first = segment.fresh(vector, Origin::Computed);
        let mut values = vec![first];
        let mut insts = vec![Inst::Load { row: 0, nth: 0, dst: first }];
        for link in 0..links + added {
            let dst = segment.fresh(vector, Origin::Computed);
            let other = if link < links { constant } else { values[link - links] };
            insts.push(Inst::Op(Op {
                form: &codes::ADD_PD,
                width: Width::Z,
                dst,
                srcs: SmallVec::from_slice(&[values[link], other]),
                row: None,
                imm: None,
                over: Over::Nothing,
                folds: true,
                same_width: true,
                mask: None,
            }));
            values.push(dst);
        }
        insts.push(Inst::Store { row: 1, nth: 0, src: values[links + added] });
        segment.insts = insts.into_iter().map(|inst| (inst, 0)).collect();
        segment
    }

    #[test]
    fn instructions_of_groups_alternate_and_share_invariant_values() {
        let one = sums(20, 0);
        let (three, _) = together(&one, 3);
        assert_eq!(three.insts.len(), 3 * one.insts.len());
        for (turns, (own, _)) in three.insts.chunks(3).zip(&one.insts) {
            assert!(turns.iter().all(|(inst, _)| std::mem::discriminant(inst) == std::mem::discriminant(own)));
            let made: Vec<V> = turns.iter().filter_map(|(inst, _)| inst.def()).collect();
            assert!((1..made.len()).all(|n| !made[..n].contains(&made[n])), "each has a register of its own: {made:?}");
            // The second operand is the constant; the first one is defined by the same group.
            for (group, (inst, _)) in turns.iter().enumerate() {
                if let Inst::Op(op) = inst {
                    let made_by = three.insts.iter().position(|(inst, _)| inst.def() == Some(op.srcs[0]));
                    assert!(made_by.is_some_and(|at| at % 3 == group) && op.srcs[1] == V(0), "{op:?}");
                }
            }
        }
    }

    #[test]
    fn each_group_has_accumulators_of_its_own() {
        let mut one = sums(20, 0);
        let given = [0, 1].map(|number| one.fresh(Class::Vector(Width::Z), Origin::Input(number)));
        let Some((Inst::Store { src: sum, .. }, _)) = one.insts.pop() else { panic!("it ends with its store") };
        for (number, src) in (0..).zip([sum, given[1]]) {
            one.insts.push((Inst::Output { number, src, size: 8 }, 0));
        }
        let three = Prepared::new(together(&one, 3).0);
        assert_eq!(three.inputs.len(), 6);
        let gives = |(inst, _): &(Inst, u32)| match inst {
            Inst::Output { number, src, .. } => Some((*number as usize, *src)),
            _ => None,
        };
        let gives: Vec<(usize, V)> = three.segment.insts.iter().filter_map(gives).collect();
        assert_eq!(gives.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [0, 2, 4, 1, 3, 5]);
        for (number, src) in gives {
            let made_at = three.segment.insts.iter().position(|(inst, _)| inst.def() == Some(src));
            match number % 2 {
                0 => assert_eq!(made_at.map(|at| at % 3), Some(number / 2), "the sum of its own group"),
                _ => assert_eq!(three.inputs[number], Some(src)),
            }
        }
    }

    #[test]
    fn as_many_take_turns_as_there_are_registers_for() {
        let most = |segment: Segment, level: Level| {
            let group = Prepared::new(segment);
            (1..=4).rev().find(|&groups| fit_together(&group, groups, [level.values(), MASKS]))
        };
        assert_eq!(most(sums(20, 0), Level::Avx512), Some(4));
        assert_eq!(most(sums(10, 10), Level::Avx512), Some(2), "eleven values wait");
        assert_eq!(most(sums(10, 10), Level::Avx2), None);
        assert_eq!(most(sums(4, 0), Level::Avx512), None, "nothing waits long");
    }

    #[test]
    fn a_loop_without_stages_takes_turns() {
        let mut short = Prepared::new(sums(20, 0));
        short.pin_for(3, [Level::Avx512.values(), MASKS]);
        assert_eq!(short.together.map(|together| together.groups), Some(3));
        let mut long = Prepared::new(sums(10, 10));
        long.pin_for(3, [Level::Avx512.values(), MASKS]);
        assert!(long.together.is_none(), "two of three do not go up");
    }
}
