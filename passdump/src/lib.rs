//! passdump shows what a pipeline does: it optimizes, runs and tests IR programs.

#![forbid(unsafe_code)]

pub mod compare;
pub mod fixture;
pub mod value;
