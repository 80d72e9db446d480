//! Reductions of few points, such as windows of a convolution: they are computed without loops.
//!
//! Lowering asks here, and so do the rewrites that bring reductions to this form.

use super::{Affine, ArrayExpr, Axis, AxisKind, Body, BodyInst, BodyOp, BodyRef, Combine, Index, IndexExpr, Init};
use super::{Monoid, Operand, Reduction};
use crate::op::Traits;
use smallvec::SmallVec;

/// The most points of a reduction without loops.
pub const FEW_POINTS: i64 = 64;

/// The most instructions and operands of all its points.
const MOST_INSTS: i64 = 512;

/// The most streams of elements that are not adjacent in a reduction without loops: vectors of them are
/// copies in the first-level cache.
pub const FEW_STREAMS: i64 = 16;

/// The same with positions from arrays, where points are computed one by one: those of each point, and those
/// of rows of points. Measured on an AMD EPYC.
const MOST_GATHERED: i64 = 64;
const MOST_OF_ROWS: i64 = 32;

/// The streams for which a complex one counts, and the interleaved ones that count as one.
const COMPLEX: i64 = 4;
const INTERLEAVED: i64 = 2;

/// The most elements of a point that are adjacent in memory and loaded as whole vectors, and the most
/// permutations of a vector for each: one for each factor of 2, and the rest less one.
pub const MOST_INTERLEAVED: i64 = 12;
const MOST_PERMUTATIONS: i64 = 6;

/// True if this number of adjacent elements of a point, followed by those of the next point, are loaded as
/// whole vectors whose lanes are permuted.
pub fn is_interleaved(count: i64) -> bool {
    let twos = i64::from(count.trailing_zeros());
    (2..=MOST_INTERLEAVED).contains(&count) && twos + (count >> twos) - 1 <= MOST_PERMUTATIONS
}

impl ArrayExpr {
    /// True if the reductions are computed without loops: they have few points, known at compilation, and
    /// adjacent points of the last parallel axis read one row forward, or else few streams. Sums of products
    /// whose rows share elements have loops, which are blocked for registers.
    pub fn is_unrolled(&self) -> bool {
        let Some(last) = self.last_parallel() else { return false };
        let is_reduced = |axis: u32| self.axes.get(axis as usize).is_some_and(|a| a.kind == AxisKind::Reduce);
        let names_reduced = |form: &Affine| form.axes().iter().any(|&(axis, _)| is_reduced(axis));
        // An instruction that may fail stays, even if its result is not used.
        let stays = |inst: &BodyInst| match &inst.op {
            BodyOp::Nested(_) => true,
            BodyOp::Op(op, _) => op.traits.contains(Traits::PARTIAL),
        };
        let stays = |body: &Body| body.insts.iter().any(stays);
        // An operand that a point does not name is read, and its positions are tested.
        let names = |body: &Body, n: u32| {
            let mut values = body.insts.iter().flat_map(|inst| &inst.args).chain(&body.yields);
            values.any(|value| *value == BodyRef::Operand(n))
        };
        let is_named = |(n, operand): (u32, &Operand)| {
            let forms = operand.index.iter().filter_map(|index| index.expr.form());
            let is_fixed =
                operand.index.iter().all(|index| index.expr.form().is_some()) && !forms.clone().any(names_reduced);
            names(&self.body, n) || (is_fixed && self.finish.as_ref().is_some_and(|finish| names(finish, n)))
        };
        let is_blocked =
            |reduction: &Reduction| matches!(reduction.combine, Combine::Builtin(Monoid::Dot)) && self.rows_share(last);
        !self.reductions.is_empty()
            && self.scan().is_none()
            && !self.reductions.iter().any(|reduction| matches!(reduction.init, Init::Existing(_)))
            && self.outs.iter().all(|out| out.fill.is_none())
            && self.has_few_points()
            && !stays(&self.body)
            && !self.finish.as_ref().is_some_and(stays)
            && !self.guard.iter().any(|condition| names_reduced(&condition.form))
            && (0..).zip(&self.operands).all(is_named)
            && (self.operands.iter().all(|operand| operand.reads_forward(last)) || self.has_few_streams(last))
            && !self.reductions.iter().any(is_blocked)
    }

    /// True if the reduce axes have few points, known at compilation, and so do their instructions.
    fn has_few_points(&self) -> bool {
        let of_reduce = self.axes.iter().filter(|axis| axis.kind == AxisKind::Reduce);
        let mut extents = of_reduce.map(Axis::points);
        let points = extents.try_fold(1, |points: i64, extent| points.checked_mul(extent.filter(|&n| n > 0)?));
        let insts = 1 + self.operands.len() as i64 + self.body.insts.len() as i64;
        points.is_some_and(|points| points <= FEW_POINTS && points * insts <= MOST_INSTS)
    }

