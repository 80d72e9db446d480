//! Scalars: a value of any dtype, and a literal that has no dtype yet.

use crate::dtype::{DType, Kind};
use num_complex::{Complex32, Complex64};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// A value of one dtype. Equality and hash use dtype and bits: NaN equals itself, and -0.0 differs from 0.0.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "one variant a dtype")]
pub enum Scalar {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F32(f32),
    F64(f64),
    C64(Complex32),
    C128(Complex64),
}

/// The results of an op on scalars.
pub type Scalars = SmallVec<[Scalar; 2]>;

impl Scalar {
    /// Its dtype.
    #[inline]
    pub const fn dtype(self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::I8(_) => DType::I8,
            Scalar::I16(_) => DType::I16,
            Scalar::I32(_) => DType::I32,
            Scalar::I64(_) => DType::I64,
            Scalar::U8(_) => DType::U8,
            Scalar::U16(_) => DType::U16,
            Scalar::U32(_) => DType::U32,
            Scalar::U64(_) => DType::U64,
            Scalar::F32(_) => DType::F32,
            Scalar::F64(_) => DType::F64,
            Scalar::C64(_) => DType::C64,
            Scalar::C128(_) => DType::C128,
        }
    }

    /// The bits: the value's own, zero-extended; for complex, real part and imaginary part.
    pub fn bits(self) -> (u64, u64) {
        match self {
            Scalar::Bool(x) => (x as u64, 0),
            Scalar::I8(x) => (x as u8 as u64, 0),
            Scalar::I16(x) => (x as u16 as u64, 0),
            Scalar::I32(x) => (x as u32 as u64, 0),
            Scalar::I64(x) => (x as u64, 0),
            Scalar::U8(x) => (x as u64, 0),
            Scalar::U16(x) => (x as u64, 0),
            Scalar::U32(x) => (x as u64, 0),
            Scalar::U64(x) => (x, 0),
            Scalar::F32(x) => (x.to_bits() as u64, 0),
            Scalar::F64(x) => (x.to_bits(), 0),
            Scalar::C64(z) => (z.re.to_bits() as u64, z.im.to_bits() as u64),
            Scalar::C128(z) => (z.re.to_bits(), z.im.to_bits()),
        }
    }

    /// The scalar of `dtype` with these [`bits`](Scalar::bits).
    pub fn from_bits(dtype: DType, (a, b): (u64, u64)) -> Self {
        match dtype {
            DType::Bool => Scalar::Bool(a & 1 != 0),
            DType::I8 => Scalar::I8(a as i8),
            DType::I16 => Scalar::I16(a as i16),
            DType::I32 => Scalar::I32(a as i32),
            DType::I64 => Scalar::I64(a as i64),
            DType::U8 => Scalar::U8(a as u8),
            DType::U16 => Scalar::U16(a as u16),
            DType::U32 => Scalar::U32(a as u32),
            DType::U64 => Scalar::U64(a),
            DType::F32 => Scalar::F32(f32::from_bits(a as u32)),
            DType::F64 => Scalar::F64(f64::from_bits(a)),
            DType::C64 => Scalar::C64(Complex32::new(f32::from_bits(a as u32), f32::from_bits(b as u32))),
            DType::C128 => Scalar::C128(Complex64::new(f64::from_bits(a), f64::from_bits(b))),
        }
    }

    /// Zero of a dtype (`false` for bool).
    pub fn zero(dtype: DType) -> Self {
        Scalar::from_bits(dtype, (0, 0))
    }

    /// One of a dtype (`true` for bool).
    pub fn one(dtype: DType) -> Self {
        Scalar::I8(1).cast(dtype)
    }

    /// The reciprocal of a float, if it is exact: both are powers of two, and neither is subnormal. A
    /// division by the float has the bits of a multiplication by the reciprocal. `None` for other dtypes.
    pub fn exact_reciprocal(self) -> Option<Self> {
        match self {
            Scalar::F32(x) => {
                let is_exact = x.is_normal() && x.recip().is_normal() && x.to_bits() << 9 == 0;
                is_exact.then(|| Scalar::F32(x.recip()))
            }
            Scalar::F64(x) => {
                let is_exact = x.is_normal() && x.recip().is_normal() && x.to_bits() << 12 == 0;
                is_exact.then(|| Scalar::F64(x.recip()))
            }
            _ => None,
        }
    }

    /// The value as a complex number; integers beyond 2^53 are rounded.
    pub fn to_c128(self) -> Complex64 {
        match self {
            Scalar::C64(z) => Complex64::new(z.re as f64, z.im as f64),
            Scalar::C128(z) => z,
            real => Complex64::new(real.to_f64(), 0.0),
        }
    }

    /// The value as `f64`, rounded if necessary; the real part of a complex number.
    pub fn to_f64(self) -> f64 {
        match self {
            Scalar::Bool(x) => x as u8 as f64,
            Scalar::I8(x) => x as f64,
            Scalar::I16(x) => x as f64,
            Scalar::I32(x) => x as f64,
            Scalar::I64(x) => x as f64,
            Scalar::U8(x) => x as f64,
            Scalar::U16(x) => x as f64,
            Scalar::U32(x) => x as f64,
            Scalar::U64(x) => x as f64,
            Scalar::F32(x) => x as f64,
            Scalar::F64(x) => x,
            Scalar::C64(z) => z.re as f64,
            Scalar::C128(z) => z.re,
        }
    }

    /// The value of a bool or integer; `None` for floats and complex numbers.
    pub fn to_i128(self) -> Option<i128> {
        Some(match self {
            Scalar::Bool(x) => x as i128,
            Scalar::I8(x) => x as i128,
            Scalar::I16(x) => x as i128,
            Scalar::I32(x) => x as i128,
            Scalar::I64(x) => x as i128,
            Scalar::U8(x) => x as i128,
            Scalar::U16(x) => x as i128,
            Scalar::U32(x) => x as i128,
            Scalar::U64(x) => x as i128,
            _ => return None,
        })
    }

    /// True unless the value is zero; NaN is true, as in NumPy.
    pub fn truthy(self) -> bool {
        match self.to_i128() {
            Some(i) => i != 0,
            None => {
                let z = self.to_c128();
                z.re != 0.0 || z.im != 0.0
            }
        }
    }

    /// The conversion of the `cast` op. Integers wrap. Floats are truncated to integers and saturate, and
    /// NaN gives 0 (C leaves it undefined). Complex to real drops the imaginary part, and to bool is "not
    /// zero".
    pub fn cast(self, to: DType) -> Self {
        if self.dtype() == to {
            return self;
        }
        if let DType::Bool = to {
            return Scalar::Bool(self.truthy());
        }
        macro_rules! convert {
            ($x:expr) => {
                match to {
                    DType::I8 => Scalar::I8($x as i8),
                    DType::I16 => Scalar::I16($x as i16),
                    DType::I32 => Scalar::I32($x as i32),
                    DType::I64 => Scalar::I64($x as i64),
                    DType::U8 => Scalar::U8($x as u8),
                    DType::U16 => Scalar::U16($x as u16),
                    DType::U32 => Scalar::U32($x as u32),
                    DType::U64 => Scalar::U64($x as u64),
                    DType::F32 => Scalar::F32($x as f32),
                    DType::F64 => Scalar::F64($x as f64),
                    DType::C64 => Scalar::C64(Complex32::new($x as f32, 0.0)),
                    DType::C128 => Scalar::C128(Complex64::new($x as f64, 0.0)),
                    DType::Bool => Scalar::Bool(self.truthy()),
                }
            };
        }
        match self {
            Scalar::Bool(x) => convert!(x as u8),
            Scalar::I8(x) => convert!(x),
            Scalar::I16(x) => convert!(x),
            Scalar::I32(x) => convert!(x),
            Scalar::I64(x) => convert!(x),
            Scalar::U8(x) => convert!(x),
            Scalar::U16(x) => convert!(x),
            Scalar::U32(x) => convert!(x),
            Scalar::U64(x) => convert!(x),
            Scalar::F32(x) => convert!(x),
            Scalar::F64(x) => convert!(x),
            Scalar::C64(z) if to == DType::C128 => Scalar::C128(Complex64::new(z.re as f64, z.im as f64)),
            Scalar::C128(z) if to == DType::C64 => Scalar::C64(Complex32::new(z.re as f32, z.im as f32)),
            Scalar::C64(z) => Scalar::F32(z.re).cast(to),
            Scalar::C128(z) => Scalar::F64(z.re).cast(to),
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.dtype() == other.dtype() && self.bits() == other.bits()
    }
}
impl Eq for Scalar {}
impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dtype().hash(state);
        self.bits().hash(state);
    }
}

