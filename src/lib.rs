//! Rewright: a rewrite-pass optimizer plugin framework over an SSA basic-block array IR.

#![forbid(unsafe_code)]

pub use rewright_ir as ir;
pub use rewright_lowering as lowering;
pub use rewright_rewrites as rewrites;

pub use rewright_ir::*;
