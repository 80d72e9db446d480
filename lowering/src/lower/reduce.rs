//! Reductions: how the values of points become totals, and totals results.
//!
//! The reduce axes after the last parallel one are a row, which the kernel's [`Fold`] combines in registers; what rows come to, and
//! points where there are no rows because the last axis is a parallel one, is combined with what the result holds, which is the
//! starting value at first; what blocks of rows come to another kernel joins ([`RowBlocks`]). All keep the [`Order`] of the reduction.

use super::{Lowering, NotLowered, ResultMap};
use crate::kernel::{Buffer, Compare, Fold, KValue, Kernel, KernelBuilder, Onward, Part};
use crate::scalar::{Elem, ScalarCx, any_nan, compare};
use rewright_ir::expr::{AxisKind, BodyRef, Combine, Init, Monoid, Order, Reduction};
use rewright_ir::{ArrayExpr, Attrs, DType, Scalar};
use smallvec::SmallVec;

/// A reduction by a monoid with a name.
#[derive(Clone)]
struct Plan {
    monoid: Monoid,
    dtypes: Vec<DType>,
    /// What it starts from, unless there is nothing.
    start: Option<Vec<Scalar>>,
    /// True if any order gives the same bits.
    any_order: bool,
    /// Of positions that are the index along the row's only axis, the axis: the first one is known then where nothing is beyond what is neutral.
    counts_from: Option<u32>,
}

impl Plan {
    fn of(reduction: &Reduction, any_order: bool) -> Result<Plan, NotLowered> {
        let Combine::Builtin(monoid) = reduction.combine else {
            return NotLowered::because("it combines by a region");
        };
        let dtypes = reduction.accumulators.clone();
        let start = match &reduction.init {
            Init::Values(values) => Some(values.clone()),
            Init::First => None,
            Init::Identity if reduction.identity.is_some() => reduction.identity.clone(),
            Init::Identity => dtypes.iter().map(|&dtype| monoid.identity(dtype)).collect(),
            Init::Existing(_) => return NotLowered::because("it starts from the elements of an array"),
        };
        Ok(Plan { monoid, dtypes, start, any_order, counts_from: None })
    }

    /// What a row begins with: in sequence where it starts from, as the order says; elsewhere, and where it starts from nothing, what is neutral.
    fn begin(&self, order: Order) -> Result<Vec<Scalar>, NotLowered> {
        match &self.start {
            Some(start) if self.begins_with_start(order) => Ok(start.clone()),
            _ => self.neutral(),
        }
    }

    /// What on the left of anything changes nothing, bit for bit. No complex number is neutral to all products, for the signs of zeros and for
    /// infinities.
    fn neutral(&self) -> Result<Vec<Scalar>, NotLowered> {
        let value = self.dtypes[0];
        let found = match self.monoid {
            Monoid::Sum => {
                Some(if value.is_int() || value.is_bool() { Scalar::zero(value) } else { both_parts(value, -0.0) })
            }
            Monoid::Prod if value.is_complex() => None,
            Monoid::Min | Monoid::ArgMin if value.is_complex() => Some(both_parts(value, f64::INFINITY)),
            Monoid::Max | Monoid::ArgMax if value.is_complex() => Some(both_parts(value, f64::NEG_INFINITY)),
            Monoid::ArgMin => Monoid::Min.identity(value),
            Monoid::ArgMax => Monoid::Max.identity(value),
            other => other.identity(value),
        };
        let Some(first) = found else {
            return NotLowered::because(format!("`{}` of {value} has no neutral element", self.monoid.name()));
        };
        // Any position is before this one.
        Ok(std::iter::once(first)
            .chain(self.dtypes[1..].iter().filter_map(|&dtype| Monoid::Min.identity(dtype)))
            .collect())
    }

    /// True if a row begins with where it starts from.
    fn begins_with_start(&self, order: Order) -> bool {
        order == Order::Sequential && !self.any_order && self.start.is_some()
    }

