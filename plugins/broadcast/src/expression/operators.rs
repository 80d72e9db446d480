//! Operators and named functions of expressions. An operand is anything that converts to an [`Expr`]: a
//! value, a reference to one, or a number.

use super::{Expr, Function};
use rewright::ir::Styled;
use rewright::{Array, Datum, Scalar};
use std::ops;

impl Expr {
    fn unary(op: &'static str, x: &Expr) -> Expr {
        Expr::applied(Function::Op(op), vec![x.clone()])
    }
    fn binary(op: &'static str, x: impl Into<Expr>, y: impl Into<Expr>) -> Expr {
        Expr::applied(Function::Op(op), vec![x.into(), y.into()])
    }
    /// The elements of `then` where this expression is true, and elsewhere those of `otherwise`.
    pub fn where_(&self, then: impl Into<Expr>, otherwise: impl Into<Expr>) -> Expr {
        Expr::applied(Function::Op("where"), vec![self.clone(), then.into(), otherwise.into()])
    }
}

/// Implements an operator for other types on the left of an expression. There is one type of integers and
/// one of floats, so that Rust infers the type of the literal in `2.0 * x`; numbers of other types go on
/// the right.
macro_rules! on_the_left {
    ($op:literal $trait:ident $method:ident: $($left:ty),*) => {$(
        impl ops::$trait<Expr> for $left {
            type Output = Expr;
            fn $method(self, right: Expr) -> Expr {
                Expr::binary($op, self, right)
            }
        }
        impl ops::$trait<&Expr> for $left {
            type Output = Expr;
            fn $method(self, right: &Expr) -> Expr {
                Expr::binary($op, self, right)
            }
        }
    )*};
}

macro_rules! operators {
    ($($op:literal $trait:ident $method:ident),* $(,)?) => {$(
        impl<R: Into<Expr>> ops::$trait<R> for Expr {
            type Output = Expr;
            fn $method(self, right: R) -> Expr {
                Expr::binary($op, self, right)
            }
        }
        impl<R: Into<Expr>> ops::$trait<R> for &Expr {
            type Output = Expr;
            fn $method(self, right: R) -> Expr {
                Expr::binary($op, self, right)
            }
        }
        on_the_left!($op $trait $method: bool, i64, f64, Scalar, &Array, &Datum, &Styled, &Scalar);
    )*};
}
operators!("add" Add add, "sub" Sub sub, "mul" Mul mul, "div" Div div, "mod" Rem rem, "bitand" BitAnd bitand,
    "bitor" BitOr bitor, "bitxor" BitXor bitxor, "left_shift" Shl shl, "right_shift" Shr shr);

macro_rules! prefixes {
    ($($op:literal $trait:ident $method:ident),*) => {$(
        impl ops::$trait for Expr {
            type Output = Expr;
            fn $method(self) -> Expr {
                Expr::unary($op, &self)
            }
        }
        impl ops::$trait for &Expr {
            type Output = Expr;
            fn $method(self) -> Expr {
                Expr::unary($op, self)
            }
        }
    )*};
}
prefixes!("neg" Neg neg, "invert" Not not);

macro_rules! functions {
    (unary: $($one:ident)*; binary: $($two:ident = $op:literal)*;) => {
        impl Expr {
            $(#[doc = concat!("The op `", stringify!($one), "`.")]
            pub fn $one(&self) -> Expr {
                Expr::unary(stringify!($one), self)
            })*
            $(#[doc = concat!("The op `", $op, "`.")]
            pub fn $two(&self, other: impl Into<Expr>) -> Expr {
                Expr::binary($op, self, other)
            })*
        }
    };
}
functions! {
    unary: abs acos asin atan cbrt ceil conj cos cosh exp exp2 expm1 floor imag isfinite isinf isnan log log10 log1p log2 real
        reciprocal rint sign sin sinh sqrt square tan tanh trunc;
    binary: atan2 = "atan2" eq = "eq" floordiv = "floordiv" ge = "ge" gt = "gt" hypot = "hypot" le = "le" logical_and = "and"
        logical_or = "or" lt = "lt" max = "maximum" min = "minimum" ne = "ne" pow = "power";
}

impl Expr {
    /// The op `not`: true where elements are zero. `!x` inverts bits.
    pub fn logical_not(&self) -> Expr {
        Expr::unary("not", self)
    }
}
