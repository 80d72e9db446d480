//! Rewrites that keep views and constructors lazy inside of functions: no array is materialized if its
//! user can compute the elements.
//!
//! - [`constructors`]: rematerializes constructors in the array expressions that read them, through any
//!   views.
//! - [`full_operands`]: replaces operands that are uniform arrays by their scalar value.
//! - [`eye_contraction`]: a product with the identity is the other factor.
//! - [`sums_of_copies`]: the sum of copies is a product.

mod chain;
pub mod constructors;
mod edit;
pub mod elements;
pub mod eye_contraction;
pub mod full_operands;
pub mod sums_of_copies;

pub use elements::Elements;
