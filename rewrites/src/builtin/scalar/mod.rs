//! Passes that simplify one operation at a time: they compute it at compile time, apply an identity, or
//! replace it by a cheaper op.
//!
//! - [`fold`](mod@fold): folds constants, and takes the branches that they decide.
//! - [`canonicalize`]: applies algebraic identities that hold bit for bit, and rewrites equivalent forms to
//!   one canonical form.
//! - [`strength_reduction`]: cheaper ops for constant operands.

pub mod canonicalize;
pub mod fold;
pub mod strength_reduction;
