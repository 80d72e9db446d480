//! Schedules that are given by hand: from names to the loops and buffers of a kernel, and back.

use super::collapse::Collapse;
use super::fission::Fission;
use super::jam::Jam;
use super::legal;
use super::sequence::{Sequence, Transform};
use super::split::Split;
use super::stage::Stage;
use super::text::joined;
use super::{Block, Schedule, ScheduleError};
use crate::kernel::KOp;
use crate::lower::{Bound, Lowered};
use rewright_ir::Name;
use smallvec::SmallVec;

/// The names of values that points contribute after `fission`.
const VALUE: &str = "value.";

impl Lowered {
    /// Takes a schedule that is given by hand, if it can be one of this expression.
    pub fn with_schedule(mut self, schedule: Schedule) -> Result<Lowered, ScheduleError> {
        if let Some(order) = &schedule.order {
            self.check_order(order)?;
        }
        if let Some(blocks) = &schedule.blocks {
            if self.fallible && !blocks.is_empty() {
                return ScheduleError::because(
                    "a point may fail, and the first one is reported, so loops run in order: leave `split`, `stage`, `collapse`, `fission` and `unroll_and_jam` out",
                );
            }
            self.check_names(blocks)?;
        }
        self.kernel.wishes.unroll = schedule.unroll;
        self.kernel.wishes.stages = schedule.stages;
        self.wish = schedule;
        Ok(self)
    }

    fn check_order(&self, order: &[Vec<Name>]) -> Result<(), ScheduleError> {
        let given: Vec<Name> = order.iter().flatten().copied().collect();
        let plain = self.names.iter().map(Name::to_string).collect::<Vec<_>>().join(", ");
        let is_known = self.names.iter().all(|name| given.iter().filter(|g| *g == name).count() == 1);
        if !is_known || given.len() != self.names.len() {
            return ScheduleError::because(format!(
                "`reorder` names each axis once: those of `reorder({plain})`, in any order"
            ));
        }
        let row = self.names.get(self.row..).unwrap_or_default();
        let keeps_row = given.iter().filter(|name| row.contains(name)).eq(row);
        if given != self.names && !(self.free_order && keeps_row) {
            return ScheduleError::because(format!(
                "these loops can't change places: reduce axes keep their order, and all axes do where a point may fail; allowed are `reorder({plain})` and `*` between neighbours"
            ));
        }
        Ok(())
    }

    fn check_names(&self, blocks: &[Block]) -> Result<(), ScheduleError> {
        let check_loop = |along: &[Name]| match along.iter().find(|axis| !self.names.contains(axis)) {
            Some(unknown) => {
                let axes = self.names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
                ScheduleError::because(format!("there is no axis `{unknown}`; there are {axes}"))
            }
            None => Ok(()),
        };
        blocks.iter().try_for_each(|block| match block {
            Block::Split { along, .. } | Block::Jam { along, .. } => check_loop(along),
            Block::Stage { operand, loops, .. } => {
                if self.buffer_named(*operand).is_none() {
                    let known = self.buffer_names.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>();
                    let known = known.join(", ");
                    return ScheduleError::because(format!("there is no array `{operand}`; there are {known}"));
                }
                loops.iter().try_for_each(|along| check_loop(along))
            }
            Block::Collapse { outer, inner } => check_loop(outer).and_then(|()| check_loop(inner)),
            Block::Fission { outer, inner, first } => {
                if self.item_work.is_none() || self.block_join.is_some() {
                    return ScheduleError::because(
                        "`fission`: the points of its rows can't be computed by themselves; leave it out",
                    );
                }
                check_loop(outer).and_then(|()| check_loop(inner)).and_then(|()| self.check_names(first))
            }
        })
    }

    /// The number of a buffer, or of a value of a point, which come after the buffers.
    fn buffer_named(&self, name: Name) -> Option<usize> {
        let known = self.buffer_names.iter().find(|(known, _)| *known == name);
        let value = || name.as_str().strip_prefix(VALUE)?.parse::<usize>().ok().filter(|_| self.item_work.is_some());
        known.map(|(_, buffer)| *buffer as usize).or_else(|| Some(self.kernel.buffers.len() + value()?))
    }

    fn name_of_buffer(&self, buffer: usize) -> Name {
        let known = self.buffer_names.iter().find(|(_, known)| *known as usize == buffer);
        let value = || Name::from(&*format!("{VALUE}{}", buffer - self.kernel.buffers.len().min(buffer)));
        known.map_or_else(value, |(name, _)| *name)
    }

