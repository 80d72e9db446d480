//! Reductions along axes: `x.sum(..)`, `x.max(0)`, `x.mean(Axes::from(-1).kept())`; and scans: `x.cumsum(0)`.

use super::apply::carried;
use super::axes::Axes;
use super::operation::{Kind, Operation};
use super::operators::{Found, core_op};
use crate::array::LazyArray;
use rewright::{Attr, Attrs, DType, EvalError};

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

macro_rules! scans {
    ($($name:ident $doc:literal)*) => {
        impl LazyArray {
            $(#[doc = concat!("The op `", stringify!($name), "` along an axis; negative axes count from the last: ", $doc)]
            pub fn $name(&self, axis: i64) -> LazyArray {
                self.scanned(core_op!(stringify!($name)), axis)
            })*
        }
    };
}
scans! {
    cumsum "running sums."
    cumprod "running products."
    cummin "the smallest element so far; NaN from the first NaN on."
    cummax "the greatest element so far; NaN from the first NaN on."
}

impl LazyArray {
    fn scanned(&self, op: &Found, axis: i64) -> LazyArray {
        match &**op {
            Ok(op) => {
                let attrs = Attrs::new().with("axis", Attr::Int(axis));
                carried(&Operation { op: *op, kind: Kind::Given(&attrs) }, &[&self.into()])
            }
            Err(error) => LazyArray::failed(error.clone()),
        }
    }

    /// The mean along axes. For bools and integers it is computed at `f64`. The mean of no elements is
    /// NaN.
    pub fn mean(&self, axes: impl Into<Axes>) -> LazyArray {
        let dtype = match self.dtype() {
            dtype @ (DType::F32 | DType::F64 | DType::C64 | DType::C128) => dtype,
            _ => DType::F64,
        };
        self.combined(core_op!("sum"), &axes.into(), |axes| Kind::Mean(axes, dtype))
    }

    fn reduced(&self, op: &Found, axes: &Axes) -> LazyArray {
        self.combined(op, axes, Kind::Reduction)
    }

    /// Applies a reduction. A scalar is reduced as an array of one element.
    fn combined<'a>(&self, op: &Found, axes: &'a Axes, kind: impl FnOnce(&'a Axes) -> Kind<'a>) -> LazyArray {
        static ALL: Axes = Axes { list: None, keep: false };
        let op = match &**op {
            Ok(op) => *op,
            Err(error) => return LazyArray::failed(error.clone()),
        };
        if self.rank() > 0 || self.error().is_some() {
            return carried(&Operation { op, kind: kind(axes) }, &[&self.into()]);
        }
        match axes.list.as_ref().and_then(|list| list.first()) {
            None => carried(&Operation { op, kind: kind(&ALL) }, &[&self.expand_dims(0).into()]),
            Some(axis) => {
                let message = format!("a scalar {} has no axis {axis}", self.dtype());
                LazyArray::failed(EvalError { op: Some(op.name), ..EvalError::shape(message) })
            }
        }
    }
}
