//! Selection for extending and narrowing lanes.

use super::Selector;
use crate::x64::codes::{self, Form};
use crate::x64::machine::{Class, Inst, Op, Origin, V, Width};

impl Selector<'_> {
    /// Extends integer lanes by sign or zeros.
    pub(super) fn extend(&mut self, v: V, from: usize, to: usize, signed: bool) -> V {
        let form: &Form = match (from, to, signed) {
            (1, 2, true) => &codes::SIGN_BW,
            (1, 4, true) => &codes::SIGN_BD,
            (1, 8, true) => &codes::SIGN_BQ,
            (2, 4, true) => &codes::SIGN_WD,
            (2, 8, true) => &codes::SIGN_WQ,
            (4, 8, true) => &codes::SIGN_DQ,
            (1, 2, false) => &codes::ZERO_BW,
            (1, 4, false) => &codes::ZERO_BD,
            (1, 8, false) => &codes::ZERO_BQ,
            (2, 4, false) => &codes::ZERO_WD,
            (2, 8, false) => &codes::ZERO_WQ,
            (4, 8, false) => &codes::ZERO_DQ,
            _ => return v,
        };
        let dst = self.fresh(to);
        let op = Op { folds: false, ..Self::plain_op(form, self.width(to), dst, &[v]) };
        self.emit(Inst::Op(op));
        dst
    }

    /// Truncates integer lanes to their low bits.
    pub(super) fn cut(&mut self, v: V, from: usize, to: usize) -> V {
        if from <= to {
            return v;
        }
        if !self.evex() {
            return self.cut_by_shuffles(v, from, to);
        }
        let form: &Form = match (from, to) {
            (2, 1) => &codes::NARROW_WB,
            (4, 1) => &codes::NARROW_DB,
            (8, 1) => &codes::NARROW_QB,
            (4, 2) => &codes::NARROW_DW,
            (8, 2) => &codes::NARROW_QW,
            _ => &codes::NARROW_QD,
        };
        let dst = self.fresh(to);
        let op = Op { folds: false, ..Self::plain_op(form, self.width(from), dst, &[v]) };
        self.emit(Inst::Op(op));
        dst
    }

    /// Shuffles each half of the register to its low end, and joins the halves.
    fn cut_by_shuffles(&mut self, v: V, from: usize, to: usize) -> V {
        let width = self.width(from);
        let mut table = [0x80u8; 16];
        for lane in 0..16 / from {
            for byte in 0..to {
                table[lane * to + byte] = (lane * from + byte) as u8;
            }
        }
        let table = self.whole(&table.repeat(width.bytes() / 16));
        let class = Class::Vector(width);
        let shuffled = self.seg.fresh(class, Origin::Computed);
        self.push(&codes::SHUFFLE_B, width, shuffled, &[v, table]);
        if width == Width::X {
            return shuffled;
        }
        let (low, high) = (shuffled, self.seg.fresh(Class::Vector(Width::X), Origin::Computed));
        if from == 2 * to {
            // Moves the low quarters of both halves next to each other.
            let op = Self::plain_op(&codes::PERM_Q, Width::Y, high, &[low]);
            let op = Op { imm: Some(0b1000), same_width: true, folds: false, ..op };
            self.emit(Inst::Op(op));
            return high;
        }
        let op = Op { imm: Some(1), folds: false, ..Self::plain_op(&codes::EXTRACT_HIGH, Width::Y, high, &[low]) };
        self.emit(Inst::Op(op));
        let joined = self.seg.fresh(Class::Vector(Width::X), Origin::Computed);
        let form = if from == 4 * to { &codes::UNPACKLO_DQ } else { &codes::UNPACKLO_WD };
        let op = Op { same_width: true, folds: false, ..Self::plain_op(form, Width::X, joined, &[low, high]) };
        self.emit(Inst::Op(op));
        joined
    }

    /// Resizes the lanes of flags.
    pub(super) fn resize_flags(&mut self, v: V, from: usize, to: usize) -> V {
        if from < to { self.extend(v, from, to, true) } else { self.cut(v, from, to) }
    }
}