macro_rules! from_rust {
    ($($ty:ty => $variant:ident),*) => {$(
        impl From<$ty> for Scalar {
            fn from(x: $ty) -> Self {
                Scalar::$variant(x)
            }
        }
    )*};
}
from_rust!(bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16,
    u32 => U32, u64 => U64, f32 => F32, f64 => F64, Complex32 => C64, Complex64 => C128);

/// A number before an op determines its dtype. Weak in the sense of NEP 50: it takes the dtype that it is
/// combined with, unless its own kind is a later one.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Literal {
    Bool(bool),
    Int(i128),
    Float(f64),
    Complex(f64, f64),
    /// Written with a dtype suffix, so not weak: `2.0:f32`.
    Typed(Scalar),
}

/// Floats compare by their bits, like those of scalars: 0.0 is not -0.0.
impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Literal::Bool(a), Literal::Bool(b)) => a == b,
            (Literal::Int(a), Literal::Int(b)) => a == b,
            (Literal::Float(a), Literal::Float(b)) => Scalar::F64(*a) == Scalar::F64(*b),
            (Literal::Complex(a, b), Literal::Complex(c, d)) => {
                Scalar::C128(Complex64::new(*a, *b)) == Scalar::C128(Complex64::new(*c, *d))
            }
            (Literal::Typed(a), Literal::Typed(b)) => a == b,
            _ => false,
        }
    }
}

