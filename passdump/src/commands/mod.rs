//! The subcommands, one file each.

pub mod asm;
pub mod bench;
pub mod bisect;
pub mod calls;
pub mod chain;
pub mod check_rules;
pub mod completions;
pub mod exec;
pub mod explain;
pub mod html;
pub mod list;
pub mod prove;
pub mod reduce;
pub mod run;
pub mod suggest;
pub mod test;
