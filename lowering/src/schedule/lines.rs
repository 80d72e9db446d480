//! Scratch memory aligned to cache lines, so that no aligned vector crosses a line.

/// The bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Initialized memory. Growing it discards the contents.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    words: Vec<u64>,
}

impl Lines {
    pub fn new(bytes: usize) -> Lines {
        let mut lines = Lines::default();
        lines.grow(bytes);
        lines
    }

    /// Grows the memory to at least `bytes` bytes. With debug assertions it is filled with a pattern that no
    /// test expects, to expose reads of elements that were not written.
    pub fn grow(&mut self, bytes: usize) {
        // One more line, since the allocation may begin inside of a line.
        let words = (bytes.next_multiple_of(LINE) + LINE) / size_of::<u64>();
        if self.words.len() < words {
            self.words = vec![0; words];
        }
        if cfg!(debug_assertions) {
            self.words.fill(0xA5A5_A5A5_A5A5_A5A5);
        }
    }

    /// The usable bytes.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>() - LINE
    }

    /// The first byte, aligned to a cache line.
    pub fn begin(&mut self) -> *mut u8 {
        let words = self.words.as_mut_ptr().cast::<u8>();
        words.wrapping_add(words.addr().wrapping_neg() % LINE)
    }
}
