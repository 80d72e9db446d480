//! The fused node: its expression while instructions are added to it, the materialization of parts of it, and
//! the clean-up after fusion.
//!
//! - [`node_results`]: removes unread and duplicate results of nodes.

mod expression;
pub(crate) mod materialize;
pub mod node_results;

pub(crate) use expression::{FusedExpr, append, dtype_of};
