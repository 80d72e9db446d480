//! Accumulators: how the values of points combine.
//!
//! An accumulator tuple is in local buffers. Where the order of a reduction leaves a place empty (a lane
//! beyond the end of a row, a point that the guard skips), the tuple holds the neutral element of the monoid,
//! which changes no bit of what it is combined with. Monoids without one have a flag that says whether the
//! tuple holds anything.

use super::order::Group;
use super::{Names, ProgramLowering, axes_of};
use crate::kernel::{KValue, Part};
use crate::lower::NotLowered;
use crate::lower::monoid::{combined, neutral};
use crate::program::{Condition, Linear};
use crate::scalar::Elem;
use rewright_ir::expr::{AxisKind, Combine, Init, Order, Reduction};
use rewright_ir::{ArrayExpr, DType, Scalar};

/// The start of a reduction.
enum Start {
    /// Nothing: the first point.
    Nothing,
    /// These values.
    Values(Vec<Scalar>),
    /// The elements of these operands where the point writes; the number of the first accumulator.
    Existing(Vec<u32>, usize),
}

/// A reduction.
pub(super) struct Reducer<'e> {
    combine: &'e Combine,
    dtypes: &'e [DType],
    start: Start,
    pub(super) order: Order,
    /// The neutral element; none if tuples have a flag.
    neutral: Option<Vec<Scalar>>,
    /// The number of its first value among those that the body yields.
    pub(super) first: usize,
}

/// Tuples of accumulators in local buffers, at positions.
pub(super) struct Accumulators {
    buffers: Vec<(u32, DType)>,
    flag: Option<u32>,
}

/// A tuple of accumulators, and whether it holds anything. No flag: it does.
pub(super) struct Tuple {
    pub(super) values: Vec<Elem>,
    pub(super) flag: Option<KValue>,
}

impl<'e> Reducer<'e> {
    fn new(reduction: &'e Reduction, first: usize) -> Reducer<'e> {
        let (combine, dtypes) = (&reduction.combine, &reduction.accumulators[..]);
        let start = match (&reduction.init, reduction.initial_values()) {
            (Init::Existing(args), _) => Start::Existing(args.clone(), first),
            (_, Some(values)) => Start::Values(values),
            (_, None) => Start::Nothing,
        };
        let order = reduction.order();
        let neutral = match combine {
            Combine::Builtin(monoid) => neutral(*monoid, dtypes).ok(),
            Combine::Region(_) => None,
        };
        Reducer { combine, dtypes, start, order, neutral, first }
    }
}

impl ProgramLowering<'_> {
    /// The accumulators after all points of the reduce axes.
    pub(super) fn reduced(&mut self, expr: &ArrayExpr, captures: &[Elem]) -> Result<Vec<Elem>, NotLowered> {
        let mut first = 0;
        let mut reducers: Vec<Reducer<'_>> = Vec::new();
        for reduction in &expr.reductions {
            reducers.push(Reducer::new(reduction, first));
            first += reduction.accumulators.len();
        }
        let totals: Vec<Accumulators> = reducers.iter().map(|r| self.accumulators(r, &[])).collect();
        // A reduction that starts from nothing needs a point.
        let any: Vec<Option<u32>> = reducers
            .iter()
            .map(|r| matches!(r.start, Start::Nothing).then(|| self.b.local(DType::Bool, &[])))
            .collect();
        for ((reducer, total), any) in reducers.iter().zip(&totals).zip(&any) {
            if let Some(any) = any {
                let no = self.cx().bool(false);
                self.b.store(*any, Part::Re, &[], no);
            }
            match &reducer.start {
                Start::Nothing => self.clear(reducer, total, &[]),
                Start::Values(values) => {
                    let values = self.constants(values);
                    self.set(total, &[], &Tuple { values, flag: None });
                }
                Start::Existing(args, first) => {
                    let values = self.existing(&expr.outs, (args, reducer.dtypes), *first)?;
                    self.set(total, &[], &Tuple { values, flag: None });
                }
            }
        }
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
        let mut values = Vec::new();
        for (total, any) in totals.iter().zip(&any) {
            if let Some(any) = any {
                let any = self.b.load(*any, Part::Re, &[]);
                self.fail_unless(&[Condition::Value(any)])?;
            }
            values.extend(self.get(total, &[]).values);
        }
        Ok(values)
    }

