//! Spaces: which axes of the operands have equal extents by the rules of an op.

use super::operation::{Kind, Operation};
use super::reading::{Access, Reading, Shape};
use smallvec::SmallVec;

/// The axes of all operands, numbered: axes with equal numbers have equal extents.
#[derive(Default)]
pub struct Space {
    /// The number of each axis, operand by operand: 0 for extent 1, else one plus the position in
    /// `extents`.
    numbers: SmallVec<[u16; 12]>,
    /// The start of each operand in `numbers`.
    begins: SmallVec<[usize; 4]>,
    /// The extents.
    extents: Shape,
    /// Whether an array in memory binds the extent.
    bound: SmallVec<[bool; 4]>,
}

/// The limit on the total number of axes, which keeps numbers within `u16`.
const MOST_AXES: usize = 1 << 13;

impl Space {
    /// The space of an operation; `None` if the extents break a rule of the op.
    pub fn of(operation: &Operation<'_>, readings: &[Reading<'_>]) -> Option<Space> {
        let rank: usize = readings.iter().map(|reading| reading.shape.len()).sum();
        if rank > MOST_AXES {
            return None;
        }
        let mut space = Space::default();
        let found = match &operation.kind {
            _ if operation.op.is_elementwise() => space.broadcast(readings),
            Kind::Product { contract, batch } => space.product(readings, *contract, *batch),
            Kind::Reduction(_) | Kind::Mean(..) => space.each_axis(readings),
            Kind::Given(_) | Kind::Cast(_) => space.by_extent(readings),
        };
        found.map(|()| space)
    }

    /// Elementwise ops: axes align at the last one, and broadcast.
    fn broadcast(&mut self, readings: &[Reading<'_>]) -> Option<()> {
        let rank = readings.iter().map(|reading| reading.shape.len()).max().unwrap_or(0);
        self.extents.resize(rank, 1);
        for reading in readings {
            let skip = rank - reading.shape.len();
            for (&extent, to) in reading.shape.iter().zip(&mut self.extents[skip..]) {
                match (extent, *to) {
                    (1, _) => {}
                    (_, 1) => *to = extent,
                    (a, b) if a == b => {}
                    _ => return None,
                }
            }
        }
        self.number(readings, |operand, axis| rank - readings[operand].shape.len() + axis)
    }

    /// Reductions: each axis has an extent of its own.
    fn each_axis(&mut self, readings: &[Reading<'_>]) -> Option<()> {
        self.extents = readings.first()?.shape.clone();
        self.number(&readings[..1], |_, axis| axis)
    }

    /// Products: both operands share the batch axes and the contracted axis.
    fn product(&mut self, readings: &[Reading<'_>], contract: [usize; 2], batch: usize) -> Option<()> {
        let [left, right] = readings else { return None };
        let shared = |axis: usize| if axis < batch { Some(axis) } else { (axis == contract[1]).then_some(contract[0]) };
        let fits = |(axis, extent): (usize, &u64)| shared(axis).is_none_or(|to| left.shape.get(to) == Some(extent));
        if !right.shape.iter().enumerate().all(fits) {
            return None;
        }
        self.extents = left.shape.iter().chain(&right.shape).copied().collect();
        let rank = left.shape.len();
        self.number(readings, |operand, axis| match operand {
            0 => axis,
            _ => shared(axis).unwrap_or(rank + axis),
        })
    }

    /// Other ops: axes of equal extents share a number, since the op may require equality.
    fn by_extent(&mut self, readings: &[Reading<'_>]) -> Option<()> {
        let all = readings.iter().flat_map(|reading| reading.shape.iter().copied());
        let mut distinct = Shape::new();
        all.for_each(|extent| {
            if !distinct.contains(&extent) {
                distinct.push(extent)
            }
        });
        self.extents = distinct.clone();
        self.number(readings, |operand, axis| {
            distinct.iter().position(|extent| *extent == readings[operand].shape[axis]).unwrap_or(0)
        })
    }

    /// Numbers all axes; `place` gives the position of an axis in `extents`.
    fn number(&mut self, readings: &[Reading<'_>], place: impl Fn(usize, usize) -> usize) -> Option<()> {
        self.bound.resize(self.extents.len(), false);
        for (operand, reading) in readings.iter().enumerate() {
            self.begins.push(self.numbers.len());
            for (axis, &extent) in reading.shape.iter().enumerate() {
                let place = place(operand, axis);
                self.bound[place] |= extent != 1 && matches!(reading.access, Access::Memory(_));
                self.numbers.push(if extent == 1 { 0 } else { u16::try_from(place).ok()? + 1 });
            }
        }
        Some(())
    }

    /// The numbers of an operand's axes.
    pub fn axes(&self, operand: usize) -> &[u16] {
        let end = self.begins.get(operand + 1).copied().unwrap_or(self.numbers.len());
        self.begins.get(operand).map_or(&[], |&begin| &self.numbers[begin..end])
    }

    /// The numbers and extents that no array in memory binds.
    pub fn unbound(&self) -> impl Iterator<Item = (u16, u64)> {
        let missing = |&(place, extent): &(usize, u64)| {
            extent != 1 && !self.bound[place] && self.numbers.contains(&(place as u16 + 1))
        };
        self.extents.iter().copied().enumerate().filter(missing).map(|(place, extent)| (place as u16 + 1, extent))
    }
}
