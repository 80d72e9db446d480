//! The grammar of index notation: tokens with places, a parser, syntax trees, and their text.
//!
//! It depends on the IR for numbers and errors only, so that a procedural macro can use it. Programs take it
//! from `rewright_index`.

#![forbid(unsafe_code)]

pub mod free;
pub mod parse;
mod print;
pub mod syntax;
mod token;
