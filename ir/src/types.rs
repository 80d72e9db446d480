//! Types: a dtype, dims that may be symbols, and a storage style.

use crate::dtype::DType;
use crate::name::Name;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The largest rank of a type in text.
pub const MAX_RANK: usize = 64;

/// The extent of one axis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Dim {
    /// A constant: `3`.
    Const(u64),
    /// A symbol, bound when the function is called: `n`. Equal symbols denote equal extents.
    Sym(Name),
    /// Unknown at compile time: `?`.
    Any,
}

impl Dim {
    /// NumPy's broadcasting of two dims: equal, or one of them 1. `Some(Dim::Any)` if only the extents
    /// decide it; they are checked at run time. `None` if it is impossible.
    pub fn broadcast(self, other: Dim) -> Option<Dim> {
        match (self, other) {
            (a, b) if a == b => Some(a),
            (Dim::Const(1), d) | (d, Dim::Const(1)) => Some(d),
            (Dim::Const(_), Dim::Const(_)) => None,
            // A symbol that broadcasts with a constant other than 1 is that constant, or 1.
            (Dim::Const(c), _) | (_, Dim::Const(c)) => Some(Dim::Const(c)),
            _ => Some(Dim::Any),
        }
    }

    /// True if the two can be the same extent.
    pub fn may_equal(self, other: Dim) -> bool {
        !matches!((self, other), (Dim::Const(a), Dim::Const(b)) if a != b)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Const(c) => write!(f, "{c}"),
            Dim::Sym(s) => write!(f, "{s}"),
            Dim::Any => f.write_str("?"),
        }
    }
}
impl From<u64> for Dim {
    fn from(c: u64) -> Self {
        Dim::Const(c)
    }
}
impl From<&str> for Dim {
    /// `"?"` is [`Dim::Any`], any other text a symbol.
    fn from(s: &str) -> Self {
        if s == "?" { Dim::Any } else { Dim::Sym(Name::new(s)) }
    }
}

/// Broadcasts two lists of dims, aligned at the last axis. `Err(axis)` is the axis of the result that fails.
pub fn broadcast_dims(a: &[Dim], b: &[Dim]) -> Result<Vec<Dim>, usize> {
    let rank = a.len().max(b.len());
    let at = |dims: &[Dim], axis: usize| {
        let missing = rank - dims.len();
        if axis < missing { Dim::Const(1) } else { dims[axis - missing] }
    };
    (0..rank).map(|axis| at(a, axis).broadcast(at(b, axis)).ok_or(axis)).collect()
}

/// The type of a value: a scalar (`f64`) or an array (`f64[n, 3]`; `f64[]` has rank 0). An array that is not
/// dense has a storage style (`f64[n, n; diagonal]`). Before type inference a type may be unknown (`?`).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Type {
    /// `None` if unknown.
    dtype: Option<DType>,
    /// `None` for scalars. Shared, and behind one pointer: functions have many types, but few distinct ones.
    layout: Option<Arc<DimsAndStyle>>,
}

/// The parts of an array type that a scalar type lacks.
#[derive(Clone, PartialEq, Eq, Hash)]
struct DimsAndStyle {
    dims: Box<[Dim]>,
    style: Option<Name>,
}

impl Type {
    /// A scalar type.
    #[inline]
    pub fn scalar(dtype: DType) -> Self {
        Type { dtype: Some(dtype), layout: None }
    }

    /// A dense array type.
    pub fn array(dtype: DType, dims: impl Into<Box<[Dim]>>) -> Self {
        Type { dtype: Some(dtype), layout: Some(Arc::new(DimsAndStyle { dims: dims.into(), style: None })) }
    }

    /// The type of a value before type inference.
    pub fn unknown() -> Self {
        Type { dtype: None, layout: None }
    }

    /// The same type with a storage style; `None` is dense. Scalars have no style.
    pub fn with_style(mut self, style: Option<Name>) -> Self {
        let style = style.filter(|s| *s != "dense");
        if let Some(layout) = self.layout.as_mut().filter(|layout| layout.style != style) {
            Arc::make_mut(layout).style = style;
        }
        self
    }

    /// The same dims and style with another dtype.
    pub fn with_dtype(&self, dtype: DType) -> Self {
        Type { dtype: Some(dtype), layout: self.layout.clone() }
    }

    /// A scalar if `dims` is `None`, else a dense array.
    pub fn from_parts(dtype: DType, dims: Option<Vec<Dim>>) -> Self {
        dims.map_or(Type::scalar(dtype), |dims| Type::array(dtype, dims))
    }

    /// False only before type inference.
    #[inline]
    pub fn is_known(&self) -> bool {
        self.dtype.is_some()
    }
    /// The element type.
    ///
    /// # Panics
    ///
    /// If the type is not [known](Type::is_known).
    #[inline]
    pub fn dtype(&self) -> DType {
        match self.dtype {
            Some(dtype) => dtype,
            None => panic!("the dtype of a value is asked for before type inference"),
        }
    }
    /// True for arrays, including those of rank 0.
    #[inline]
    pub fn is_array(&self) -> bool {
        self.layout.is_some()
    }
    /// True for scalars.
    #[inline]
    pub fn is_scalar(&self) -> bool {
        self.layout.is_none() && self.is_known()
    }
    /// The dims; empty for scalars and for arrays of rank 0.
    #[inline]
    pub fn dims(&self) -> &[Dim] {
        self.layout.as_deref().map_or(&[], |layout| &layout.dims)
    }
    /// The number of axes; 0 for scalars.
    #[inline]
    pub fn rank(&self) -> usize {
        self.dims().len()
    }
    /// The storage style; `None` is dense.
    #[inline]
    pub fn style(&self) -> Option<Name> {
        self.layout.as_deref().and_then(|layout| layout.style)
    }

    /// True if a value of this type is accepted where `expected` is required: same dtype, rank and style,
    /// and dims that may be equal. Dims that are not certainly equal are checked at run time.
    pub fn fits(&self, expected: &Type) -> bool {
        self.dtype == expected.dtype
            && self.style() == expected.style()
            && self.is_array() == expected.is_array()
            && self.rank() == expected.rank()
            && self.dims().iter().zip(expected.dims()).all(|(a, b)| a.may_equal(*b))
    }

    /// True if a value of this type can replace one of type `other` without run-time checks. The types are
    /// equal, except that constants or symbols may replace `?` of `other`, and any type an unknown one.
    #[inline]
    pub fn refines(&self, other: &Type) -> bool {
        let says_more = |(new, old): (&Dim, &Dim)| new == old || *old == Dim::Any;
        self == other || !other.is_known() || (self.fits(other) && self.dims().iter().zip(other.dims()).all(says_more))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dtype {
            Some(dtype) => write!(f, "{dtype}")?,
            None => f.write_str("?")?,
        }
        if let Some(DimsAndStyle { dims, style }) = self.layout.as_deref() {
            f.write_str("[")?;
            for (i, dim) in dims.iter().enumerate() {
                write!(f, "{}{dim}", if i > 0 { ", " } else { "" })?;
            }
            if let Some(style) = style {
                write!(f, "; {style}")?;
            }
            f.write_str("]")?;
        }
        Ok(())
    }
}
impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The types of a function's parameters and results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Parameter types; their symbols are local to the function.
    pub params: Vec<Type>,
    /// Result types.
    pub results: Vec<Type>,
}
