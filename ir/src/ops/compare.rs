//! Comparisons, and ops that select by them: minimum and maximum, clipping, selection.
//!
//! Comparisons with NaN are false, except that `ne` is true. Complex numbers compare lexicographically, real
//! part first. A signed and an unsigned 64-bit integer compare by their exact values.
//!
//! `minimum` and `maximum` yield a NaN operand, the first one if both are NaN; `fmin` and `fmax` yield the
//! other operand. All four yield the *first* of equal operands, so zeros of different sign are not
//! reordered: `maximum(-0.0, 0.0)` is -0.0.

use super::loops;
use crate::dtype::DType;
use crate::math::complex;
use crate::op::{LiteralCx, promote_all, promote_literal};
use crate::scalar::{Literal, Scalar};

/// The literal rule of comparisons: an integer that the others' dtype cannot hold gets a 64-bit dtype, so
/// that the result is correct for every integer.
pub fn comparison_literal(cx: &LiteralCx<'_>) -> DType {
    let dtype = promote_literal(cx);
    match cx.literal {
        Literal::Int(i) if cx.literal.at(dtype).is_none() => {
            if i < 0 {
                DType::I64
            } else if i > i64::MAX as i128 {
                DType::U64
            } else {
                DType::I64
            }
        }
        _ => dtype,
    }
}

/// The literal rule of `where`: the dtype of the other choice; the condition does not promote with the
/// choices.
pub fn where_literal(cx: &LiteralCx<'_>) -> DType {
    if cx.operand == 0 {
        return cx.literal.dtype_beside(Some(DType::Bool));
    }
    cx.literal.dtype_beside(promote_all(cx.dtypes.iter().skip(1).flatten().copied()))
}

/// Two integers of any dtypes, as `i128`.
fn ints(args: &[Scalar]) -> Option<(i128, i128)> {
    let [a, b] = args else { return None };
    Some((a.to_i128()?, b.to_i128()?))
}

/// Defines an op that is true if a relation of its operands holds.
macro_rules! comparisons {
    ($(#[doc = $doc:literal] $NAME:ident = $name:literal $(, is $trait:ident)*: $op:tt, $complex:expr;)*) => {$(
        #[doc = $doc]
        pub static $NAME: crate::op::OpDef = {
            fn scalar(args: &[Scalar], _: &crate::attr::Attrs) -> Result<crate::scalar::Scalars, crate::error::EvalError> {
                if let Some((a, b)) = ints(args) {
                    return Ok(super::define::IntoResults::into_results(a $op b));
                }
                cases!(args, float, (a, b), a $op b);
                cases!(args, complex, (a, b), $complex(a, b));
                Err(super::define::no_loop(args))
            }
            crate::op::OpDef::elementwise($name, $doc.trim_ascii(), 2, loops::comparison, scalar)
                .literals(comparison_literal)
                $(.traits(crate::op::Traits::$trait))*
        };
        crate::register_op!($NAME);
    )*};
}

comparisons! {
    /// True where both are equal.
    EQ = "eq", is COMMUTATIVE: ==, |a, b| a == b;
    /// True where they differ; NaN differs from everything.
    NE = "ne", is COMMUTATIVE: !=, |a, b| a != b;
    /// True where the first is less.
    LT = "lt": <, complex::lt;
    /// True where the first is less or equal.
    LE = "le": <=, complex::le;
    /// True where the first is greater.
    GT = "gt": >, |a, b| complex::lt(b, a);
    /// True where the first is greater or equal.
    GE = "ge": >=, |a, b| complex::le(b, a);
}

/// The first operand if the relation with the second holds, or if the first is NaN.
macro_rules! first_if {
    ($a:ident $op:tt $b:ident) => { if $a $op $b || $a.is_nan() { $a } else { $b } };
}
/// The first operand if the relation with the second holds, or if the second is NaN.
macro_rules! first_unless_nan {
    ($a:ident $op:tt $b:ident) => { if $a $op $b || $b.is_nan() { $a } else { $b } };
}

elementwise! {
    /// The smaller operand; NaN if one is NaN; the first of equal ones.
    MINIMUM = "minimum"(2), loops::all {
        bool(a, b) => a & b;
        int(a, b) => a.min(b);
        float(a, b) => first_if!(a <= b);
        complex(a, b) => if complex::le(a, b) || complex::is_nan(a) { a } else { b };
    }
    /// The greater operand; NaN if one is NaN; the first of equal ones.
    MAXIMUM = "maximum"(2), loops::all {
        bool(a, b) => a | b;
        int(a, b) => a.max(b);
        float(a, b) => first_if!(a >= b);
        complex(a, b) => if complex::le(b, a) || complex::is_nan(a) { a } else { b };
    }
    /// The smaller operand; the other one if one is NaN; the first of equal ones.
    FMIN = "fmin"(2), loops::all {
        bool(a, b) => a & b;
        int(a, b) => a.min(b);
        float(a, b) => first_unless_nan!(a <= b);
        complex(a, b) => if complex::le(a, b) || complex::is_nan(b) { a } else { b };
    }
    /// The greater operand; the other one if one is NaN; the first of equal ones.
    FMAX = "fmax"(2), loops::all {
        bool(a, b) => a | b;
        int(a, b) => a.max(b);
        float(a, b) => first_unless_nan!(a >= b);
        complex(a, b) => if complex::le(b, a) || complex::is_nan(b) { a } else { b };
    }
    /// `clip(x, lo, hi)` is `minimum(maximum(x, lo), hi)`.
    CLIP = "clip"(3), loops::all {
        bool(x, lo, hi) => (x | lo) & hi;
        int(x, lo, hi) => x.max(lo).min(hi);
        float(x, lo, hi) => {
            let raised = first_if!(x >= lo);
            first_if!(raised <= hi)
        };
        complex(x, lo, hi) => {
            let raised = if complex::le(lo, x) || complex::is_nan(x) { x } else { lo };
            if complex::le(raised, hi) || complex::is_nan(raised) { raised } else { hi }
        };
    }
    /// `where(c, x, y)` is x where c is not zero, else y.
    WHERE = "where"(3), loops::selection, literals where_literal {
        any([c, x, y]) => if c.truthy() { *x } else { *y };
    }
}
