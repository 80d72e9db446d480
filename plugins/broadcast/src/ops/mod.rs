//! The ops, one file each.

pub mod broadcasted;
pub mod materialize;
