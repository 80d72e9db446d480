//! Rows whose points are combined: the segments of which `x64/fold.rs` makes the code.

use super::{Kept, Selector, Val};
use crate::kernel::{Fold, KValue, KernelError};
use crate::x64::batch::{may_be_joined, may_follow_several};
use crate::x64::codes;
use crate::x64::lanes::may_lie_beside;
use crate::x64::machine::{Class, Inst, Op, Origin, Segment, V, Width};
use crate::x64::unsupported;
use rewright_ir::expr::Order;

/// What an accumulator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accumulator {
    pub class: Class,
    /// Bytes of a lane; of a mask 1.
    pub size: usize,
    /// True of a bool in lanes.
    pub is_flags: bool,
    /// True of a sum of bytes, whose lanes are not those of points.
    pub sums_bytes: bool,
    /// What it is before anything is combined.
    pub neutral: Origin,
    /// Where in the frame what the row came to is put, the same in all lanes.
    pub total: u32,
}

/// The code of a fold. Inputs and outputs are numbered by accumulator.
pub struct FoldSegments {
    pub accumulators: Vec<Accumulator>,
    /// The points of a group, combined onto what was there.
    pub points: Segment,
    /// The points of a group by themselves.
    pub items: Segment,
    /// Combines one with another, given after it.
    pub combine: Segment,
    /// Combines the upper half of the lanes onto the lower half, until those are left that stay apart, if there are more.
    pub narrow: Option<Segment>,
    /// The same until one is left. What they come to is in the first one.
    pub join: Segment,
    /// What follows a row.
    pub after: Segment,
    /// How several rows are computed at once, if what follows may follow them at once.
    pub several: Option<SeveralRows>,
}

/// Code for several rows.
pub struct SeveralRows {
    /// Joins them, each one's vector; and where these vectors are.
    pub across: Option<(Segment, Vec<u32>)>,
    /// One point of each, combined onto what was there, where lanes are rows and any order does.
    pub beside: Option<Segment>,
}

