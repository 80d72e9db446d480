//! The rules that come with Rewright, for equality saturation.
//!
//! - [`exact`]: hold bit for bit, for floats and for wrapping integers.
//! - [`integers`], [`logic`]: hold for integers and bools only.
//! - [`zeros_and_infinities`]: hold except for NaN, infinities and the signs of zeros.
//! - [`algebra`]: regroup sums and products.
//! - [`functions`]: replace functions by others that are equal in real arithmetic.
//! - [`arrays`]: regroup reductions and products of matrices.
//!
//! The tests try each rule on special values, at each dtype. No rule is in the default pipeline.

pub mod algebra;
pub mod arrays;
pub mod exact;
pub mod functions;
pub mod integers;
pub mod logic;
pub mod zeros_and_infinities;
