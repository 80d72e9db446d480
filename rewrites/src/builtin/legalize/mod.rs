//! Passes that give operands and lifetimes the form that lowering supports or runs fastest. They remove no
//! work from the program.
//!
//! - [`operand_casts`]: casts operands of `concat`, `stack` and `update` before they are copied.
//! - [`reads_in_bounds`]: removes boundary modes from reads that are in bounds.
//! - [`padded_copies`]: copies operands that a reduction reads many times beyond the ends of an array.
//! - [`strided_copies`]: copies operands of which a window reads every n-th element.
//! - [`del_placement`]: ends each array's life after its last use.

pub mod del_placement;
pub mod operand_casts;
mod operand_copy;
pub mod padded_copies;
pub mod reads_in_bounds;
pub mod strided_copies;
