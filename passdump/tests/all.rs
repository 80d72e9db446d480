//! The integration tests in one binary, a module for each file: linking a binary takes longer than compiling
//! most of these files. `Cargo.toml` says which files are binaries of their own.

mod support;

mod asm;
mod check_each;
mod cli;
mod errors;
mod examples;
mod guide;
mod html;
mod mutations;
mod programs;
mod suggestions;
mod width;
