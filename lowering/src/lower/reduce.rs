//! Lowers reductions: from the values of points to totals, and from totals to results.
//!
//! The reduced axes after the last parallel axis are a row, which the kernel's [`Fold`] combines in
//! registers. Totals of several rows, and points if the last axis is parallel, accumulate in memory: they
//! are combined with the result, which holds the initial value at first. A second kernel joins the results
//! of blocks of rows ([`BlockJoin`]). All of them keep the [`Order`] of the reduction.
//!
//! A region has no neutral element. One more accumulator tells whether the others hold a value, and empty
//! accumulators are skipped.

use super::monoid::{combined, combined_scalars, later, multiply_add, neutral};
use super::{Lowering, NotLowered, ResultMap};
use crate::kernel::{Buffer, Combination, Compare, Fold, KValue, Kernel, KernelBuilder, Part};
use crate::scalar::{Elem, ScalarCx, compare};
use rewright_ir::expr::{Axis, AxisKind, BodyRef, Combine, Init, Monoid, Order, Reduction};
use rewright_ir::{ArrayExpr, Attrs, DType, Scalar};
use smallvec::SmallVec;

/// The lowering of one reduction.
struct ReductionPlan<'a> {
    combine: &'a Combine,
    dtypes: Vec<DType>,
    /// Whether one more accumulator after the others tells whether they hold a value.
    flagged: bool,
    /// The initial value, if there is one.
    start: Option<Vec<Scalar>>,
    /// Whether any order gives the same bits.
    any_order: bool,
    /// The row's only axis, if positions are the index along it. The first position is then known if no
    /// value is beyond the neutral one.
    counts_from: Option<u32>,
}

impl<'a> ReductionPlan<'a> {
    fn of(reduction: &'a Reduction, any_order: bool, rows_are_points: bool) -> Result<ReductionPlan<'a>, NotLowered> {
        let dtypes = reduction.accumulators.clone();
        let combine = &reduction.combine;
        if let Init::Existing(_) = reduction.init {
            return NotLowered::because("it starts from the elements of an array");
        }
        let start = reduction.initial_values();
        let mut plan = ReductionPlan { combine, dtypes, flagged: false, start, any_order, counts_from: None };
        plan.flagged =
            matches!(combine, Combine::Region(_)) && !plan.begins_with_start(reduction.order(rows_are_points));
        Ok(plan)
    }

    fn is(&self, monoids: &[Monoid]) -> bool {
        matches!(self.combine, Combine::Builtin(monoid) if monoids.contains(monoid))
    }

    /// The initial accumulators of a row: in sequential order the initial value, if there is one; otherwise
    /// the neutral element.
    fn begin(&self, order: Order) -> Result<Vec<Scalar>, NotLowered> {
        match &self.start {
            Some(start) if self.begins_with_start(order) => Ok(start.clone()),
            _ => self.neutral(),
        }
    }

    /// The left identity, bit for bit.
    fn neutral(&self) -> Result<Vec<Scalar>, NotLowered> {
        let Combine::Builtin(monoid) = *self.combine else {
            let nothing = self.dtypes.iter().map(|&dtype| Scalar::zero(dtype));
            return Ok(nothing.chain(self.flagged.then_some(Scalar::Bool(false))).collect());
        };
        neutral(monoid, &self.dtypes)
    }

    /// Whether a row begins with the initial value.
    fn begins_with_start(&self, order: Order) -> bool {
        order == Order::Sequential && !self.any_order && self.start.is_some()
    }
}

/// The join of blocks of rows, for reductions that accumulate in memory in an order with blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockJoin {
    /// Combines, for each result, a first buffer with a second one into the first one; along two loops.
    pub join: Kernel,
    /// For each result, the initial value of a block.
    pub neutral: Vec<Scalar>,
    /// The rows of a block.
    pub block: u64,
    /// Whether rows may also be combined one after the other, with the same bits.
    pub is_free: bool,
}

