//! Buffers of elements in row-major order with their dtype erased: evaluation reads from them, and builds
//! arrays in them.

use super::array::{Array, Element};
use crate::dtype::DType;
use crate::error::EvalError;
use crate::scalar::Scalar;
use ndarray::{ArcArray, IxDyn};
use num_complex::{Complex32, Complex64};
use std::borrow::Cow;

/// A flat buffer, borrowed from a contiguous array or owned.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "one variant a dtype")]
pub enum Elements<'a> {
    Bool(Cow<'a, [bool]>),
    I8(Cow<'a, [i8]>),
    I16(Cow<'a, [i16]>),
    I32(Cow<'a, [i32]>),
    I64(Cow<'a, [i64]>),
    U8(Cow<'a, [u8]>),
    U16(Cow<'a, [u16]>),
    U32(Cow<'a, [u32]>),
    U64(Cow<'a, [u64]>),
    F32(Cow<'a, [f32]>),
    F64(Cow<'a, [f64]>),
    C64(Cow<'a, [Complex32]>),
    C128(Cow<'a, [Complex64]>),
}

/// Runs an expression with the typed buffer.
macro_rules! with_elements {
    ($elements:expr, |$x:ident| $body:expr) => {
        with_elements!(@ $elements, $x, $body, Bool I8 I16 I32 I64 U8 U16 U32 U64 F32 F64 C64 C128)
    };
    (@ $elements:expr, $x:ident, $body:expr, $($variant:ident)*) => {
        match $elements {
            $(Elements::$variant($x) => $body,)*
        }
    };
}

fn flat<T: Copy>(array: &ArcArray<T, IxDyn>) -> Cow<'_, [T]> {
    match array.as_slice() {
        Some(slice) => Cow::Borrowed(slice),
        None => Cow::Owned(array.iter().copied().collect()),
    }
}

fn reserve<T: Clone>(len: usize) -> Result<Cow<'static, [T]>, EvalError> {
    let mut v = Vec::new();
    v.try_reserve_exact(len).map_err(|_| EvalError::limit(format!("no memory for {len} elements")))?;
    Ok(Cow::Owned(v))
}

impl<'a> Elements<'a> {
    /// An array's elements in row-major order.
    pub fn of(array: &'a Array) -> Self {
        match array {
            Array::Bool(a) => Elements::Bool(flat(a)),
            Array::I8(a) => Elements::I8(flat(a)),
            Array::I16(a) => Elements::I16(flat(a)),
            Array::I32(a) => Elements::I32(flat(a)),
            Array::I64(a) => Elements::I64(flat(a)),
            Array::U8(a) => Elements::U8(flat(a)),
            Array::U16(a) => Elements::U16(flat(a)),
            Array::U32(a) => Elements::U32(flat(a)),
            Array::U64(a) => Elements::U64(flat(a)),
            Array::F32(a) => Elements::F32(flat(a)),
            Array::F64(a) => Elements::F64(flat(a)),
            Array::C64(a) => Elements::C64(flat(a)),
            Array::C128(a) => Elements::C128(flat(a)),
        }
    }

    /// An empty buffer with room for `len` elements; an error if memory does not suffice.
    pub fn with_capacity(dtype: DType, len: usize) -> Result<Elements<'static>, EvalError> {
        Ok(match dtype {
            DType::Bool => Elements::Bool(reserve(len)?),
            DType::I8 => Elements::I8(reserve(len)?),
            DType::I16 => Elements::I16(reserve(len)?),
            DType::I32 => Elements::I32(reserve(len)?),
            DType::I64 => Elements::I64(reserve(len)?),
            DType::U8 => Elements::U8(reserve(len)?),
            DType::U16 => Elements::U16(reserve(len)?),
            DType::U32 => Elements::U32(reserve(len)?),
            DType::U64 => Elements::U64(reserve(len)?),
            DType::F32 => Elements::F32(reserve(len)?),
            DType::F64 => Elements::F64(reserve(len)?),
            DType::C64 => Elements::C64(reserve(len)?),
            DType::C128 => Elements::C128(reserve(len)?),
        })
    }

    /// A buffer of `len` copies of a scalar.
    pub fn filled(value: Scalar, len: usize) -> Result<Elements<'static>, EvalError> {
        fn fill<T: Element>(x: &mut Cow<'_, [T]>, value: Scalar, len: usize) -> Result<(), EvalError> {
            x.to_mut().resize(len, typed(value)?);
            Ok(())
        }
        let mut elements = Elements::with_capacity(value.dtype(), len)?;
        with_elements!(&mut elements, |x| fill(x, value, len))?;
        Ok(elements)
    }

    /// The element at a flat index, which must be in bounds.
    #[inline]
    pub fn at(&self, index: usize) -> Scalar {
        with_elements!(self, |x| x[index].to_scalar())
    }

    /// Appends an element; an error if it has another dtype.
    #[inline]
    pub fn push(&mut self, value: Scalar) -> Result<(), EvalError> {
        with_elements!(self, |x| x.to_mut().push(typed(value)?));
        Ok(())
    }

    /// Replaces the element at a flat index, which must be in bounds; an error if it has another dtype.
    #[inline]
    pub fn set(&mut self, index: usize, value: Scalar) -> Result<(), EvalError> {
        with_elements!(self, |x| x.to_mut()[index] = typed(value)?);
        Ok(())
    }

    /// The array of this shape; an error if the number of elements differs.
    pub fn into_array(self, shape: &[usize]) -> Result<Array, EvalError> {
        fn wrap<T: Element>(x: Cow<'_, [T]>, shape: &[usize]) -> Result<Array, EvalError> {
            let len = x.len();
            match ArcArray::from_shape_vec(IxDyn(shape), x.into_owned()) {
                Ok(array) => Ok(T::wrap(array)),
                Err(_) => Err(EvalError::shape(format!("{len} elements are no array of shape {shape:?}"))),
            }
        }
        with_elements!(self, |x| wrap(x, shape))
    }
}

#[inline]
fn typed<T: Element>(value: Scalar) -> Result<T, EvalError> {
    T::from_scalar(value).ok_or_else(|| wrong_dtype(value, T::DTYPE))
}

#[cold]
fn wrong_dtype(value: Scalar, wanted: DType) -> EvalError {
    EvalError::value(format!("computed {value} of dtype {} where {wanted} was expected", value.dtype()))
}
