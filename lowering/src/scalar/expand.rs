//! Records functions of [`vector`] as instructions of a kernel.

use super::elem::ScalarCx;
use crate::kernel::{Binary, Compare, KOp, KValue, KernelBuilder, MathCall, MathPtr, Unary};
use rewright_ir::math::vector::{self, Bits, Condition, Real, Slow, Table};
use rewright_ir::{DType, Scalar};
use std::cell::RefCell;
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Sub};

/// A value of the kernel under construction: a float, its bits or a bool.
#[derive(Clone, Copy)]
struct Recorded<'r> {
    kernel: &'r RefCell<&'r mut KernelBuilder>,
    value: KValue,
}

impl Recorded<'_> {
    fn dtype(self) -> DType {
        self.kernel.borrow().dtype(self.value)
    }
    fn with(self, value: KValue) -> Self {
        Recorded { value, ..self }
    }
    fn constant(self, c: Scalar) -> Self {
        self.with(self.kernel.borrow_mut().constant(c))
    }
    fn unary(self, op: Unary) -> Self {
        self.with(self.kernel.borrow_mut().unary(op, self.value))
    }
    fn binary(self, op: Binary, b: Self) -> Self {
        self.with(self.kernel.borrow_mut().binary(op, self.value, b.value))
    }
    fn bitcast(self, to: DType) -> Self {
        self.with(self.kernel.borrow_mut().bitcast(self.value, to))
    }
}

/// Defines the types for floats, bits and bools, each with its operators.
macro_rules! reading {
    ($($name:ident: $($trait:ident $method:ident $op:ident),*;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name<'r>(Recorded<'r>);
        $(impl $trait for $name<'_> {
            type Output = Self;
            fn $method(self, b: Self) -> Self {
                $name(self.0.binary(Binary::$op, b.0))
            }
        })*
    )*};
}

reading! {
    Float: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div;
    Word: Add add Add, Sub sub Sub, BitAnd bitand And, BitOr bitor Or, BitXor bitxor Xor;
    Truth: BitAnd bitand And, BitOr bitor Or;
}

impl Neg for Float<'_> {
    type Output = Self;
    fn neg(self) -> Self {
        Float(self.0.unary(Unary::Neg))
    }
}

impl Not for Truth<'_> {
    type Output = Self;
    fn not(self) -> Self {
        Truth(self.0.unary(Unary::Not))
    }
}

impl Condition for Truth<'_> {}

impl<'r> Float<'r> {
    fn compare(self, op: Compare, b: Self) -> Truth<'r> {
        Truth(self.0.with(self.0.kernel.borrow_mut().compare(op, self.0.value, b.0.value)))
    }
}

impl<'r> Real for Float<'r> {
    type Bits = Word<'r>;
    type Condition = Truth<'r>;

    fn is_single(self) -> bool {
        self.0.dtype() == DType::F32
    }
    fn of(self, c: f64) -> Self {
        Float(self.0.constant(Scalar::F64(c).cast(self.0.dtype())))
    }
    fn fma(self, b: Self, c: Self) -> Self {
        let (args, dtype) = ([self.0.value, b.0.value, c.0.value], self.0.dtype());
        Float(self.0.with(self.0.kernel.borrow_mut().push(KOp::Fma, &args, dtype)))
    }
    fn sqrt(self) -> Self {
        Float(self.0.unary(Unary::Sqrt))
    }
    fn abs(self) -> Self {
        Float(self.0.unary(Unary::Abs))
    }
    fn copysign(self, sign: Self) -> Self {
        Float(self.0.binary(Binary::CopySign, sign.0))
    }
    fn less(self, b: Self) -> Truth<'r> {
        self.compare(Compare::Lt, b)
    }
    fn equal(self, b: Self) -> Truth<'r> {
        self.compare(Compare::Eq, b)
    }
    fn or(self, condition: Truth<'r>, b: Self) -> Self {
        Float(self.0.with(self.0.kernel.borrow_mut().select(condition.0.value, self.0.value, b.0.value)))
    }
    fn unless(self, condition: Truth<'r>, f: &Slow, x: Self) -> Self {
        let ptr = self.at(MathPtr::F64x1(f.double), MathPtr::F32x1(f.single));
        let (call, dtype) = (KOp::MathWhere(MathCall { name: f.name, ptr }), self.0.dtype());
        let args = [condition.0.value, self.0.value, x.0.value];
        Float(self.0.with(self.0.kernel.borrow_mut().push(call, &args, dtype)))
    }
    fn min(self, b: Self) -> Self {
        Float(self.0.binary(Binary::Min, b.0))
    }
    fn max(self, b: Self) -> Self {
        Float(self.0.binary(Binary::Max, b.0))
    }
    fn scale(self, k: Self) -> Self {
        Float(self.0.binary(Binary::Scale, k.0))
    }
    fn significand(self) -> Self {
        Float(self.0.unary(Unary::Significand))
    }
    fn exponent(self, significand: Self) -> Self {
        Float(self.0.binary(Binary::Exponent, significand.0))
    }
    fn bits(self) -> Word<'r> {
        Word(self.0.bitcast(self.at(DType::U64, DType::U32)))
    }
}

impl Word<'_> {
    /// The float dtype of the same size.
    fn float(self) -> DType {
        if self.0.dtype() == DType::U32 { DType::F32 } else { DType::F64 }
    }
}

impl<'r> Bits for Word<'r> {
    type Real = Float<'r>;
    type Condition = Truth<'r>;

    fn of(self, c: u64) -> Self {
        Word(self.0.constant(Scalar::U64(c).cast(self.0.dtype())))
    }
    fn shl(self, by: u32) -> Self {
        Word(self.0.binary(Binary::Shl, self.of(by.into()).0))
    }
    fn shr(self, by: u32) -> Self {
        Word(self.0.binary(Binary::Shr, self.of(by.into()).0))
    }
    fn choose(self, table: &'static Table) -> Float<'r> {
        let dtype = self.float();
        Float(self.0.with(self.0.kernel.borrow_mut().push(KOp::Choose(table), &[self.0.value], dtype)))
    }
    fn is_zero(self) -> Truth<'r> {
        let zero = self.of(0);
        Truth(self.0.with(self.0.kernel.borrow_mut().compare(Compare::Eq, self.0.value, zero.0.value)))
    }
    fn real(self) -> Float<'r> {
        Float(self.0.bitcast(self.float()))
    }
}

impl ScalarCx<'_> {
    /// The function of this name and number of arguments as instructions, if [`vector`] has it.
    pub(super) fn expand(&mut self, name: &str, args: &[KValue]) -> Option<KValue> {
        let kernel = RefCell::new(&mut *self.k);
        let read = |value| Float(Recorded { kernel: &kernel, value });
        match *args {
            [x] => Some(vector::unary(name)?(read(x)).0.value),
            [x, y] => Some(vector::binary(name)?(read(x), read(y)).0.value),
            _ => None,
        }
    }

    /// A function of complex numbers as instructions on their parts.
    pub(super) fn expand_complex<const N: usize>(
        &mut self,
        args: [[KValue; 2]; N],
        function: impl for<'r> FnOnce([[Float<'r>; 2]; N]) -> Option<[Float<'r>; 2]>,
    ) -> Option<[KValue; 2]> {
        let kernel = RefCell::new(&mut *self.k);
        let read = |value| Float(Recorded { kernel: &kernel, value });
        Some(function(args.map(|parts| parts.map(read)))?.map(|part| part.0.value))
    }
}
