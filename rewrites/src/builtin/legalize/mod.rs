//! Passes that give operands and lifetimes the form that lowering supports or runs fastest. They remove no
//! work from the program.
//!
//! - [`operand_casts`]: casts operands of `concat`, `stack` and `update` before they are copied.
//! - [`operand_reads`]: materializes operands with indexing that kernels do not support.
//! - [`del_placement`]: ends each array's life after its last use.

pub mod del_placement;
pub mod operand_casts;
pub mod operand_reads;
