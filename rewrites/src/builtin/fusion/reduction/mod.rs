//! Passes that fuse reductions with their producers (`reduce_fusion`), and then with the elementwise
//! consumers of their results (`reduce_finish`, `scalar_finish`), which become the epilogue of the reduction.
//!
//! - [`one_pass_variance`]: fuses a sum and a sum of squared differences from the mean into one pass;
//!   opt-in.
//! - [`reduce_fusion`]: fuses reductions with the producers of their operands.
//! - [`scan_fusion`]: fuses scans with the producers of their operands.
//! - [`reduce_finish`]: fuses reductions with the elementwise consumers of their results.
//! - [`scalar_finish`]: fuses reductions to a scalar with the scalar ops that consume it.

mod epilogue;
pub mod one_pass_variance;
pub mod reduce_finish;
pub mod reduce_fusion;
pub(crate) mod reduction_node;
pub mod scalar_finish;
pub mod scan_fusion;
