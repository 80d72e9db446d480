//! An index space with evaluated bounds, and the iteration over its points.

use super::super::verify::{existing_out, extent_sources};
use super::super::{ArrayExpr, AxisKind, Combine, Condition, Init, Test};
use super::body::{BodyPlan, SlotLayout, leading_dtypes};
use super::env::Env;
use super::fold::{Accs, ReductionPlan};
use super::position::{Form, Read, WritePositions, bound};
use crate::dtype::DType;
use crate::error::EvalError;
use crate::scalar::Scalar;

/// An expression prepared for evaluation.
pub(super) struct Space<'a> {
    expr: &'a ArrayExpr,
    /// The number of axes of the enclosing expressions.
    outer: usize,
    /// The bounds of all axes, those of enclosing expressions first.
    pub(super) ranges: Vec<(i64, i64)>,
    parallel: Vec<usize>,
    /// The scan axis, and whether the scan is exclusive.
    scan: Option<(usize, bool)>,
    reduce: Vec<usize>,
    /// The reduce axes after the last axis of another kind.
    row: Vec<usize>,
    /// Conditions on other axes only: whether a point has results.
    guard: Vec<(Form, Test)>,
    /// Conditions on reduce axes: whether a point is combined.
    inner_guard: Vec<(Form, Test)>,
    reads: Vec<Read>,
    body: BodyPlan<'a>,
    reductions: Vec<ReductionPlan<'a>>,
    finish: Option<BodyPlan<'a>>,
}

impl<'a> Space<'a> {
    /// Resolves an expression nested in axes with the bounds `around`. `captures` are the dtypes of the
    /// values that a nested expression captures.
    pub(super) fn new(
        expr: &'a ArrayExpr,
        around: &[(i64, i64)],
        captures: &[DType],
        env: &Env<'_>,
    ) -> Result<Self, EvalError> {
        let mut ranges = around.to_vec();
        for (i, axis) in expr.axes.iter().enumerate() {
            let hi = match &axis.hi {
                Some(hi) => bound(hi, env)?,
                None => inferred(expr, (around.len() + i) as u32, env)?,
            };
            ranges.push((bound(&axis.lo, env)?, hi));
        }
        let range = |axis: u32| ranges.get(axis as usize).copied();
        let reads: Vec<Read> = expr.operands.iter().map(|o| Read::new(o, env, range)).collect::<Result<_, _>>()?;
        let missing = reads.iter().any(|r| matches!(r, Read::Capture(k) if *k >= captures.len()));
        if missing {
            return Err(EvalError::unsupported("a capture is missing"));
        }
        let of_kind = |kind| {
            let own = expr.axes.iter().enumerate();
            own.filter(move |(_, a)| a.kind == kind).map(|(i, _)| around.len() + i).collect::<Vec<usize>>()
        };
        let (parallel, reduce) = (of_kind(AxisKind::Parallel), of_kind(AxisKind::Reduce));
        let scan = expr.scan().map(|(axis, exclusive)| (around.len() + axis, exclusive));
        let last = parallel.last().copied().max(scan.map(|(axis, _)| axis));
        let row = reduce.iter().copied().filter(|&a| last < Some(a)).collect();
        let (mut guard, mut inner_guard) = (Vec::new(), Vec::new());
        for Condition { form, test } in &expr.guard {
            let inner = form.axes().iter().any(|(a, _)| reduce.contains(&(*a as usize)));
            let list = if inner { &mut inner_guard } else { &mut guard };
            list.push((Form::new(form, env)?, *test));
        }
        let dtypes = leading_dtypes(expr);
        let operands = expr.operands.len();
        let accumulators = dtypes.len() - operands;
        let body = BodyPlan::new(&expr.body, SlotLayout { operands, accumulators }, &dtypes, &ranges, env)?;
        let finish = match &expr.finish {
            Some(finish) => Some(BodyPlan::new(finish, SlotLayout { operands, accumulators }, &dtypes, &ranges, env)?),
            None => None,
        };
        let reductions = expr.reductions.iter().map(|r| ReductionPlan::new(r, env)).collect::<Result<_, _>>()?;
        Ok(Space {
            expr,
            outer: around.len(),
            ranges,
            parallel,
            scan,
            reduce,
            row,
            guard,
            inner_guard,
            reads,
            body,
            reductions,
            finish,
        })
    }

