//! The rewrites that come with Rewright, one file or folder each. Each is written and registered as a
//! plugin's rewrite is.
//!
//! - [`extents`]: folds ranks and extents that a type states.
//! - [`dead_branches`]: takes branches that are decided before there are types.
//! - [`fold`](mod@fold): folds constants, and takes the branches that they decide.
//! - [`canonicalize`]: applies algebraic identities that hold bit for bit, and rewrites equivalent forms to
//!   one canonical form.
//! - [`strength_reduction`]: cheaper ops for constant operands.
//! - [`flat_positions`]: replaces positions in a whole array by positions in its elements as one row.
//! - [`one_pass_variance`]: fuses a sum and a sum of squared differences from the mean into one pass;
//!   opt-in.
//! - [`operand_casts`]: casts operands of `concat`, `stack` and `update` before they are copied.
//! - [`operand_reads`]: materializes operands with indexing that kernels do not support.
//! - [`repeated_values`]: materializes values that a node would compute again along an axis.
//! - [`reduce_finish`]: fuses reductions with the elementwise consumers of their results.
//! - [`scalar_finish`]: fuses reductions to a scalar with the scalar ops that consume it.
//! - [`reduce_fusion`]: fuses reductions with the producers of their operands.
//! - [`reduce_siblings`]: fuses several reductions of one array into one pass.
//! - [`reduce_views`]: replaces reductions of views by reductions of the viewed arrays.
//! - [`jump_threading`]: redirects branches to the blocks where they end up.
//! - [`inline`]: replaces a call of a small function by its body.
//! - [`block_args`]: replaces block parameters for which every branch gives the same value.
//! - [`merge_blocks`]: merges a block with its only successor if that has no other predecessor.
//! - [`cse`]: common subexpression elimination.
//! - [`gvn`]: global value numbering.
//! - [`licm`]: loop-invariant code motion.
//! - [`dce`]: dead code elimination.
//! - [`sink`]: sinks arrays into the block that needs them.
//! - [`array_expr`]: fuses chains of elementwise ops into one node.
//! - [`expr_siblings`]: fuses elementwise expressions that read one array into one pass.
//! - [`node_results`]: removes unread and duplicate results of nodes.
//! - [`node_extents`]: fills in extents of nodes that later types make known.
//! - [`components`]: replaces a component of an assembled array by the operand that it was assembled from.
//! - [`del_placement`]: ends each array's life after its last use.
//!
//! All rewrites except [`one_pass_variance`], which takes liberties, keep every bit of a result. Of a NaN
//! only that it is NaN is kept: IEEE 754 does not say which of two NaNs an operation returns, and processors
//! differ.

mod apart;
pub mod array_expr;
pub mod block_args;
mod cannot_fail;
pub mod canonicalize;
pub mod components;
pub mod cse;
pub mod dce;
pub mod dead_branches;
pub mod del_placement;
pub mod expr_siblings;
pub mod extents;
pub mod flat_positions;
pub mod fold;
pub mod gvn;
mod incoming;
pub mod inline;
pub mod jump_threading;
pub mod licm;
pub mod merge_blocks;
mod node;
pub mod node_extents;
pub mod node_results;
pub mod one_pass_variance;
pub mod operand_casts;
pub mod operand_reads;
pub mod reduce_finish;
pub mod reduce_fusion;
pub mod reduce_siblings;
pub mod reduce_views;
pub mod repeated_values;
pub mod rules;
pub mod scalar_finish;
mod siblings;
pub mod sink;
pub mod strength_reduction;
mod work;
