//! Dynamic arrays over `ndarray`.
//!
//! An [`Array`] shares its buffer: cloning, transposing and slicing copy no elements. Writing copies the
//! buffer only if it is shared.

use crate::dtype::DType;
use crate::scalar::Scalar;
use crate::types::{Dim, Type};
use ndarray::{ArcArray, ArrayD, ArrayView, ArrayViewD, Dimension, IxDyn};
use num_complex::{Complex32, Complex64};

/// A Rust type of array elements, for one dtype.
pub trait Element: Copy + Send + Sync + 'static {
    /// The dtype.
    const DTYPE: DType;
    /// The element as a scalar.
    fn to_scalar(self) -> Scalar;
    /// The scalar as an element; `None` if it has another dtype.
    fn from_scalar(scalar: Scalar) -> Option<Self>;
    /// The array with its dtype erased.
    fn wrap(array: ArcArray<Self, IxDyn>) -> Array;
    /// The array with this element type; `None` if it has another dtype.
    fn unwrap(array: &Array) -> Option<&ArcArray<Self, IxDyn>>;
    /// The mutable array with this element type; `None` if it has another dtype.
    fn unwrap_mut(array: &mut Array) -> Option<&mut ArcArray<Self, IxDyn>>;
    /// The view with its dtype erased.
    fn wrap_view(view: ArrayViewD<'_, Self>) -> View<'_>;
}

/// A dynamic array: a dtype, a shape, strides and a shared buffer.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "one variant a dtype")]
pub enum Array {
    Bool(ArcArray<bool, IxDyn>),
    I8(ArcArray<i8, IxDyn>),
    I16(ArcArray<i16, IxDyn>),
    I32(ArcArray<i32, IxDyn>),
    I64(ArcArray<i64, IxDyn>),
    U8(ArcArray<u8, IxDyn>),
    U16(ArcArray<u16, IxDyn>),
    U32(ArcArray<u32, IxDyn>),
    U64(ArcArray<u64, IxDyn>),
    F32(ArcArray<f32, IxDyn>),
    F64(ArcArray<f64, IxDyn>),
    C64(ArcArray<Complex32, IxDyn>),
    C128(ArcArray<Complex64, IxDyn>),
}

