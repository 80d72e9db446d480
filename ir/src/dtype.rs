//! Element types and NumPy 2 promotion (NEP 50).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An element type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum DType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    C64,
    C128,
}

use DType::*;

/// The kind of a dtype; promotion never leads to an earlier kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
#[allow(missing_docs, reason = "the names are the documentation")]
pub enum Kind {
    Bool,
    Int,
    Float,
    Complex,
}

impl DType {
    /// Every dtype, by kind and size.
    pub const ALL: [DType; 13] = [Bool, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, C64, C128];

    /// The name in IR text: `f64`, `c128`, `bool`.
    pub const fn name(self) -> &'static str {
        match self {
            Bool => "bool",
            I8 => "i8",
            I16 => "i16",
            I32 => "i32",
            I64 => "i64",
            U8 => "u8",
            U16 => "u16",
            U32 => "u32",
            U64 => "u64",
            F32 => "f32",
            F64 => "f64",
            C64 => "c64",
            C128 => "c128",
        }
    }

    /// Size of one element, in bytes.
    pub const fn size(self) -> usize {
        match self {
            Bool | I8 | U8 => 1,
            I16 | U16 => 2,
            I32 | U32 | F32 => 4,
            I64 | U64 | F64 | C64 => 8,
            C128 => 16,
        }
    }

    /// The kind: bool, int (signed or not), float or complex.
    pub const fn kind(self) -> Kind {
        match self {
            Bool => Kind::Bool,
            I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64 => Kind::Int,
            F32 | F64 => Kind::Float,
            C64 | C128 => Kind::Complex,
        }
    }

    /// True for `bool`.
    pub const fn is_bool(self) -> bool {
        matches!(self, Bool)
    }
    /// True for signed and unsigned integers, not for `bool`.
    pub const fn is_int(self) -> bool {
        matches!(self.kind(), Kind::Int)
    }
    /// True for `i8` to `i64`.
    pub const fn is_signed(self) -> bool {
        matches!(self, I8 | I16 | I32 | I64)
    }
    /// True for `u8` to `u64`.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, U8 | U16 | U32 | U64)
    }
    /// True for `f32` and `f64`.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }
    /// True for `c64` and `c128`.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), Kind::Complex)
    }

    /// The dtype of the real part: `f32` for `c64`, `f64` for `c128`, else itself.
    pub const fn real(self) -> DType {
        match self {
            C64 => F32,
            C128 => F64,
            other => other,
        }
    }

    /// The smallest complex dtype that holds this dtype.
    pub const fn to_complex(self) -> DType {
        match self {
            I8 | I16 | U8 | U16 | F32 | C64 => C64,
            _ => C128,
        }
    }

    /// The smallest float dtype that holds this real dtype. NumPy chooses `f16` for `bool`, `i8` and `u8`;
    /// there is no `f16`, so these give `f32`.
    pub const fn to_float(self) -> DType {
        match self {
            Bool | I8 | U8 | I16 | U16 | F32 => F32,
            C64 => F32,
            _ => F64,
        }
    }

    /// NumPy's `result_type` of two dtypes.
    pub fn promote(self, other: DType) -> DType {
        if self == other {
            return self;
        }
        let (a, b) = if self.kind() <= other.kind() { (self, other) } else { (other, self) };
        match (a.kind(), b.kind()) {
            (Kind::Bool, _) => b,
            (Kind::Int, Kind::Int) => promote_ints(a, b),
            (Kind::Int | Kind::Float, Kind::Float) => {
                if a.to_float() == F64 {
                    F64
                } else {
                    b
                }
            }
            (Kind::Int | Kind::Float, Kind::Complex) => {
                if a.to_float() == F64 {
                    C128
                } else {
                    b
                }
            }
            _ => C128,
        }
    }

    /// NumPy's "safe" casting: every value of `self` is a value of `to`.
    #[inline]
    pub fn can_cast_safely(self, to: DType) -> bool {
        self.promote(to) == to
    }
}

fn promote_ints(a: DType, b: DType) -> DType {
    if a.is_signed() == b.is_signed() {
        return if a.size() >= b.size() { a } else { b };
    }
    let (signed, unsigned) = if a.is_signed() { (a, b) } else { (b, a) };
    if signed.size() > unsigned.size() {
        return signed;
    }
    match unsigned {
        U8 => I16,
        U16 => I32,
        U32 => I64,
        _ => F64,
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
impl FromStr for DType {
    type Err = ();
    fn from_str(s: &str) -> Result<Self, ()> {
        DType::ALL.into_iter().find(|d| d.name() == s).ok_or(())
    }
}
