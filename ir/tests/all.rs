//! The integration tests in one binary, a module for each file: linking a binary takes longer than compiling
//! most of these files. Files that register ops are binaries of their own.

mod analysis;
mod array_ops_page;
mod array_ops_random;
mod arrayexpr;
mod arrayexpr_random;
mod elementwise;
mod evaluate;
mod indexing;
mod inference;
mod inline;
mod layout;
mod npy;
mod oracle_arrays;
mod oracle_elementwise;
mod oracle_printing;
mod reductions;
mod ron;
mod scan;
mod text_arrayexpr;
mod text_errors;
mod text_large;
mod text_round_trip;
mod verify;
