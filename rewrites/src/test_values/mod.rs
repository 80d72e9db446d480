//! Scalars to test rewrites and rules with: special values, values near a constant, and random ones.

mod neighbors;
mod special;

pub(crate) use neighbors::{edges, irrational, near};
pub(crate) use special::{Random, Spread, special};
