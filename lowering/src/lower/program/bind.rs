//! The operands of a call: the shapes of results, the number of points, and the tests that the call needs.

use super::super::Strided;
use super::super::bind::{Extents, broadcast};
use super::columns::{ROUND_BYTES, has_one_block, most_of_line, most_staged_columns};
use super::contraction::{is_worth_tiling, shared_axis};
use super::symmetric::{is_symmetric, is_worth_copies};
use super::{Checks, Tiling, Variant, reduces_columns};
use crate::program::Lines;
use crate::schedule::{bytes_of_gather, exceeds_caches, facts};
use rewright_ir::expr::{
    Affine, AxisKind, Body, BodyOp, Combine, IndexExpr, Init, Mode, Monoid, Out, Reduction, Source, Write,
    extent_sources,
};
use rewright_ir::{ArrayExpr, DType, Dim, Name, Scalar};
use smallvec::SmallVec;

/// The most that a position may be, so that sums of a few positions do not overflow.
const FARTHEST: i128 = 1 << 60;

/// The index space of a call, and its results.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramSpace {
    /// The number of points, those of nested expressions included.
    pub points: u64,
    /// The bounds of the first parallel axis, if there is one.
    pub outermost: (i64, i64),
    /// The variant of the program that the call runs.
    pub variant: Variant,
    /// For each result its shape, and the value that it is filled with first.
    pub results: SmallVec<[(Extents, Option<Scalar>); 1]>,
}

/// The index space for operands of these shapes. `None` if the operands break a rule that is checked once for
/// each call, or a number is too large: the reference evaluator then finds the error.
pub fn bind(expr: &ArrayExpr, args: &[Strided<'_>], symbols: &dyn Fn(Name) -> Option<i64>) -> Option<ProgramSpace> {
    let mut binder = Binder { args, symbols, checks: Checks::default(), ranges: Vec::new() };
    let points = binder.expr(expr)?;
    let mut results: SmallVec<[(Extents, Option<Scalar>); 1]> = SmallVec::new();
    let has_guard = !expr.guard.is_empty();
    for out in &expr.outs {
        results.push(binder.out(expr, out, has_guard)?);
    }
    let mut first = 0;
    for reduction in &expr.reductions {
        if let Init::Existing(existing) = &reduction.init {
            for (k, &arg) in existing.iter().enumerate() {
                let (shape, _) = results.get((first + k).min(expr.outs.len() - 1))?;
                (args.get(arg as usize)?.shape == &shape[..]).then_some(())?;
            }
        }
        first += reduction.accumulators.len();
    }
    let parallel = expr.axes.iter().zip(&binder.ranges).find(|(axis, _)| axis.kind == AxisKind::Parallel);
    let outermost = parallel.map_or((0, 0), |(_, &range)| range);
    let extent = |axis: usize| binder.ranges.get(axis).map_or(0, |(lo, hi)| hi.saturating_sub(*lo).max(0) as u64);
    let reduced = (0..expr.axes.len()).filter(|&axis| expr.axes[axis].kind == AxisKind::Reduce);
    let steps = reduced.map(extent).fold(1, u64::saturating_mul);
    let shared = shared_axis(expr);
    let reduces_columns = reduces_columns(expr);
    let last = expr.axes.len().saturating_sub(1);
    let orders = || expr.reductions.iter().map(|reduction| reduction.order(expr.rows_are_points()));
    let bytes_of_totals = expr.reductions.iter().flat_map(kept).map(|dtype| dtype.size()).sum();
    let tiling = match shared {
        Some(row) if is_worth_tiling(expr, args, (extent(row), steps)) => {
            let is_unchecked = binder.checks == Checks::default();
            let columns = orders().next().map_or(0, |order| most_staged_columns(bytes_of_totals, order));
            let is_worth_copies = is_worth_copies((extent(row), columns), steps);
            match is_unchecked && is_worth_copies && is_symmetric(expr, row, last) {
                true => Tiling::HalfOfRows,
                false => Tiling::Rows,
            }
        }
        None if reduces_columns
            && extent(last).saturating_mul(bytes_of_totals as u64) > ROUND_BYTES
            && exceeds_caches(facts(), bytes_read(expr, args).sum()) =>
        {
            let near = most_of_line(bytes_of_totals, Lines::One);
            Tiling::Lines(if extent(last) > near.into() { Lines::Several } else { Lines::One })
        }
        _ => Tiling::Columns,
    };
    let one_block =
        orders().map(|order| order.block() as u64).min().is_some_and(|block| has_one_block(expr) && steps <= block);
    let outs = expr.outs.iter().zip(&results);
    let written = outs.map(|(out, (shape, _))| bytes_of(&mut shape.iter().copied(), out.dtype));
    let all = bytes_of_gather(written.fold(0, u64::saturating_add), bytes_read(expr, args));
    // Elements that are copied to the other side of a diagonal are read again.
    let streams = tiling != Tiling::HalfOfRows && exceeds_caches(facts(), all);
    let variant = Variant { checks: binder.checks, tiling, one_block, streams };
    Some(ProgramSpace { points, outermost, variant, results })
}

/// The accumulators of a reduction that are kept in memory: the second one of `dot` is always 1.
fn kept(reduction: &Reduction) -> &[DType] {
    match reduction.combine {
        Combine::Builtin(Monoid::Dot) => &reduction.accumulators[..1],
        _ => &reduction.accumulators,
    }
}

/// The bytes of an array.
fn bytes_of(extents: &mut dyn Iterator<Item = usize>, dtype: DType) -> u64 {
    extents.fold(dtype.size() as u64, |all, n| all.saturating_mul(n as u64))
}

/// The bytes of each operand that is an array, each array once.
fn bytes_read<'a>(expr: &'a ArrayExpr, args: &'a [Strided<'_>]) -> impl Iterator<Item = u64> + 'a {
    expr.operands.iter().enumerate().filter_map(|(number, operand)| {
        let Source::Array(arg) = operand.source else { return None };
        if expr.operands[..number].iter().any(|other| other.source == operand.source) {
            return None;
        }
        let array = args.get(arg as usize)?;
        let moving = array.shape.iter().zip(array.strides).filter(|(_, stride)| **stride != 0);
        Some(bytes_of(&mut moving.map(|(&n, _)| n), operand.dtype))
    })
}

