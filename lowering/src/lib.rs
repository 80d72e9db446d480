//! Lowering: from `arrayexpr` to kernel IR to machine code.

#![allow(unsafe_code, reason = "running machine code; each block argues its safety")]

pub mod cranelift;
pub mod exec;
pub mod kernel;

pub use exec::{Executable, LowerError, Options};
pub use kernel::{CodeGen, CompiledKernel, Kernel, KernelArgs, KernelBuilder, KernelError};
