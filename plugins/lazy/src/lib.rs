//! Lazy arrays: views and constructors that are not evaluated until their elements are needed.
//!
//! - [`LazyExpr`]: an input and an index map, the form of any chain of views, with a text form;
//! - [`LazyArray`]: an expression with the array that it reads; an argument of calls, and forced once;
//! - [`eager`]: operators and functions of lazy arrays, one kernel each;
//! - [`LazyFunction`]: a compiled function whose results are lazy where they can be;
//! - [`Elements`]: the interface of constructors whose elements are computed where they are read.
//!
//! ```
//! use rewright_lazy::LazyExpr;
//! let eye: LazyExpr = "eye(f64, 3, 3)".parse()?;
//! assert_eq!(eye.flipped(&[0])?.diagonal(0, 0, 1)?.to_string(), "eye(f64, 3, 3)[i: 3 -> 2 - i, i]");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A program that links the crate has its ops and rewrites, without a call to register them.

#![forbid(unsafe_code)]

mod apply;
mod array;
pub mod eager;
mod expr;
mod function;
mod input;
mod line;
mod ops;
mod recipe;
mod rewrites;
mod strided;
mod text;
mod views;

pub use array::LazyArray;
pub use eager::{Axes, Operand};
pub use expr::{Axis, LazyExpr, Steps};
pub use function::{CompileError, LazyFunction, LazyValue};
pub use input::{Input, Matrix};
pub use rewrites::Elements;
pub use text::ParseError;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/lazy.md")]
mod page {}
