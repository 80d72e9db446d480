//! Arguments of a call: scalars, arrays, and borrowed views of any strides.

use super::buffers::Buffers;
use super::value::{Held, Lent, Place, array_place, view_place};
use ndarray::{ArrayBase, ArrayView, Data, Dimension};
use rewright_ir::{Array, Complex32, Complex64, Datum, Scalar, Styled, View};
use std::sync::Arc;

/// An argument of a call.
#[derive(Clone, Debug)]
pub enum Arg<'a> {
    /// A scalar.
    Scalar(Scalar),
    /// An array. The call holds a reference to its buffer.
    Array(&'a Array),
    /// A borrowed view, which is read in place.
    View(View<'a>),
    /// An array of a storage style. The call holds references to its components.
    Styled(&'a Arc<Styled>),
}

impl Arg<'_> {
    /// The content of the parameter's slot; it must not outlive the argument.
    pub(super) fn hold(&self) -> Held {
        match self {
            Arg::Scalar(s) => Held::Scalar(*s),
            Arg::Array(a) => Held::Array((*a).clone()),
            Arg::View(v) => Held::Lent(Lent::at(&view_place(v))),
            Arg::Styled(s) => Held::Styled(Arc::clone(s)),
        }
    }

    /// The place of its elements; none for scalars and for arrays of storage styles.
    #[inline]
    pub(super) fn place(&self) -> Option<Place<'_>> {
        match self {
            Arg::Scalar(_) | Arg::Styled(_) => None,
            Arg::Array(a) => Some(array_place(a)),
            Arg::View(v) => Some(view_place(v)),
        }
    }

    /// The place of the argument, or for an array of a storage style, the place of each component.
    #[inline]
    pub(super) fn places(&self) -> impl Iterator<Item = Option<Place<'_>>> {
        let whole = if let Arg::Styled(_) = self { None } else { Some(self.place()) };
        whole.into_iter().chain(self.components().iter().map(|component| Some(array_place(component))))
    }

    /// The components of an array of a storage style.
    #[inline]
    pub(super) fn components(&self) -> &[Array] {
        if let Arg::Styled(styled) = self { styled.components() } else { &[] }
    }

    /// An owned value.
    pub(super) fn to_datum(&self) -> Result<Datum, rewright_ir::EvalError> {
        self.hold().into_datum(&mut Buffers::default())
    }
}

impl From<Scalar> for Arg<'_> {
    fn from(scalar: Scalar) -> Self {
        Arg::Scalar(scalar)
    }
}
impl<'a> From<&'a Array> for Arg<'a> {
    fn from(array: &'a Array) -> Self {
        Arg::Array(array)
    }
}
impl<'a> From<&'a Arc<Styled>> for Arg<'a> {
    fn from(styled: &'a Arc<Styled>) -> Self {
        Arg::Styled(styled)
    }
}
impl<'a> From<View<'a>> for Arg<'a> {
    fn from(view: View<'a>) -> Self {
        Arg::View(view)
    }
}
impl<'a> From<&'a Datum> for Arg<'a> {
    fn from(datum: &'a Datum) -> Self {
        match datum {
            Datum::Scalar(s) => Arg::Scalar(*s),
            Datum::Array(a) => Arg::Array(a),
            Datum::Styled(s) => Arg::Styled(s),
        }
    }
}

macro_rules! from_rust {
    ($($ty:ty => $variant:ident),*) => {$(
        impl From<$ty> for Arg<'_> {
            fn from(x: $ty) -> Self {
                Arg::Scalar(x.into())
            }
        }
        impl<'a, D: Dimension> From<ArrayView<'a, $ty, D>> for Arg<'a> {
            fn from(view: ArrayView<'a, $ty, D>) -> Self {
                Arg::View(View::$variant(view.into_dyn()))
            }
        }
        impl<'a, S: Data<Elem = $ty>, D: Dimension> From<&'a ArrayBase<S, D, $ty>> for Arg<'a> {
            fn from(array: &'a ArrayBase<S, D, $ty>) -> Self {
                Arg::from(array.view())
            }
        }
    )*};
}
from_rust!(bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f32 => F32, f64 => F64, Complex32 => C64, Complex64 => C128);
