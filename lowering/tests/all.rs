//! The integration tests in one binary, a module for each file: linking a binary takes longer than compiling
//! most of these files. Tests that count allocations are a binary of their own.

/// What several files use.
mod support {
    pub mod agree;
    pub mod arrays;
    pub mod bits;
    pub mod every;
    pub mod scheduled;
}

mod by_reference;
mod codegen;
mod collapse;
mod column_reductions;
mod complex_functions;
mod distribution;
mod exec;
mod exec_again;
mod exec_copies;
mod exec_into;
mod exec_kernels;
mod exec_leaves;
mod exec_limits;
mod exec_parts;
mod exec_reductions;
mod exec_regions;
mod exec_results;
mod exec_row_blocks;
mod exec_stores;
mod exec_updates;
mod fission;
mod float_bits;
mod gathered_elements;
mod general;
mod indices;
mod interleaved_arrays;
mod jams;
mod long_division;
mod lower;
mod oracle_arrays;
mod programs;
mod reads;
mod row_lanes;
mod rows_at_once;
mod rows_beside;
mod schedules;
mod search;
mod symmetric_results;
