//! Lazy arrays: views and constructors that are no work until something needs their elements.

#![forbid(unsafe_code)]

mod apply;
pub mod array;
pub mod expr;
pub mod function;
pub mod input;
mod line;
pub mod ops;
mod recipe;
pub mod rewrites;
mod strided;
mod text;
mod views;

pub use array::LazyArray;
pub use expr::LazyExpr;
pub use function::{LazyFunction, LazyValue};
pub use input::Input;
pub use text::ParseError;
