//! Reductions of a point of the parallel axes: accumulators, and how the values of points are combined.

use super::order::Group;
use super::{Names, ProgramLowering, axes_of};
use crate::kernel::Part;
use crate::lower::NotLowered;
use crate::lower::monoid::{combined, multiply_add, neutral};
use crate::program::{Accumulator, Condition, Linear, Slots, Tuple};
use crate::scalar::Elem;
use rewright_ir::expr::{AxisKind, Combine, Init, Monoid, Order, Reduction};
use rewright_ir::{ArrayExpr, DType, Scalar};
use smallvec::SmallVec;

/// The start of a reduction.
pub(super) enum Start {
    /// Nothing: the first point.
    Nothing,
    /// These values.
    Values(Vec<Scalar>),
    /// The elements of these operands where the point writes; the number of the first accumulator.
    Existing(Vec<u32>, usize),
}

/// A reduction.
pub(super) struct Reducer<'e> {
    dtypes: &'e [DType],
    pub(super) start: Start,
    pub(super) order: Order,
    pub(super) accumulator: Accumulator,
    /// The number of its first value among those that the body yields.
    pub(super) first: usize,
}

impl ProgramLowering<'_> {
    /// The accumulators after all points of the reduce axes.
    pub(super) fn reduced(&mut self, expr: &ArrayExpr, captures: &[Elem]) -> Result<Vec<Elem>, NotLowered> {
        let reducers = self.reducers(expr)?;
        let totals: Vec<Slots> = reducers.iter().map(|r| self.b.slots(&r.accumulator, &[])).collect();
        let any = self.points_seen(&reducers);
        reducers.iter().zip(&totals).try_for_each(|(reducer, total)| self.start(expr, reducer, total, &[]))?;
        self.fold_all(expr, captures, (&reducers, &totals, &any))?;
        self.values((&totals, &[]), &any)
    }

    /// For each reduction that starts from nothing, and so needs a point, a flag that says whether there was
    /// one.
    pub(super) fn points_seen(&mut self, reducers: &[Reducer<'_>]) -> Vec<Option<u32>> {
        let mut flag = |reducer: &Reducer<'_>| {
            matches!(reducer.start, Start::Nothing).then(|| {
                let (any, no) = (self.b.local(DType::Bool, &[]), self.cx().bool(false));
                self.b.store(any, Part::Re, &[], no);
                any
            })
        };
        reducers.iter().map(&mut flag).collect()
    }

    /// Combines all points of the reduce axes onto the totals.
    pub(super) fn fold_all(
        &mut self,
        expr: &ArrayExpr,
        captures: &[Elem],
        (reducers, totals, any): (&[Reducer<'_>], &[Slots], &[Option<u32>]),
    ) -> Result<(), NotLowered> {
        // Reductions of one order share their loops.
        let mut orders: Vec<Order> = Vec::new();
        reducers.iter().map(|r| r.order).for_each(|order| {
            if !orders.contains(&order) {
                orders.push(order);
            }
        });
        for order in orders {
            let group: Vec<usize> = (0..reducers.len()).filter(|&n| reducers[n].order == order).collect();
            let group: Vec<_> = group.iter().map(|&n| (&reducers[n], &totals[n], any[n])).collect();
            self.fold(expr, captures, order, &group)?;
        }
        Ok(())
    }

    /// The values of totals at a place. The program fails if a total needs a point and has none.
    pub(super) fn values(
        &mut self,
        (totals, at): (&[Slots], &[Linear]),
        any: &[Option<u32>],
    ) -> Result<Vec<Elem>, NotLowered> {
        let mut values = Vec::new();
        for (total, any) in totals.iter().zip(any) {
            if let Some(any) = any {
                let any = self.b.load(*any, Part::Re, &[]);
                self.fail_unless(&[Condition::Value(any)])?;
            }
            values.extend(self.b.get(total, at).values);
        }
        Ok(values)
    }

    /// The reductions of an expression.
    pub(super) fn reducers<'e>(&mut self, expr: &'e ArrayExpr) -> Result<Vec<Reducer<'e>>, NotLowered> {
        let (mut first, mut reducers) = (0, Vec::new());
        for (reduction, any_order) in expr.reductions.iter().zip(expr.any_order()) {
            reducers.push(self.reducer(expr, (reduction, any_order), first)?);
            first += reduction.accumulators.len();
        }
        Ok(reducers)
    }

    /// Sets a total to the start of a reduction.
    pub(super) fn start(
        &mut self,
        expr: &ArrayExpr,
        reducer: &Reducer<'_>,
        total: &Slots,
        at: &[Linear],
    ) -> Result<(), NotLowered> {
        let values = match &reducer.start {
            Start::Nothing => {
                self.b.clear(&reducer.accumulator, total, at);
                return Ok(());
            }
            Start::Values(values) => self.constants(values),
            Start::Existing(args, first) => self.existing(&expr.outs, (args, reducer.dtypes), *first)?,
        };
        self.b.set(total, at, &Tuple { values, flag: None });
        Ok(())
    }

    fn reducer<'e>(
        &mut self,
        expr: &ArrayExpr,
        (reduction, any_order): (&'e Reduction, bool),
        first: usize,
    ) -> Result<Reducer<'e>, NotLowered> {
        let (combine, dtypes) = (&reduction.combine, &reduction.accumulators[..]);
        let start = match (&reduction.init, reduction.initial_values()) {
            (Init::Existing(args), _) => Start::Existing(args.clone(), first),
            (_, Some(values)) => Start::Values(values),
            (_, None) => Start::Nothing,
        };
        let neutral = match combine {
            Combine::Builtin(monoid) => neutral(*monoid, dtypes).ok(),
            Combine::Region(_) => None,
        };
        let mut operands = || -> Vec<Elem> {
            let mut part = |dtype: &DType| self.b.k.undefined(dtype.real(), 0);
            let elem = |dtype: &DType| {
                let re = part(dtype);
                Elem { dtype: *dtype, re, im: dtype.is_complex().then(|| part(dtype)) }
            };
            dtypes.iter().map(elem).collect()
        };
        let (left, right) = (operands(), operands());
        self.b.open();
        let (both, fixed) = match combine {
            Combine::Builtin(Monoid::Dot) => {
                let sum = multiply_add(&mut self.cx(), right[0], right[1], left[0]);
                let one = Scalar::one(dtypes[1]);
                let both = sum.map(|sum| vec![sum, self.cx().constant(one)]);
                (both, SmallVec::from_elem(one, 1))
            }
            _ => (self.both(combine, dtypes, &left, &right), SmallVec::new()),
        };
        let (body, dtypes_of) = (self.b.close(), dtypes.into());
        let accumulator = Accumulator { dtypes: dtypes_of, fixed, neutral, any_order, left, right, body, both: both? };
        Ok(Reducer { dtypes, start, order: reduction.order(expr.rows_are_points()), accumulator, first })
    }

    /// Runs `each` with the tuples of a group at the current point, if the guard admits it.
    pub(super) fn point(
        &mut self,
        expr: &ArrayExpr,
        captures: &[Elem],
        group: &Group<'_>,
        each: impl FnOnce(&mut Self, &[Tuple]),
    ) -> Result<(), NotLowered> {
        let guard = self.guard(expr, true);
        self.when_all(guard, |this| {
            let yields = this.body(&expr.body, Names { operands: &expr.operands, captures, accumulators: &[] })?;
            let mut tuples = Vec::new();
            for (reducer, _, any) in group {
                let own = &yields[reducer.first..reducer.first + reducer.dtypes.len()];
                let values = own.iter().zip(reducer.dtypes).map(|(&value, &dtype)| this.cx().cast(value, dtype));
                let values = values.collect();
                if let Some(any) = any {
                    let yes = this.cx().bool(true);
                    this.b.store(*any, Part::Re, &[], yes);
                }
                tuples.push(Tuple { values, flag: None });
            }
            each(this, &tuples);
            Ok(())
        })
    }

    /// Combines two tuples.
    fn both(
        &mut self,
        combine: &Combine,
        dtypes: &[DType],
        left: &[Elem],
        right: &[Elem],
    ) -> Result<Vec<Elem>, NotLowered> {
        match combine {
            Combine::Builtin(monoid) => combined(*monoid, &mut self.cx(), left, right),
            Combine::Region(region) => {
                let accumulators = [left, right].concat();
                let names = Names { operands: &[], captures: &[], accumulators: &accumulators };
                let yields = self.body(region, names)?;
                Ok(yields.into_iter().zip(dtypes).map(|(value, &dtype)| self.cx().cast(value, dtype)).collect())
            }
        }
    }

    /// The reduce axes before the last axis of another kind, and those after it, which make a row.
    pub(super) fn outer_and_row(&self, expr: &ArrayExpr) -> (Vec<usize>, Vec<usize>) {
        let first = self.axes.len() - expr.axes.len();
        let last = expr.axes.iter().rposition(|axis| axis.kind.has_results()).map(|axis| first + axis);
        axes_of(expr, AxisKind::Reduce, first).into_iter().partition(|&axis| Some(axis) < last)
    }
}
