//! The code generator `x64`: translates kernels to machine code of x86-64 processors with AVX2 or AVX-512.
//! It has its own instruction selection and register allocation; [`iced_x86`] encodes the instructions.
//!
//! A kernel becomes one function with one argument, the [`KernelArgs`](crate::KernelArgs). The points of the
//! innermost loop are computed in *groups*, one point in each lane. Every value is one register. The number
//! of lanes is that of the widest dtype, so that narrower values fill a part of their registers
//! (`schedule.rs`). A *round* is an unrolled iteration of the loop, with several groups. A *row* is one
//! execution of the innermost loop, or the elements of a buffer that it accesses. Outer levels use the same
//! code with all lanes equal.
//!
//! 1. `select` translates each level once, to straight-line code on virtual registers (`machine`). It splits
//!    a long innermost level into stages (`stages`, at the places that `cuts` finds), and reorders it where
//!    that lowers register pressure (`depth_first`).
//! 2. `nest` writes the loops, and `row_loop` the innermost one: rounds of several groups, some of them
//!    interleaved (`together`), then the remaining points under masks. `pieces` decides how many
//!    points are computed at once, and `ahead` adds software prefetching. Rows whose elements are not
//!    adjacent are copied to the frame in pieces and back, so that groups access contiguous elements only.
//!    Complex elements are pairs of floats in memory, and two vectors in registers (`select/pairs`). Those of
//!    several buffers that take turns in memory are loaded in the same way, by a version of the kernel for
//!    calls that have such buffers (`interleaved`). Short rows have a loop of their own (`short_rows`).
//! 3. `allocate` writes a segment and allocates registers in the same pass, by the uses that `prepared`
//!    collects.
//!
//! Kernels with a [`Reference`](crate::kernel::KOp::Reference) are refused. Rows that a
//! [`Fold`](crate::kernel::Fold) combines have loops of their own (`fold`), with accumulators in registers
//! (`binding`).
//!
//! A kernel with [`Steps`](crate::kernel::Steps) runs the steps of several vectors of points at once, with
//! their carried values in registers (`steps`).

mod ahead;
mod allocate;
mod asm;
mod batch;
mod binding;
mod bytes;
mod call;
mod code;
mod codes;
mod copies;
mod cuts;
mod depth_first;
mod fold;
mod frame;
mod helpers;
mod interleaved;
mod lanes;
mod level;
mod listing;
mod machine;
mod masks;
mod memory;
mod multiply_add;
mod nest;
mod pieces;
mod pool;
mod prepared;
pub mod probe;
mod round_plan;
mod row_loop;
mod rows;
mod select;
mod short_rows;
mod stages;
mod steps;
mod together;
mod tree;

pub use level::Level;

use crate::cranelift::Cranelift;
use crate::kernel::{CodeGen, CompiledKernel, Kernel, KernelError};
use crate::program::Program;

/// The code generator.
#[derive(Clone, Copy, Debug)]
pub struct X64 {
    level: Level,
}

impl X64 {
    /// For the best level of the present processor.
    pub fn new() -> Result<X64, KernelError> {
        let mut best = X64::at(Level::ALL[0])?;
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            best.level = level;
        }
        Ok(best)
    }

    /// For a level, which the processor must support and `REWRIGHT_X64` allow.
    pub fn at(level: Level) -> Result<X64, KernelError> {
        match level.refusal() {
            None => Ok(X64 { level }),
            Some(why) => Err(unavailable(why)),
        }
    }
}

impl CodeGen for X64 {
    fn name(&self) -> &'static str {
        match self.level {
            Level::Avx2 => "x64-avx2",
            Level::Avx512 => "x64-avx512",
        }
    }
    fn compile(&self, kernel: &Kernel) -> Result<Box<dyn CompiledKernel>, KernelError> {
        kernel.verify()?;
        kernel.check_dtypes()?;
        Ok(Box::new(code::Code::new(self.level, kernel)?))
    }
    fn step_registers(&self) -> Option<usize> {
        Some(self.level.values())
    }
    /// The nests of the program are kernels of this code generator; `cranelift` compiles other statements.
    fn compile_program(&self, program: &Program) -> Result<Box<dyn CompiledKernel>, KernelError> {
        Cranelift::shared()?.compile_with(program, self)
    }
}

/// The error for unsupported kernels.
fn unsupported(message: impl std::fmt::Display) -> KernelError {
    KernelError::Unsupported { codegen: "x64", message: message.to_string() }
}

/// The error if the code generator can't be used on this processor.
fn unavailable(message: String) -> KernelError {
    KernelError::Unavailable { codegen: "x64", message }
}
