//! Ops of front ends that the core expresses by other ops.
//!
//! - [`axes`]: `moveaxis` and `swapaxes`, which are transposes.
//! - [`delta`](mod@delta): the Kronecker delta of any rank.

pub mod axes;
pub mod delta;
