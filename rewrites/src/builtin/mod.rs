//! The rewrites that come with Rewright, one file or folder each, each written and registered just as a plugin's is.
//!
//! - [`extents`]: ranks and extents that a type tells are constants.
//! - [`dead_branches`]: takes branches that are decided before there are types.
//! - [`fold`](mod@fold): computes what only depends on constants, and takes the branches that this decides.
//! - [`canonicalize`]: algebraic identities that hold bit for bit, and one way to write what can be written in two.
//! - [`strength_reduction`]: cheaper ops for constant operands.
//! - [`flat_positions`]: positions in a whole array are positions in its elements as one row.
//! - [`one_pass_variance`]: a sum, and that of squared differences from the mean, in one pass; on request.
//! - [`operand_casts`]: what is put together with elements of another dtype is cast first.
//! - [`operand_reads`]: what a kernel can't read is an array of its own first.
//! - [`repeated_values`]: what a node would compute again along an axis is an array of its own first.
//! - [`reduce_finish`]: reductions take in what is computed of their results.
//! - [`scalar_finish`]: reductions to one number take in what is computed of it.
//! - [`reduce_fusion`]: reductions take in what computes their operand.
//! - [`reduce_siblings`]: several reductions of one array are one pass over it.
//! - [`reduce_views`]: reductions of views become reductions of what the views show.
//! - [`jump_threading`]: lets branches go at once where they will end up.
//! - [`inline`]: puts the body of a small function in the place of a call.
//! - [`block_args`]: replaces block parameters for which every branch gives the same value.
//! - [`merge_blocks`]: makes one block of two where nothing comes between them.
//! - [`cse`]: computes once what is computed twice.
//! - [`gvn`]: computes once what is computed twice, whatever the paths between.
//! - [`licm`]: computes once before a loop what is the same each time round.
//! - [`dce`]: removes what nothing needs.
//! - [`sink`]: computes arrays in the block that needs them.
//! - [`array_expr`]: makes chains of elementwise ops one node.
//! - [`expr_siblings`]: several results that are computed of one array are one pass over it.
//! - [`node_extents`]: extents of nodes that are known by now.
//! - [`del_placement`]: ends each array's life after its last use.
//!
//! All but the last and [`one_pass_variance`], which takes liberties, never change a bit of a result. Of NaNs only that they are NaN is kept: which NaN comes out
//! of two is not for IEEE 754 to say, nor for the machines that the function may run on.

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
