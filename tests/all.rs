//! The integration tests in one binary, a module for each file: linking a binary takes longer than compiling
//! most of these files. `Cargo.toml` says which files are binaries of their own.

mod black_scholes;
mod complaints_table;
mod links;
mod numba_table;
mod stranger;
mod test_files;
mod words;
