//! Selection for reductions: the segments from which `x64/fold.rs` writes the loops.

use super::{Kept, Selector, Val};
use crate::kernel::{Fold, KValue, KernelError};
use crate::x64::batch::{may_be_joined, may_follow_several};
use crate::x64::codes;
use crate::x64::lanes::may_lie_beside;
use crate::x64::machine::{Class, Inst, Op, Origin, Segment, V, Width};
use crate::x64::unsupported;
use rewright_ir::expr::Order;

/// The form of an accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accumulator {
    pub class: Class,
    /// Bytes of a lane; 1 for a mask.
    pub size: usize,
    /// True for a bool that is in lanes of a vector.
    pub is_flags: bool,
    /// True for a sum of bytes, whose lanes are not the lanes of the points.
    pub sums_bytes: bool,
    /// The neutral element: the initial value.
    pub neutral: Origin,
    /// The frame offset of the total of a row, which is broadcast to all lanes.
    pub total: u32,
}

/// The code of a reduction. Inputs and outputs are numbered by accumulator.
pub struct FoldSegments {
    pub accumulators: Vec<Accumulator>,
    /// Combines the points of a group with the accumulators.
    pub points: Segment,
    /// Computes the points of a group alone.
    pub items: Segment,
    /// Combines one set of accumulators with a second one, whose inputs are numbered after those of the
    /// first.
    pub combine: Segment,
    /// Combines the upper half of the lanes with the lower half, until only the lanes are left that the
    /// order of the reduction keeps apart; `None` if there are no more lanes than that.
    pub narrow: Option<Segment>,
    /// Combines the upper with the lower half of the lanes until one lane is left. The total is in the first
    /// lane.
    pub join: Segment,
    /// The epilogue of a row.
    pub after: Segment,
    /// The code for several rows at once, if one epilogue can serve several rows.
    pub several: Option<SeveralRows>,
}

/// Code for several rows.
pub struct SeveralRows {
    /// Joins the vectors of the rows; with the frame offset of the vectors for each accumulator.
    pub across: Option<(Segment, Vec<u32>)>,
    /// Combines one point of each row with the accumulators, for lanes that are rows; only for reductions in
    /// any order.
    pub beside: Option<Segment>,
}

impl Selector<'_> {
    /// Selects the kernel's reduction. All levels around it are selected before.
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
            return Err(unsupported("its reduction calls a function"));
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
            // With several accumulators, joining takes longer than transposing the rows, both to run and to
            // compile.
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

    /// Selects the segment that combines the points of a group with the accumulators.
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

    /// True if the rows are not combined in sequence, and the loop around them computes nothing else.
    fn has_plain_rows(&self, fold: &Fold) -> bool {
        let around = self.kernel.axes - 1;
        let is_around = |n: usize| self.live[n] && self.kernel.level(&self.kernel.insts[n]) as usize == around;
        let between = (0..self.kernel.insts.len()).any(|n| is_around(n) && !self.kernel.is_of_fold(n));
        around > 0 && !between && (fold.any_order || matches!(fold.order, Order::Tree { .. }))
    }

    /// The accumulator of an item, in the item's form.
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

    /// Defines values as inputs of the segment.
    pub(super) fn inputs(&mut self, accumulators: &[Accumulator], values: &[KValue], first: u32) {
        for ((number, value), accumulator) in (first..).zip(values).zip(accumulators) {
            let v = self.seg.fresh(accumulator.class, Origin::Input(number));
            self.vals.set(*value, accumulator.val(v));
        }
    }

    /// The value in the accumulator's form.
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
            // Inputs are copied first, since the location of an input may be that of another output.
            let copied = matches!(self.seg.info(v).origin, Origin::Input(_));
            let size = if accumulator.sums_bytes { 0 } else { accumulator.size };
            all.push((if copied { self.copied(v) } else { v }, size));
        }
        for (number, (src, size)) in (0..).zip(all) {
            self.emit(Inst::Output { number, src, size });
        }
        Ok(())
    }

    /// Selects the segment that joins `lanes` lanes until `left` lanes are left.
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

    /// Shifts the vector down by `lanes` lanes.
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
        // A byte shift within 16-byte parts takes nothing from the next part, which is not needed here.
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
    /// The value that the register holds.
    pub(super) fn val(&self, v: V) -> Val {
        match (self.class, self.is_flags) {
            (Class::Mask, _) => Val::Bits(v),
            (_, true) => Val::Flags(v, self.size),
            (_, false) => Val::Lanes(v),
        }
    }
}