    /// Runs `each` with the tuple of each reduction of a group at the current point, if the guard admits it.
    pub(super) fn point(
        &mut self,
        expr: &ArrayExpr,
        captures: &[Elem],
        group: &Group<'_>,
        mut each: impl FnMut(&mut Self, usize, &Tuple) -> Result<(), NotLowered>,
    ) -> Result<(), NotLowered> {
        let guard = self.guard(expr, true);
        self.when_all(guard, |this| {
            let yields = this.body(&expr.body, Names { operands: &expr.operands, captures, accumulators: &[] })?;
            for (number, (reducer, _, any)) in group.iter().enumerate() {
                let own = &yields[reducer.first..reducer.first + reducer.dtypes.len()];
                let values = own.iter().zip(reducer.dtypes).map(|(&value, &dtype)| this.cx().cast(value, dtype));
                let values = values.collect();
                if let Some(any) = any {
                    let yes = this.cx().bool(true);
                    this.b.store(*any, Part::Re, &[], yes);
                }
                each(this, number, &Tuple { values, flag: None })?;
            }
            Ok(())
        })
    }

    /// Room for tuples of a reduction at these extents.
    pub(super) fn accumulators(&mut self, reducer: &Reducer<'_>, extents: &[u32]) -> Accumulators {
        let buffers = reducer.dtypes.iter().map(|&dtype| (self.b.local(dtype, extents), dtype)).collect();
        let flag = reducer.neutral.is_none().then(|| self.b.local(DType::Bool, extents));
        Accumulators { buffers, flag }
    }

    /// Empties a tuple.
    pub(super) fn clear(&mut self, reducer: &Reducer<'_>, acc: &Accumulators, at: &[Linear]) {
        let zeros = || reducer.dtypes.iter().map(|&dtype| Scalar::zero(dtype)).collect();
        let values = reducer.neutral.clone().unwrap_or_else(zeros);
        let values = self.constants(&values);
        let flag = acc.flag.map(|_| self.cx().bool(false));
        self.set(acc, at, &Tuple { values, flag });
    }

    pub(super) fn set(&mut self, acc: &Accumulators, at: &[Linear], tuple: &Tuple) {
        for (&(buffer, _), &value) in acc.buffers.iter().zip(&tuple.values) {
            self.store(buffer, at, value);
        }
        if let Some(buffer) = acc.flag {
            let flag = tuple.flag.unwrap_or_else(|| self.cx().bool(true));
            self.b.store(buffer, Part::Re, at, flag);
        }
    }

    pub(super) fn get(&mut self, acc: &Accumulators, at: &[Linear]) -> Tuple {
        let values = acc.buffers.iter().map(|&(buffer, dtype)| self.load(buffer, dtype, at)).collect();
        let flag = acc.flag.map(|buffer| self.b.load(buffer, Part::Re, at));
        Tuple { values, flag }
    }

    /// Combines the tuple at a position with a later one.
    pub(super) fn join(
        &mut self,
        reducer: &Reducer<'_>,
        (acc, at): (&Accumulators, &[Linear]),
        right: &Tuple,
    ) -> Result<(), NotLowered> {
        let Some(flag) = acc.flag else {
            let left = self.get(acc, at);
            let values = self.both(reducer, &left.values, &right.values)?;
            self.set(acc, at, &Tuple { values, flag: None });
            return Ok(());
        };
        let present = right.flag.map(Condition::Value);
        self.when_all(present.into_iter().collect(), |this| {
            let left_flag = this.b.load(flag, Part::Re, at);
            this.when(
                Condition::Value(left_flag),
                |this| {
                    let left = this.get(acc, at);
                    let values = this.both(reducer, &left.values, &right.values)?;
                    this.set(acc, at, &Tuple { values, flag: None });
                    Ok(())
                },
                |this| {
                    this.set(acc, at, &Tuple { values: right.values.clone(), flag: None });
                    Ok(())
                },
            )
        })
    }

    /// Combines two tuples that hold something.
    fn both(&mut self, reducer: &Reducer<'_>, left: &[Elem], right: &[Elem]) -> Result<Vec<Elem>, NotLowered> {
        match reducer.combine {
            Combine::Builtin(monoid) => combined(*monoid, &mut self.cx(), left, right),
            Combine::Region(region) => {
                let accumulators = [left, right].concat();
                let names = Names { operands: &[], captures: &[], accumulators: &accumulators };
                let yields = self.body(region, names)?;
                Ok(yields.into_iter().zip(reducer.dtypes).map(|(value, &dtype)| self.cx().cast(value, dtype)).collect())
            }
        }
    }

    /// The reduce axes before the last parallel axis, and those after it, which make a row.
    pub(super) fn outer_and_row(&self, expr: &ArrayExpr) -> (Vec<usize>, Vec<usize>) {
        let first = self.axes.len() - expr.axes.len();
        let last = expr.axes.iter().rposition(|axis| axis.kind == AxisKind::Parallel).map(|axis| first + axis);
        axes_of(expr, AxisKind::Reduce, first).into_iter().partition(|&axis| Some(axis) < last)
    }
}
