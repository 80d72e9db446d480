//! The code generator `cranelift`: kernels to machine code, with [Cranelift](https://cranelift.dev).
//!
//! A kernel becomes one machine function of one argument, the [`KernelArgs`](crate::KernelArgs), with the
//! loops of the kernel. Values of outer levels are scalars, computed in the outer loops.

mod code;
mod convert;
mod emit;
mod fold;
mod lanes;
mod loops;
mod memory;
mod nest;
mod parts;
mod program;
mod row_copy;
mod rows;
mod runtime;
mod scalar;
mod scale;
mod staging;
mod vector;
mod vector_convert;
mod vector_divide;
mod vector_memory;
mod vector_plan;
mod version;
mod widths;

use crate::copy::CopyKernel;
use crate::kernel::{CodeGen, CompiledKernel, Kernel, KernelError};
use crate::program::Program;
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use std::sync::OnceLock;

/// The code generator. It detects the features of the processor when it is made; a clone is cheap.
#[derive(Clone)]
pub struct Cranelift {
    isa: OwnedTargetIsa,
    /// The same processor, with Cranelift's optimizer: for loop programs.
    optimizing: OwnedTargetIsa,
    features: Features,
}

/// The features of the processor that the code uses.
#[derive(Clone, Copy, Debug)]
struct Features {
    /// 128-bit vectors.
    vectors: bool,
    /// Fused multiply-add as an instruction.
    fma: bool,
}

impl Features {
    fn of(isa: &dyn TargetIsa) -> Self {
        let has = |name: &str| isa.isa_flags().iter().any(|f| f.name == name && f.as_bool() == Some(true));
        match isa.name() {
            // Below that shuffles, rounding and minima are so slow that scalars are better.
            "x64" => Features { vectors: has("has_ssse3") && has("has_sse41"), fma: has("has_fma") },
            "aarch64" => Features { vectors: true, fma: true },
            _ => Features { vectors: false, fma: false },
        }
    }
}

impl Cranelift {
    /// A code generator for the processor of this machine.
    pub fn new() -> Result<Self, KernelError> {
        let isa = |opt_level| {
            let isa = cranelift_native::builder().map_err(unsupported)?;
            isa.finish(settings::Flags::new(flags(opt_level)?)).map_err(unsupported)
        };
        // Kernels are built with loop-invariant code hoisted and common values shared, so the optimizer is
        // not worth its time. Loop programs address memory by many terms.
        let (isa, optimizing) = (isa("none")?, isa("speed")?);
        if isa.pointer_bits() != 64 {
            return Err(unsupported("only 64-bit processors"));
        }
        Ok(Cranelift { features: Features::of(&*isa), isa, optimizing })
    }

    /// The one for this processor, made once.
    pub(crate) fn shared() -> Result<&'static Cranelift, KernelError> {
        static SHARED: OnceLock<Result<Cranelift, KernelError>> = OnceLock::new();
        SHARED.get_or_init(Cranelift::new).as_ref().map_err(Clone::clone)
    }

    /// The same, but for code without vectors: one point after the other.
    pub fn without_vectors(mut self) -> Self {
        self.features.vectors = false;
        self
    }
}

impl CodeGen for Cranelift {
    fn name(&self) -> &'static str {
        "cranelift"
    }
    fn compile(&self, kernel: &Kernel) -> Result<Box<dyn CompiledKernel>, KernelError> {
        kernel.verify()?;
        kernel.check_dtypes()?;
        if kernel.steps.is_some() {
            return Err(unsupported("steps inside of a loop over vectors"));
        }
        Ok(Box::new(code::Code::new(self, code::Source::Kernel(Box::new(kernel.clone())))?))
    }
    fn compile_program(&self, program: &Program) -> Result<Box<dyn CompiledKernel>, KernelError> {
        self.compile_with(program, self)
    }
}

impl Cranelift {
    /// Compiles a loop program of which another code generator compiles the kernels.
    pub(crate) fn compile_with(
        &self,
        program: &Program,
        codegen: &dyn CodeGen,
    ) -> Result<Box<dyn CompiledKernel>, KernelError> {
        program.verify()?;
        let mut kernels = Vec::new();
        let outlined = program.blocked(codegen.step_registers()).distributed().outlined(&mut |kernel| {
            kernels.push(CopyKernel::of(kernel, codegen.compile(kernel).ok()?));
            Some(kernels.len() - 1)
        });
        let program = outlined.expanded().unrolled();
        program.verify()?;
        Ok(Box::new(code::Code::new(self, code::Source::Program(program, kernels.into(), outlined))?))
    }
}

fn flags(opt_level: &str) -> Result<settings::Builder, KernelError> {
    let mut flags = settings::builder();
    let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
    for (name, value) in [
        ("opt_level", opt_level),
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