impl BlockJoin {
    fn new(plans: &[ReductionPlan<'_>], order: Order, is_free: bool) -> Result<BlockJoin, NotLowered> {
        let (mut k, none, mut neutral) = (KernelBuilder::new(2), Attrs::new(), Vec::new());
        for plan in plans {
            let Combine::Builtin(monoid) = *plan.combine else { return several_rows() };
            let dtype = plan.dtypes[0];
            let [left, right] =
                [true, false].map(|written| k.buffer(Buffer { dtype, written, varies: SmallVec::from_elem(true, 2) }));
            let mut cx = ScalarCx { k: &mut k, attrs: &none };
            let [a, b] = [left, right].map(|buffer| element(cx.k, buffer, dtype));
            let both = combined_scalars(monoid, &mut cx, a, b)?;
            k.store(left, Part::Re, both.re);
            if let Some(im) = both.im {
                k.store(left, Part::Im, im);
            }
            neutral.extend(plan.neutral()?.first());
        }
        Ok(BlockJoin { join: k.finish(), neutral, block: order.block() as u64, is_free })
    }
}

fn several_rows<T>() -> Result<T, NotLowered> {
    NotLowered::because("it combines several rows by a region")
}

/// The element of a buffer at the current point.
fn element(k: &mut KernelBuilder, buffer: u32, dtype: DType) -> Elem {
    let re = k.load(buffer, Part::Re);
    let im = dtype.is_complex().then(|| k.load(buffer, Part::Im));
    Elem { dtype, re, im }
}

/// The axes of a reduction kernel.
pub(super) struct Axes {
    /// For each axis, whether it is reduced.
    pub reduced: Vec<bool>,
    /// The first axis of rows; it and all later axes are reduced. The number of axes if there are no rows.
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
    /// Whether several rows, or several points without rows, are combined to one result.
    pub fn goes_on(&self) -> bool {
        !self.has_rows() || self.reduced[..self.row].contains(&true)
    }
}

impl Lowering<'_> {
    /// Combines the yields of the body, and stores the results.
    pub(super) fn reduce(
        &mut self,
        expr: &ArrayExpr,
        axes: &Axes,
        operands: &[Elem],
        yields: Vec<Elem>,
    ) -> Result<Vec<ResultMap>, NotLowered> {
        let points = expr.rows_are_points();
        let plans = expr
            .reductions
            .iter()
            .zip(expr.any_order())
            .map(|(reduction, any)| ReductionPlan::of(reduction, any, points));
        let mut plans = plans.collect::<Result<Vec<_>, _>>()?;
        let Some(order) = Order::common(expr.orders()) else {
            return NotLowered::because("its reductions combine in different orders");
        };
        let mut next = 0;
        for plan in &mut plans {
            if plan.is(&[Monoid::ArgMin, Monoid::ArgMax]) && axes.row + 1 == expr.axes.len() {
                let row = axes.row as u32;
                plan.counts_from = (expr.body.yields[next + 1] == BodyRef::Axis(row)).then_some(row);
            }
            next += plan.dtypes.len();
        }
        let mut yields = yields.into_iter();
        let mut items: Vec<Vec<Elem>> = Vec::new();
        for plan in &plans {
            let accumulators = plan.dtypes.iter().zip(&mut yields);
            let mut own: Vec<Elem> = accumulators.map(|(&dtype, value)| self.cx().cast(value, dtype)).collect();
            own.extend(plan.flagged.then(|| self.cx().constant(Scalar::Bool(true))));
            items.push(own);
        }
        if expr.outs.iter().any(|out| out.fill.is_some()) {
            return NotLowered::because("it has results with a fill, and reduces");
        }
        if axes.has_rows() && plans.iter().any(|plan| plan.is(&[Monoid::Dot])) {
            return NotLowered::because("it combines factors along rows");
        }
        if axes.goes_on() {
            if plans.iter().any(|plan| matches!(plan.combine, Combine::Region(_))) {
                return several_rows();
            }
            // For `dot`, memory holds the sum, which is the result.
            let is_dot = |plan: &ReductionPlan<'_>| plan.is(&[Monoid::Dot]);
            let is_sum = matches!(&plans[..], [plan] if is_dot(plan))
                && expr.finish.as_ref().is_some_and(|finish| finish.yields == [BodyRef::Acc(0)]);
            let held = plans.iter().flat_map(|plan| &plan.dtypes[..if is_dot(plan) { 1 } else { plan.dtypes.len() }]);
            let same = expr.outs.iter().map(|out| &out.dtype).eq(held);
            let is_pair = |plan: &ReductionPlan<'_>| plan.dtypes.len() > 1;
            if !same || !is_sum && (expr.finish.is_some() || plans.iter().any(is_pair)) {
                return NotLowered::because("it computes from totals that several rows contribute to");
            }
        }
        // The first of the greatest elements is the same in blocks of rows as in sequence; sums differ.
        let in_blocks = |plan: &ReductionPlan<'_>| plan.is(&[Monoid::Sum, Monoid::Dot]) && !plan.any_order;
        let is_free = |plan: &ReductionPlan<'_>| plan.any_order || plan.is(&[Monoid::Min, Monoid::Max]);
        if axes.goes_on() && order != Order::Sequential && plans.iter().any(in_blocks) {
            self.block_join = Some(BlockJoin::new(&plans, order, false)?);
        } else if !axes.has_rows() && plans.iter().all(is_free) {
            self.block_join = Some(BlockJoin::new(&plans, Order::PAIRWISE, true)?);
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
        let both = each.map(|((plan, a), b)| self.both(plan, a, b, &expr.axes)).collect::<Result<Vec<_>, _>>()?;
        let combine = self.k.end_inner_section(section);
        if let Some(reference) = self.k.reference(combine.clone()) {
            return NotLowered::because(format!("its region has `{}`, which has no lowering", reference.op.name));
        }
        let onward = self.onward(&plans, (&left, &right), &expr.axes)?;
        let alone = self.alone(&plans, (&left, &right))?;
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
            alone,
            totals: parts(&totals),
            after,
        };
        self.k.fold(fold);
        results
    }

