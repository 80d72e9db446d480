//! The code generator `x64`: kernels to machine code of x86-64 processors with AVX2 or AVX-512, with its own choice of instructions and
//! registers; only their encoding is that of [`iced_x86`].
//!
//! A kernel becomes one function of one argument, the [`KernelArgs`](crate::KernelArgs). The points of the innermost loop are computed in
//! *groups*, one point a lane, and every value is in one register: as many lanes as the widest dtype allows, so that narrower ones fill only a part of theirs
//! (`schedule.rs`). What an outer level computes is the same code, with all lanes equal.
//!
//! 1. `select` makes straight-line code over virtual registers (`machine`) of each level, once.
//! 2. `nest` writes the loops and `row_loop` the innermost one: rounds of several groups, then groups under a mask for what remains; `ahead`
//!    says what they ask memory for early. Rows
//!    whose elements are not adjacent are copied to the frame in pieces and back, so that the code of groups knows adjacent elements only. Complex
//!    ones are pairs of floats in memory, and their parts two vectors in registers (`select/pairs`).
//! 3. `allocate` writes a segment, choosing registers as it goes; `prepared` says when each value is used.
//!
//! A kernel with a [`Reference`](crate::kernel::KOp::Reference) is refused. Rows that a [`Fold`](crate::kernel::Fold) combines have loops of
//! their own (`fold`), of which the accumulators are registers (`binding`).

mod ahead;
mod allocate;
mod asm;
mod batch;
mod binding;
mod bytes;
mod call;
mod code;
mod codes;
mod fold;
mod frame;
mod helpers;
mod lanes;
mod listing;
mod machine;
mod masks;
mod memory;
mod multiply_add;
mod nest;
mod pool;
mod prepared;
pub mod probe;
mod row_loop;
mod rows;
mod schedule;
mod select;
mod stages;
mod tree;

use crate::kernel::{CodeGen, CompiledKernel, Kernel, KernelError};

/// What is used of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// AVX2, FMA and BMI2: 16 registers of 256 bits.
    Avx2,
    /// Also AVX-512 F, DQ, BW, VL and CD: 32 registers of 512 bits, and masks.
    Avx512,
}

impl Level {
    /// All levels.
    pub const ALL: [Level; 2] = [Level::Avx2, Level::Avx512];

    /// True if this processor has it.
    pub fn is_available(self) -> bool {
        let avx2 =
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("bmi2");
        let avx512 = || {
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512cd")
        };
        avx2 && (self == Level::Avx2 || avx512())
    }

    /// Bytes of a register.
    fn register_bytes(self) -> usize {
        match self {
            Level::Avx2 => 32,
            Level::Avx512 => 64,
        }
    }

    /// Vector registers for values: all but the last one, which is free between instructions.
    fn values(self) -> usize {
        match self {
            Level::Avx2 => 15,
            Level::Avx512 => 31,
        }
    }

    fn is_evex(self) -> bool {
        self == Level::Avx512
    }
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Level::Avx2 => "AVX2",
            Level::Avx512 => "AVX-512",
        })
    }
}

/// The code generator.
#[derive(Clone, Copy, Debug)]
pub struct X64 {
    level: Level,
}

impl X64 {
    /// For the best level of the processor that this runs on.
    pub fn new() -> Result<X64, KernelError> {
        let best = Level::ALL.into_iter().filter(|level| level.is_available()).max();
        Ok(X64 { level: best.ok_or_else(|| unsupported("the processor has no AVX2 with FMA and BMI2"))? })
    }

    /// For a level, which the processor must have.
    pub fn at(level: Level) -> Result<X64, KernelError> {
        if level.is_available() { Ok(X64 { level }) } else { Err(unsupported(format!("the processor has no {level}"))) }
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
}

/// A refusal of this code generator.
fn unsupported(message: impl std::fmt::Display) -> KernelError {
    KernelError::Unsupported { codegen: "x64", message: message.to_string() }
}
