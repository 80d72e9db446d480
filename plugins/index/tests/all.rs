//! The integration tests in one binary, a module for each file: linking a binary takes longer than compiling
//! most of these files.

mod support;

mod cases;
mod contraction;
mod einsum;
mod naive;
mod page;
mod products;
mod text;
