//! Emulates AVX-512 under Linux, so that AVX-512 code of `x64` can be tested on processors with only AVX2,
//! FMA and BMI2.
//!
//! It is a shared library, preloaded into an unmodified program:
//!
//! ```text
//! emulator/with-avx512 cargo test --workspace
//! ```
//!
//! It changes the program in two ways. Feature detection: std's answer gains AVX-512 F, DQ, BW, VL and CD
//! (`detect.rs`), so all code in the program sees them, other code generators included. Interpretation: an
//! unsupported instruction raises SIGILL; it and all that follow are interpreted until control leaves the
//! code (`trap.rs`). The emulator keeps upper register halves, the upper sixteen registers and masks in
//! memory; all other state is the program's own. Native code runs at full speed, so a program that spends
//! little time in kernels slows down little.
//!
//! Where AVX2 or FMA has the same operation, the emulator runs it on each half of a register
//! (`native.rs`). The others are implemented from the *Intel 64 and IA-32 Architectures Software
//! Developer's Manual*, volume 2. Masked-off lanes are not written, and not read unless the processor
//! reads them. An unknown instruction stops the program with an error that names it.
//!
//! With `REWRIGHT_EMULATOR_REPORT=1` in the environment, the program prints the number of emulated
//! instructions at exit.
//!
//! Not emulated: floating-point exceptions, rounding modes other than to nearest (of an instruction or of
//! MXCSR), segment-relative memory, and instructions that `x64` does not emit. The decoder is of the same
//! crate as the encoder of `x64`, so an error in their common tables is not detected.
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

/// The initializer, which the loader calls before the program begins.
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

/// True in the shared library. A program that links the crate itself is not patched.
fn is_library() -> bool {
    // SAFETY: a value of all zeros is valid.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the loader fills it in.
    let found = unsafe { libc::dladdr(start as *const c_void, &mut info) } != 0;
    // SAFETY: on success, the field points to a zero-terminated name.
    found && unsafe { CStr::from_ptr(info.dli_fname) }.to_bytes().ends_with(b".so")
}

/// Stops the program, which can't run as requested.
fn give_up(why: &str) -> ! {
    eprintln!("emulator of AVX-512: {why}");
    // SAFETY: always allowed.
    unsafe { libc::abort() }
}
