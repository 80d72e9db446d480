//! The scalar semantics of each instruction.

use crate::kernel::{Binary, Compare, KOp, MathCall, MathPtr, Unary};
use rewright_ir::math::vector::{Bits, Real};
use rewright_ir::{DType, Scalar};
use std::num::Wrapping;

/// The result of an instruction that depends only on its operands; `None` if it is not defined for their
/// dtypes.
pub(super) fn compute(op: &KOp, args: &[Scalar], dtype: DType) -> Option<Scalar> {
    match (op, args) {
        (KOp::Const(bits), []) => Some(Scalar::from_bits(dtype, (*bits, 0))),
        (KOp::Unary(op), &[a]) => unary(*op, a),
        (KOp::Binary(op), &[a, b]) => binary(*op, a, b),
        (KOp::Compare(op), &[a, b]) => compare(*op, a, b),
        (KOp::Select, &[Scalar::Bool(c), a, b]) => Some(if c { a } else { b }),
        (KOp::Convert, &[a]) => Some(a.cast(dtype)),
        (KOp::Bitcast, &[a]) => Some(Scalar::from_bits(dtype, a.bits())),
        (KOp::Fma, &[Scalar::F32(a), Scalar::F32(b), Scalar::F32(c)]) => Some(libm::fmaf(a, b, c).into()),
        (KOp::Fma, &[Scalar::F64(a), Scalar::F64(b), Scalar::F64(c)]) => Some(libm::fma(a, b, c).into()),
        (KOp::Choose(table), &[Scalar::U32(n)]) => Some(Wrapping(n).choose(table).into()),
        (KOp::Choose(table), &[Scalar::U64(n)]) => Some(Wrapping(n).choose(table).into()),
        (KOp::Math(call), args) => math(call, args),
        (KOp::MathWhere(call), &[Scalar::Bool(c), otherwise, ref args @ ..]) => {
            if c {
                math(call, args)
            } else {
                Some(otherwise)
            }
        }
        _ => None,
    }
}

fn math(call: &MathCall, args: &[Scalar]) -> Option<Scalar> {
    Some(match (call.ptr, args) {
        (MathPtr::F64x1(f), &[Scalar::F64(x)]) => f(x).into(),
        (MathPtr::F64x2(f), &[Scalar::F64(x), Scalar::F64(y)]) => f(x, y).into(),
        (MathPtr::F32x1(f), &[Scalar::F32(x)]) => f(x).into(),
        (MathPtr::F32x2(f), &[Scalar::F32(x), Scalar::F32(y)]) => f(x, y).into(),
        _ => return None,
    })
}

/// Operations on integers that Rust's own operations do not define for all operands.
trait Int: Sized {
    fn abs(self) -> Self;
    fn quot(self, by: Self) -> Self;
    fn rem(self, by: Self) -> Self;
    fn shl(self, by: Self) -> Self;
    fn shr(self, by: Self) -> Self;
}

macro_rules! int {
    ($($ty:ident as $unsigned:ident, |$x:ident| $abs:expr;)*) => {$(
        impl Int for $ty {
            fn abs(self) -> Self {
                let $x = self;
                $abs
            }
            fn quot(self, by: Self) -> Self {
                if by == 0 { 0 } else { self.wrapping_div(by) }
            }
            fn rem(self, by: Self) -> Self {
                if by == 0 { 0 } else { self.wrapping_rem(by) }
            }
            fn shl(self, by: Self) -> Self {
                let by = by as $unsigned;
                if by >= Self::BITS as $unsigned { 0 } else { self << by }
            }
            fn shr(self, by: Self) -> Self {
                let by = by as $unsigned;
                // A shift by all but one bit leaves -1 of a negative number. One more bit then leaves 0 of
                // any other number.
                if by >= Self::BITS as $unsigned { (self >> (Self::BITS - 1)) >> 1 } else { self >> by }
            }
        }
    )*};
}
int! {
    i8 as u8, |x| x.wrapping_abs();
    i16 as u16, |x| x.wrapping_abs();
    i32 as u32, |x| x.wrapping_abs();
    i64 as u64, |x| x.wrapping_abs();
    u8 as u8, |x| x;
    u16 as u16, |x| x;
    u32 as u32, |x| x;
    u64 as u64, |x| x;
}

