//! What a lazy expression reads: an array, or a constructor, whose elements are computed.

use rewright::{DType, Scalar, Type};
use std::fmt;

/// The input of a lazy expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// An array that is held beside the expression.
    Var {
        /// The element type.
        dtype: DType,
        /// The extents.
        shape: Vec<u64>,
    },
    /// One value, of rank 0.
    Full(Scalar),
    /// Each element is its position.
    Iota {
        /// The element type.
        dtype: DType,
        /// The number of elements.
        extent: u64,
    },
    /// A matrix with 1 on a diagonal, else 0.
    Eye(Matrix),
    /// A matrix with 1 on a diagonal and below, else 0.
    Tri(Matrix),
    /// 1 where all positions are equal, else 0.
    Delta {
        /// The element type.
        dtype: DType,
        /// The extents.
        shape: Vec<u64>,
    },
}

/// A matrix that is known by a diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Matrix {
    /// The element type.
    pub dtype: DType,
    /// Rows and columns.
    pub shape: [u64; 2],
    /// The diagonal, above the main one if positive.
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

    /// The name in text.
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

    /// The element of a constructor at a position inside of it; none of an array, which is kept elsewhere.
    pub fn element(&self, at: &[u64]) -> Option<Scalar> {
        // How far a position of a matrix is above its diagonal.
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
            // As text has it, with every bit.
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
