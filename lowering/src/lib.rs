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
//! 1. [`lower()`] makes a [`Kernel`] of it: a loop nest around straight-line code on real scalars, for any extents and strides; see
//!    [`kernel`]. How each elementwise op is computed there is an interface of the op, [`LowerScalar`], which any crate can
//!    register for its own ops; see [`scalar`]. An op without it is computed by its reference meaning, point by point.
//! 2. A code generator ([`CodeGen`]) makes the kernel ready to run: [`Interp`] interprets it, plainly, and is the oracle for the others;
//!    [`cranelift`] makes machine code of it with 128-bit vectors, for many processors, and `x64` with wider ones, for those of x86-64 that have AVX2
//!    or AVX-512.
//! 3. [`Lowered::space`], [`Lowered::result_shape`] and [`Lowered::bind`] say for the arrays of one call how often the loops run and
//!    where everything is; see [`mod@lower`].
//!
//! [`Executable`] does all of that for the functions of a module: control flow and scalars run by a plan, array
//! expressions by kernels, and what has no kernel by the reference evaluator, with a remark that says why; see [`exec`].
//!
//! All ways give the same results, bit for bit, payloads of NaN excepted: floats are strict, and functions such as `exp` are those of
//! [`rewright_ir::math`] everywhere.

#![allow(unsafe_code, reason = "running machine code; each block argues its safety")]

mod bools;
mod copy;
pub mod cranelift;
pub mod exec;
pub mod interp;
pub mod kernel;
pub mod lower;
pub mod scalar;
pub mod schedule;
#[cfg(target_arch = "x86_64")]
pub mod x64;

pub use bools::{PacksBools, WORD, pack_bools};
pub use exec::{Executable, LowerError, Options};
pub use interp::Interp;
pub use kernel::{CodeGen, CompiledKernel, Kernel, KernelArgs, KernelBuilder, KernelError};
pub use lower::{Lowered, NotLowered, lower};
pub use scalar::LowerScalar;
