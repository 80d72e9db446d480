//! Reductions with their parts resolved.

use super::super::{Combine, Init, Monoid, Reduction, TreeFold};
use super::Env;
use super::body::{BodyPlan, Layout};
use crate::dtype::DType;
use crate::error::EvalError;
use crate::scalar::Scalar;
use smallvec::SmallVec;

/// What the accumulators of one reduction hold.
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
                Some(BodyPlan::new(body, Layout { operands: 0, accumulators: both.len() }, &both, &[], env)?)
            }
        };
        Ok(ReductionPlan { reduction, region })
    }

    /// A fold in the order that the reduction allows.
    pub(super) fn fold<F: FnMut(Accs, Accs) -> Result<Accs, EvalError>>(&self, combine: F) -> TreeFold<Accs, F> {
        match self.reduction {
            Reduction { associative: true, commutative: true, .. } => TreeFold::new(combine),
            Reduction { associative: true, .. } => TreeFold::in_order(combine),
            _ => TreeFold::sequential(combine),
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
            // Where neither is beyond the other, the earlier position wins, whatever the order of combination.
            let tie = !monoid.takes_right(a[0], b[0]) && !monoid.takes_right(b[0], a[0]);
            let right = if tie { b[1].to_i128() < a[1].to_i128() } else { monoid.takes_right(a[0], b[0]) };
            return Ok(if right { b.clone() } else { a.clone() });
        }
        Ok(a.iter().zip(b).map(|(&a, &b)| monoid.combine(a, b)).collect())
    }

    /// The accumulators at the end: what was folded, combined with the starting values `init`; `None` starts from nothing.
    pub(super) fn finish(&self, init: Option<Accs>, folded: Option<Accs>, env: &Env<'_>) -> Result<Accs, EvalError> {
        match (init, folded) {
            (Some(init), Some(folded)) => self.combine(&init, &folded, env),
            (Some(one), None) | (None, Some(one)) => Ok(one),
            (None, None) => self.identity(),
        }
    }

    fn identity(&self) -> Result<Accs, EvalError> {
        let dtypes = &self.reduction.accumulators;
        let found: Option<Accs> = match (&self.reduction.combine, &self.reduction.identity) {
            (_, Some(values)) => Some(values.iter().copied().collect()),
            (Combine::Builtin(monoid), None) => dtypes.iter().map(|&d| monoid.identity(d)).collect(),
            (Combine::Region(_), None) => None,
        };
        found.ok_or_else(|| EvalError::value("reduces zero elements by something that has no identity"))
    }

    /// The starting values that are written in the expression; `None` for the identity.
    pub(super) fn init(&self) -> Option<Accs> {
        if let Init::Values(values) = &self.reduction.init { Some(values.iter().copied().collect()) } else { None }
    }

    /// True where the starting values are the leftmost element of a combination from left to right.
    pub(super) fn starts_sequence(&self) -> bool {
        !self.reduction.associative
    }
}