impl Selector<'_> {
    /// The code of the kernel's fold. All levels around it are done.
    pub fn fold(&mut self, fold: &Fold) -> Result<FoldSegments, KernelError> {
        let (axes, count) = (self.kernel.axes, fold.items.len() as u32);
        let inner = std::mem::take(&mut self.inner);
        self.begin(axes);
        self.insts(inner.iter().copied())?;
        let accumulators = (0..count as usize).map(|n| self.accumulator(fold, n)).collect::<Result<Vec<_>, _>>()?;
        self.outputs(&accumulators, &fold.items)?;
        let items = self.end();

        self.begin(axes);
        self.inputs(&accumulators, &fold.left, 0);
        self.inputs(&accumulators, &fold.right, count);
        self.insts(fold.combine.clone())?;
        self.outputs(&accumulators, &fold.both)?;
        let combine = self.end();
        if combine.calls() {
            return Err(unsupported("it combines points by what has to be called"));
        }

        let points = self.points(fold, &inner, &accumulators)?;
        let lanes = self.schedule.lanes;
        let apart = match fold.order {
            Order::Tree { apart, .. } if !fold.any_order => lanes.min(apart),
            _ => lanes,
        };
        let narrow = (lanes > apart).then(|| self.join(fold, &accumulators, (lanes, apart))).transpose()?;
        let join = self.join(fold, &accumulators, (apart, 1))?;
        for (&total, accumulator) in fold.totals.iter().zip(&accumulators) {
            self.kept[total.0 as usize] = Some(Kept { at: accumulator.total, val: accumulator.val(V(0)) });
        }
        self.begin(axes - 1);
        self.insts(fold.after.clone())?;
        let after = self.end();
        let at_once = self.evex()
            && self.has_plain_rows(fold)
            && may_follow_several(self.kernel, &self.rows.list, axes - 2, &after);
        let beside = fold.any_order && may_lie_beside(&self.rows.list, &accumulators);
        let several = (at_once && (beside || may_be_joined(&items))).then(|| -> Result<_, KernelError> {
            // Of several accumulators it takes longer than to turn the rows, and to be compiled.
            let joined = !(beside && count > 1) && may_be_joined(&items);
            let across = if joined { self.across(fold, &accumulators)? } else { None };
            self.beside = true;
            let beside = beside.then(|| self.points(fold, &inner, &accumulators)).transpose()?;
            self.beside = false;
            Ok(SeveralRows { across, beside })
        });
        let several = several.transpose()?;
        Ok(FoldSegments { accumulators, points, items, combine, narrow, join, after, several })
    }

    /// The points of a group, combined onto what was there.
    fn points(&mut self, fold: &Fold, inner: &[usize], accumulators: &[Accumulator]) -> Result<Segment, KernelError> {
        self.begin(self.kernel.axes);
        self.insts(inner.iter().copied())?;
        self.inputs(accumulators, &fold.left, 0);
        self.stands_for = fold.right.iter().copied().zip(fold.items.iter().copied()).collect();
        let (combine, both) = match &fold.onward {
            Some(onward) => (&onward.combine, &onward.both),
            None => (&fold.combine, &fold.both),
        };
        self.insts(combine.clone())?;
        self.outputs(accumulators, both)?;
        self.stands_for.clear();
        Ok(self.end())
    }

    /// True if rows, which are not combined in sequence, are in a loop in which nothing else is computed.
    fn has_plain_rows(&self, fold: &Fold) -> bool {
        let around = self.kernel.axes - 1;
        let is_around = |n: usize| self.live[n] && self.kernel.level(&self.kernel.insts[n]) as usize == around;
        let between = (0..self.kernel.insts.len()).any(|n| is_around(n) && !self.kernel.is_of_fold(n));
        around > 0 && !between && (fold.any_order || matches!(fold.order, Order::Tree { .. }))
    }

    /// Of the form that the item has.
    fn accumulator(&mut self, fold: &Fold, n: usize) -> Result<Accumulator, KernelError> {
        let size = self.kernel.dtype(fold.items[n]).size();
        let bits = fold.neutral[n];
        let all = if bits == 0 { 0 } else { u64::MAX };
        let (class, size, is_flags, bits) = match self.val(fold.items[n])? {
            Val::Lanes(_) => (Class::Vector(self.width(size)), size, false, bits),
            Val::Flags(_, size) => (Class::Vector(self.width(size)), size, true, all),
            Val::Always(_) if !self.evex() => (Class::Vector(self.width(1)), 1, true, all),
            Val::Bits(_) | Val::Always(_) => (Class::Mask, 1, false, all),
        };
        let evex = self.evex();
        let (neutral, bytes) = match class {
            Class::Vector(width) => (self.pool.repeated(bits, size, width, evex), width.bytes()),
            Class::Mask => (self.pool.whole(&bits.to_le_bytes()), 8),
        };
        let sums_bytes = self.sums.accumulators.get(n) == Some(&true);
        Ok(Accumulator { class, size, is_flags, sums_bytes, neutral, total: self.frame.place(bytes) })
    }

    /// Values that the segment is given.
    pub(super) fn inputs(&mut self, accumulators: &[Accumulator], values: &[KValue], first: u32) {
        for ((number, value), accumulator) in (first..).zip(values).zip(accumulators) {
            let v = self.seg.fresh(accumulator.class, Origin::Input(number));
            self.vals.set(*value, accumulator.val(v));
        }
    }

    /// A value in an accumulator's form.
    pub(super) fn formed(&mut self, accumulator: &Accumulator, value: KValue) -> Result<V, KernelError> {
        match (accumulator.class, accumulator.is_flags) {
            (Class::Mask, _) => self.bits(value),
            (_, true) => self.flags(value, accumulator.size),
            (_, false) => self.lanes(value),
        }
    }

    pub(super) fn outputs(&mut self, accumulators: &[Accumulator], values: &[KValue]) -> Result<(), KernelError> {
        let mut all = Vec::new();
        for (accumulator, &value) in accumulators.iter().zip(values) {
            let v = self.formed(accumulator, value)?;
            // Where an input is may be where another output goes.
            let copied = matches!(self.seg.info(v).origin, Origin::Input(_));
            let size = if accumulator.sums_bytes { 0 } else { accumulator.size };
            all.push((if copied { self.copied(v) } else { v }, size));
        }
        for (number, (src, size)) in (0..).zip(all) {
            self.emit(Inst::Output { number, src, size });
        }
        Ok(())
    }

    /// Joins so many lanes, until so many are left.
    fn join(
        &mut self,
        fold: &Fold,
        accumulators: &[Accumulator],
        (mut lanes, left): (usize, usize),
    ) -> Result<Segment, KernelError> {
        self.begin(self.kernel.axes);
        self.inputs(accumulators, &fold.left, 0);
        let mut joined = &fold.left;
        while lanes > left {
            lanes /= 2;
            let mut pairs = Vec::new();
            for (accumulator, &value) in accumulators.iter().zip(joined) {
                let v = self.formed(accumulator, value)?;
                pairs.push((v, self.shifted(accumulator, v, lanes)));
            }
            self.vals.clear();
            for (n, (&(left, right), accumulator)) in pairs.iter().zip(accumulators).enumerate() {
                self.vals.set(fold.left[n], accumulator.val(left));
                self.vals.set(fold.right[n], accumulator.val(right));
            }
            self.insts(fold.combine.clone())?;
            joined = &fold.both;
        }
        self.outputs(accumulators, joined)?;
        Ok(self.end())
    }

    /// Each lane is the one so many further on.
    fn shifted(&mut self, accumulator: &Accumulator, v: V, lanes: usize) -> V {
        if accumulator.sums_bytes && lanes * accumulator.size >= Width::Z.bytes() {
            return self.constant(0, accumulator.size);
        }
        let Class::Vector(width) = accumulator.class else {
            let dst = self.fresh_mask();
            let plain = Self::plain_op(&codes::KSHIFT, Width::Z, dst, &[v]);
            self.emit(Inst::Op(Op { imm: Some(lanes as u8), folds: false, ..plain }));
            return dst;
        };
        let bytes = lanes * accumulator.size;
        let dst = self.seg.fresh(accumulator.class, Origin::Computed);
        // Within parts of 16 bytes nothing comes from the next one, where nothing is wanted.
        let op = match bytes {
            0..16 => Op { imm: Some(bytes as u8), ..Self::plain_op(&codes::SHIFT_BYTES, width, dst, &[v]) },
            _ if self.evex() => {
                Op { imm: Some((bytes / 8) as u8), ..Self::plain_op(&codes::ALIGN_Q, width, dst, &[v, v]) }
            }
            _ => Op { imm: Some(0b1110), ..Self::plain_op(&codes::PERM_Q, width, dst, &[v]) },
        };
        self.emit(Inst::Op(Op { folds: false, ..op }));
        dst
    }
}

impl Accumulator {
    /// A register as the value that it has.
    pub(super) fn val(&self, v: V) -> Val {
        match (self.class, self.is_flags) {
            (Class::Mask, _) => Val::Bits(v),
            (_, true) => Val::Flags(v, self.size),
            (_, false) => Val::Lanes(v),
        }
    }
}