    /// The number of points along some axes.
    fn points(&self, axes: &[usize]) -> Option<u64> {
        axes.iter().try_fold(1u64, |n, &a| {
            let (lo, hi) = self.ranges[a];
            n.checked_mul(u64::try_from(i128::from(hi) - i128::from(lo)).unwrap_or(0))
        })
    }

    /// Calls `each` with the results at every point of the parallel axes, in row-major order, and there at
    /// every point of the scan axis. `places` is required if accumulators start from existing elements.
    pub(super) fn run(
        &self,
        captures: &[Scalar],
        point: &mut Vec<i64>,
        places: &[WritePositions],
        env: &Env<'_>,
        mut each: impl FnMut(&[Scalar], &[i64]) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let scanned: Vec<usize> = self.scan.iter().map(|(axis, _)| *axis).collect();
        let (outer, inner) = (self.points(&self.parallel), self.points(&self.reduce));
        let outer = outer.zip(self.points(&scanned)).and_then(|(a, b)| a.checked_mul(b));
        let points = outer.zip(inner).and_then(|(a, b)| a.checked_mul(b));
        let Some(points) = points.filter(|&n| n.max(outer.unwrap_or(0)) <= env.cx.limits.steps) else {
            let limit = env.cx.limits.steps;
            return Err(EvalError::limit(format!("the index space has more than {limit} points")));
        };
        env.cx.spend(points.saturating_mul(1 + self.body.len() as u64).saturating_add(outer.unwrap_or(0)))?;
        point.truncate(self.outer);
        point.extend(self.ranges[self.outer..].iter().map(|(lo, _)| *lo));
        if outer == Some(0) {
            return Ok(());
        }
        let mut slots: Vec<Scalar> = Vec::new();
        let mut results: Vec<Scalar> = Vec::new();
        loop {
            if let Some((axis, exclusive)) = self.scan {
                self.scan_along(axis, exclusive, captures, point, env, &mut slots, &mut each)?;
            } else if holds(&self.guard, point)? {
                results.clear();
                self.results_at(captures, point, places, env, &mut slots, &mut results)?;
                each(&results, point)?;
            }
            if !self.advance(&self.parallel, point) {
                return Ok(());
            }
        }
    }

    /// Advances the point along some axes in row-major order. Returns false at the end, with the point reset
    /// to the first.
    fn advance(&self, axes: &[usize], point: &mut [i64]) -> bool {
        for &axis in axes.iter().rev() {
            let (lo, hi) = self.ranges[axis];
            point[axis] += 1;
            if point[axis] < hi {
                return true;
            }
            point[axis] = lo;
        }
        false
    }

    /// Reads the operands that a body uses.
    fn read(
        &self,
        body: &BodyPlan<'_>,
        captures: &[Scalar],
        point: &[i64],
        slots: &mut Vec<Scalar>,
        env: &Env<'_>,
    ) -> Result<(), EvalError> {
        slots.resize(self.reads.len() + self.expr.accumulators().count(), Scalar::Bool(false));
        for &k in &body.reads {
            slots[k] = self.reads[k].at(point, captures, env)?;
        }
        Ok(())
    }

