//! Elements as values of a kernel, and the operations of which lowerings are written.

use crate::kernel::{Binary, Compare, KOp, KValue, KernelBuilder, MathCall, MathPtr, Unary};
use rewright_ir::math::{RealFn, math_fn};
use rewright_ir::{Attrs, DType, Scalar};
use smallvec::SmallVec;

/// An element: one value of the kernel, or two for a complex number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elem {
    /// The dtype.
    pub dtype: DType,
    /// The value, or the real part.
    pub re: KValue,
    /// The imaginary part of a complex number.
    pub im: Option<KValue>,
}

/// The elements that an op yields.
pub type Elems = SmallVec<[Elem; 2]>;

impl Elem {
    /// An element of a real dtype.
    pub fn real(dtype: DType, value: KValue) -> Self {
        Elem { dtype, re: value, im: None }
    }
    /// A complex number of a dtype.
    pub fn complex(dtype: DType, re: KValue, im: KValue) -> Self {
        Elem { dtype, re, im: Some(im) }
    }
    /// The values of its parts.
    pub fn parts(&self) -> impl Iterator<Item = KValue> + use<> {
        std::iter::once(self.re).chain(self.im)
    }
    /// The element as the only result of an op.
    pub fn only(self) -> Option<Elems> {
        Some(Elems::from_iter([self]))
    }
}

/// The context of a lowering.
pub struct ScalarCx<'a> {
    /// The kernel.
    pub k: &'a mut KernelBuilder,
    /// The op's attributes.
    pub attrs: &'a Attrs,
}

