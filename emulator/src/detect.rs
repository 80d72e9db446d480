//! Makes std find AVX-512.
//!
//! std asks by `cpuid` and `xgetbv`, in a function of the program. Both are overwritten there, by the byte 06, which is no instruction in
//! 64-bit code: it raises SIGILL, and the answer is given by [`answer`]. Nobody else's `cpuid` is touched, glibc's above all, which chooses
//! its own copy loops by it.

use crate::trap::Frame;
use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use object::{Object, ObjectSymbol};
use std::ffi::c_void;

/// No instruction in 64-bit code.
const NONE: u8 = 0x06;
/// What follows it where `cpuid` was, and `xgetbv`.
const CPUID: u8 = 0xc1;
const XGETBV: u8 = 0xc2;

/// Overwrites what asks the processor in the program, if it has symbols.
pub fn pretend() {
    let Ok(file) = std::fs::File::open("/proc/self/exe") else { return };
    // SAFETY: a program that runs isn't written to.
    let Ok(bytes) = (unsafe { memmap2::Mmap::map(&file) }) else { return };
    let Ok(program) = object::File::parse(&*bytes) else { return };
    let base = base();
    for symbol in program.symbols() {
        let asks = symbol.name().is_ok_and(|name| name.contains("detect_and_initialize") || name.contains("xgetbv"));
        if asks && symbol.size() > 0 {
            overwrite(base + symbol.address(), symbol.size() as usize);
        }
    }
}

/// How far on the program was loaded than its file says.
fn base() -> u64 {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, base: *mut c_void) -> libc::c_int {
        // SAFETY: the loader passes what it knows of the program, and `base` on.
        unsafe { *base.cast::<u64>() = (*info).dlpi_addr };
        1
    }
    let mut base = 0u64;
    // SAFETY: the function writes to `base` only, and stops at the program, which comes first.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut base).cast()) };
    base
}

/// Overwrites `cpuid` and `xgetbv` in a function.
fn overwrite(at: u64, len: usize) {
    // SAFETY: the symbol says that a function of so many bytes is there.
    let code = unsafe { std::slice::from_raw_parts(at as *const u8, len) }.to_vec();
    for inst in Decoder::with_ip(64, &code, at, DecoderOptions::NONE).iter() {
        let mark = match inst.mnemonic() {
            Mnemonic::Cpuid => CPUID,
            Mnemonic::Xgetbv => XGETBV,
            _ => continue,
        };
        let place = inst.ip() as *mut u8;
        let page = (inst.ip() & !4095) as *mut c_void;
        let rights = libc::PROT_READ | libc::PROT_EXEC;
        // SAFETY: two pages of code, of which two bytes of one instruction change, before the program has begun.
        unsafe {
            if libc::mprotect(page, 8192, rights | libc::PROT_WRITE) == 0 {
                place.write(NONE);
                place.add(1).write(mark);
                libc::mprotect(page, 8192, rights);
            }
        }
    }
}

/// Answers if this is where the processor is asked.
pub fn answer(frame: &mut Frame<'_>) -> bool {
    let at = frame.rip() as *const u8;
    // SAFETY: the processor has just read an instruction there, and all have two bytes here.
    let [first, second] = unsafe { [at.read(), at.add(1).read()] };
    match (first, second) {
        (NONE, CPUID) => {
            let (leaf, part) = (frame.general(libc::REG_RAX) as u32, frame.general(libc::REG_RCX) as u32);
            let mut said = std::arch::x86_64::__cpuid_count(leaf, part);
            if (leaf, part) == (7, 0) {
                // AVX-512 F, DQ, CD, BW and VL.
                said.ebx |= 1 << 16 | 1 << 17 | 1 << 28 | 1 << 30 | 1 << 31;
            }
            frame.set_general(libc::REG_RAX, said.eax.into());
            frame.set_general(libc::REG_RBX, said.ebx.into());
            frame.set_general(libc::REG_RCX, said.ecx.into());
            frame.set_general(libc::REG_RDX, said.edx.into());
            frame.go_on(2);
        }
        (NONE, XGETBV) => {
            // The system keeps x87, SSE, AVX, masks, upper halves and upper registers.
            frame.set_general(libc::REG_RAX, 0b1110_0111);
            frame.set_general(libc::REG_RDX, 0);
            frame.go_on(3);
        }
        _ => return false,
    }
    true
}
