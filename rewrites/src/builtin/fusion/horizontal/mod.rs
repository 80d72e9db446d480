//! Passes that fuse independent nodes that read the same array into one pass over it. `siblings` has the
//! search and the replacement that they share.
//!
//! - [`reduce_siblings`]: fuses several reductions of one array into one pass.
//! - [`expr_siblings`]: fuses elementwise expressions that read one array into one pass.

pub mod expr_siblings;
pub mod reduce_siblings;
mod siblings;
