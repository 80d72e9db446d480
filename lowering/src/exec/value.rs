//! The values in slots, and their memory.

use super::buffers::Buffers;
use crate::copy::{Axis, copy_strided};
use rewright_ir::{Array, DType, Datum, Dim, Element, EvalError, Scalar, Styled, Type, View, with_array, with_dtype};
use smallvec::SmallVec;
use std::sync::Arc;

/// Extents.
pub type Shape = SmallVec<[usize; 4]>;
/// Strides, in bytes.
pub type Strides = SmallVec<[isize; 4]>;

/// The value in a slot.
#[derive(Clone, Debug, Default)]
pub enum Held {
    /// Not defined yet, or dead.
    #[default]
    Empty,
    /// A scalar.
    Scalar(Scalar),
    /// An array with a reference to its buffer.
    Array(Array),
    /// A strided view of the caller's memory, or of the buffer of `keep`.
    Lent(Lent),
    /// An array of a storage style, with references to its components.
    Styled(Arc<Styled>),
}

/// A borrowed strided view of a buffer.
///
/// All elements must be valid to read for as long as the view lives: the caller lends them for the duration
/// of the call, or they are those of `keep`.
#[derive(Clone, Debug)]
pub struct Lent {
    /// The element type.
    pub dtype: DType,
    /// The first element.
    pub pointer: *const u8,
    /// The extents.
    pub shape: Shape,
    /// The strides in bytes.
    pub strides: Strides,
    /// The owner of the buffer; none if it is the caller's.
    pub keep: Option<Array>,
}

/// The place of an array's elements, for reads.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The element type.
    pub dtype: DType,
    /// The first element.
    pub pointer: *const u8,
    /// The extents.
    pub shape: &'a [usize],
    /// The strides, in units.
    pub strides: &'a [isize],
    /// The bytes of a unit.
    pub unit: isize,
}

impl Place<'_> {
    /// Whether the elements are contiguous in row-major order.
    pub fn is_dense(&self) -> bool {
        let mut dense = row_major(self.shape, self.dtype.size()).into_iter();
        let axes = self.shape.iter().zip(self.strides);
        axes.zip(&mut dense).all(|((&extent, &stride), wanted)| extent < 2 || stride * self.unit == wanted)
    }
}

impl Held {
    /// The scalar; an error for other values.
    pub fn scalar(&self) -> Result<Scalar, EvalError> {
        match self {
            Held::Scalar(s) => Ok(*s),
            _ => Err(EvalError::shape("wants a scalar")),
        }
    }
    /// The element type; none if the slot is empty.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Held::Empty => None,
            Held::Scalar(s) => Some(s.dtype()),
            Held::Array(a) => Some(a.dtype()),
            Held::Lent(l) => Some(l.dtype),
            Held::Styled(s) => Some(s.dtype()),
        }
    }
    /// Whether it is an array, with or without a storage style.
    pub fn is_array(&self) -> bool {
        matches!(self, Held::Array(_) | Held::Lent(_) | Held::Styled(_))
    }
    /// Whether it has the storage style of a type.
    #[inline]
    pub fn is_of_style(&self, ty: &Type) -> bool {
        match self {
            Held::Styled(styled) => ty.style() == Some(styled.style().name()),
            _ => ty.style().is_none(),
        }
    }
    /// The extents; none for scalars.
    pub fn shape(&self) -> &[usize] {
        match self {
            Held::Empty | Held::Scalar(_) => &[],
            Held::Array(a) => a.shape(),
            Held::Lent(l) => &l.shape,
            Held::Styled(s) => s.shape(),
        }
    }
    /// The type with constant dims; none if the slot is empty.
    pub fn ty(&self) -> Option<Type> {
        let dims = || self.shape().iter().map(|&n| Dim::Const(n as u64)).collect::<Vec<_>>();
        let dtype = self.dtype()?;
        if let Held::Styled(styled) = self {
            return Some(styled.ty());
        }
        Some(if self.is_array() { Type::array(dtype, dims()) } else { Type::scalar(dtype) })
    }
    /// The bytes of the elements of an array that holds a reference to its buffer. A borrowed view counts as
    /// 0.
    pub fn bytes(&self) -> u64 {
        match self {
            Held::Array(a) => (a.len() * a.dtype().size()) as u64,
            Held::Styled(s) => s.bytes(),
            _ => 0,
        }
    }
    /// The place of the elements; none for scalars and for arrays of storage styles.
    pub fn place(&self) -> Option<Place<'_>> {
        match self {
            Held::Empty | Held::Scalar(_) | Held::Styled(_) => None,
            Held::Array(array) => Some(array_place(array)),
            Held::Lent(l) => Some(l.place()),
        }
    }
    /// A copy of an array in row-major order.
    pub fn dense(&self, buffers: &mut Buffers) -> Result<Array, EvalError> {
        let place = self.place().ok_or_else(|| EvalError::value("holds no array"))?;
        // SAFETY: the held elements are valid to read; there is no old buffer.
        unsafe { overwrite(&mut Held::Empty, &place, buffers) }
    }
    /// An owned value: the elements of a borrowed view are copied.
    pub fn to_datum(&self, buffers: &mut Buffers) -> Result<Datum, EvalError> {
        match self {
            Held::Empty => Err(EvalError::value("holds no value")),
            Held::Scalar(s) => Ok(Datum::Scalar(*s)),
            Held::Array(a) => Ok(Datum::Array(a.clone())),
            Held::Lent(l) => Ok(Datum::Array(l.to_array(buffers)?)),
            Held::Styled(s) => Ok(Datum::Styled(Arc::clone(s))),
        }
    }
    /// As [`to_datum`](Held::to_datum), without another reference to an array.
    pub fn into_datum(self, buffers: &mut Buffers) -> Result<Datum, EvalError> {
        match self {
            Held::Array(a) => Ok(Datum::Array(a)),
            other => other.to_datum(buffers),
        }
    }
    /// Ends its life: its memory goes to `buffers`, unless it is shared.
    pub fn recycle(self, buffers: &mut Buffers) {
        match self {
            Held::Array(array) | Held::Lent(Lent { keep: Some(array), .. }) => buffers.recycle(array),
            _ => {}
        }
    }
}

