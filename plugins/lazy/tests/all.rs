//! The integration tests in one binary, a module for each file: linking a binary takes longer than compiling
//! most of these files. Files that read counters of the process are binaries of their own.

mod support;

mod eager;
mod functions;
mod fused;
mod laws;
mod values;
