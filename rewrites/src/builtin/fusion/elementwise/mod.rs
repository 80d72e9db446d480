//! Passes that fuse elementwise operations with each other, or split a node where fusion would repeat work.
//!
//! - [`repeated_values`]: materializes values that a node would compute again along an axis.
//! - [`array_expr`]: fuses chains of elementwise ops into one node.

pub mod array_expr;
pub mod repeated_values;