    /// Combines two tuples of accumulators.
    fn combine(&self, cx: &mut ScalarCx<'_>, a: &[Elem], b: &[Elem]) -> Result<Vec<Elem>, NotLowered> {
        let op = match self.monoid {
            Monoid::Sum => "add",
            Monoid::Prod => "mul",
            Monoid::Min => "minimum",
            Monoid::Max => "maximum",
            Monoid::Any => "or",
            Monoid::All => "and",
            Monoid::ArgMin | Monoid::ArgMax => return Ok(self.position(cx, a, b)),
        };
        let op = rewright_ir::registry().op(op).ok_or(NotLowered { reason: format!("there is no op `{op}`") })?;
        let both = cx.apply(op, &Attrs::new(), &[a[0], b[0]]).map_err(|reason| NotLowered { reason })?;
        Ok(both.to_vec())
    }

    /// The later position only if its value is beyond the earlier one's.
    fn later(&self, cx: &mut ScalarCx<'_>, a: &[Elem], b: &[Elem]) -> Vec<Elem> {
        let (x, y) = (a[0], b[0]);
        let (low, high) = if self.monoid == Monoid::ArgMin { (x, y) } else { (y, x) };
        let mut stays = compare(cx, Compare::Le, low, high);
        if has_nan(x.dtype) {
            let nan = any_nan(cx, x);
            stays = cx.or(stays, nan);
        }
        a.iter().zip(b).map(|(&a, &b)| cx.select(stays, a, b)).collect()
    }

    /// The earlier one of two positions with the same value, or that of the lesser value; of NaN as of what is less than all.
    fn position(&self, cx: &mut ScalarCx<'_>, a: &[Elem], b: &[Elem]) -> Vec<Elem> {
        let (x, y) = (a[0], b[0]);
        let beyond = |cx: &mut ScalarCx<'_>, x: Elem, y: Elem| {
            let (low, high) = if self.monoid == Monoid::ArgMin { (y, x) } else { (x, y) };
            let beyond = compare(cx, Compare::Lt, low, high);
            if !has_nan(x.dtype) {
                return beyond;
            }
            let (x_nan, y_nan) = (any_nan(cx, x), any_nan(cx, y));
            let x_number = cx.not(x_nan);
            let first_nan = cx.and(x_number, y_nan);
            cx.or(beyond, first_nan)
        };
        let (right, left) = (beyond(cx, x, y), beyond(cx, y, x));
        let earlier = cx.lt(b[1].re, a[1].re);
        let (not_left, maybe) = (cx.not(left), cx.or(right, earlier));
        let right = cx.and(not_left, maybe);
        a.iter().zip(b).map(|(&a, &b)| cx.select(right, b, a)).collect()
    }
}

fn has_nan(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

/// A float, or a complex number of which both parts are it.
fn both_parts(dtype: DType, part: f64) -> Scalar {
    let bits = Scalar::F64(part).cast(dtype.real()).bits().0;
    Scalar::from_bits(dtype, (bits, if dtype.is_complex() { bits } else { 0 }))
}

/// How blocks of rows are joined, of results that are combined in memory in an order that has blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct RowBlocks {
    /// Combines, for each result, what a first buffer holds with what a second one does, onto the first one; along two loops.
    pub join: Kernel,
    /// For each result, what blocks begin with.
    pub neutral: Vec<Scalar>,
}

impl RowBlocks {
    fn new(plans: &[Plan]) -> Result<RowBlocks, NotLowered> {
        let (mut k, none, mut neutral) = (KernelBuilder::new(2), Attrs::new(), Vec::new());
        for plan in plans {
            let dtype = plan.dtypes[0];
            let [left, right] =
                [true, false].map(|written| k.buffer(Buffer { dtype, written, varies: SmallVec::from_elem(true, 2) }));
            let mut cx = ScalarCx { k: &mut k, attrs: &none };
            let [a, b] = [left, right].map(|buffer| element(cx.k, buffer, dtype));
            let both = plan.combine(&mut cx, &[a], &[b])?[0];
            k.store(left, Part::Re, both.re);
            if let Some(im) = both.im {
                k.store(left, Part::Im, im);
            }
            neutral.extend(plan.neutral()?);
        }
        Ok(RowBlocks { join: k.finish(), neutral })
    }
}

/// The element of a buffer at the current point.
fn element(k: &mut KernelBuilder, buffer: u32, dtype: DType) -> Elem {
    let re = k.load(buffer, Part::Re);
    let im = dtype.is_complex().then(|| k.load(buffer, Part::Im));
    Elem { dtype, re, im }
}

