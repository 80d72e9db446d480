//! The rewrites that come with Rewright, one file or folder each, in folders by purpose. Each is written and
//! registered as a plugin's rewrite is.
//!
//! - [`scalar`]: simplify one operation at a time.
//! - [`cfg`](mod@cfg): simplify branches, blocks and calls.
//! - [`redundancy`]: remove or move repeated and unused computations.
//! - [`shape`]: use extents, views and components that are known.
//! - [`legalize`]: give operands and lifetimes the form that lowering supports.
//! - [`fusion`]: fuse array operations into `arrayexpr` nodes.
//! - [`rules`]: declarative rules for equality saturation.
//!
//! `legalize` uses helpers of `fusion`, and `fusion` those of `redundancy`; no import runs the other way.
//!
//! All rewrites except [`one_pass_variance`](fusion::reduction::one_pass_variance), which takes liberties,
//! keep every bit of a result. Of a NaN only that it is NaN is kept: IEEE 754 does not say which of two NaNs
//! an operation returns, and processors differ.

pub(crate) mod cannot_fail;
pub mod cfg;
pub mod fusion;
pub mod legalize;
pub mod redundancy;
pub mod rules;
pub mod scalar;
pub mod shape;