    /// Calls `each` with the results at every point of the scan axis, at a point of the parallel axes.
    #[allow(clippy::too_many_arguments, reason = "the axis, and the state of the evaluation")]
    fn scan_along(
        &self,
        axis: usize,
        exclusive: bool,
        captures: &[Scalar],
        point: &mut Vec<i64>,
        env: &Env<'_>,
        slots: &mut Vec<Scalar>,
        each: &mut impl FnMut(&[Scalar], &[i64]) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let initial = |plan: &ReductionPlan<'_>| plan.reduction.initial_values().map(Accs::from_vec);
        let mut totals: Vec<Option<Accs>> = self.reductions.iter().map(initial).collect();
        let mut results: Vec<Scalar> = Vec::new();
        let (lo, hi) = self.ranges[axis];
        for index in lo..hi {
            point[axis] = index;
            if !holds(&self.guard, point)? {
                continue;
            }
            results.clear();
            if exclusive {
                self.finished(&totals, captures, point, env, slots, &mut results)?;
            }
            let parts = match self.reduce.is_empty() {
                true => self.values_at(captures, point, env, slots)?.into_iter().map(Some).collect(),
                false => self.folded(vec![None; totals.len()], captures, point, env, slots)?,
            };
            for ((total, part), plan) in totals.iter_mut().zip(parts).zip(&self.reductions) {
                *total = match (total.take(), part) {
                    (Some(total), Some(part)) => Some(plan.combine(&total, &part, env)?),
                    (total, part) => total.or(part),
                };
            }
            if !exclusive {
                self.finished(&totals, captures, point, env, slots, &mut results)?;
            }
            each(&results, point)?;
        }
        point[axis] = lo;
        Ok(())
    }

    /// The results at a point of the parallel axes, without a scan axis.
    fn results_at(
        &self,
        captures: &[Scalar],
        point: &mut Vec<i64>,
        places: &[WritePositions],
        env: &Env<'_>,
        slots: &mut Vec<Scalar>,
        results: &mut Vec<Scalar>,
    ) -> Result<(), EvalError> {
        if self.reductions.is_empty() {
            self.read(&self.body, captures, point, slots, env)?;
            self.body.run(slots, point, env)?;
            results.extend(self.body.yields.iter().map(|slot| slot.read(slots, point)));
            return Ok(());
        }
        let (mut starts, mut first) = (Vec::new(), 0);
        for plan in &self.reductions {
            starts.push(match &plan.reduction.init {
                Init::Existing(args) => Some(self.existing(args, first, plan, point, places, env)?),
                _ => plan.reduction.initial_values().map(Accs::from_vec),
            });
            first += plan.reduction.accumulators.len();
        }
        let totals = self.folded(starts, captures, point, env, slots)?;
        self.finished(&totals, captures, point, env, slots, results)
    }

    /// The results of the totals at a point.
    fn finished(
        &self,
        totals: &[Option<Accs>],
        captures: &[Scalar],
        point: &mut Vec<i64>,
        env: &Env<'_>,
        slots: &mut Vec<Scalar>,
        results: &mut Vec<Scalar>,
    ) -> Result<(), EvalError> {
        let mut accumulated: Vec<Scalar> = Vec::new();
        for (total, plan) in totals.iter().zip(&self.reductions) {
            let nothing = || match plan.reduction.combine {
                // The error that the unfused reduction would give.
                Combine::Builtin(monoid) => monoid.of_nothing().at(monoid.name(), plan.reduction.loc),
                Combine::Region(_) => EvalError::value("reduces zero elements by something that has no identity"),
            };
            accumulated.extend(total.as_ref().ok_or_else(nothing)?);
        }
        let Some(finish) = &self.finish else {
            results.extend(accumulated);
            return Ok(());
        };
        self.read(finish, captures, point, slots, env)?;
        slots.truncate(self.reads.len());
        slots.extend(accumulated);
        finish.run(slots, point, env)?;
        results.extend(finish.yields.iter().map(|slot| slot.read(slots, point)));
        Ok(())
    }