impl Literal {
    /// The dtype that the literal takes beside operands that promote to `strong`.
    pub fn dtype_beside(self, strong: Option<DType>) -> DType {
        match (self, strong) {
            (Literal::Typed(s), _) => s.dtype(),
            (Literal::Bool(_), _) => DType::Bool,
            (Literal::Int(i), None) if i > i64::MAX as i128 => DType::U64,
            (Literal::Int(_), None | Some(DType::Bool)) => DType::I64,
            (Literal::Int(_), Some(d)) => d,
            (Literal::Float(_), Some(d)) if d.kind() >= Kind::Float => d,
            (Literal::Float(_), _) => DType::F64,
            (Literal::Complex(..), Some(d)) if d.kind() == Kind::Complex => d,
            (Literal::Complex(..), Some(DType::F32)) => DType::C64,
            (Literal::Complex(..), _) => DType::C128,
        }
    }

    /// The literal at `dtype`; `None` if the dtype can't represent it (`300` at `u8`, `1.5` at `i32`).
    pub fn at(self, dtype: DType) -> Option<Scalar> {
        match self {
            Literal::Typed(s) => (s.dtype() == dtype).then_some(s),
            Literal::Bool(b) => (dtype == DType::Bool).then_some(Scalar::Bool(b)),
            Literal::Int(i) => match dtype.kind() {
                Kind::Bool => None,
                Kind::Int => {
                    let s =
                        if i < 0 { Scalar::I64(i64::try_from(i).ok()?) } else { Scalar::U64(u64::try_from(i).ok()?) };
                    let at = s.cast(dtype);
                    (at.to_i128() == Some(i)).then_some(at)
                }
                // Rounds once, from the integer itself.
                Kind::Float if dtype == DType::F32 => Some(Scalar::F32(i as f32)),
                Kind::Float => Some(Scalar::F64(i as f64)),
                Kind::Complex if dtype == DType::C64 => Some(Scalar::F32(i as f32).cast(dtype)),
                Kind::Complex => Some(Scalar::F64(i as f64).cast(dtype)),
            },
            Literal::Float(x) => (dtype.kind() >= Kind::Float).then(|| Scalar::F64(x).cast(dtype)),
            Literal::Complex(re, im) => {
                (dtype.kind() == Kind::Complex).then(|| Scalar::C128(Complex64::new(re, im)).cast(dtype))
            }
        }
    }
}

macro_rules! literal_from {
    ($($ty:ty => $x:ident: $e:expr),*) => {$(
        impl From<$ty> for Literal {
            fn from($x: $ty) -> Self {
                $e
            }
        }
    )*};
}
literal_from!(bool => x: Literal::Bool(x), i32 => x: Literal::Int(x as i128), i64 => x: Literal::Int(x as i128),
    f64 => x: Literal::Float(x), Complex64 => x: Literal::Complex(x.re, x.im), Scalar => x: Literal::Typed(x));

impl std::fmt::Display for Literal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Literal::Bool(b) => write!(f, "{b}"),
            Literal::Int(i) => write!(f, "{i}"),
            Literal::Float(x) => write!(f, "{x:?}"),
            Literal::Complex(re, im) => write!(f, "({re:?}, {im:?})"),
            Literal::Typed(s) => write!(f, "{s}"),
        }
    }
}

/// The text form without a dtype suffix: `true`, `-3`, `1.5`, `NaN`, `inf`, and `(re, im)` for complex
/// numbers.
impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Scalar::Bool(b) => write!(f, "{b}"),
            Scalar::F32(x) => write!(f, "{x:?}"),
            Scalar::F64(x) => write!(f, "{x:?}"),
            Scalar::C64(z) => write!(f, "({:?}, {:?})", z.re, z.im),
            Scalar::C128(z) => write!(f, "({:?}, {:?})", z.re, z.im),
            int => write!(f, "{}", int.to_i128().unwrap_or_default()),
        }
    }
}
