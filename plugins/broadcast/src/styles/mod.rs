//! The styles, one file each.
//!
//! What makes a style: its components and their types, the element at an index, and which elements it
//! keeps. `component`, `assemble` and `restyle` are the ops between a style and its components, and from
//! one style to another.

pub mod banded;
pub mod bidiagonal;
pub mod bits;
pub mod diagonal;
pub mod hessenberg;
pub mod range;
pub mod sparse;
pub mod square;
pub mod symmetric;
pub mod triangular;
pub mod tridiagonal;
pub mod tuple;
