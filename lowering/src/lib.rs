//! Lowering: from `arrayexpr` to kernel IR to machine code.

#![allow(unsafe_code, reason = "running machine code; each block argues its safety")]

pub mod cranelift;
pub mod exec;
pub mod interp;
pub mod kernel;
pub mod lower;
pub mod scalar;

pub use exec::{Executable, LowerError, Options};
pub use interp::Interp;
pub use kernel::{CodeGen, CompiledKernel, Kernel, KernelArgs, KernelBuilder, KernelError};
pub use lower::{Lowered, NotLowered, lower};
pub use scalar::LowerScalar;
