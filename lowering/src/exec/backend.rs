//! Backends: the ways to run functions.

use super::LowerError;
use crate::cranelift::Cranelift;
use crate::interp::Interp;
use crate::kernel::{CodeGen, KernelError};
use smallvec::{SmallVec, smallvec};
use std::sync::LazyLock;

/// The way to run a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Backend {
    /// By the reference evaluator.
    Reference,
    /// A plan, with the interpreter [`Interp`] for kernels. A step without a kernel runs a loop program, or
    /// the reference meaning of its op.
    Interp,
    /// A plan, with machine code by [`Cranelift`] for kernels.
    Cranelift,
    /// A plan, with machine code by `x64` for kernels. It needs an x86-64 processor with AVX2 or AVX-512.
    /// [`Cranelift`] compiles the kernels that `x64` refuses, and a remark says so.
    X64,
    /// As `X64`, restricted to AVX2 on processors with AVX-512.
    X64Avx2,
    /// The best backend of this machine: `X64`, else `Cranelift`, else `Interp`.
    #[default]
    Auto,
}

/// Code generators, in order of preference.
pub(super) type CodeGens = SmallVec<[&'static dyn CodeGen; 2]>;

impl Backend {
    /// All backends.
    pub const ALL: [Backend; 6] =
        [Backend::Reference, Backend::Interp, Backend::Cranelift, Backend::X64Avx2, Backend::X64, Backend::Auto];

    /// The backends that this machine supports.
    pub fn available() -> impl Iterator<Item = Backend> {
        Backend::ALL.into_iter().filter(|backend| backend.codegens().is_ok())
    }

    /// The code generators; none for the reference evaluator.
    pub(super) fn codegens(self) -> Result<CodeGens, LowerError> {
        let needed =
            |codegen: Result<&'static dyn CodeGen, KernelError>| codegen.map_err(|why| LowerError::NoCodeGen { why });
        match self {
            Backend::Reference => Ok(CodeGens::new()),
            Backend::Interp => Ok(smallvec![&Interp as &'static dyn CodeGen]),
            Backend::Cranelift => Ok(smallvec![needed(cranelift())?]),
            Backend::X64 => Ok(std::iter::once(needed(x64::best())?).chain(cranelift()).collect()),
            Backend::X64Avx2 => Ok(std::iter::once(needed(x64::avx2())?).chain(cranelift()).collect()),
            Backend::Auto => {
                x64::check_environment().map_err(|why| LowerError::NoCodeGen { why })?;
                let mut found: CodeGens = x64::best().into_iter().chain(cranelift()).collect();
                if found.is_empty() {
                    found.push(&Interp);
                }
                Ok(found)
            }
        }
    }
}

/// The Cranelift code generator. Detecting the processor's features takes time, so it is done once.
fn cranelift() -> Result<&'static dyn CodeGen, KernelError> {
    static CRANELIFT: LazyLock<Result<Cranelift, KernelError>> = LazyLock::new(Cranelift::new);
    CRANELIFT.as_ref().map(|codegen| codegen as &dyn CodeGen).map_err(Clone::clone)
}

#[cfg(target_arch = "x86_64")]
mod x64 {
    use crate::kernel::{CodeGen, KernelError};
    use crate::x64::{Level, X64};
    use std::sync::LazyLock;

    pub fn best() -> Result<&'static dyn CodeGen, KernelError> {
        static BEST: LazyLock<Result<X64, KernelError>> = LazyLock::new(X64::new);
        BEST.as_ref().map(|codegen| codegen as &dyn CodeGen).map_err(Clone::clone)
    }

    pub fn avx2() -> Result<&'static dyn CodeGen, KernelError> {
        static AVX2: LazyLock<Result<X64, KernelError>> = LazyLock::new(|| X64::at(Level::Avx2));
        AVX2.as_ref().map(|codegen| codegen as &dyn CodeGen).map_err(Clone::clone)
    }

    /// A malformed environment variable is an error: falling back to slower code would hide it.
    pub fn check_environment() -> Result<(), KernelError> {
        Level::check_environment()
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod x64 {
    use crate::kernel::{CodeGen, KernelError};

    pub fn best() -> Result<&'static dyn CodeGen, KernelError> {
        Err(KernelError::Unavailable { codegen: "x64", message: "the processor is of another kind".into() })
    }

    pub fn avx2() -> Result<&'static dyn CodeGen, KernelError> {
        best()
    }

    pub fn check_environment() -> Result<(), KernelError> {
        Ok(())
    }
}
