//! The subcommands, one a file.

pub mod exec;
pub mod list;
pub mod run;
pub mod test;
