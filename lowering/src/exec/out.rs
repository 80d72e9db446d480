//! The caller's buffers for results.

use super::buffers::Buffers;
use super::value::{Held, Shape, Strides, copy_elements, overwrite};
use ndarray::{ArrayBase, ArrayViewMut, DataMut, Dimension};
use rewright_ir::{Complex32, Complex64, DType, Dim, Element, EvalError, Scalar, Type};
use std::marker::PhantomData;

/// A borrowed strided view for writes, with its dtype erased.
#[derive(Debug)]
pub struct ViewMut<'a> {
    place: OutPlace,
    life: PhantomData<&'a mut ()>,
}

// SAFETY: the view is a mutable borrow of plain data, which may move to another thread as `&mut` does.
unsafe impl Send for ViewMut<'_> {}

/// The place of a result in the caller's memory. The call may write all of its elements.
#[derive(Clone, Debug)]
pub struct OutPlace {
    /// The element type.
    pub dtype: DType,
    /// The first element.
    pub pointer: *mut u8,
    /// The extents.
    pub shape: Shape,
    /// The strides in bytes.
    pub strides: Strides,
    /// Whether a kernel may write here before the function has ended: no argument has an element here.
    pub direct: bool,
}

impl ViewMut<'_> {
    /// A view of memory that may alias an argument.
    ///
    /// # Safety
    /// `pointer` is the address of an element. From there `strides` (in bytes) lead to elements of this
    /// dtype for every index of `shape`. All of them are aligned and valid to write, and different indices
    /// lead to different elements. While the view lives, its elements are read and written only through
    /// arguments and results of calls that get this view. If two buffers of one call alias, the later result
    /// is in memory after the call.
    pub unsafe fn from_raw(dtype: DType, pointer: *mut u8, shape: &[usize], strides: &[isize]) -> Self {
        let place = OutPlace { dtype, pointer, shape: shape.into(), strides: strides.into(), direct: false };
        ViewMut { place, life: PhantomData }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.place.dtype
    }
    /// The extents.
    pub fn shape(&self) -> &[usize] {
        &self.place.shape
    }
    /// The place.
    pub(super) fn place(&self) -> &OutPlace {
        &self.place
    }
}

impl OutPlace {
    /// The type, with constant dims.
    pub fn ty(&self) -> Type {
        Type::array(self.dtype, self.shape.iter().map(|&n| Dim::Const(n as u64)).collect::<Vec<_>>())
    }

    /// The range of addresses: the lowest one, and one past the highest; none without elements.
    fn span(&self) -> Option<(usize, usize)> {
        span(self.pointer, &self.shape, self.strides.iter().copied(), self.dtype)
    }

    /// Whether the place and `held` do not alias.
    pub fn is_apart(&self, held: &Held) -> bool {
        let theirs = held.place().and_then(|p| span(p.pointer, p.shape, p.strides.iter().map(|s| s * p.unit), p.dtype));
        apart(self.span(), theirs)
    }

    /// Whether two places do not alias.
    pub fn is_apart_from(&self, other: &OutPlace) -> bool {
        apart(self.span(), other.span())
    }

    /// Whether `held` has the address, shape and strides of this place.
    fn is_here(&self, held: &Held) -> bool {
        held.place().is_some_and(|p| {
            p.pointer == self.pointer.cast_const()
                && *p.shape == self.shape[..]
                && p.strides.iter().zip(&self.strides).all(|(s, t)| s * p.unit == *t)
        })
    }

    /// An error unless a result fits this place.
    fn check(&self, held: &Held) -> Result<(), EvalError> {
        let is_dense = !matches!(held, Held::Styled(_));
        if is_dense && held.dtype() == Some(self.dtype) && *held.shape() == self.shape[..] {
            return Ok(());
        }
        let given = held.ty().map(|ty| ty.to_string()).unwrap_or_default();
        Err(EvalError::shape(format!("a result is {given}, the buffer given for it is {}", self.ty())))
    }

