//! Constructors by their NumPy names. They allocate no elements.

use crate::array::LazyArray;
use crate::expr::LazyExpr;
use crate::input::{Input, Matrix};
use rewright::{DType, Scalar};

impl LazyArray {
    /// An array of zeros.
    pub fn zeros(dtype: DType, shape: &[u64]) -> LazyArray {
        LazyArray::full(Scalar::zero(dtype), shape)
    }

    /// An array of ones.
    pub fn ones(dtype: DType, shape: &[u64]) -> LazyArray {
        LazyArray::full(Scalar::one(dtype), shape)
    }

    /// An array filled with one value.
    pub fn full(value: impl Into<Scalar>, shape: &[u64]) -> LazyArray {
        LazyArray::made(LazyExpr::full(value.into(), shape))
    }

    /// The numbers from 0 to `extent - 1`.
    pub fn iota(dtype: DType, extent: u64) -> LazyArray {
        LazyArray::made(LazyExpr::iota(dtype, extent))
    }

    /// A matrix with 1 on a diagonal and 0 elsewhere. A positive `offset` is above the main diagonal.
    pub fn eye(dtype: DType, shape: [u64; 2], offset: i64) -> LazyArray {
        LazyArray::made(LazyExpr::of(Input::Eye(Matrix { dtype, shape, offset })))
    }

    /// A matrix with 1 on and below a diagonal, and 0 elsewhere.
    pub fn tri(dtype: DType, shape: [u64; 2], offset: i64) -> LazyArray {
        LazyArray::made(LazyExpr::of(Input::Tri(Matrix { dtype, shape, offset })))
    }

    fn made(expr: LazyExpr) -> LazyArray {
        LazyArray::constant(expr).unwrap_or_else(LazyArray::failed)
    }
}
