//! Run-time values: scalars, dense arrays, and arrays of storage styles.
//!
//! [`Datum`] is any value. [`Array`] is a dense array with its dtype erased, [`View`] borrows one, and
//! [`Elements`] is a flat buffer of one. [`Styled`] is an array of a storage style.

mod array;
mod datum;
mod elements;
mod styled;

pub use array::{Array, Element, View, checked_len};
pub use datum::Datum;
pub use elements::Elements;
pub use styled::{Component, Components, Style, StyleDef, Styled, StyledLayout};

pub(crate) use array::map_array;
pub(crate) use styled::{DENSE, split};
