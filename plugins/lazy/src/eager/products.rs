//! Products of arrays: sums along a contracted axis.

use super::apply::one;
use super::operand::Operand;
use super::operation::{Kind, Operation};
use super::operators::core_op;
use crate::array::LazyArray;
use rewright::EvalError;

impl LazyArray {
    /// NumPy's `dot`: sums products along the last axis of this array and the last but one of the other,
    /// or its only axis. If either has rank 0, the elementwise product.
    pub fn dot(&self, other: impl Into<Operand>) -> LazyArray {
        let right = other.into().into_array();
        let (a, b) = (self.rank(), right.rank());
        if let Some(error) = self.error().or(right.error()) {
            return LazyArray::failed(error.clone());
        }
        match a == 0 || b == 0 {
            true => self * right,
            false => self.product(&right, [a - 1, b.saturating_sub(2)], 0).unwrap_or_else(LazyArray::failed),
        }
    }

    /// NumPy's `matmul`: a matrix product for each index of the leading axes, which broadcast. A vector
    /// on the left is a row, a vector on the right a column; the result drops that axis.
    pub fn matmul(&self, other: impl Into<Operand>) -> LazyArray {
        self.matrices(&other.into().into_array()).unwrap_or_else(LazyArray::failed)
    }

    fn matrices(&self, right: &LazyArray) -> Result<LazyArray, EvalError> {
        if let Some(error) = self.error().or(right.error()) {
            return Err(error.clone());
        }
        let (a, b) = (self.rank(), right.rank());
        match (a, b) {
            (0, _) | (_, 0) => {
                let message = format!("`matmul` takes arrays with axes, got {:?} and {:?}", self, right);
                Err(EvalError::shape(format!("{message}: `*` multiplies by a scalar")))
            }
            (1, 1) | (_, 1 | 2) => self.product(right, [a - 1, b.saturating_sub(2)], 0),
            (1, _) => {
                let row = self.view(|e| e.expanded(&[0]))?.matrices(right)?;
                row.view(|e| e.squeezed(&[e.rank() - 2]))
            }
            _ => {
                let (left, right, batch) = side_by_side(self, right)?;
                left.product(&right, [batch + 1, batch], batch)
            }
        }
    }

    fn product(&self, right: &LazyArray, contract: [usize; 2], batch: usize) -> Result<LazyArray, EvalError> {
        let op = (**core_op!("dot_general")).clone()?;
        one(&Operation { op, kind: Kind::Product { contract, batch } }, &[&self.into(), &right.into()])
    }
}

/// Broadcasts the leading axes of two stacks of matrices; also returns their number.
fn side_by_side(left: &LazyArray, right: &LazyArray) -> Result<(LazyArray, LazyArray, usize), EvalError> {
    let (a, b) = (left.extents(), right.extents());
    let (a_batch, b_batch) = (&a[..a.len() - 2.min(a.len())], &b[..b.len() - 2.min(b.len())]);
    let batch = a_batch.len().max(b_batch.len());
    let extent = |list: &[u64], axis: usize| match axis + list.len() >= batch {
        true => list[axis + list.len() - batch],
        false => 1,
    };
    let mut common = Vec::with_capacity(batch);
    for axis in 0..batch {
        common.push(match (extent(a_batch, axis), extent(b_batch, axis)) {
            (x, y) if x == y || y == 1 => x,
            (1, y) => y,
            _ => {
                let message = format!("`matmul` can't broadcast the leading axes of shapes {a:?} and {b:?}");
                return Err(EvalError::shape(format!("{message}: extents are equal, or one of them is 1")));
            }
        });
    }
    let stacked = |array: &LazyArray, own: &[u64]| {
        let dims: Vec<u64> = common.iter().chain(&own[own.len() - 2..]).copied().collect();
        let axes: Vec<usize> = (dims.len() - own.len()..dims.len()).collect();
        array.view(|e| e.broadcast(&dims, &axes))
    };
    Ok((stacked(left, &a)?, stacked(right, &b)?, batch))
}

impl Operand {
    /// The array. A number becomes an array of rank 0.
    fn into_array(self) -> LazyArray {
        match self {
            Operand::Array(array) => array,
            Operand::Number(literal) => match literal.at(literal.dtype_beside(None)) {
                Some(scalar) => LazyArray::scalar(scalar),
                None => LazyArray::failed(EvalError::value(format!("literal {literal} is too large for every dtype"))),
            },
        }
    }
}
