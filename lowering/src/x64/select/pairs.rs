//! Complex elements: pairs of floats that are adjacent in memory, and that registers hold deinterleaved, the
//! real parts in one vector and the imaginary parts in another. The pairs of a group fill two vectors in
//! memory, the halves. Shuffles deinterleave halves to parts after loads, and interleave parts to halves
//! before stores.

use super::{Selector, Val};
use crate::kernel::{KOp, KValue, Kernel, KernelError, Part};
use crate::x64::codes::{self, Form};
use crate::x64::machine::{Inst, Op, Over, V, Width};

/// Loaded pairs.
pub struct Pair {
    halves: [V; 2],
    /// The parts that are deinterleaved already.
    parts: [Option<V>; 2],
}

/// Whether the elements of each buffer are read and written as pairs. This holds for complex buffers, unless
/// one part is written without the other one, which must then be preserved.
pub fn paired(kernel: &Kernel) -> Vec<bool> {
    let mut paired: Vec<bool> = kernel.buffers.iter().map(|buffer| buffer.dtype.is_complex()).collect();
    let accesses = kernel.insts.iter().enumerate().filter_map(|(n, inst)| match inst.op {
        KOp::Load(buffer, _) => Some((n, buffer, None)),
        KOp::Store(buffer, part) => Some((n, buffer, Some(part))),
        _ => None,
    });
    let mut accesses = accesses.peekable();
    while let Some((n, buffer, stored)) = accesses.next() {
        let Some(part) = stored else { continue };
        // No load may be between the two stores: it could read the stored element.
        let other = |&(m, of, stored): &(usize, u32, Option<Part>)| {
            of == buffer && stored.is_some_and(|other| other != part) && kernel.is_of_fold(m) == kernel.is_of_fold(n)
        };
        if accesses.next_if(other).is_none() {
            paired[buffer as usize] = false;
        }
    }
    paired
}

/// The number of a part.
fn number(part: Part) -> usize {
    match part {
        Part::Re => 0,
        Part::Im => 1,
    }
}

impl Selector<'_> {
    /// A part of the row's pairs at the points of the group. If the other part waits to be loaded, it is
    /// deinterleaved as well.
    pub(super) fn part(&mut self, row: u32, part: Part) -> V {
        let size = self.rows.list[row as usize].lane();
        if !self.pairs.contains_key(&row) {
            let halves = [0, 1].map(|half| {
                let dst = self.fresh(size);
                self.emit(Inst::Load { row, half, dst });
                dst
            });
            self.pairs.insert(row, Pair { halves, parts: [None; 2] });
        }
        let v = self.split(row, number(part), size);
        let other = 1 - number(part);
        let buffer = self.rows.list[row as usize].buffer;
        let is_other = |op: &KOp| matches!(op, KOp::Load(of, part) if *of == buffer && number(*part) == other);
        let waits = |value: &&KValue| self.vals.get(**value).is_none() && self.made_by(**value).is_some_and(is_other);
        if let Some(&value) = self.waiting.iter().find(waits) {
            let form = Val::Lanes(self.split(row, other, size));
            self.vals.set(value, form);
        }
        v
    }

    /// Deinterleaves a part of loaded pairs.
    fn split(&mut self, row: u32, part: usize, size: usize) -> V {
        let Pair { halves, parts } = self.pairs[&row];
        if let Some(known) = parts[part] {
            return known;
        }
        let v = match (self.schedule.lanes, self.width(size)) {
            (1, _) => halves[part],
            _ if self.evex() => self.picked(size, halves, |lane| 2 * lane + part),
            (2, Width::X) if size == 4 => {
                let both = self.op2(&codes::UNPACKLO_PS, size, halves[0], halves[1]);
                if part == 0 { both } else { self.op_imm(&codes::SHIFT_BYTES, size, &[both], 8) }
            }
            (_, width) => {
                let within = match (size, part) {
                    (4, 0) => self.op_imm(&codes::SHUFFLE_PS, size, &halves, 0x88),
                    (4, _) => self.op_imm(&codes::SHUFFLE_PS, size, &halves, 0xdd),
                    (_, 0) => self.op2(&codes::UNPACKLO_PD, size, halves[0], halves[1]),
                    _ => self.op2(&codes::UNPACKHI_PD, size, halves[0], halves[1]),
                };
                // Gathers the quarters that came from the same half into adjacent places.
                if width == Width::X { within } else { self.op_imm(&codes::PERM_Q, size, &[within], 0b11_01_10_00) }
            }
        };
        if let Some(pair) = self.pairs.get_mut(&row) {
            pair.parts[part] = Some(v);
        }
        v
    }

    /// Stores a part of the row's pairs: waits until the other part is available, then stores both.
    pub(super) fn store_part(&mut self, row: u32, part: Part, value: KValue) -> Result<(), KernelError> {
        let Some((_, other, other_value)) = self.unpaired.take_if(|(of, ..)| *of == row) else {
            self.unpaired = Some((row, part, value));
            return Ok(());
        };
        let (own, other_part) = (self.lanes(value)?, self.lanes(other_value)?);
        let parts = if number(other) == 0 { [other_part, own] } else { [own, other_part] };
        let halves = self.joined(parts, self.rows.list[row as usize].lane());
        self.pairs.clear();
        for (half, src) in halves.into_iter().enumerate() {
            self.emit(Inst::Store { row, half, src });
        }
        Ok(())
    }

    /// Interleaves the parts to the halves of pairs.
    fn joined(&mut self, parts: [V; 2], size: usize) -> [V; 2] {
        let [re, im] = parts;
        let lanes = self.schedule.lanes;
        match (lanes, self.width(size)) {
            (1, _) => parts,
            _ if self.evex() => [0, 1].map(|half| {
                // The index counts lanes of both vectors, those of the first one before those of the second.
                self.picked(size, parts, |lane| (half * lanes + lane) / 2 + lane % 2 * lanes)
            }),
            (2, Width::X) if size == 4 => {
                let both = self.op2(&codes::UNPACKLO_PS, size, re, im);
                [both, self.op_imm(&codes::SHIFT_BYTES, size, &[both], 8)]
            }
            (_, width) => {
                let (low, high): (&Form, &Form) = match size {
                    4 => (&codes::UNPACKLO_PS, &codes::UNPACKHI_PS),
                    _ => (&codes::UNPACKLO_PD, &codes::UNPACKHI_PD),
                };
                let within = [low, high].map(|form| self.op2(form, size, re, im));
                if width == Width::X {
                    return within;
                }
                [0x20, 0x31].map(|halves| self.op_imm(&codes::PERM_X, size, &within, halves))
            }
        }
    }

    /// Permutes two vectors with AVX-512: lane `n` of the result is lane `from(n)` of their concatenation.
    fn picked(&mut self, size: usize, [one, other]: [V; 2], from: impl Fn(usize) -> usize) -> V {
        let (lanes, places) = (self.schedule.lanes, self.width(size).bytes() / size);
        // A register may be wider than the lanes need.
        let place = |lane| from(lane) / lanes * places + from(lane) % lanes;
        let numbers: Vec<u8> =
            (0..lanes).flat_map(|lane| (place(lane) as u64).to_le_bytes().into_iter().take(size)).collect();
        let numbers = self.whole(&numbers);
        let form = if size == 4 { &codes::PICK_PS } else { &codes::PICK_PD };
        let dst = self.fresh(size);
        let plain = Self::plain_op(form, self.width(size), dst, &[one, numbers, other]);
        self.emit(Inst::Op(Op { over: Over::First, ..plain }));
        dst
    }
}