    /// Combines two tuples of accumulators.
    fn both(
        &mut self,
        plan: &ReductionPlan<'_>,
        a: &[Elem],
        b: &[Elem],
        axes: &[Axis],
    ) -> Result<Vec<Elem>, NotLowered> {
        let region = match plan.combine {
            Combine::Builtin(monoid) => return combined(*monoid, &mut self.cx(), a, b),
            Combine::Region(region) => region,
        };
        let count = plan.dtypes.len();
        let accumulators = [&a[..count], &b[..count]].concat();
        let mut both = self.body(region, &[], &accumulators, axes)?;
        let cx = &mut self.cx();
        if let (Some(left), Some(right)) = (a.get(count), b.get(count)) {
            for ((both, &a), &b) in both.iter_mut().zip(a).zip(b) {
                let any = cx.select(right.re, *both, a);
                *both = cx.select(left.re, any, b);
            }
            both.push(Elem::real(DType::Bool, cx.or(left.re, right.re)));
        }
        Ok(both)
    }

    /// The combination with a right operand that is later in the row, if it is simpler than the general one.
    fn onward(
        &mut self,
        plans: &[ReductionPlan<'_>],
        (left, right): (&[Vec<Elem>], &[Vec<Elem>]),
        axes: &[Axis],
    ) -> Result<Option<Combination>, NotLowered> {
        if !plans.iter().any(|plan| plan.counts_from.is_some()) {
            return Ok(None);
        }
        let section = self.k.begin_section();
        let mut both = Vec::new();
        for ((plan, a), b) in plans.iter().zip(left).zip(right) {
            let elems = match *plan.combine {
                Combine::Builtin(monoid) if plan.counts_from.is_some() => later(monoid, &mut self.cx(), a, b),
                _ => self.both(plan, a, b, axes)?,
            };
            both.extend(elems.iter().flat_map(Elem::parts));
        }
        Ok(Some(Combination { both, combine: self.k.end_inner_section(section) }))
    }

    /// The combination of the only reduction's values, without positions.
    fn alone(
        &mut self,
        plans: &[ReductionPlan<'_>],
        (left, right): (&[Vec<Elem>], &[Vec<Elem>]),
    ) -> Result<Option<Combination>, NotLowered> {
        let [ReductionPlan { combine: Combine::Builtin(monoid), counts_from: Some(_), .. }] = plans else {
            return Ok(None);
        };
        let section = self.k.begin_section();
        let of_values = if *monoid == Monoid::ArgMin { Monoid::Min } else { Monoid::Max };
        let both = combined(of_values, &mut self.cx(), &left[0][..1], &right[0][..1])?;
        let both = both.iter().flat_map(Elem::parts).collect();
        Ok(Some(Combination { both, combine: self.k.end_inner_section(section) }))
    }

    /// Combines the results in memory with values.
    fn totals_in_memory(
        &mut self,
        expr: &ArrayExpr,
        plans: &[ReductionPlan<'_>],
        values: &[Vec<Elem>],
    ) -> Result<Vec<ResultMap>, NotLowered> {
        let mut results = Vec::new();
        for ((number, out), (plan, value)) in (0..).zip(&expr.outs).zip(plans.iter().zip(values)) {
            let (buffer, mut map) = self.written(number, out)?;
            let held = element(&mut self.k, buffer, out.dtype);
            let both = match plan.combine {
                Combine::Builtin(Monoid::Dot) => multiply_add(&mut self.cx(), value[0], value[1], held)?,
                _ => self.both(plan, &[held], value, &expr.axes)?[0],
            };
            self.store(buffer, both);
            // The kernel runs with at least one point, and a neutral element that is combined with it
            // changes nothing.
            map.start = Some(match &plan.start {
                Some(start) => start[0],
                None => plan.neutral()?[0],
            });
            results.push(map);
        }
        Ok(results)
    }

    /// Computes the results from the totals of a row.
    fn finished(
        &mut self,
        expr: &ArrayExpr,
        (plans, order): (&[ReductionPlan<'_>], Order),
        totals: &[Vec<Elem>],
        operands: &[Elem],
    ) -> Result<Vec<ResultMap>, NotLowered> {
        let mut accumulators = Vec::new();
        for (plan, total) in plans.iter().zip(totals) {
            let mut total = total.clone();
            if let Some(axis) = plan.counts_from {
                // If no value is beyond the neutral one, all values equal it. The combined position then
                // depends on the order of combination, so the first position is selected.
                let first = self.first(axis, &expr.axes);
                let neutral = plan.neutral()?[0];
                let neutral = self.cx().constant(neutral);
                let all_equal = compare(&mut self.cx(), Compare::Eq, total[0], neutral);
                total[1].re = self.k.select(all_equal, first, total[1].re);
            }
            match &plan.start {
                Some(start) if !plan.begins_with_start(order) => {
                    let mut start: Vec<Elem> = start.iter().map(|&scalar| self.cx().constant(scalar)).collect();
                    start.extend(plan.flagged.then(|| self.cx().constant(Scalar::Bool(true))));
                    total = self.both(plan, &start, &total, &expr.axes)?;
                }
                _ => {}
            }
            // Every row has a point, so the flags are not needed.
            accumulators.extend(total.into_iter().take(plan.dtypes.len()));
        }
        let yields = match &expr.finish {
            Some(finish) => self.body(finish, operands, &accumulators, &expr.axes)?,
            None => accumulators,
        };
        (0..).zip(&expr.outs).zip(yields).map(|((number, out), value)| self.result(number, out, value)).collect()
    }
}
