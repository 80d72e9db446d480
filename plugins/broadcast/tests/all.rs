//! The integration tests in one binary, a module for each file: linking a binary takes longer than compiling
//! most of these files. Files that register styles, or read counters of the process, are binaries of their
//! own.

mod again;
mod expression_data;
mod expressions;
mod extents;
mod flatten;
mod laws;
mod nests;
mod packed;
mod pairs;
mod shifted;
mod sparse_vector_and_matrix;
mod values;