macro_rules! elements {
    ($($ty:ty => $variant:ident),* $(,)?) => {$(
        impl Element for $ty {
            const DTYPE: DType = DType::$variant;
            fn to_scalar(self) -> Scalar {
                Scalar::$variant(self)
            }
            fn from_scalar(scalar: Scalar) -> Option<Self> {
                if let Scalar::$variant(x) = scalar { Some(x) } else { None }
            }
            fn wrap(array: ArcArray<Self, IxDyn>) -> Array {
                Array::$variant(array)
            }
            fn unwrap(array: &Array) -> Option<&ArcArray<Self, IxDyn>> {
                if let Array::$variant(a) = array { Some(a) } else { None }
            }
            fn unwrap_mut(array: &mut Array) -> Option<&mut ArcArray<Self, IxDyn>> {
                if let Array::$variant(a) = array { Some(a) } else { None }
            }
            fn wrap_view(view: ArrayViewD<'_, Self>) -> View<'_> {
                View::$variant(view)
            }
        }
    )*};
}
elements!(bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32,
    u64 => U64, f32 => F32, f64 => F64, Complex32 => C64, Complex64 => C128);

/// Runs an expression with the typed array inside a dynamic one: `with_array!(array, |a| a.len())`.
#[macro_export]
macro_rules! with_array {
    ($array:expr, |$a:ident| $body:expr) => {
        match $array {
            $crate::Array::Bool($a) => $body,
            $crate::Array::I8($a) => $body,
            $crate::Array::I16($a) => $body,
            $crate::Array::I32($a) => $body,
            $crate::Array::I64($a) => $body,
            $crate::Array::U8($a) => $body,
            $crate::Array::U16($a) => $body,
            $crate::Array::U32($a) => $body,
            $crate::Array::U64($a) => $body,
            $crate::Array::F32($a) => $body,
            $crate::Array::F64($a) => $body,
            $crate::Array::C64($a) => $body,
            $crate::Array::C128($a) => $body,
        }
    };
}

/// Runs an expression with `$t` bound to the element type of a dtype: `with_dtype!(dtype, T =>
/// size_of::<T>())`.
#[macro_export]
macro_rules! with_dtype {
    ($dtype:expr, $t:ident => $body:expr) => {{
        macro_rules! arm {
            ($ty:ty) => {{
                type $t = $ty;
                $body
            }};
        }
        match $dtype {
            $crate::DType::Bool => arm!(bool),
            $crate::DType::I8 => arm!(i8),
            $crate::DType::I16 => arm!(i16),
            $crate::DType::I32 => arm!(i32),
            $crate::DType::I64 => arm!(i64),
            $crate::DType::U8 => arm!(u8),
            $crate::DType::U16 => arm!(u16),
            $crate::DType::U32 => arm!(u32),
            $crate::DType::U64 => arm!(u64),
            $crate::DType::F32 => arm!(f32),
            $crate::DType::F64 => arm!(f64),
            $crate::DType::C64 => arm!($crate::Complex32),
            $crate::DType::C128 => arm!($crate::Complex64),
        }
    }};
}

/// Applies an expression that maps a typed array to a typed array of the same element type.
macro_rules! map_array {
    ($array:expr, |$a:ident| $body:expr) => {
        match $array {
            Array::Bool($a) => Array::Bool($body),
            Array::I8($a) => Array::I8($body),
            Array::I16($a) => Array::I16($body),
            Array::I32($a) => Array::I32($body),
            Array::I64($a) => Array::I64($body),
            Array::U8($a) => Array::U8($body),
            Array::U16($a) => Array::U16($body),
            Array::U32($a) => Array::U32($body),
            Array::U64($a) => Array::U64($body),
            Array::F32($a) => Array::F32($body),
            Array::F64($a) => Array::F64($body),
            Array::C64($a) => Array::C64($body),
            Array::C128($a) => Array::C128($body),
        }
    };
}
pub(crate) use map_array;

impl Array {
    /// An array of `shape` in row-major order, with the element `f(i)` at each flat index `i`. `None` if `f`
    /// gives a scalar of another dtype, or if memory does not suffice.
    pub fn from_fn(dtype: DType, shape: &[usize], mut f: impl FnMut(usize) -> Scalar) -> Option<Array> {
        let len = checked_len(shape)?;
        with_dtype!(dtype, T => {
            let mut elements: Vec<T> = Vec::new();
            elements.try_reserve_exact(len).ok()?;
            for i in 0..len {
                elements.push(T::from_scalar(f(i))?);
            }
            Some(T::wrap(ArcArray::from_shape_vec(IxDyn(shape), elements).ok()?))
        })
    }

    /// An array of `shape` filled with one scalar. `None` if memory does not suffice.
    pub fn full(value: Scalar, shape: &[usize]) -> Option<Array> {
        Array::from_fn(value.dtype(), shape, |_| value)
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            Array::Bool(_) => DType::Bool,
            Array::I8(_) => DType::I8,
            Array::I16(_) => DType::I16,
            Array::I32(_) => DType::I32,
            Array::I64(_) => DType::I64,
            Array::U8(_) => DType::U8,
            Array::U16(_) => DType::U16,
            Array::U32(_) => DType::U32,
            Array::U64(_) => DType::U64,
            Array::F32(_) => DType::F32,
            Array::F64(_) => DType::F64,
            Array::C64(_) => DType::C64,
            Array::C128(_) => DType::C128,
        }
    }
    /// The extents.
    pub fn shape(&self) -> &[usize] {
        with_array!(self, |a| a.shape())
    }
    /// The strides, in elements.
    pub fn strides(&self) -> &[isize] {
        with_array!(self, |a| a.strides())
    }
    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape().len()
    }
    /// The number of elements.
    pub fn len(&self) -> usize {
        with_array!(self, |a| a.len())
    }
    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The element at `index`; `None` out of bounds.
    pub fn get(&self, index: &[usize]) -> Option<Scalar> {
        with_array!(self, |a| a.get(IxDyn(index)).map(|x| x.to_scalar()))
    }
    /// Writes the element at `index`, first copying the buffer if it is shared. False out of bounds or with
    /// another dtype.
    pub fn set(&mut self, index: &[usize], value: Scalar) -> bool {
        fn put<T: Element>(a: &mut ArcArray<T, IxDyn>, index: &[usize], value: Scalar) -> bool {
            match (a.get_mut(IxDyn(index)), T::from_scalar(value)) {
                (Some(slot), Some(x)) => {
                    *slot = x;
                    true
                }
                _ => false,
            }
        }
        with_array!(self, |a| put(a, index, value))
    }
    /// The elements in row-major order.
    pub fn iter(&self) -> Box<dyn Iterator<Item = Scalar> + '_> {
        with_array!(self, |a| Box::new(a.iter().map(|x| x.to_scalar())))
    }
    /// The array broadcast to `shape`: stretches axes of extent 1, and inserts leading axes. Copies the
    /// elements. `None` if the shapes don't broadcast.
    pub fn broadcast(&self, shape: &[usize]) -> Option<Array> {
        // An `ArcArray` can't share a buffer with zero strides, so this copies.
        Some(map_array!(self, |a| a.broadcast(IxDyn(shape))?.to_shared()))
    }
    /// The same elements with axes in another order, without copying; `axes` must be a permutation.
    pub fn permuted(&self, axes: &[usize]) -> Array {
        map_array!(self, |a| a.clone().permuted_axes(IxDyn(axes)))
    }
    /// The same elements in row-major order with another shape of the same size; copies unless contiguous.
    pub fn reshaped(&self, shape: &[usize]) -> Option<Array> {
        if checked_len(shape)? != self.len() {
            return None;
        }
        Some(map_array!(self, |a| a.to_shape(IxDyn(shape)).ok()?.to_shared()))
    }
    /// Casts each element like [`Scalar::cast`]; no copy if the dtype is the same.
    pub fn cast(&self, to: DType) -> Array {
        if self.dtype() == to {
            return self.clone();
        }
        let mut elements = self.iter();
        let zero = Scalar::zero(to);
        let made = Array::from_fn(to, self.shape(), |_| elements.next().map_or(zero, |x| x.cast(to)));
        // The shape is that of an existing array, and every element has dtype `to`.
        made.unwrap_or_else(|| unreachable!("casting keeps the shape"))
    }
    /// A borrowed view of the whole array.
    pub fn view(&self) -> View<'_> {
        with_array!(self, |a| Element::wrap_view(a.view()))
    }
    /// The dense type with constant dims.
    pub fn ty(&self) -> Type {
        Type::array(self.dtype(), self.shape().iter().map(|&n| Dim::Const(n as u64)).collect::<Vec<_>>())
    }
    /// Equal dtype, shape and bits.
    pub fn same_bits(&self, other: &Array) -> bool {
        fn same<T: Element>(a: &ArcArray<T, IxDyn>, other: &Array) -> bool {
            let Some(b) = T::unwrap(other) else { return false };
            let shared = a.as_ptr() == b.as_ptr() && a.strides() == b.strides();
            let equal = |(a, b): (&T, &T)| a.to_scalar() == b.to_scalar();
            a.shape() == b.shape() && (shared || a.iter().zip(b).all(equal))
        }
        with_array!(self, |a| same(a, other))
    }
}

