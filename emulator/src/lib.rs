//! AVX-512 for processors that have none, so that what `x64` makes for it can be tested on any of AVX2.
//!
//! It is a shared library that is loaded before a program, and that the program knows nothing of:
//!
//! ```text
//! emulator/with-avx512 cargo test --release --workspace
//! ```
//!
//! Two things are done to the program. Where std asks the processor what it has, AVX-512 F, DQ, BW, VL and CD are added to the answer
//! (`detect.rs`). And where an instruction is met that the processor doesn't have, which raises SIGILL, it and all that follow are interpreted
//! until the code is left (`trap.rs`): 512-bit registers, the upper sixteen, and masks are in memory here, everything else is the program's
//! own. What is done natively is as fast as ever, so that a program whose kernels take little of its time takes little more.
//!
//! Instructions of AVX2 and FMA that do the same lane by lane are what computes the lanes (`native.rs`); the others are written out by what the
//! *Intel 64 and IA-32 Architectures Software Developer's Manual*, volume 2, says. Lanes that a mask turns off are neither read nor written.
//! An instruction that isn't known stops the program and is named: then it is added to a file in `vector/`.
//!
//! With `REWRIGHT_EMULATOR_REPORT=1` in the environment the program's last words are what was emulated.
//!
//! Not emulated: rounding that an instruction brings along, floating-point exceptions, and instructions that `x64` makes no use of.
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

/// What the loader calls before the program begins.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let asked = std::env::var_os("LD_PRELOAD").is_some_and(|list| list.to_string_lossy().contains("rewright_emulator"));
    let has_avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
    if asked && has_avx2 && !is_x86_feature_detected!("avx512f") {
        report::start();
        trap::install();
        detect::pretend();
    }
}
