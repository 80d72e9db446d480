//! Passes that simplify the control-flow graph: its branches, blocks, block parameters and calls. Fewer and
//! longer blocks give the other passes more instructions to work on at once.
//!
//! - [`dead_branches`]: takes branches that are decided before there are types.
//! - [`inline`]: replaces a call of a small function by its body.
//! - [`jump_threading`]: redirects branches to the blocks where they end up.
//! - [`block_args`]: replaces block parameters for which every branch gives the same value.
//! - [`merge_blocks`]: merges a block with its only successor if that has no other predecessor.

pub mod block_args;
pub mod dead_branches;
pub(crate) mod incoming;
pub mod inline;
pub mod jump_threading;
pub mod merge_blocks;
