//! Joins several reduction rows by a transposing reduction tree: as many vectors as there are lanes, each
//! with the partial results of one row, become one vector that holds the total of each row in its own lane.

use super::fold::Accumulator;
use super::{Selector, V};
use crate::kernel::{Fold, KernelError};
use crate::x64::codes::{self, Form};
use crate::x64::machine::{Class, Inst, Op, Origin, Segment, Width};

/// A stage of the tree: the distance between the two rows that it pairs, and the two instructions, with
/// immediates if they take them, that interleave the lower and the upper halves of the vectors. The halves
/// are those of the segments that the earlier stages left.
type Stage = (usize, [(&'static Form, Option<u8>); 2]);

const HALVES: [(&Form, Option<u8>); 2] = [(&codes::SHUFFLE_X, Some(0x44)), (&codes::SHUFFLE_X, Some(0xee))];
const QUARTERS: [(&Form, Option<u8>); 2] = [(&codes::SHUFFLE_X, Some(0x88)), (&codes::SHUFFLE_X, Some(0xdd))];
const PAIRS: [(&Form, Option<u8>); 2] = [(&codes::UNPACKLO_PD, None), (&codes::UNPACKHI_PD, None)];
const SINGLES: [(&Form, Option<u8>); 2] = [(&codes::SHUFFLE_PS, Some(0x88)), (&codes::SHUFFLE_PS, Some(0xdd))];

/// The stages for lanes of 8 and of 4 bytes, the last one first.
const WIDE: [Stage; 3] = [(1, PAIRS), (4, QUARTERS), (2, HALVES)];
const NARROW: [Stage; 4] = [(2, SINGLES), (1, PAIRS), (8, QUARTERS), (4, HALVES)];

impl Selector<'_> {
    /// Emits the code that joins as many rows as there are lanes. Returns it with the frame offset, by
    /// accumulator, of the first row's vector. Returns `None` unless all accumulators are full 64-byte
    /// registers (AVX-512).
    pub fn across(
        &mut self,
        fold: &Fold,
        accumulators: &[Accumulator],
    ) -> Result<Option<(Segment, Vec<u32>)>, KernelError> {
        let size = accumulators[0].size;
        let whole = |a: &Accumulator| a.class == Class::Vector(Width::Z) && !a.is_flags && a.size == size;
        let stages: &[Stage] = match (size, self.schedule.lanes * size) {
            (8, 64) => &WIDE,
            (4, 64) => &NARROW,
            _ => return Ok(None),
        };
        if !accumulators.iter().all(whole) {
            return Ok(None);
        }
        let lanes = self.schedule.lanes;
        let parts: Vec<u32> = accumulators.iter().map(|_| self.frame.place(64 * lanes)).collect();
        self.begin(self.kernel.axes);
        self.joined_rows(fold, accumulators, &parts, (stages, 0))?;
        self.outputs(accumulators, &fold.both)?;
        Ok(Some((self.end(), parts)))
    }

    /// Joins the rows from `first` on by these stages. Returns one vector for each accumulator.
    fn joined_rows(
        &mut self,
        fold: &Fold,
        accumulators: &[Accumulator],
        parts: &[u32],
        (stages, first): (&[Stage], usize),
    ) -> Result<Vec<V>, KernelError> {
        let Some(((apart, [low, high]), before)) = stages.split_first() else {
            let home = |&at: &u32| Origin::Home(at + 64 * first as u32);
            return Ok(parts.iter().map(|at| self.seg.fresh(Class::Vector(Width::Z), home(at))).collect());
        };
        let one = self.joined_rows(fold, accumulators, parts, (before, first))?;
        let other = self.joined_rows(fold, accumulators, parts, (before, first + apart))?;
        let mut pairs = Vec::new();
        for (&a, &b) in one.iter().zip(&other) {
            pairs.push([low, high].map(|&(form, imm)| {
                let dst = self.seg.fresh(Class::Vector(Width::Z), Origin::Computed);
                self.emit(Inst::Op(Op { imm, ..Self::plain_op(form, Width::Z, dst, &[a, b]) }));
                dst
            }));
        }
        self.vals.clear();
        for (n, (&[left, right], accumulator)) in pairs.iter().zip(accumulators).enumerate() {
            self.vals.set(fold.left[n], accumulator.val(left));
            self.vals.set(fold.right[n], accumulator.val(right));
        }
        self.insts(fold.combine.clone())?;
        accumulators.iter().zip(&fold.both).map(|(accumulator, &both)| self.formed(accumulator, both)).collect()
    }
}
