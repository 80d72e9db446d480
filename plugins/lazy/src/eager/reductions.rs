//! Reductions along axes: `x.sum(..)`, `x.max(0)`, `x.mean(Axes::from(-1).kept())`.

use super::apply::carried;
use super::axes::Axes;
use super::operation::{Kind, Operation};
use super::operators::Found;
use super::operators::core_op;
use crate::array::LazyArray;
use rewright::{DType, EvalError};

macro_rules! reductions {
    ($($name:ident $doc:literal)*) => {
        impl LazyArray {
            $(#[doc = concat!("The op `", stringify!($name), "`: ", $doc)]
            pub fn $name(&self, axes: impl Into<Axes>) -> LazyArray {
                self.reduced(core_op!(stringify!($name)), &axes.into())
            })*
        }
    };
}
reductions! {
    sum "the sum of elements along axes."
    prod "the product of elements along axes."
    min "the smallest element along axes; NaN if there is one."
    max "the greatest element along axes; NaN if there is one."
    any "whether any element along axes is true."
    all "whether all elements along axes are true."
    argmin "the position of the first smallest element along an axis, or in row-major order."
    argmax "the position of the first greatest element along an axis, or in row-major order."
}

impl LazyArray {
    /// The mean of elements along axes. That of bools and integers is computed at `f64`; that of no elements
    /// is NaN.
    pub fn mean(&self, axes: impl Into<Axes>) -> LazyArray {
        let dtype = match self.dtype() {
            dtype @ (DType::F32 | DType::F64 | DType::C64 | DType::C128) => dtype,
            _ => DType::F64,
        };
        let op = match &**core_op!("sum") {
            Ok(op) => *op,
            Err(error) => return LazyArray::failed(error.clone()),
        };
        if self.error().is_none() && self.rank() == 0 {
            return self.no_axes(&axes.into()).unwrap_or_else(|| self.cast(dtype));
        }
        carried(&Operation { op, kind: Kind::Mean(&axes.into(), dtype) }, &[&self.into()])
    }

    fn reduced(&self, op: &Found, axes: &Axes) -> LazyArray {
        let op = match &**op {
            Ok(op) => *op,
            Err(error) => return LazyArray::failed(error.clone()),
        };
        carried(&Operation { op, kind: Kind::Reduction(axes) }, &[&self.into()])
    }

    /// The error of axes that a scalar does not have.
    fn no_axes(&self, axes: &Axes) -> Option<LazyArray> {
        let axis = axes.list.as_ref()?.first()?;
        let message = format!("a mean of a scalar {} has no axes, got axis {axis}", self.dtype());
        Some(LazyArray::failed(EvalError::shape(message)))
    }
}