    /// True if the points read few streams of elements along the last parallel axis, at equal distances or at
    /// positions from arrays, and a row of points is not one of vectors: it has such positions, or so few
    /// points that their elements [take turns](is_interleaved) with those of the next row, or the reduce axes
    /// are outside of the parallel one, so that totals would be read and written for each point. Streams that
    /// rows share are copied once for all of them instead.
    fn has_few_streams(&self, last: u32) -> bool {
        let reduced = || (0..).zip(&self.axes).filter(|(_, own)| own.kind == AxisKind::Reduce);
        let step = |index: &Index, axis: u32| index.expr.form().map_or(0, |form| form.coefficient(axis));
        let takes_turns = |operand: &Operand| {
            let is_next = |axis: u32| operand.index.last().is_some_and(|index| step(index, axis) == 1);
            let is_few = |own: &Axis| own.points().is_some_and(is_interleaved);
            let along = |index: &Index| step(index, last);
            // Adjacent points are few elements apart: in rows of them, or in one dim.
            let is_near = match operand.index.iter().rev().map(along).collect::<SmallVec<[i64; 4]>>()[..] {
                [0, 1, ref others @ ..] => others.iter().all(|step| *step == 0),
                [step, ref others @ ..] => is_interleaved(step) && others.iter().all(|step| *step == 0),
                [] => false,
            };
            let is_scalar = matches!(operand.dtype.size(), 4 | 8) && !operand.dtype.is_complex();
            is_scalar && is_near && reduced().any(|(axis, own)| is_next(axis) && is_few(own))
        };
        let streams = |operand: &Operand| {
            let along = reduced().filter(|(axis, _)| operand.moves_along(*axis));
            let count = if operand.moves_along(last) { along.map(|(_, own)| own.points()).product() } else { Some(0) };
            count.map(|count: i64| match operand.dtype.is_complex() {
                true => count.saturating_mul(COMPLEX),
                false if takes_turns(operand) => count / INTERLEAVED,
                false => count,
            })
        };
        let is_vectors = |operand: &Operand| !operand.moves_along(last) || takes_turns(operand);
        let is_column = last as usize + 1 == self.axes.len() || self.operands.iter().all(is_vectors);
        let mut positions = self.operands.iter().flat_map(|operand| &operand.index);
        let is_plain = |index: &Index| matches!(index.expr, IndexExpr::Affine(_) | IndexExpr::Gather { .. });
        let is_gather = |index: &&Index| matches!(index.expr, IndexExpr::Gather { .. });
        let gathers = positions.clone().any(|index| is_gather(&index));
        // Rows of adjacent elements at one position are vectors, if they are long.
        let one_by_one = |index: &Index| reduced().any(|(axis, _)| index.expr.depends_on(axis));
        let most = match positions.clone().filter(is_gather).any(one_by_one) {
            true => MOST_GATHERED,
            false if gathers => MOST_OF_ROWS,
            false => FEW_STREAMS,
        };
        (gathers || is_column)
            && positions.all(is_plain)
            && !self.rows_share(last)
            && self.operands.iter().map(streams).sum::<Option<i64>>().is_some_and(|streams| streams <= most)
    }

    /// The last parallel axis.
    pub fn last_parallel(&self) -> Option<u32> {
        self.axes.iter().rposition(|axis| axis.kind == AxisKind::Parallel).map(|axis| axis as u32)
    }

    /// True if rows along an axis read the same elements, which differ along it: as the rows of a product of
    /// matrices read those of its right factor.
    pub fn rows_share(&self, axis: u32) -> bool {
        let is_row = |(number, own): &(u32, &Axis)| *number != axis && own.kind == AxisKind::Parallel;
        let mut columns = self.operands.iter().filter(|operand| operand.moves_along(axis));
        columns.any(|operand| (0..).zip(&self.axes).filter(is_row).any(|(row, _)| !operand.moves_along(row)))
    }
}

impl Operand {
    /// True if the position of the element depends on an axis.
    pub fn moves_along(&self, axis: u32) -> bool {
        self.index.iter().any(|index| index.expr.depends_on(axis))
    }

    /// True if points that are adjacent along an axis read one element, or elements of a row at equal
    /// distances, from its start to its end.
    fn reads_forward(&self, axis: u32) -> bool {
        let along = |index: &Index| match &index.expr {
            IndexExpr::Affine(form) => Some(form.coefficient(axis)),
            IndexExpr::FloorDiv(form, n) => (form.coefficient(axis) % n == 0).then(|| form.coefficient(axis) / n),
            IndexExpr::Mod(form, n) => (form.coefficient(axis) % n == 0).then_some(0),
            IndexExpr::Gather { .. } => None,
        };
        let Some((last, others)) = self.index.split_last() else { return true };
        others.iter().all(|index| along(index) == Some(0)) && along(last).is_some_and(|step| step >= 0)
    }
}