impl From<Datum> for Held {
    fn from(datum: Datum) -> Self {
        match datum {
            Datum::Scalar(s) => Held::Scalar(s),
            Datum::Array(a) => Held::Array(a),
            Datum::Styled(s) => Held::Styled(s),
        }
    }
}

/// The place of an array's elements.
pub fn array_place(array: &Array) -> Place<'_> {
    with_array!(array, |a| Place {
        dtype: array.dtype(),
        pointer: a.as_ptr().cast(),
        shape: a.shape(),
        strides: a.strides(),
        unit: array.dtype().size() as isize,
    })
}

/// The place of the elements of a caller's view.
pub fn view_place<'a>(view: &'a View<'_>) -> Place<'a> {
    macro_rules! place {
        ($($variant:ident)*) => {
            match view {
                $(View::$variant(v) => Place {
                    dtype: DType::$variant,
                    pointer: v.as_ptr().cast(),
                    shape: v.shape(),
                    strides: v.strides(),
                    unit: DType::$variant.size() as isize,
                },)*
            }
        };
    }
    place!(Bool I8 I16 I32 I64 U8 U16 U32 U64 F32 F64 C64 C128)
}

impl Lent {
    /// A view of the caller's elements. It must not outlive them.
    pub fn at(place: &Place<'_>) -> Lent {
        Lent {
            dtype: place.dtype,
            pointer: place.pointer,
            shape: place.shape.into(),
            strides: place.strides.iter().map(|s| s * place.unit).collect(),
            keep: None,
        }
    }

    /// The place of the elements.
    pub fn place(&self) -> Place<'_> {
        Place { dtype: self.dtype, pointer: self.pointer, shape: &self.shape, strides: &self.strides, unit: 1 }
    }

    /// A copy in row-major order.
    pub fn to_array(&self, buffers: &mut Buffers) -> Result<Array, EvalError> {
        // SAFETY: the elements are valid to read by the invariant of `Lent`; there is no old buffer.
        unsafe { overwrite(&mut Held::Empty, &self.place(), buffers) }
    }
}

/// The destination of a result.
pub struct Target {
    /// The first element.
    pub pointer: *mut u8,
    /// The strides in bytes.
    pub strides: Strides,
    /// Whether it was written before, so that its pages are mapped.
    pub used: bool,
}

