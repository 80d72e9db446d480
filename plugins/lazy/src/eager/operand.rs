//! Operands of eager operations.

use crate::array::LazyArray;
use rewright::{Array, Complex64, Literal, Scalar};

/// An operand: a lazy array, or a number.
#[derive(Clone, Debug)]
pub enum Operand {
    /// An array.
    Array(LazyArray),
    /// A number. A weak literal takes the dtype of the other operands, as in NumPy 2.
    Number(Literal),
}

impl From<LazyArray> for Operand {
    fn from(array: LazyArray) -> Operand {
        Operand::Array(array)
    }
}
impl From<&LazyArray> for Operand {
    fn from(array: &LazyArray) -> Operand {
        Operand::Array(array.clone())
    }
}
impl From<Array> for Operand {
    fn from(array: Array) -> Operand {
        Operand::Array(array.into())
    }
}
impl From<&Array> for Operand {
    fn from(array: &Array) -> Operand {
        Operand::Array(array.clone().into())
    }
}
impl From<&Scalar> for Operand {
    fn from(scalar: &Scalar) -> Operand {
        Operand::from(*scalar)
    }
}
impl From<f32> for Operand {
    fn from(number: f32) -> Operand {
        Operand::from(Scalar::from(number))
    }
}

macro_rules! from_numbers {
    ($($ty:ty)*) => {$(
        impl From<$ty> for Operand {
            fn from(number: $ty) -> Operand {
                Operand::Number(number.into())
            }
        }
    )*};
}
from_numbers!(bool i32 i64 f64 Complex64 Scalar);
