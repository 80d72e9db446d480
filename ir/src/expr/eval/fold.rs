//! Reductions prepared for evaluation.

use super::super::{Combine, Fold, Monoid, Reduction, dot};
use super::body::{BodyPlan, SlotLayout};
use super::env::Env;
use crate::dtype::DType;
use crate::error::EvalError;
use crate::scalar::Scalar;
use smallvec::SmallVec;

/// The accumulators of one reduction.
pub(super) type Accs = SmallVec<[Scalar; 2]>;

pub(super) struct ReductionPlan<'a> {
    pub(super) reduction: &'a Reduction,
    region: Option<BodyPlan<'a>>,
}

impl<'a> ReductionPlan<'a> {
    pub(super) fn new(reduction: &'a Reduction, env: &Env<'_>) -> Result<Self, EvalError> {
        let region = match &reduction.combine {
            Combine::Builtin(_) => None,
            Combine::Region(body) => {
                let accs = &reduction.accumulators;
                let both: Vec<DType> = accs.iter().chain(accs).copied().collect();
                Some(BodyPlan::new(body, SlotLayout { operands: 0, accumulators: both.len() }, &both, &[], env)?)
            }
        };
        Ok(ReductionPlan { reduction, region })
    }

    /// A fold in the reduction's order, over rows of `row` points, from the initial values `start`. Rows are
    /// points if there are no axes of rows.
    pub(super) fn fold<F: FnMut(Accs, Accs) -> Result<Accs, EvalError>>(
        &self,
        (row, rows_are_points): (usize, bool),
        start: Option<Accs>,
        combine: F,
    ) -> Fold<Accs, F> {
        let fold = Fold::new(self.reduction.order(rows_are_points), row, start, combine);
        match self.reduction.combine {
            Combine::Builtin(Monoid::Dot) => fold.with_first(rows_are_points, |pair: Accs| match pair[..] {
                [a, b] => dot::total([a, b]).into_iter().collect(),
                _ => pair,
            }),
            _ => fold,
        }
    }

    pub(super) fn combine(&self, a: &Accs, b: &Accs, env: &Env<'_>) -> Result<Accs, EvalError> {
        if let Some(region) = &self.region {
            let mut slots: Vec<Scalar> = a.iter().chain(b).copied().collect();
            region.run(&mut slots, &mut Vec::new(), env)?;
            return Ok(region.yields.iter().map(|slot| slot.read(&slots, &[])).collect());
        }
        let Combine::Builtin(monoid) = self.reduction.combine else { return Ok(a.clone()) };
        if matches!(monoid, Monoid::ArgMin | Monoid::ArgMax) {
            // For ties the earlier position wins in every order of combination.
            let tie = !monoid.takes_right(a[0], b[0]) && !monoid.takes_right(b[0], a[0]);
            let right = if tie { b[1].to_i128() < a[1].to_i128() } else { monoid.takes_right(a[0], b[0]) };
            return Ok(if right { b.clone() } else { a.clone() });
        }
        if let (Monoid::Dot, &[a, b], &[c, d]) = (monoid, &a[..], &b[..]) {
            return Ok(dot::combine([a, b], [c, d]).into_iter().collect());
        }
        Ok(a.iter().zip(b).map(|(&a, &b)| monoid.combine(a, b)).collect())
    }
}
