//! Expressions as kernels, on every code generator, against the reference evaluator.

#![allow(unsafe_code, reason = "calling compiled kernels")]

mod binding;
mod call;
mod expressions;
mod ops;
mod single;
mod values;
