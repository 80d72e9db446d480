//! Elements of several parts, which are adjacent in memory, and which registers hold deinterleaved, each part
//! in a vector of its own: complex numbers, which are pairs of floats, and interleaved buffers. The elements
//! of a group fill as many vectors in memory as they have parts. Shuffles deinterleave vectors to parts after
//! loads, and interleave the parts of complex numbers before stores.

use super::{Selector, Val};
use crate::kernel::{KOp, KValue, Kernel, KernelError, Part};
use crate::x64::codes::{self, Form};
use crate::x64::machine::{Inst, Op, Over, V, Width};
use smallvec::{SmallVec, smallvec};

/// Loaded elements of several parts.
pub struct Loaded {
    /// The vectors in memory.
    vectors: SmallVec<[V; 2]>,
    /// The parts that are deinterleaved already.
    parts: SmallVec<[Option<V>; 2]>,
    /// The lanes of even or odd numbers of two vectors, which several parts may be made of.
    halves: SmallVec<[Half; 4]>,
}

/// The lanes of even or odd numbers of two vectors.
struct Half {
    of: [V; 2],
    parity: usize,
    lanes: V,
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
    /// A part of the row's elements at the points of the group. Other parts that wait to be loaded are
    /// deinterleaved as well.
    pub(super) fn part(&mut self, row: u32, part: usize) -> V {
        let (size, count) = (self.rows.list[row as usize].lane(), self.rows.list[row as usize].parts);
        if !self.loads.contains_key(&row) {
            let load = |nth: usize| {
                let dst = self.fresh(size);
                self.emit(Inst::Load { row, nth, dst });
                dst
            };
            let vectors = (0..count).map(load).collect();
            let (parts, halves) = (SmallVec::from_elem(None, count), SmallVec::new());
            self.loads.insert(row, Loaded { vectors, parts, halves });
        }
        let number_of = |value: KValue| match self.made_by(value) {
            Some(KOp::Load(buffer, part)) => self.rows.place(*buffer, *part).ok().filter(|(of, _)| *of == row),
            _ => None,
        };
        let waits = |&value: &KValue| Some((value, number_of(value)?.1));
        let waiting: SmallVec<[(KValue, usize); 4]> =
            self.waiting.iter().filter(|value| self.vals.get(**value).is_none()).filter_map(waits).collect();
        let mut wanted: SmallVec<[usize; 4]> = smallvec![part];
        wanted.extend(waiting.iter().map(|(_, number)| *number).filter(|number| *number != part));
        let parts = &self.loads[&row].parts;
        wanted.retain(|number| parts[*number].is_none());
        self.split(row, &wanted, size);
        let parts = &self.loads[&row].parts;
        let all: SmallVec<[(KValue, Option<V>); 4]> =
            waiting.iter().map(|&(value, number)| (value, parts[number])).collect();
        let own = parts[part].expect("the part was wanted");
        for (value, v) in all {
            if let Some(v) = v {
                self.vals.set(value, Val::Lanes(v));
            }
        }
        own
    }

    /// Deinterleaves parts of loaded elements.
    fn split(&mut self, row: u32, wanted: &[usize], size: usize) {
        let vectors = self.loads[&row].vectors.clone();
        for &part in wanted {
            let v = match self.schedule.lanes {
                1 => vectors[part],
                _ if self.evex() => self.deinterleaved(row, size, vectors.clone(), part),
                _ => self.part_of_pair(size, [vectors[0], vectors[1]], part),
            };
            if let Some(loaded) = self.loads.get_mut(&row) {
                loaded.parts[part] = Some(v);
            }
        }
    }

    /// A part of as many parts as there are vectors, with AVX-512. Parts of even numbers, and those of odd
    /// ones, are half as many vectors.
    fn deinterleaved(&mut self, row: u32, size: usize, mut vectors: SmallVec<[V; 2]>, mut part: usize) -> V {
        let lanes = self.schedule.lanes;
        while vectors.len().is_multiple_of(2) {
            let halves = vectors.chunks_exact(2).map(|pair| self.half(row, size, [pair[0], pair[1]], part % 2));
            (vectors, part) = (halves.collect(), part / 2);
        }
        // The others are joined one by one: lanes before those of a vector are found already.
        let count = vectors.len();
        let Some(&second) = vectors.get(1) else { return vectors[0] };
        let place = |lane: usize| count * lane + part;
        let start = self.picked(size, [vectors[0], second], |lane| place(lane).min(2 * lanes - 1));
        (2..count).fold(start, |v, at| {
            let own = |lane: usize| place(lane).checked_sub(at * lanes).filter(|own| *own < lanes);
            self.picked(size, [v, vectors[at]], |lane| own(lane).map_or(lane, |own| lanes + own))
        })
    }

    /// The lanes of even or odd numbers of two vectors.
    fn half(&mut self, row: u32, size: usize, pair: [V; 2], parity: usize) -> V {
        let is_same = |half: &&Half| half.of == pair && half.parity == parity;
        if let Some(known) = self.loads.get(&row).and_then(|loaded| loaded.halves.iter().find(is_same)) {
            return known.lanes;
        }
        let lanes = self.picked(size, pair, |lane| 2 * lane + parity);
        if let Some(loaded) = self.loads.get_mut(&row) {
            loaded.halves.push(Half { of: pair, parity, lanes });
        }
        lanes
    }

    /// Deinterleaves a part of pairs with AVX2.
    fn part_of_pair(&mut self, size: usize, halves: [V; 2], part: usize) -> V {
        match (self.schedule.lanes, self.width(size)) {
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
        }
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
        self.loads.clear();
        for (nth, src) in halves.into_iter().enumerate() {
            self.emit(Inst::Store { row, nth, src });
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
