//! The rules that come with Rewright, for equality saturation.
//!
//! - [`exact`]: true bit for bit, of floats and of integers, which wrap.
//! - [`integers`], [`logic`]: true of integers and bools only.
//! - [`zeros_and_infinities`]: but for NaN, infinities and the signs of zeros.
//! - [`algebra`]: with sums and products regrouped.
//! - [`functions`]: with functions replaced by others that are equal in real arithmetic.
//! - [`arrays`]: of reductions and products of matrices.
//!
//! Each is tried on special values, at each dtype, by the tests. None is in the default pipeline.

pub mod algebra;
pub mod arrays;
pub mod exact;
pub mod functions;
pub mod integers;
pub mod logic;
pub mod zeros_and_infinities;