/// Row-major strides in bytes.
pub fn row_major(shape: &[usize], size: usize) -> Strides {
    let mut strides = Strides::from_elem(0, shape.len());
    let mut step = size as isize;
    for axis in (0..shape.len()).rev() {
        strides[axis] = step;
        step = step.wrapping_mul(shape[axis].max(1) as isize);
    }
    strides
}

/// Copies all elements of `from` to the address `to` with these strides (in bytes).
///
/// # Safety
/// Every element of `from` is valid to read, every destination is valid to write, and the two do not
/// overlap.
pub unsafe fn copy_elements(from: &Place<'_>, to: *mut u8, strides: &[isize]) {
    let axes = from.shape.iter().zip(from.strides).zip(strides);
    let axes = axes.map(|((&extent, &step), &target)| Axis { extent, source: step * from.unit, target });
    // SAFETY: the caller's promise.
    unsafe { copy_strided(from.dtype.size(), from.pointer, to, axes) };
}

/// Writes a scalar to all elements of a target.
///
/// # Safety
/// The target is valid to write for each element of an array of this shape and dtype.
pub unsafe fn fill_elements(scalar: Scalar, dtype: DType, shape: &[usize], to: &Target) {
    with_dtype!(dtype, T => if let Some(x) = T::from_scalar(scalar) {
        let strides = Strides::from_elem(0, shape.len());
        let from = Place { dtype, pointer: std::ptr::from_ref(&x).cast(), shape, strides: &strides, unit: 0 };
        // SAFETY: every element of `from` is `x`. The target is as the caller promises, and `x` is not in
        // it.
        unsafe { copy_elements(&from, to.pointer, &to.strides) };
    });
}

/// Lets `write` overwrite the elements of an array, if it is not shared; otherwise returns the array as an
/// error.
pub fn in_place(array: Array, write: impl FnOnce(Target)) -> Result<Array, Array> {
    let size = array.dtype().size() as isize;
    with_array!(array, |a| match a.try_into_owned_nocopy() {
        Ok(mut own) => {
            let strides = own.strides().iter().map(|s| s * size).collect();
            write(Target { pointer: own.as_mut_ptr().cast(), strides, used: true });
            Ok(Element::wrap(own.into_shared()))
        }
        Err(shared) => Err(Element::wrap(shared)),
    })
}

/// An array of a dtype and shape whose elements `write` writes: in the buffer of `old` if that is an
/// unshared array of this dtype and shape, otherwise in a new one. After an error `old` is unchanged but for
/// the elements that `write` wrote.
///
/// # Safety
/// If `write` succeeds, it has written a valid value at every place of the target.
pub unsafe fn write_over(
    old: &mut Held,
    dtype: DType,
    shape: &[usize],
    buffers: &mut Buffers,
    write: impl FnOnce(Target) -> Result<(), EvalError>,
) -> Result<Array, EvalError> {
    let mut write = Some(write);
    if old.is_array() && old.shape() == shape && old.dtype() == Some(dtype) {
        let mut ended = Ok(());
        match std::mem::take(old) {
            Held::Array(array) => {
                match in_place(array, |target| ended = write.take().map_or(Ok(()), |write| write(target))) {
                    Ok(array) if ended.is_ok() => return Ok(array),
                    Ok(array) | Err(array) => *old = Held::Array(array),
                }
            }
            other => *old = other,
        }
        ended?;
    }
    let buffer = buffers.get(dtype, shape)?;
    let target = Target { pointer: buffer.pointer(), strides: row_major(shape, dtype.size()), used: buffer.is_used() };
    write.take().map_or(Ok(()), |write| write(target))?;
    // SAFETY: `write` has written all elements, by the caller's promise.
    Ok(unsafe { buffer.into_array(dtype, shape, None) })
}

/// A copy of the elements of `from`: in the buffer of `old` if that is an unshared array of the same dtype
/// and shape, otherwise in a new one.
///
/// # Safety
/// Every element of `from` is valid to read. If the buffer of `old` is unshared, `from` does not alias it.
pub unsafe fn overwrite(old: &mut Held, from: &Place<'_>, buffers: &mut Buffers) -> Result<Array, EvalError> {
    let copy = |target: Target| {
        // SAFETY: `from` is valid to read, and does not alias the target, by the caller's promise. Both have
        // the same shape and dtype.
        unsafe { copy_elements(from, target.pointer, &target.strides) };
        Ok(())
    };
    // SAFETY: all elements are copied.
    unsafe { write_over(old, from.dtype, from.shape, buffers, copy) }
}
