//! The code generator `x64`: kernels to machine code of x86-64 processors with AVX2 or AVX-512, with its own choice of instructions and
//! registers; only their encoding is that of [`iced_x86`].
//!
//! A kernel becomes one function of one argument, the [`KernelArgs`](crate::KernelArgs). The points of the innermost loop are computed in
//! *groups*, one point a lane, and every value is in one register: as many lanes as the widest dtype allows, so that narrower ones fill only a part of theirs
//! (`schedule.rs`). What an outer level computes is the same code, with all lanes equal.
//!
//! 1. `select` makes straight-line code over virtual registers (`machine`) of each level, once; that of the innermost one is in `stages`, where it is long (`cuts` says which), and
//!    `depth_first`, where that needs fewer registers.
//! 2. `nest` writes the loops and `row_loop` the innermost one: rounds of several groups, which `together` says how many of take turns, then groups under a mask for
//!    what remains; `pieces` says
//!    how many points they are run on at once, and `ahead` what they ask memory for early. Rows
//!    whose elements are not adjacent are copied to the frame in pieces and back, so that the code of groups knows adjacent elements only. Complex
//!    ones are pairs of floats in memory, and their parts two vectors in registers (`select/pairs`).
//! 3. `allocate` writes a segment, choosing registers as it goes; `prepared` says when each value is used.
//!
//! A kernel with a [`Reference`](crate::kernel::KOp::Reference) is refused. Rows that a [`Fold`](crate::kernel::Fold) combines have loops of
//! their own (`fold`), of which the accumulators are registers (`binding`).
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
mod row_loop;
mod rows;
mod schedule;
mod select;
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
    /// For the best level of the processor that this runs on.
    pub fn new() -> Result<X64, KernelError> {
        let mut best = X64::at(Level::ALL[0])?;
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            best.level = level;
        }
        Ok(best)
    }

    /// For a level, which the processor must have, and `REWRIGHT_X64` allow.
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

/// A refusal of this code generator.
fn unsupported(message: impl std::fmt::Display) -> KernelError {
    KernelError::Unsupported { codegen: "x64", message: message.to_string() }
}

/// Why it can't be had.
fn unavailable(message: String) -> KernelError {
    KernelError::Unavailable { codegen: "x64", message }
}
