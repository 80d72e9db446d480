//! Memory that is asked for while something else is done.
//!
//! A tile is as wide as a few cache lines, and its next row is far away: the processor, which foresees long rows by itself, waits for the beginning
//! of each. Operands that lie straight are read only after those that lie across were turned, and turning waits for memory anyway: so it asks for
//! theirs on the way, some lines with each square, and the second-level cache has them when the kernel comes.

use super::lines::LINE;
use smallvec::SmallVec;

/// The rows of a tile in one buffer.
#[derive(Clone, Copy)]
struct Rows {
    begin: *const u8,
    step: isize,
    count: usize,
    lines: usize,
}

/// What is still to be asked for, and how much of it at once.
#[derive(Default)]
pub struct Ahead {
    rest: SmallVec<[Rows; 4]>,
    line: usize,
    each: usize,
}

impl Ahead {
    /// So many rows of so many bytes as well, `step` bytes apart.
    pub fn add(&mut self, begin: *const u8, step: isize, count: usize, bytes: usize) {
        if count > 0 && bytes > 0 {
            self.rest.push(Rows { begin, step, count, lines: bytes.div_ceil(LINE) });
        }
    }
    /// Shares out all of it among so many squares.
    pub fn share(&mut self, squares: usize) {
        let lines: usize = self.rest.iter().map(|rows| rows.count * rows.lines).sum();
        self.each = lines.div_ceil(squares.max(1));
    }
    /// Asks for one square's share. Line by line, each with a look where the row ends: in a burst without it they leave no room for what
    /// is waited for, and the whole took 1.12 times as long.
    #[inline]
    pub fn ask(&mut self) {
        for _ in 0..self.each {
            let Some(line) = self.next() else { return };
            fetch(line);
        }
    }
    /// The next line.
    #[inline]
    fn next(&mut self) -> Option<*const u8> {
        let rows = self.rest.last_mut()?;
        let line = rows.begin.wrapping_add(self.line * LINE);
        self.line += 1;
        if self.line == rows.lines {
            self.line = 0;
            rows.begin = rows.begin.wrapping_offset(rows.step);
            rows.count -= 1;
            if rows.count == 0 {
                self.rest.pop();
            }
        }
        Some(line)
    }
}

/// Asks for a cache line, which need not be there.
#[inline]
fn fetch(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has SSE, and asking for what is not there does nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(line.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = line;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_asked_for_once() {
        let none = std::ptr::null::<u8>();
        let mut ahead = Ahead::default();
        ahead.add(none, 0, 0, 64);
        ahead.add(none, 1000, 2, 130);
        ahead.add(none.wrapping_add(5000), -256, 3, 64);
        ahead.share(4);
        let lines: Vec<usize> = std::iter::from_fn(|| ahead.next()).map(|line| line.addr()).collect();
        assert_eq!(lines, [5000, 4744, 4488, 0, 64, 128, 1000, 1064, 1128]);
        assert_eq!(ahead.each, 3);
    }
}
