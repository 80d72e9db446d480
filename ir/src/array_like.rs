//! Array-likes: the operands of an API for whole arrays.
//!
//! They connect crates with arrays of their own kind, which are not in memory, and crates that compile
//! programs. Neither depends on the other: one implements [`Deferred`] and [`ArrayLike`], the other accepts
//! all types that implement [`ArrayLike`].

use crate::builder::FuncBuilder;
use crate::error::{EvalError, TypeError};
use crate::function::Value;
use crate::scalar::{Literal, Scalar};
use crate::types::Type;
use crate::value::Styled;
use crate::value::{Array, Datum, View};
use num_complex::Complex64;
use std::fmt;
use std::sync::Arc;

/// A dense array that a program computes from parameters where it reads it, such as an array read through an
/// index map, or one with computed elements.
///
/// The same instructions compute all operands of one structure whose parameters have the same types. So a
/// program compiled for one operand also runs with the parameters of another.
pub trait Deferred: Send + Sync {
    /// The type, with constant dims; an error if the operand results from a failed computation.
    fn ty(&self) -> Result<Type, EvalError>;
    /// The structure, without extents and values, as text that no other crate uses.
    fn structure(&self) -> String;
    /// The types of the parameters, with constant dims. Each axis of the array is an axis of a parameter.
    fn params(&self) -> Vec<Type>;
    /// The parameters of a call, one for each type.
    fn values(&self) -> Result<Vec<Passed<'_>>, EvalError>;
    /// Appends the instructions that compute the array from its parameters, whose dims may be symbols.
    fn build(&self, build: &mut FuncBuilder<'_>, params: &[Value]) -> Result<Value, TypeError>;
    /// All elements, for callers without a program that computes them.
    fn elements(&self) -> Result<Array, EvalError>;
}

/// A parameter of a deferred operand.
#[derive(Clone, Debug)]
pub enum Passed<'a> {
    /// A scalar.
    Scalar(Scalar),
    /// An array.
    Array(&'a Array),
    /// A view of any strides.
    View(View<'a>),
}

/// An operand of any kind.
#[derive(Clone)]
pub enum AnyArray {
    /// A value.
    Value(Datum),
    /// A number, which may be weak.
    Number(Literal),
    /// An array that is computed where it is read.
    Deferred(Arc<dyn Deferred>),
}

impl fmt::Debug for AnyArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyArray::Value(datum) => write!(f, "{}", datum.ty()),
            AnyArray::Number(literal) => write!(f, "{literal}"),
            AnyArray::Deferred(deferred) => f.write_str(&deferred.structure()),
        }
    }
}

/// Types of operands: arrays, scalars, numbers, references to these, and types of other crates.
pub trait ArrayLike {
    /// The operand. Arrays share their buffers.
    fn to_any(&self) -> AnyArray;
}

impl<T: ArrayLike + ?Sized> ArrayLike for &T {
    fn to_any(&self) -> AnyArray {
        (**self).to_any()
    }
}

macro_rules! values {
    ($($ty:ty)*) => {$(
        impl ArrayLike for $ty {
            fn to_any(&self) -> AnyArray {
                AnyArray::Value(self.clone().into())
            }
        }
    )*};
}
values!(Array Datum Scalar Styled);

macro_rules! numbers {
    ($($ty:ty)*) => {$(
        impl ArrayLike for $ty {
            fn to_any(&self) -> AnyArray {
                AnyArray::Number((*self).into())
            }
        }
    )*};
}
numbers!(bool i32 i64 f64 Complex64);

/// Not weak: `2.0_f32` has a dtype.
impl ArrayLike for f32 {
    fn to_any(&self) -> AnyArray {
        AnyArray::Number(Scalar::from(*self).into())
    }
}