    /// A stage of a buffer.
    pub(super) fn stage(&self, buffer: usize, loops: SmallVec<[usize; 2]>, pitch: Option<u64>) -> Stage {
        let info = &self.kernel.buffers[buffer];
        let is_loaded = |op: &KOp| matches!(op, KOp::Load(loaded, _) if *loaded as usize == buffer);
        let reads = !info.written || self.kernel.insts.iter().any(|inst| is_loaded(&inst.op));
        Stage { buffer, size: info.dtype.size(), reads, writes: info.written, loops, pitch }
    }

    /// The transformations of a given schedule for a call, if they are legal; an error says which one is
    /// not, and why. `values` are the bytes of each value of a point.
    pub(super) fn given(&self, blocks: &[Block], bound: &Bound, values: &[usize]) -> Result<Sequence, String> {
        let mut sequence = Sequence::new();
        for block in blocks {
            self.resolve(block, bound, values, &mut sequence).ok_or_else(|| {
                let axes = |number| bound.axes(number).map(|axis| self.names[axis as usize]).collect::<Vec<_>>();
                let loops = (0..bound.extents.len()).map(axes).filter(|axes| !axes.is_empty());
                let loops = loops.map(|axes| format!("`{}`", joined(&axes))).collect::<Vec<_>>().join(", ");
                format!("schedule: `{block}` names another loop than this call has: {loops}; `reorder` fixes the loops")
            })?;
        }
        legal::check(self, bound, &sequence).map_err(|(number, why)| {
            let named = self.blocks(&sequence[number..number + 1], bound);
            let named = named.first().map(Block::to_string).unwrap_or_default();
            format!("schedule: `{named}` is not legal for this call: {why}")
        })?;
        Ok(sequence)
    }

    /// Appends a transformation with numbers in place of names; `None` if a call has no such loop.
    fn resolve(&self, block: &Block, bound: &Bound, values: &[usize], sequence: &mut Sequence) -> Option<()> {
        let number = |names: &[Name]| {
            let is_same = |number: &usize| {
                let axes = bound.axes(*number).map(|axis| self.names[axis as usize]);
                axes.eq(names.iter().copied())
            };
            (0..bound.extents.len()).find(is_same)
        };
        sequence.push(match block {
            Block::Split { along, by } => Transform::Split(Split { along: number(along)?, by: *by }),
            Block::Jam { along, by } => Transform::Jam(Jam { along: number(along)?, by: *by }),
            Block::Stage { operand, loops, pitch } => {
                let buffer = self.buffer_named(*operand)?;
                let loops = loops.iter().map(|along| number(along)).collect::<Option<_>>()?;
                Transform::Stage(match buffer.checked_sub(self.kernel.buffers.len()) {
                    None => self.stage(buffer, loops, *pitch),
                    Some(value) => {
                        let size = *values.get(value)?;
                        Stage { buffer, size, reads: true, writes: false, loops, pitch: *pitch }
                    }
                })
            }
            Block::Collapse { outer, inner } => {
                Transform::Collapse(Collapse { outer: number(outer)?, inner: number(inner)? })
            }
            Block::Fission { outer, inner, first } => {
                let (outer, inner, at) = (number(outer)?, number(inner)?, sequence.len());
                sequence.push(Transform::Fission(Fission { outer, inner, first: 0 }));
                first.iter().try_for_each(|block| self.resolve(block, bound, values, sequence))?;
                let first = sequence.len() - at - 1;
                sequence[at] = Transform::Fission(Fission { outer, inner, first });
                return Some(());
            }
        });
        Some(())
    }

    /// A sequence with names, for people.
    pub(super) fn blocks(&self, sequence: &[Transform], bound: &Bound) -> Vec<Block> {
        let name = |number: usize| bound.axes(number).map(|axis| self.names[axis as usize]).collect::<Vec<Name>>();
        let mut blocks = Vec::new();
        let mut rest = sequence;
        while let [first, others @ ..] = rest {
            rest = others;
            blocks.push(match first {
                Transform::Split(split) => Block::Split { along: name(split.along), by: split.by },
                Transform::Jam(jam) => Block::Jam { along: name(jam.along), by: jam.by },
                Transform::Stage(stage) => Block::Stage {
                    operand: self.name_of_buffer(stage.buffer),
                    loops: stage.loops.iter().map(|&along| name(along)).collect(),
                    pitch: stage.pitch,
                },
                Transform::Collapse(both) => Block::Collapse { outer: name(both.outer), inner: name(both.inner) },
                Transform::Fission(fission) => {
                    let (first, second) = others.split_at(fission.first.min(others.len()));
                    rest = second;
                    let first = self.blocks(first, bound);
                    Block::Fission { outer: name(fission.outer), inner: name(fission.inner), first }
                }
            });
        }
        blocks
    }
}
