//! Copies of rows past the caches.

use std::ptr::copy_nonoverlapping;

/// The least bytes of a row to stream: a streaming store of less than a cache line takes longer, and both
/// ends of a row may be such.
pub const LEAST_STREAMED: usize = 512;

/// The bytes of a cache line.
const LINE: usize = 64;

/// Copies a row past the caches, as far as it fills cache lines. Another thread sees the row after a
/// [`fence`](crate::kernel::fence).
///
/// # Safety
/// `bytes` bytes at `from` are valid to read, and as many at `to` to write. They do not overlap.
pub unsafe fn stream_row(from: *const u8, to: *mut u8, bytes: usize) {
    let head = to.align_offset(LINE).min(bytes);
    let lines = (bytes - head) / LINE;
    let tail = head + lines * LINE;
    // SAFETY: the parts make up the row. Lines of the target are aligned.
    unsafe {
        copy_nonoverlapping(from, to, head);
        for line in 0..lines {
            let at = head + line * LINE;
            stream_line(from.add(at), to.add(at));
        }
        copy_nonoverlapping(from.add(tail), to.add(tail), bytes - tail);
    }
}

/// # Safety
/// As [`stream_row`], for a cache line. `to` is the start of a line.
#[cfg(target_arch = "x86_64")]
unsafe fn stream_line(from: *const u8, to: *mut u8) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    let (from, to) = (from.cast::<__m128i>(), to.cast::<__m128i>());
    // SAFETY: the parts of the line are valid, and those of the target are aligned. All processors of this
    // architecture have the instructions.
    unsafe {
        let parts: [__m128i; 4] = std::array::from_fn(|part| _mm_loadu_si128(from.add(part)));
        parts.into_iter().enumerate().for_each(|(part, value)| _mm_stream_si128(to.add(part), value));
    }
}

/// # Safety
/// As [`stream_row`], for a cache line.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn stream_line(from: *const u8, to: *mut u8) {
    // SAFETY: passed on.
    unsafe { copy_nonoverlapping(from, to, LINE) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_size_and_place_are_copied() {
        let source: Vec<u8> = (0..3000u32).map(|n| (n % 251) as u8).collect();
        for bytes in (0..200).chain([1023, 1024, 1025, 2048, 2500]) {
            for (from, to) in [(0, 0), (1, 7), (63, 64), (8, 56)] {
                let mut target = vec![255; 3000];
                assert!(from + bytes <= source.len() && to + bytes <= target.len());
                // SAFETY: the rows are inside of the buffers.
                unsafe { stream_row(source[from..].as_ptr(), target[to..].as_mut_ptr(), bytes) };
                crate::kernel::fence();
                assert_eq!(target[to..to + bytes], source[from..from + bytes]);
                assert!(target[..to].iter().chain(&target[to + bytes..]).all(|&byte| byte == 255), "{bytes}");
            }
        }
    }
}