    /// Writes a result that fits, unless it is here already. Otherwise it does not alias this place.
    fn write(&self, held: &Held) {
        match (held, held.place()) {
            (Held::Scalar(scalar), _) => self.write_scalar(*scalar),
            (_, Some(from)) if !self.is_here(held) => {
                // SAFETY: the elements of `from` are valid to read while it is held. Those of the place are
                // the caller's, valid to write, of the same dtype and shape, and do not alias `from`.
                unsafe { copy_elements(&from, self.pointer, &self.strides) };
            }
            _ => {}
        }
    }

    /// Writes the only element of a place of rank 0.
    pub fn write_scalar(&self, scalar: Scalar) {
        fn put<T: Element>(pointer: *mut u8, scalar: Scalar) {
            if let Some(x) = T::from_scalar(scalar) {
                // SAFETY: the place is of rank 0, so its only element is at the pointer. It is valid to
                // write, and of this dtype.
                unsafe { pointer.cast::<T>().write(x) };
            }
        }
        rewright_ir::with_dtype!(self.dtype, T => put::<T>(self.pointer, scalar));
    }
}

/// Writes all results to their places, or none.
pub fn write_all(places: &[OutPlace], results: &mut [Held], buffers: &mut Buffers) -> Result<(), EvalError> {
    places.iter().zip(&*results).try_for_each(|(place, held)| place.check(held))?;
    // A result may be a view of memory that another result is about to overwrite.
    for (i, held) in results.iter_mut().enumerate() {
        let endangered = |(j, place): (usize, &OutPlace)| !(place.is_apart(held) || (i == j && place.is_here(held)));
        if places.iter().enumerate().any(endangered)
            && let Some(from) = held.place()
        {
            // SAFETY: the elements are valid to read while they are held; there is no old buffer.
            let copy = unsafe { overwrite(&mut Held::Empty, &from, buffers) }?;
            *held = Held::Array(copy);
        }
    }
    places.iter().zip(results).for_each(|(place, held)| place.write(held));
    Ok(())
}

/// The lowest address of an element, and one past the highest; none without elements. The strides are in
/// bytes.
pub fn span(
    pointer: *const u8,
    shape: &[usize],
    strides: impl Iterator<Item = isize>,
    dtype: DType,
) -> Option<(usize, usize)> {
    if shape.contains(&0) {
        return None;
    }
    let (mut low, mut high) = (pointer as usize, pointer as usize + dtype.size());
    for (&extent, stride) in shape.iter().zip(strides) {
        let reach = stride.wrapping_mul(extent as isize - 1);
        if reach < 0 {
            low = low.wrapping_add_signed(reach);
        } else {
            high = high.wrapping_add_signed(reach);
        }
    }
    Some((low, high))
}

/// Whether two ranges of addresses are disjoint.
pub fn apart(a: Option<(usize, usize)>, b: Option<(usize, usize)>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.1 <= b.0 || b.1 <= a.0,
        _ => true,
    }
}

macro_rules! from_rust {
    ($($ty:ty => $variant:ident),*) => {$(
        impl<'a, D: Dimension> From<ArrayViewMut<'a, $ty, D>> for ViewMut<'a> {
            fn from(mut view: ArrayViewMut<'a, $ty, D>) -> Self {
                let place = OutPlace {
                    dtype: DType::$variant,
                    pointer: view.as_mut_ptr().cast(),
                    shape: view.shape().into(),
                    strides: view.strides().iter().map(|s| s * size_of::<$ty>() as isize).collect(),
                    direct: false,
                };
                ViewMut { place, life: PhantomData }
            }
        }
        impl<'a, S: DataMut<Elem = $ty>, D: Dimension> From<&'a mut ArrayBase<S, D, $ty>> for ViewMut<'a> {
            fn from(array: &'a mut ArrayBase<S, D, $ty>) -> Self {
                ViewMut::from(array.view_mut())
            }
        }
    )*};
}
from_rust!(bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64, Complex32 => C64, Complex64 => C128);
