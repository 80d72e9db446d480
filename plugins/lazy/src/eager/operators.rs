//! Operators. On either side, the other operand is a lazy array, an array or a number: anything that
//! converts to an [`Operand`].

use super::apply::carried;
use super::operand::Operand;
use super::operation::{Kind, Operation};
use crate::array::LazyArray;
use rewright::ir::builder::find_op;
use rewright::{Array, Attrs, EvalError, Op, Scalar};
use std::ops;
use std::sync::LazyLock;

/// Looks up a core op by name, once.
macro_rules! core_op {
    ($name:expr) => {{
        static OP: $crate::eager::operators::Found =
            std::sync::LazyLock::new(|| $crate::eager::operators::found($name));
        &OP
    }};
}
pub(super) use core_op;

/// The cached result of a lookup.
pub type Found = LazyLock<Result<Op, EvalError>>;

/// Looks up a core op.
pub fn found(name: &str) -> Result<Op, EvalError> {
    find_op(name).map_err(|error| EvalError::unsupported(error.message))
}

/// Applies an op without attributes.
pub fn plain(op: &Found, operands: &[&Operand]) -> LazyArray {
    with(op, &Attrs::new(), operands)
}

fn with(op: &Found, attrs: &Attrs, operands: &[&Operand]) -> LazyArray {
    match &**op {
        Ok(op) => carried(&Operation { op: *op, kind: Kind::Given(attrs) }, operands),
        Err(error) => LazyArray::failed(error.clone()),
    }
}

macro_rules! on_the_left {
    ($op:literal $trait:ident $method:ident: $($left:ty),*) => {$(
        impl ops::$trait<LazyArray> for $left {
            type Output = LazyArray;
            fn $method(self, right: LazyArray) -> LazyArray {
                plain(core_op!($op), &[&self.into(), &right.into()])
            }
        }
        impl ops::$trait<&LazyArray> for $left {
            type Output = LazyArray;
            fn $method(self, right: &LazyArray) -> LazyArray {
                plain(core_op!($op), &[&self.into(), &right.into()])
            }
        }
    )*};
}

macro_rules! operators {
    ($($op:literal $trait:ident $method:ident $assign_trait:ident $assign:ident),* $(,)?) => {$(
        impl<R: Into<Operand>> ops::$trait<R> for LazyArray {
            type Output = LazyArray;
            fn $method(self, right: R) -> LazyArray {
                plain(core_op!($op), &[&self.into(), &right.into()])
            }
        }
        impl<R: Into<Operand>> ops::$trait<R> for &LazyArray {
            type Output = LazyArray;
            fn $method(self, right: R) -> LazyArray {
                plain(core_op!($op), &[&self.into(), &right.into()])
            }
        }
        impl<R: Into<Operand>> ops::$assign_trait<R> for LazyArray {
            fn $assign(&mut self, right: R) {
                *self = ops::$trait::$method(&*self, right);
            }
        }
        on_the_left!($op $trait $method: bool, i64, f64, Scalar, &Array, &Scalar);
    )*};
}
operators!("add" Add add AddAssign add_assign, "sub" Sub sub SubAssign sub_assign,
    "mul" Mul mul MulAssign mul_assign, "div" Div div DivAssign div_assign, "mod" Rem rem RemAssign rem_assign,
    "bitand" BitAnd bitand BitAndAssign bitand_assign, "bitor" BitOr bitor BitOrAssign bitor_assign,
    "bitxor" BitXor bitxor BitXorAssign bitxor_assign, "left_shift" Shl shl ShlAssign shl_assign,
    "right_shift" Shr shr ShrAssign shr_assign);

macro_rules! prefixes {
    ($($op:literal $trait:ident $method:ident),*) => {$(
        impl ops::$trait for LazyArray {
            type Output = LazyArray;
            fn $method(self) -> LazyArray {
                plain(core_op!($op), &[&self.into()])
            }
        }
        impl ops::$trait for &LazyArray {
            type Output = LazyArray;
            fn $method(self) -> LazyArray {
                plain(core_op!($op), &[&self.into()])
            }
        }
    )*};
}
prefixes!("neg" Neg neg, "invert" Not not);
