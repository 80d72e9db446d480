//! Run-time values of any kind: scalars, dense arrays, and arrays of a storage style.

use super::array::{Array, Element};
use super::styled::Styled;
use crate::dtype::DType;
use crate::scalar::Scalar;
use crate::types::Type;
use crate::with_dtype;
use ndarray::{ArcArray, IxDyn};
use std::sync::Arc;

/// A run-time value: an array or a scalar.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Datum {
    Scalar(Scalar),
    Array(Array),
    /// An array of a storage style.
    Styled(Arc<Styled>),
}

impl Datum {
    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            Datum::Scalar(s) => s.dtype(),
            Datum::Array(a) => a.dtype(),
            Datum::Styled(s) => s.dtype(),
        }
    }
    /// The extents; none for scalars.
    pub fn shape(&self) -> &[usize] {
        match self {
            Datum::Scalar(_) => &[],
            Datum::Array(a) => a.shape(),
            Datum::Styled(s) => s.shape(),
        }
    }
    /// The type, with constant dims.
    pub fn ty(&self) -> Type {
        match self {
            Datum::Scalar(s) => Type::scalar(s.dtype()),
            Datum::Array(a) => a.ty(),
            Datum::Styled(s) => s.ty(),
        }
    }
    /// The scalar, if it is one.
    pub fn as_scalar(&self) -> Option<Scalar> {
        if let Datum::Scalar(s) = self { Some(*s) } else { None }
    }
    /// The dense array, if it is one.
    pub fn as_array(&self) -> Option<&Array> {
        if let Datum::Array(a) = self { Some(a) } else { None }
    }
    /// The array of a storage style, if it is one.
    pub fn as_styled(&self) -> Option<&Styled> {
        if let Datum::Styled(s) = self { Some(s) } else { None }
    }
    /// The dense array of all elements. For a storage style there must be memory for them; a scalar becomes
    /// an array of rank 0.
    pub fn to_array(&self) -> Array {
        match self {
            Datum::Array(a) => a.clone(),
            Datum::Styled(s) => s.dense(),
            Datum::Scalar(s) => {
                with_dtype!(s.dtype(), T => match T::from_scalar(*s) {
                    Some(x) => T::wrap(ArcArray::from_elem(IxDyn(&[]), x)),
                    None => unreachable!("the scalar has its own dtype"),
                })
            }
        }
    }
}

impl From<Scalar> for Datum {
    fn from(s: Scalar) -> Self {
        Datum::Scalar(s)
    }
}
impl From<Styled> for Datum {
    fn from(s: Styled) -> Self {
        match (s.style().is_dense(), s.components()) {
            // Types don't name the style `dense`.
            (true, [elements]) => Datum::Array(elements.clone()),
            _ => Datum::Styled(Arc::new(s)),
        }
    }
}
impl From<Array> for Datum {
    fn from(a: Array) -> Self {
        Datum::Array(a)
    }
}
