//! Ops that front ends have and the core spells otherwise.
//!
//! - [`axes`]: `moveaxis` and `swapaxes`, which are transposes.
//! - [`delta`](mod@delta): the constructor of any rank.

pub mod axes;
pub mod delta;