/// Returns the value of an expression if all operands are of one of the variants.
macro_rules! variants {
    ([$($variant:ident)+] $operands:tt $xs:tt $body:expr) => {{
        $(variants!($variant $operands $xs $body);)+
    }};
    ($variant:ident [$($operand:expr),+] [$($x:ident),+] $body:expr) => {
        if let ($(Scalar::$variant($x),)+) = ($($operand,)+) {
            return Some(Scalar::from($body));
        }
    };
}

/// Returns the value of an expression if all operands are of one integer dtype.
macro_rules! ints {
    ($($operand:expr),+; |$($x:ident),+| $body:expr) => {
        variants!([I8 I16 I32 I64 U8 U16 U32 U64] [$($operand),+] [$($x),+] $body)
    };
}

/// Returns the value of an expression if all operands are of one float dtype.
macro_rules! floats {
    ($($operand:expr),+; |$($x:ident),+| $body:expr) => {
        variants!([F32 F64] [$($operand),+] [$($x),+] $body)
    };
}

fn unary(op: Unary, a: Scalar) -> Option<Scalar> {
    match op {
        Unary::Neg => {
            ints!(a; |x| x.wrapping_neg());
            floats!(a; |x| -x);
        }
        Unary::Abs => {
            ints!(a; |x| Int::abs(x));
            floats!(a; |x| x.abs());
        }
        Unary::Not => {
            variants!([Bool] [a] [x] !x);
            ints!(a; |x| !x);
        }
        Unary::Sqrt => floats!(a; |x| x.sqrt()),
        Unary::Floor => floats!(a; |x| x.floor()),
        Unary::Ceil => floats!(a; |x| x.ceil()),
        Unary::Trunc => floats!(a; |x| x.trunc()),
        Unary::Rint => floats!(a; |x| x.round_ties_even()),
        Unary::Significand => floats!(a; |x| Real::significand(x)),
        Unary::PopCount => {
            ints!(a; |x| Scalar::U32(x.count_ones()).cast(a.dtype()));
        }
        Unary::LeadingZeros => {
            ints!(a; |x| Scalar::U32(x.leading_zeros()).cast(a.dtype()));
        }
    }
    None
}

fn binary(op: Binary, a: Scalar, b: Scalar) -> Option<Scalar> {
    match op {
        Binary::Add => {
            ints!(a, b; |x, y| x.wrapping_add(y));
            floats!(a, b; |x, y| x + y);
        }
        Binary::Sub => {
            ints!(a, b; |x, y| x.wrapping_sub(y));
            floats!(a, b; |x, y| x - y);
        }
        Binary::Mul => {
            ints!(a, b; |x, y| x.wrapping_mul(y));
            floats!(a, b; |x, y| x * y);
        }
        Binary::Div => floats!(a, b; |x, y| x / y),
        Binary::Quot => ints!(a, b; |x, y| x.quot(y)),
        Binary::Rem => ints!(a, b; |x, y| x.rem(y)),
        Binary::And => {
            variants!([Bool] [a, b] [x, y] x & y);
            ints!(a, b; |x, y| x & y);
        }
        Binary::Or => {
            variants!([Bool] [a, b] [x, y] x | y);
            ints!(a, b; |x, y| x | y);
        }
        Binary::Xor => {
            variants!([Bool] [a, b] [x, y] x ^ y);
            ints!(a, b; |x, y| x ^ y);
        }
        Binary::Shl => ints!(a, b; |x, y| x.shl(y)),
        Binary::Shr => ints!(a, b; |x, y| x.shr(y)),
        Binary::Min => {
            ints!(a, b; |x, y| x.min(y));
            floats!(a, b; |x, y| if x < y { x } else { y });
        }
        Binary::Max => {
            ints!(a, b; |x, y| x.max(y));
            floats!(a, b; |x, y| if x > y { x } else { y });
        }
        Binary::CopySign => floats!(a, b; |x, y| x.copysign(y)),
        Binary::Scale => floats!(a, b; |x, y| Real::scale(x, y)),
        Binary::Exponent => floats!(a, b; |x, y| Real::exponent(x, y)),
    }
    None
}

fn compare(op: Compare, a: Scalar, b: Scalar) -> Option<Scalar> {
    macro_rules! all {
        ($relation:tt) => {{
            variants!([Bool] [a, b] [x, y] x $relation y);
            ints!(a, b; |x, y| x $relation y);
            floats!(a, b; |x, y| x $relation y);
        }};
    }
    match op {
        Compare::Eq => all!(==),
        Compare::Ne => all!(!=),
        Compare::Lt => all!(<),
        Compare::Le => all!(<=),
    }
    None
}
