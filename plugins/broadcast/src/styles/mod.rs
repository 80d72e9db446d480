//! The styles, one file each.
//!
//! A style defines its components and their types, the element at an index, and the elements that each
//! component takes. The ops `component`, `assemble` and `restyle` lead from a style to its components and
//! back, and from one style to another.

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
