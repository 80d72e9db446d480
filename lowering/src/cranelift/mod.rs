//! The code generator `cranelift`: kernels to machine code, with [Cranelift](https://cranelift.dev).
//!
//! A kernel becomes one machine function of one argument, the [`KernelArgs`](crate::KernelArgs). Its loops are those of the kernel; what is
//! computed at an outer level is computed there, one scalar at a time.

mod check;
mod code;
mod convert;
mod emit;
mod loops;
mod memory;
mod runtime;
mod scalar;

use crate::kernel::{CodeGen, CompiledKernel, Kernel, KernelError};
use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};

/// The code generator. Cheap to clone; make one and keep it, since finding out what the processor can do takes a while.
#[derive(Clone)]
pub struct Cranelift {
    isa: OwnedTargetIsa,
}

impl Cranelift {
    /// For the processor that this runs on.
    pub fn new() -> Result<Self, KernelError> {
        let isa = cranelift_native::builder().map_err(unsupported)?;
        let isa = isa.finish(settings::Flags::new(flags()?)).map_err(unsupported)?;
        if isa.pointer_bits() != 64 {
            return Err(unsupported("only 64-bit processors"));
        }
        Ok(Cranelift { isa })
    }
}

impl CodeGen for Cranelift {
    fn name(&self) -> &'static str {
        "cranelift"
    }
    fn compile(&self, kernel: &Kernel) -> Result<Box<dyn CompiledKernel>, KernelError> {
        kernel.verify()?;
        check::check(kernel)?;
        Ok(Box::new(code::Code::new(self, kernel)?))
    }
}

fn flags() -> Result<settings::Builder, KernelError> {
    let mut flags = settings::builder();
    let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [
        // Loop-invariant code is moved out, and common values are shared, when the kernel is built; what is left for an optimizer isn't worth its time.
        ("opt_level", "none"),
        ("enable_verifier", verifier),
        ("is_pic", "false"),
        ("use_colocated_libcalls", "false"),
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
        ("unwind_info", "false"),
    ] {
        flags.set(name, value).map_err(unsupported)?;
    }
    Ok(flags)
}

/// A refusal of this code generator.
fn unsupported(message: impl std::fmt::Display) -> KernelError {
    KernelError::Unsupported { codegen: "cranelift", message: message.to_string() }
}