    /// For each reduction, the values at a point.
    fn values_at(
        &self,
        captures: &[Scalar],
        point: &mut Vec<i64>,
        env: &Env<'_>,
        slots: &mut Vec<Scalar>,
    ) -> Result<Vec<Accs>, EvalError> {
        self.read(&self.body, captures, point, slots, env)?;
        self.body.run(slots, point, env)?;
        let mut yields = self.body.yields.iter();
        let values = |plan: &ReductionPlan<'_>| {
            let dtypes = &plan.reduction.accumulators;
            dtypes.iter().zip(&mut yields).map(|(&d, s)| s.read(slots, point).cast(d)).collect()
        };
        Ok(self.reductions.iter().map(values).collect())
    }

    /// For each reduction, the total of its start and all points of the reduce axes; `None` of nothing.
    fn folded(
        &self,
        starts: Vec<Option<Accs>>,
        captures: &[Scalar],
        point: &mut Vec<i64>,
        env: &Env<'_>,
        slots: &mut Vec<Scalar>,
    ) -> Result<Vec<Option<Accs>>, EvalError> {
        let row = self.points(&self.row).and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
        let mut folds = Vec::new();
        for (plan, start) in self.reductions.iter().zip(starts) {
            folds.push(plan.fold((row, self.row.is_empty()), start, |a, b| plan.combine(&a, &b, env)));
        }
        if self.points(&self.reduce) != Some(0) {
            loop {
                if holds(&self.inner_guard, point)? {
                    let values = self.values_at(captures, point, env, slots)?;
                    values.into_iter().zip(&mut folds).try_for_each(|(value, fold)| fold.push(value))?;
                } else {
                    folds.iter_mut().try_for_each(|fold| fold.skip())?;
                }
                if !self.advance(&self.reduce, point) {
                    break;
                }
            }
        }
        folds.into_iter().map(|fold| fold.finish()).collect()
    }

    /// The existing elements from which accumulators start.
    fn existing(
        &self,
        args: &[u32],
        first: usize,
        plan: &ReductionPlan<'_>,
        point: &[i64],
        places: &[WritePositions],
        env: &Env<'_>,
    ) -> Result<Accs, EvalError> {
        let mut found = Accs::new();
        for (k, (&arg, &dtype)) in args.iter().zip(&plan.reduction.accumulators).enumerate() {
            let which = existing_out(self.expr, first + k)
                .and_then(|out| self.expr.outs.iter().position(|o| std::ptr::eq(o, out)));
            let Some((result, place)) = which.and_then(|w| Some((w, places.get(w)?))) else {
                return Err(EvalError::unsupported("a nested expression can't start from arrays"));
            };
            if env.shape(arg as usize) != place.shape {
                return Err(EvalError::shape(format!(
                    "accumulator {} starts from an array of shape {:?}, result {result} has shape {:?}",
                    first + k,
                    env.shape(arg as usize),
                    place.shape
                )));
            }
            found.push(env.elements[arg as usize].at(place.at(point, result, env)?).cast(dtype));
        }
        Ok(found)
    }

    /// The results of a nested expression, which are scalars.
    pub(super) fn scalars(
        &self,
        captures: &[Scalar],
        point: &mut Vec<i64>,
        env: &Env<'_>,
    ) -> Result<Vec<Scalar>, EvalError> {
        let mut results = None;
        self.run(captures, point, &[], env, |values, _| {
            results = Some(values.iter().zip(&self.expr.outs).map(|(s, out)| s.cast(out.dtype)).collect());
            Ok(())
        })?;
        point.truncate(self.outer);
        let filled = || self.expr.outs.iter().map(|out| out.fill).collect::<Option<Vec<_>>>();
        results.or_else(filled).ok_or_else(|| EvalError::value("a guard leaves a nested expression without a value"))
    }
}

fn holds(guard: &[(Form, Test)], point: &[i64]) -> Result<bool, EvalError> {
    for (form, test) in guard {
        if !test.holds(form.at(point)?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The extent of an axis without an upper bound: the broadcast extent of the operand dims along it.
fn inferred(expr: &ArrayExpr, axis: u32, env: &Env<'_>) -> Result<i64, EvalError> {
    let mut extent = 1;
    for (arg, dim) in extent_sources(expr, axis) {
        let n = env.shape(arg as usize).get(dim).copied().unwrap_or(1);
        extent = match (extent, n) {
            (a, 1) => a,
            (1, b) => b,
            (a, b) if a == b => a,
            (a, b) => {
                return Err(EvalError::shape(format!(
                    "operands have extents {a} and {b} along axis {axis} of the index space, which don't broadcast"
                )));
            }
        };
    }
    Ok(extent as i64)
}
