//! Passes that avoid computations: those that are repeated, that are unused, or that run more often than they
//! need to.
//!
//! - [`cse`]: common subexpression elimination.
//! - [`gvn`]: global value numbering.
//! - [`licm`]: loop-invariant code motion.
//! - [`sink`]: sinks arrays into the block that needs them.
//! - [`dce`]: dead code elimination.

pub mod cse;
pub mod dce;
pub mod gvn;
pub mod licm;
pub mod sink;