impl PartialEq for Array {
    fn eq(&self, other: &Self) -> bool {
        self.same_bits(other)
    }
}

impl<T: Element> From<ArrayD<T>> for Array {
    fn from(array: ArrayD<T>) -> Self {
        T::wrap(array.into_shared())
    }
}

/// The number of elements of a shape, if memory can address them.
pub fn checked_len(shape: &[usize]) -> Option<usize> {
    // A zero extent does not excuse an excessive one beside it: ndarray multiplies the non-zero extents.
    let nonzero = shape.iter().filter(|&&n| n != 0).try_fold(1usize, |len, &n| len.checked_mul(n))?;
    (nonzero <= isize::MAX as usize / 16).then(|| if shape.contains(&0) { 0 } else { nonzero })
}

/// A borrowed strided view, with its dtype erased: how callers pass arrays without copying.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "one variant a dtype")]
pub enum View<'a> {
    Bool(ArrayViewD<'a, bool>),
    I8(ArrayViewD<'a, i8>),
    I16(ArrayViewD<'a, i16>),
    I32(ArrayViewD<'a, i32>),
    I64(ArrayViewD<'a, i64>),
    U8(ArrayViewD<'a, u8>),
    U16(ArrayViewD<'a, u16>),
    U32(ArrayViewD<'a, u32>),
    U64(ArrayViewD<'a, u64>),
    F32(ArrayViewD<'a, f32>),
    F64(ArrayViewD<'a, f64>),
    C64(ArrayViewD<'a, Complex32>),
    C128(ArrayViewD<'a, Complex64>),
}

impl<'a, T: Element, D: Dimension> From<ArrayView<'a, T, D>> for View<'a> {
    fn from(view: ArrayView<'a, T, D>) -> Self {
        T::wrap_view(view.into_dyn())
    }
}

/// Runs an expression with the typed view inside a dynamic one.
macro_rules! with_view {
    ($view:expr, |$v:ident| $body:expr) => {
        with_view!(@ $view, $v, $body, Bool I8 I16 I32 I64 U8 U16 U32 U64 F32 F64 C64 C128)
    };
    (@ $view:expr, $v:ident, $body:expr, $($variant:ident)*) => {
        match $view {
            $(View::$variant($v) => $body,)*
        }
    };
}

impl View<'_> {
    /// The element type.
    pub fn dtype(&self) -> DType {
        fn of<T: Element>(_: &ArrayViewD<'_, T>) -> DType {
            T::DTYPE
        }
        with_view!(self, |v| of(v))
    }
    /// The extents.
    pub fn shape(&self) -> &[usize] {
        with_view!(self, |v| v.shape())
    }
    /// The strides, in elements.
    pub fn strides(&self) -> &[isize] {
        with_view!(self, |v| v.strides())
    }
    /// An array with a copy of the elements, in row-major order.
    pub fn to_array(&self) -> Array {
        with_view!(self, |v| Element::wrap(v.as_standard_layout().to_shared()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Axis, Slice, array};

    #[test]
    fn views_borrow_what_they_show() {
        let matrix = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
        let view = View::from(matrix.slice_axis(Axis(1), Slice::new(0, None, -2)));
        assert_eq!((view.dtype(), view.shape(), view.strides()), (DType::F32, &[2, 2][..], &[3, -2][..]));
        let array = view.to_array();
        assert_eq!(array.iter().map(|s| s.to_f64()).collect::<Vec<_>>(), [3.0, 1.0, 6.0, 4.0]);
        assert_eq!(array.view().to_array(), array);
        let (View::F32(inner), Array::F32(outer)) = (array.view(), &array) else { panic!("the dtype is kept") };
        assert_eq!(inner.as_ptr(), outer.as_ptr(), "a view of an array copies nothing");
    }
}
