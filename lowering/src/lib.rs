//! Lowering: from `arrayexpr` to kernel IR to machine code, and running whole functions with it.
//!
//! ```
//! use rewright_ir::{Array, Datum, parse_module};
//! use rewright_lowering::{Executable, Options};
//! let text = "
//! func @f(%x: f64[n], %y: f64) -> f64[n] {
//! entry:
//!   %0 = mul %x, %x
//!   %1 = add %0, %y
//!   ret %1
//! }";
//! let f = Executable::compile(&parse_module(text, "f.ir")?, "f", Options::default())?;
//! let x = Array::from(ndarray::arr1(&[1.0, 2.0, 3.0]).into_dyn());
//! let square_and_half = Array::from(ndarray::arr1(&[1.5, 4.5, 9.5]).into_dyn());
//! assert_eq!(f.call(&[(&x).into(), 0.5.into()])?, [Datum::Array(square_and_half)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An expression goes through three forms:
//!
//! 1. *Lowering* makes a kernel of it: a loop nest around straight-line code on scalars, for any extents and
//!    strides; or, if no kernel can say it, a loop program, which has conditions and computed positions. The
//!    interface [`LowerScalar`] of an elementwise op says how a kernel computes the op, and any
//!    crate can register it for its own ops; see [`scalar`]. A kernel calls the reference meaning of an op
//!    that has no such interface, once for each point.
//! 2. A *code generator* compiles the kernel; [`exec::Backend`] selects one. `interp` interprets kernels and
//!    is the oracle of the others. `cranelift` emits 128-bit vectors for many processors, and `x64` emits
//!    wider vectors for processors with AVX2 or AVX-512.
//! 3. *Binding* computes, for the arrays of one call, the extents of loops and the addresses of operands.
//!
//! [`Executable`] does this for the functions of a module. A plan runs control flow and scalars, kernels
//! compute array expressions, and the reference evaluator runs the remaining ops, with a remark that says
//! why; see [`exec`].
//!
//! All code generators give the same results, bit for bit, except for payloads of NaN: floats are strict,
//! and functions such as `exp` are those of [`rewright_ir::math`] everywhere.
//!
//! Only [`exec`], [`scalar`] and the items below are for programs and plugins; [`internals`] is unstable.

#![allow(unsafe_code, reason = "running machine code; each block argues its safety")]

mod bools;
mod copy;
mod cranelift;
pub mod exec;
mod interp;
mod kernel;
mod lower;
mod program;
pub mod scalar;
mod schedule;
mod scratch;
#[cfg(target_arch = "x86_64")]
mod x64;

pub use bools::{PacksBools, WORD, pack_bools};
pub use exec::{Executable, LowerError, Options};
pub use kernel::{Binary, Compare, KValue, KernelBuilder, Unary};
pub use scalar::LowerScalar;
pub use schedule::{Schedule, ScheduleError};

use kernel::KernelError;

/// Unstable: kernels, lowering, code generators and plans, for the tests, benches and tools of this
/// repository. Any version may change them; programs and plugins do not need them.
pub mod internals {
    pub use crate::cranelift::Cranelift;
    pub use crate::interp::Interp;

    /// Kernel IR, and the interface of code generators.
    pub mod kernel {
        pub use crate::kernel::{
            Binary, Buffer, CodeGen, Compare, CompiledKernel, Fold, Interleaved, KInst, KOp, KValue, Kernel,
            KernelArgs, KernelBuilder, KernelError, MathCall, MathPtr, Part, PlacedBuffer, Reference, Status, Steps,
            Unary, Wishes,
        };
    }

    /// From array expressions to kernels.
    pub mod lower {
        pub use crate::lower::{Lowered, Place, Strided, lower};
    }

    /// Loop programs.
    pub mod program {
        pub use crate::lower::program::{
            Checks, LoweredProgram, ProgramParam, Tiling, Variant, is_symmetric, lower_program,
        };
        pub use crate::program::{Lines, Program};
    }

    /// The steps of executables.
    pub mod plan {
        pub use crate::exec::loop_program::{LoopProgram, ProgramStep};
        pub use crate::exec::plan::{FuncPlan, KernelStep, Plan, Step, StepKind};
    }

    /// Schedules of loops.
    pub mod schedule {
        pub use crate::schedule::{Block, Schedule};
    }

    /// The code generator for x86-64.
    #[cfg(target_arch = "x86_64")]
    pub mod x64 {
        pub use crate::x64::{Level, X64, probe};
    }
}
