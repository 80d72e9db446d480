//! The emulator against what the manual says, and against processors that have AVX-512.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(unsafe_code, reason = "running machine code")]

mod instructions;
mod program;
mod support;
