//! Makes std's feature detection report AVX-512.
//!
//! std detects features by `cpuid` and `xgetbv`, in a function of the program. Both are patched with the
//! byte 06, an invalid opcode in 64-bit mode: it raises SIGILL, and [`answer`] emulates the original
//! instruction. No other `cpuid` is patched; in particular glibc's stays, because glibc selects its copy
//! loops by it.

use crate::give_up;
use crate::trap::Frame;
use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use object::{Object, ObjectSymbol, SymbolKind};
use std::ffi::{CStr, c_void};

/// An invalid opcode in 64-bit mode.
const NONE: u8 = 0x06;
/// The byte after it, which tells a patched `cpuid` from a patched `xgetbv`.
const CPUID: u8 = 0xc1;
const XGETBV: u8 = 0xc2;

/// The environment variable that refuses a program without symbols, which can't be patched. It is
/// removed, so it does not apply to child processes.
const STRICT: &CStr = c"REWRIGHT_EMULATOR_STRICT";

/// Patches the program's feature detection, which is found by its symbols.
pub fn pretend() {
    // SAFETY: the program has not begun: there is no other thread.
    let strict = unsafe { !libc::getenv(STRICT.as_ptr()).is_null() && libc::unsetenv(STRICT.as_ptr()) == 0 };
    let file = std::fs::File::open("/proc/self/exe")
        .unwrap_or_else(|why| give_up(&format!("the program can't be read: {why}")));
    // SAFETY: a program that runs isn't written to.
    let bytes = unsafe { memmap2::Mmap::map(&file) };
    let bytes = bytes.unwrap_or_else(|why| give_up(&format!("the program can't be read: {why}")));
    let program =
        object::File::parse(&*bytes).unwrap_or_else(|why| give_up(&format!("the program can't be read: {why}")));
    if strict && program.symbols().next().is_none() {
        give_up("the program has no symbols, by which std's detection of features is found: don't strip it");
    }
    let functions = || program.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0);
    let called =
        |part: &'static str| functions().filter(move |symbol| symbol.name().is_ok_and(|name| name.contains(part)));
    let base = base();
    let mut found = [0; 2];
    for function in called("detect_and_initialize").chain(called("xgetbv")) {
        let more = overwrite(base + function.address(), function.size() as usize);
        found = [found[0] + more[0], found[1] + more[1]];
    }
    if called("detect_and_initialize").next().is_some() && found.contains(&0) {
        give_up("std's detection of features isn't as it was: no `cpuid`, or no `xgetbv`, is in it");
    }
}

/// The load address of the program, relative to the addresses in its file.
fn base() -> u64 {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, base: *mut c_void) -> libc::c_int {
        // SAFETY: the loader passes the data of the program, and `base`.
        unsafe { *base.cast::<u64>() = (*info).dlpi_addr };
        1
    }
    let mut base = 0u64;
    // SAFETY: the function writes to `base` only, and stops at the program, which comes first.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut base).cast()) };
    base
}

/// Patches `cpuid` and `xgetbv` in a function; returns the number of each.
fn overwrite(at: u64, len: usize) -> [usize; 2] {
    // SAFETY: the symbol gives the function's address and its length in bytes.
    let code = unsafe { std::slice::from_raw_parts(at as *const u8, len) }.to_vec();
    let mut found = [0; 2];
    for inst in Decoder::with_ip(64, &code, at, DecoderOptions::NONE).iter() {
        let (which, mark) = match inst.mnemonic() {
            Mnemonic::Cpuid => (0, CPUID),
            Mnemonic::Xgetbv => (1, XGETBV),
            _ => continue,
        };
        let first = inst.ip() & !4095;
        let pages = (inst.ip() + 2 - first) as usize;
        let rights = libc::PROT_READ | libc::PROT_EXEC;
        let allow = |rights| {
            // SAFETY: the pages of the two bytes, which stay readable and executable.
            if unsafe { libc::mprotect(first as *mut c_void, pages, rights) } != 0 {
                give_up("std's detection of features can't be written to");
            }
        };
        allow(rights | libc::PROT_WRITE);
        // SAFETY: two bytes of one instruction, before the program has begun.
        unsafe { (inst.ip() as *mut [u8; 2]).write([NONE, mark]) };
        allow(rights);
        found[which] += 1;
    }
    found
}

/// Emulates a patched instruction; false if there is none.
pub fn answer(frame: &mut Frame<'_>) -> bool {
    let at = frame.rip() as *const u8;
    // SAFETY: the processor has just fetched an instruction there.
    if unsafe { at.read() } != NONE {
        return false;
    }
    // SAFETY: the opcode is invalid, so it was patched here, with a byte after it.
    match unsafe { at.add(1).read() } {
        CPUID => {
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
        XGETBV => {
            // XCR0: the system saves x87, SSE, AVX, masks, upper halves and upper registers.
            frame.set_general(libc::REG_RAX, 0b1110_0111);
            frame.set_general(libc::REG_RDX, 0);
            frame.go_on(3);
        }
        _ => return false,
    }
    true
}
