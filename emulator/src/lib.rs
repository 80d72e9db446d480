//! AVX-512 for processors that have none, so that what `x64` makes for it can be tested on those with AVX2,
//! FMA and BMI2, under Linux.
//!
//! It is a shared library that is loaded before a program, and that the program knows nothing of:
//!
//! ```text
//! emulator/with-avx512 cargo test --workspace
//! ```
//!
//! Two things are done to the program. Where std asks the processor what it has, AVX-512 F, DQ, BW, VL and
//! CD are added to the answer (`detect.rs`), which everything in the program believes, other code
//! generators, too. And where an instruction is met that the processor doesn't have, which raises SIGILL,
//! it and all that follow are interpreted until the code is left (`trap.rs`): upper halves of registers,
//! the upper sixteen, and masks are in memory here, everything else is the program's own. What is done
//! natively is as fast as ever, so that a program whose kernels take little of its time takes little more.
//!
//! Instructions of AVX2 and FMA that do the same in halves of a register are what computes them
//! (`native.rs`); the others are written out by what the *Intel 64 and IA-32 Architectures Software
//! Developer's Manual*, volume 2, says. Lanes that a mask turns off are neither written, nor read where the
//! processor doesn't. An instruction that isn't known stops the program and is named: then it is added to a
//! file.
//!
//! With `REWRIGHT_EMULATOR_REPORT=1` in the environment the program's last words are what was emulated.
//!
//! Not emulated: floating-point exceptions, rounding other than to nearest, whether by an instruction or by
//! MXCSR, memory relative to a segment, and much that `x64` makes no use of. Instructions are decoded by
//! the crate that `x64` encodes them by: an error in its tables isn't seen here.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(unsafe_code, reason = "it is a processor: it reads and writes where the code says")]

mod block;
mod cpu;
mod detect;
mod float;
mod general;
mod native;
mod operands;
mod report;
mod trap;
mod vector;

pub use cpu::{Cpu, Stop};
pub use operands::Vector;

use std::ffi::{CStr, c_void};

/// What the loader calls before the program begins.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    if is_library() && has_avx2 && !is_x86_feature_detected!("avx512f") {
        report::start();
        trap::install();
        detect::pretend();
    }
}

/// True in the shared library; programs may have the crate as their own, and take over nothing.
fn is_library() -> bool {
    // SAFETY: all zeros is a value of it.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the loader fills it in.
    let found = unsafe { libc::dladdr(start as *const c_void, &mut info) } != 0;
    // SAFETY: where it says so, there is a name that ends with a zero.
    found && unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes().ends_with(b".so")
}

/// Stops the program, which can't be what it was to be.
fn give_up(why: &str) -> ! {
    eprintln!("emulator of AVX-512: {why}");
    // SAFETY: always allowed.
    unsafe { libc::abort() }
}