/// The axes of a kernel that reduces.
pub(super) struct Axes {
    /// For each axis, whether it is reduced.
    pub reduced: Vec<bool>,
    /// The first axis of rows; all axes from there on are. The number of axes if there are no rows.
    pub row: usize,
}

impl Axes {
    pub fn of(expr: &ArrayExpr) -> Axes {
        let reduced: Vec<bool> = expr.axes.iter().map(|axis| axis.kind == AxisKind::Reduce).collect();
        let row = reduced.iter().rposition(|reduced| !reduced).map_or(0, |last| last + 1);
        Axes { reduced, row }
    }
    fn has_rows(&self) -> bool {
        self.row < self.reduced.len()
    }
    /// Several rows, or several points without rows, come to one result.
    pub fn goes_on(&self) -> bool {
        !self.has_rows() || self.reduced[..self.row].contains(&true)
    }
}

impl Lowering<'_> {
    /// Combines what the body yields, and writes the results.
    pub(super) fn reduce(
        &mut self,
        expr: &ArrayExpr,
        axes: &Axes,
        operands: &[Elem],
        yields: Vec<Elem>,
    ) -> Result<Vec<ResultMap>, NotLowered> {
        let plans = expr.reductions.iter().zip(expr.any_order()).map(|(reduction, any)| Plan::of(reduction, any));
        let mut plans = plans.collect::<Result<Vec<_>, _>>()?;
        let Some(order) = Order::common(expr.orders()) else {
            return NotLowered::because("its reductions combine in different orders");
        };
        let mut next = 0;
        for plan in &mut plans {
            if plan.dtypes[1..] == [DType::I64] && axes.row + 1 == expr.axes.len() {
                let row = axes.row as u32;
                plan.counts_from = (expr.body.yields[next + 1] == BodyRef::Axis(row)).then_some(row);
            }
            next += plan.dtypes.len();
        }
        let mut yields = yields.into_iter();
        let mut items: Vec<Vec<Elem>> = Vec::new();
        for plan in &plans {
            let own: Vec<Elem> =
                plan.dtypes.iter().zip(&mut yields).map(|(&dtype, value)| self.cx().cast(value, dtype)).collect();
            items.push(own);
        }
        if expr.outs.iter().any(|out| out.fill.is_some()) {
            return NotLowered::because("it has results with a fill, and reduces");
        }
        if axes.goes_on() {
            let same = expr.outs.iter().map(|out| out.dtype).eq(plans.iter().flat_map(|plan| plan.dtypes.clone()));
            if expr.finish.is_some() || !same || plans.iter().any(|plan| plan.dtypes.len() > 1) {
                return NotLowered::because("it computes from totals that several rows contribute to");
            }
        }
        // The first of the greatest elements is the same one in blocks of rows as in sequence; sums are not.
        let in_blocks = |plan: &Plan| plan.monoid == Monoid::Sum && !plan.any_order;
        if axes.goes_on() && order != Order::Sequential && plans.iter().any(in_blocks) {
            self.row_blocks = Some(RowBlocks::new(&plans)?);
        }
        if !axes.has_rows() {
            return self.totals_in_memory(expr, &plans, &items);
        }
        if order == Order::Sequential && axes.goes_on() {
            return NotLowered::because("it combines several rows in sequence");
        }
        let inner = self.k.axes() as u32;
        let undefined = |this: &mut Self, level| -> Vec<Vec<Elem>> {
            let like = |e: &Elem| {
                let (re, real) = (this.k.undefined(e.dtype.real(), level), e.dtype.real());
                Elem { dtype: e.dtype, re, im: e.im.map(|_| this.k.undefined(real, level)) }
            };
            let mut like = like;
            items.iter().map(|own| own.iter().map(&mut like).collect()).collect()
        };
        let left = undefined(self, inner);
        let right = undefined(self, inner);
        let totals = undefined(self, inner - 1);
        let parts = |lists: &[Vec<Elem>]| -> Vec<KValue> { lists.iter().flatten().flat_map(Elem::parts).collect() };
        let section = self.k.begin_section();
        let each = plans.iter().zip(&left).zip(&right);
        let both = each.map(|((plan, a), b)| plan.combine(&mut self.cx(), a, b)).collect::<Result<Vec<_>, _>>()?;
        let combine = self.k.end_section(section);
        let onward = self.onward(&plans, (&left, &right))?;
        let neutral = plans.iter().map(|plan| plan.begin(order)).collect::<Result<Vec<_>, _>>()?;
        let bits = |scalar: &Scalar| {
            let (re, im) = scalar.bits();
            std::iter::once(re).chain(scalar.dtype().is_complex().then_some(im))
        };
        let neutral = neutral.iter().flatten().flat_map(bits).collect();
        let section = self.k.begin_section();
        let results = match axes.goes_on() {
            true => self.totals_in_memory(expr, &plans, &totals),
            false => self.finished(expr, (&plans, order), &totals, operands),
        };
        let after = self.k.end_section(section);
        let fold = Fold {
            order,
            any_order: plans.iter().all(|plan| plan.any_order),
            items: parts(&items),
            neutral,
            left: parts(&left),
            right: parts(&right),
            both: parts(&both),
            combine,
            onward,
            totals: parts(&totals),
            after,
        };
        self.k.fold(fold);
        results
    }

    /// How what comes next is combined, if that is simpler than what comes from anywhere.
    fn onward(
        &mut self,
        plans: &[Plan],
        (left, right): (&[Vec<Elem>], &[Vec<Elem>]),
    ) -> Result<Option<Onward>, NotLowered> {
        if !plans.iter().any(|plan| plan.counts_from.is_some()) {
            return Ok(None);
        }
        let section = self.k.begin_section();
        let mut both = Vec::new();
        for ((plan, a), b) in plans.iter().zip(left).zip(right) {
            let cx = &mut self.cx();
            let elems = if plan.counts_from.is_some() { plan.later(cx, a, b) } else { plan.combine(cx, a, b)? };
            both.extend(elems.iter().flat_map(Elem::parts));
        }
        Ok(Some(Onward { both, combine: self.k.end_section(section) }))
    }

    /// Combines what the results hold with what there is now.
    fn totals_in_memory(
        &mut self,
        expr: &ArrayExpr,
        plans: &[Plan],
        values: &[Vec<Elem>],
    ) -> Result<Vec<ResultMap>, NotLowered> {
        let mut results = Vec::new();
        for ((number, out), (plan, value)) in (0..).zip(&expr.outs).zip(plans.iter().zip(values)) {
            let (buffer, mut map) = self.written(number, out)?;
            let held = element(&mut self.k, buffer, out.dtype);
            let both = plan.combine(&mut self.cx(), &[held], value)?;
            self.store(buffer, both[0]);
            // There is a first point wherever the kernel runs, and what is neutral to it is as good as nothing.
            map.start = Some(match &plan.start {
                Some(start) => start[0],
                None => plan.neutral()?[0],
            });
            results.push(map);
        }
        Ok(results)
    }

    /// Computes the results from the totals.
    fn finished(
        &mut self,
        expr: &ArrayExpr,
        (plans, order): (&[Plan], Order),
        totals: &[Vec<Elem>],
        operands: &[Elem],
    ) -> Result<Vec<ResultMap>, NotLowered> {
        let mut accumulators = Vec::new();
        for (plan, total) in plans.iter().zip(totals) {
            let mut total = total.clone();
            if let Some(axis) = plan.counts_from {
                // Where nothing is beyond what is neutral all points are equal to it. Some positions of these were chosen and some not: that
                // depends on how a point came to be combined.
                let first = self.first(axis, &expr.axes);
                let neutral = plan.neutral()?[0];
                let neutral = self.cx().constant(neutral);
                let all_equal = compare(&mut self.cx(), Compare::Eq, total[0], neutral);
                total[1].re = self.k.select(all_equal, first, total[1].re);
            }
            match &plan.start {
                Some(start) if !plan.begins_with_start(order) => {
                    let start: Vec<Elem> = start.iter().map(|&scalar| self.cx().constant(scalar)).collect();
                    accumulators.extend(plan.combine(&mut self.cx(), &start, &total)?);
                }
                _ => accumulators.extend(total),
            }
        }
        let yields = match &expr.finish {
            Some(finish) => self.body(finish, operands, &accumulators, &expr.axes)?,
            None => accumulators,
        };
        (0..).zip(&expr.outs).zip(yields).map(|((number, out), value)| self.result(number, out, value)).collect()
    }
}