impl ScalarCx<'_> {
    /// A constant of any dtype.
    pub fn constant(&mut self, scalar: Scalar) -> Elem {
        let (dtype, (re, im)) = (scalar.dtype(), scalar.bits());
        let mut part = |bits| self.k.constant(Scalar::from_bits(dtype.real(), (bits, 0)));
        Elem { dtype, re: part(re), im: dtype.is_complex().then(|| part(im)) }
    }
    /// A real constant, cast from `f64`.
    pub fn float(&mut self, dtype: DType, x: f64) -> KValue {
        self.k.constant(Scalar::F64(x).cast(dtype))
    }
    /// A real constant, cast from `i64`.
    pub fn int(&mut self, dtype: DType, x: i64) -> KValue {
        self.k.constant(Scalar::I64(x).cast(dtype))
    }
    /// `true` or `false`.
    pub fn bool(&mut self, x: bool) -> KValue {
        self.k.constant(Scalar::Bool(x))
    }

    /// `a + b`.
    pub fn add(&mut self, a: KValue, b: KValue) -> KValue {
        self.k.binary(Binary::Add, a, b)
    }
    /// `a - b`.
    pub fn sub(&mut self, a: KValue, b: KValue) -> KValue {
        self.k.binary(Binary::Sub, a, b)
    }
    /// `a * b`.
    pub fn mul(&mut self, a: KValue, b: KValue) -> KValue {
        self.k.binary(Binary::Mul, a, b)
    }
    /// `a / b`; floats only. For a power of two it is `a * (1 / b)`, which has the same bits.
    pub fn div(&mut self, a: KValue, b: KValue) -> KValue {
        match self.k.as_constant(b).and_then(Scalar::exact_reciprocal) {
            Some(reciprocal) => {
                let reciprocal = self.k.constant(reciprocal);
                self.mul(a, reciprocal)
            }
            None => self.k.binary(Binary::Div, a, b),
        }
    }
    /// `-a`.
    pub fn neg(&mut self, a: KValue) -> KValue {
        self.k.unary(Unary::Neg, a)
    }
    /// The magnitude.
    pub fn abs(&mut self, a: KValue) -> KValue {
        self.k.unary(Unary::Abs, a)
    }

    /// `a == b`.
    pub fn eq(&mut self, a: KValue, b: KValue) -> KValue {
        self.k.compare(Compare::Eq, a, b)
    }
    /// `a != b`.
    pub fn ne(&mut self, a: KValue, b: KValue) -> KValue {
        self.k.compare(Compare::Ne, a, b)
    }
    /// `a < b`.
    pub fn lt(&mut self, a: KValue, b: KValue) -> KValue {
        self.k.compare(Compare::Lt, a, b)
    }
    /// `a <= b`.
    pub fn le(&mut self, a: KValue, b: KValue) -> KValue {
        self.k.compare(Compare::Le, a, b)
    }
    /// Logical or bitwise "and".
    pub fn and(&mut self, a: KValue, b: KValue) -> KValue {
        self.k.binary(Binary::And, a, b)
    }
    /// Logical or bitwise "or".
    pub fn or(&mut self, a: KValue, b: KValue) -> KValue {
        self.k.binary(Binary::Or, a, b)
    }
    /// Logical or bitwise "exclusive or".
    pub fn xor(&mut self, a: KValue, b: KValue) -> KValue {
        self.k.binary(Binary::Xor, a, b)
    }
    /// Logical or bitwise "not".
    pub fn not(&mut self, a: KValue) -> KValue {
        self.k.unary(Unary::Not, a)
    }

    /// Whether a float is NaN.
    pub fn is_nan(&mut self, x: KValue) -> KValue {
        self.ne(x, x)
    }
    /// Whether a float is infinite.
    pub fn is_infinite(&mut self, x: KValue) -> KValue {
        let infinity = self.float(self.k.dtype(x), f64::INFINITY);
        let magnitude = self.abs(x);
        self.eq(magnitude, infinity)
    }
    /// Whether a float is neither infinite nor NaN.
    pub fn is_finite(&mut self, x: KValue) -> KValue {
        let infinity = self.float(self.k.dtype(x), f64::INFINITY);
        let magnitude = self.abs(x);
        self.lt(magnitude, infinity)
    }

    /// `condition ? a : b`, for elements of one dtype.
    pub fn select(&mut self, condition: KValue, a: Elem, b: Elem) -> Elem {
        let im = a.im.zip(b.im).map(|(x, y)| self.k.select(condition, x, y));
        Elem { dtype: a.dtype, re: self.k.select(condition, a.re, b.re), im }
    }

    /// "Not zero", as a bool.
    pub fn truthy(&mut self, x: Elem) -> KValue {
        let re = self.k.convert(x.re, DType::Bool);
        match x.im {
            Some(im) => {
                let im = self.k.convert(im, DType::Bool);
                self.or(re, im)
            }
            None => re,
        }
    }

    /// The conversion of [`Scalar::cast`].
    pub fn cast(&mut self, x: Elem, to: DType) -> Elem {
        if x.dtype == to {
            return x;
        }
        if to.is_bool() {
            return Elem::real(to, self.truthy(x));
        }
        let re = self.k.convert(x.re, to.real());
        let im = to.is_complex().then(|| match x.im {
            Some(im) => self.k.convert(im, to.real()),
            None => self.float(to.real(), 0.0),
        });
        Elem { dtype: to, re, im }
    }

    /// Computes the function of this name in the table [`math`](rewright_ir::math): by its instructions if
    /// it is one of [`vector`](rewright_ir::math::vector), otherwise by a call. `None` if there is no such
    /// function, if it has another number of arguments, or if they are not floats.
    pub fn math(&mut self, name: &str, args: &[KValue]) -> Option<KValue> {
        let found = math_fn(name)?;
        let dtype = self.k.dtype(*args.first()?);
        if dtype.is_float()
            && args.iter().all(|&a| self.k.dtype(a) == dtype)
            && let Some(value) = self.expand(name, args)
        {
            return Some(value);
        }
        let ptr = match (found.function, dtype, args.len()) {
            (RealFn::Unary { f64, .. }, DType::F64, 1) => MathPtr::F64x1(f64),
            (RealFn::Unary { f32, .. }, DType::F32, 1) => MathPtr::F32x1(f32),
            (RealFn::Binary { f64, .. }, DType::F64, 2) => MathPtr::F64x2(f64),
            (RealFn::Binary { f32, .. }, DType::F32, 2) => MathPtr::F32x2(f32),
            _ => return None,
        };
        Some(self.k.push(KOp::Math(MathCall { name: found.name, ptr }), args, dtype))
    }
}
