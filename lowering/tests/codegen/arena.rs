//! Memory whose ends can't be overrun unnoticed: pages without access rights before and after.

use std::ffi::c_void;

unsafe extern "C" {
    fn mmap(addr: *mut c_void, len: usize, prot: i32, flags: i32, fd: i32, offset: i64) -> *mut c_void;
    fn mprotect(addr: *mut c_void, len: usize, prot: i32) -> i32;
    fn munmap(addr: *mut c_void, len: usize) -> i32;
}

/// Readable and writable bytes between two guard areas.
pub struct Arena {
    base: *mut u8,
    len: usize,
}

const GUARD: usize = 1 << 14;

impl Arena {
    /// So many bytes, rounded up to 16 KiB.
    pub fn new(len: usize) -> Self {
        let len = len.next_multiple_of(GUARD);
        // SAFETY: an anonymous private mapping (flags 0x22 on Linux), without rights (0) at first, then read and write (3) inside.
        unsafe {
            let all = mmap(std::ptr::null_mut(), len + 2 * GUARD, 0, 0x22, -1, 0);
            assert_ne!(all as isize, -1, "no memory");
            let base = (all as *mut u8).add(GUARD);
            assert_eq!(mprotect(base as *mut c_void, len, 3), 0);
            Arena { base, len }
        }
    }
    pub fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is readable and writable there, and only `self` uses it.
        unsafe { std::slice::from_raw_parts_mut(self.base, self.len) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped.
        unsafe { munmap(self.base.sub(GUARD) as *mut c_void, self.len + 2 * GUARD) };
    }
}