struct Binder<'a> {
    args: &'a [Strided<'a>],
    symbols: &'a dyn Fn(Name) -> Option<i64>,
    checks: Checks,
    /// The bounds of the axes in scope.
    ranges: Vec<(i64, i64)>,
}

impl Binder<'_> {
    /// The number of points of an expression.
    fn expr(&mut self, expr: &ArrayExpr) -> Option<u64> {
        let first = self.ranges.len();
        for (number, axis) in expr.axes.iter().enumerate() {
            let lo = axis.lo.eval(self.symbols)?;
            let hi = match &axis.hi {
                Some(hi) => hi.eval(self.symbols)?,
                None => {
                    let sources = extent_sources(expr, (first + number) as u32);
                    broadcast(sources.map(|(arg, dim)| self.extent(arg, dim).unwrap_or(1)))?
                }
            };
            if i128::from(lo).abs().max(i128::from(hi).abs()) > FARTHEST {
                return None;
            }
            self.ranges.push((lo, hi));
        }
        for condition in &expr.guard {
            self.interval(&condition.form)?;
        }
        for operand in &expr.operands {
            let (Source::Array(arg) | Source::Scalar(arg)) = operand.source else { continue };
            for (dim, index) in operand.index.iter().enumerate() {
                self.read(&index.expr, index.mode, self.extent(arg, dim)?)?;
            }
        }
        let along = |has_results| {
            let own = expr.axes.iter().zip(&self.ranges[first..]);
            let own = own.filter(move |(axis, _)| axis.kind.has_results() == has_results);
            own.map(|(_, &(lo, hi))| hi.saturating_sub(lo).max(0) as u64).try_fold(1u64, u64::checked_mul)
        };
        let (outer, inner) = (along(true)?, along(false)?);
        let in_body = self.nested(&expr.body)?;
        let in_finish = expr.finish.as_ref().map_or(Some(0), |finish| self.nested(finish))?;
        let inner = inner.checked_mul(in_body.checked_add(1)?)?.checked_add(in_finish)?;
        let points = outer.checked_mul(inner.max(1))?;
        Some(points)
    }

    /// The points of the expressions in a body.
    fn nested(&mut self, body: &Body) -> Option<u64> {
        let outer = self.ranges.len();
        body.insts.iter().try_fold(0u64, |sum, inst| match &inst.op {
            BodyOp::Nested(expr) => {
                let points = self.expr(expr)?;
                self.ranges.truncate(outer);
                sum.checked_add(points)
            }
            BodyOp::Op(..) => Some(sum),
        })
    }

    fn extent(&self, arg: u32, dim: usize) -> Option<usize> {
        self.args.get(arg as usize)?.shape.get(dim).copied()
    }

    /// Checks a read at a position of a dim.
    fn read(&mut self, position: &IndexExpr, mode: Mode, extent: usize) -> Option<()> {
        let end = i64::try_from(extent).ok()?;
        let plain = if let IndexExpr::Affine(form) = position { form.as_axis() } else { None };
        let range = plain.map(|axis| self.ranges[axis as usize]);
        match (mode, range) {
            (Mode::Broadcast, Some((lo, hi))) => return (extent == 1 || (lo == 0 && hi == end)).then_some(()),
            (Mode::Broadcast, None) => return None,
            (Mode::Proved, Some((lo, hi))) => return (lo >= hi || (lo >= 0 && hi <= end)).then_some(()),
            (Mode::Wrap | Mode::Clamp, _) => self.checks.positions |= extent == 0,
            _ => {}
        }
        let is_inside = self.is_inside(position, extent)?;
        self.checks.positions |= !is_inside && matches!(mode, Mode::Proved | Mode::Check);
        Some(())
    }

    /// True if a position is in bounds at all points. Positions that are read from an array are tested
    /// always.
    fn is_inside(&mut self, position: &IndexExpr, extent: usize) -> Option<bool> {
        let (least, most) = match position {
            IndexExpr::Affine(form) => self.interval(form)?,
            IndexExpr::FloorDiv(form, divisor) => {
                let (least, most) = self.interval(form)?;
                (least.div_euclid(i128::from(*divisor)), most.div_euclid(i128::from(*divisor)))
            }
            IndexExpr::Mod(form, divisor) => {
                self.interval(form)?;
                (0, i128::from(*divisor) - 1)
            }
            IndexExpr::Gather { arg, index, offset, .. } => {
                self.interval(offset)?;
                for (dim, inner) in index.iter().enumerate() {
                    let extent = self.extent(*arg, dim)?;
                    self.checks.positions |= !self.is_inside(inner, extent)?;
                }
                return Some(true);
            }
        };
        Some(least > most || (least >= 0 && most < extent as i128))
    }

    /// The least and the greatest value of a form, in no order if there is no point. `None` if it is too
    /// large.
    fn interval(&self, form: &Affine) -> Option<(i128, i128)> {
        let range = |axis: u32| self.ranges[axis as usize];
        let is_empty = form.axes().iter().map(|&(axis, _)| range(axis)).any(|(lo, hi)| lo >= hi);
        let indices = |axis: u32| Some((range(axis).0, range(axis).1.checked_sub(1)?));
        let (least, most) = form.extremes(indices, self.symbols)?;
        if least.abs().max(most.abs()) > FARTHEST {
            return None;
        }
        Some(if is_empty { (1, 0) } else { (least, most) })
    }

    /// The shape of a result, and the value that it is filled with.
    fn out(&mut self, expr: &ArrayExpr, out: &Out, has_guard: bool) -> Option<(Extents, Option<Scalar>)> {
        let (mut shape, mut is_whole) = (Extents::new(), !has_guard);
        let mut written_along: SmallVec<[u32; 4]> = SmallVec::new();
        for (dim, position) in out.dims.iter().zip(&out.index) {
            let form = if let IndexExpr::Affine(form) = position { Some(form) } else { None };
            // An axis, or one in reverse: `n - 1 - i`.
            let along = form.and_then(|form| match *form.axes() {
                [(axis, 1 | -1)] => Some(axis),
                _ => None,
            });
            let extent = match *dim {
                Dim::Any => self.ranges.get(form?.as_axis()? as usize)?.1.max(0),
                Dim::Const(n) => i64::try_from(n).ok()?,
                Dim::Sym(name) => (self.symbols)(name)?,
            };
            let extent = usize::try_from(extent).ok()?;
            shape.push(extent);
            let is_inside = self.is_inside(position, extent)?;
            self.checks.positions |= !is_inside;
            is_whole &= match (along, form) {
                (Some(axis), Some(form)) if !written_along.contains(&axis) => {
                    written_along.push(axis);
                    let (least, most) = self.interval(form)?;
                    if least > most { extent == 0 } else { (least, most) == (0, extent as i128 - 1) }
                }
                (Some(_), _) => false,
                _ => extent == 1 && form.is_some_and(|form| form.as_constant() == Some(0)),
            };
        }
        let len = rewright_ir::value::checked_len(&shape)?;
        let writing = expr.axes.iter().zip(&self.ranges).enumerate();
        let writing = writing.filter(|(_, (axis, _))| axis.kind.has_results());
        let (mut is_injective, mut points) = (true, 1u128);
        for (number, (_, &(lo, hi))) in writing {
            points = points.saturating_mul((i128::from(hi) - i128::from(lo)).max(0) as u128);
            is_injective &= hi - lo <= 1 || written_along.contains(&(number as u32));
        }
        is_whole &= points > 0 || len == 0;
        self.checks.writes |= match (out.write, out.fill) {
            (Write::Unique, fill) => !is_injective || (fill.is_none() && !is_whole),
            (Write::LastWins, fill) => fill.is_none() && !is_whole,
            (Write::Combine(_), fill) => fill.is_none() && !(is_whole && is_injective),
        };
        let fill = out.fill.filter(|_| !is_whole || matches!(out.write, Write::Combine(_)));
        Some((shape, fill))
    }
}
