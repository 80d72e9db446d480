//! Inputs of lazy expressions: an array, or a constructor, whose elements are computed.

use rewright::{DType, Scalar, Type};
use std::fmt;

/// The input of a lazy expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// An array, which is kept outside of the expression.
    Var {
        /// The element type.
        dtype: DType,
        /// The extents.
        shape: Vec<u64>,
    },
    /// A scalar, of rank 0.
    Full(Scalar),
    /// The numbers from 0: each element is its position.
    Iota {
        /// The element type.
        dtype: DType,
        /// The number of elements.
        extent: u64,
    },
    /// A matrix with 1 on a diagonal, and 0 elsewhere.
    Eye(Matrix),
    /// A matrix with 1 on and below a diagonal, and 0 elsewhere.
    Tri(Matrix),
    /// 1 where all positions are equal, else 0.
    Delta {
        /// The element type.
        dtype: DType,
        /// The extents.
        shape: Vec<u64>,
    },
}

/// A matrix that is defined by a diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Matrix {
    /// The element type.
    pub dtype: DType,
    /// Rows and columns.
    pub shape: [u64; 2],
    /// The diagonal; a positive one is above the main diagonal.
    pub offset: i64,
}

impl Input {
    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            Input::Full(value) => value.dtype(),
            Input::Eye(matrix) | Input::Tri(matrix) => matrix.dtype,
            Input::Var { dtype, .. } | Input::Iota { dtype, .. } | Input::Delta { dtype, .. } => *dtype,
        }
    }

    /// The extents.
    pub fn shape(&self) -> &[u64] {
        match self {
            Input::Full(_) => &[],
            Input::Iota { extent, .. } => std::slice::from_ref(extent),
            Input::Eye(matrix) | Input::Tri(matrix) => &matrix.shape,
            Input::Var { shape, .. } | Input::Delta { shape, .. } => shape,
        }
    }

    /// The name in the text form.
    pub fn name(&self) -> &'static str {
        match self {
            Input::Var { .. } => "var",
            Input::Full(_) => "full",
            Input::Iota { .. } => "iota",
            Input::Eye(_) => "eye",
            Input::Tri(_) => "tri",
            Input::Delta { .. } => "delta",
        }
    }

    /// True of constructors, which read no array.
    pub fn is_constant(&self) -> bool {
        !matches!(self, Input::Var { .. })
    }

    /// The element of a constructor at a position; `None` out of bounds and for arrays.
    pub fn element(&self, at: &[u64]) -> Option<Scalar> {
        // The distance of a position above the diagonal.
        let above = |matrix: &Matrix| i128::from(at[1]) - i128::from(at[0]) - i128::from(matrix.offset);
        let one_if = |holds: bool| Some(Scalar::Bool(holds).cast(self.dtype()));
        if at.len() != self.shape().len() || at.iter().zip(self.shape()).any(|(at, extent)| at >= extent) {
            return None;
        }
        match self {
            Input::Var { .. } => None,
            Input::Full(value) => Some(*value),
            Input::Iota { dtype, .. } => Some(Scalar::I64(at[0] as i64).cast(*dtype)),
            Input::Eye(matrix) => one_if(above(matrix) == 0),
            Input::Tri(matrix) => one_if(above(matrix) <= 0),
            Input::Delta { .. } => one_if(at.iter().all(|p| *p == at[0])),
        }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use serde::Serialize;
        write!(f, "{}(", self.name())?;
        match self {
            Input::Var { dtype, shape } => {
                let dims: Vec<_> = shape.iter().map(|&extent| extent.into()).collect();
                Type::array(*dtype, dims).serialize(&mut *f)?;
            }
            // In the text form, which keeps every bit.
            Input::Full(value) => value.serialize(&mut *f)?,
            Input::Iota { dtype, extent } => write!(f, "{dtype}, {extent}")?,
            Input::Eye(Matrix { dtype, shape: [rows, columns], offset })
            | Input::Tri(Matrix { dtype, shape: [rows, columns], offset }) => {
                write!(f, "{dtype}, {rows}, {columns}")?;
                if *offset != 0 {
                    write!(f, ", {offset}")?;
                }
            }
            Input::Delta { dtype, shape } => {
                write!(f, "{dtype}")?;
                shape.iter().try_for_each(|extent| write!(f, ", {extent}"))?;
            }
        }
        f.write_str(")")
    }
}
