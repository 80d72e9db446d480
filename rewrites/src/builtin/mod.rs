//! The rewrites that come with Rewright, one file each, each written and registered just as a plugin's is.

pub mod array_expr;
