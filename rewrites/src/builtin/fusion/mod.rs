//! Passes that fuse operations on arrays into `arrayexpr` nodes, so that each node is one pass over memory.
//!
//! In the order in which they build on each other:
//!
//! - [`elementwise`]: fuses producers with consumers, element by element.
//! - [`reduction`]: fuses reductions with their producers and with the consumers of their results.
//! - [`horizontal`]: fuses independent nodes that read the same array.
//!
//! [`node`] has the common representation of a fused node. `legality` says which instructions may be fused,
//! and `cost` estimates whether that is profitable.

pub(crate) mod cost;
pub mod elementwise;
pub mod horizontal;
pub(crate) mod legality;
pub mod node;
pub mod reduction;
