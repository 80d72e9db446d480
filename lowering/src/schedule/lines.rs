//! Memory for kernels that begins at a cache line, so that a vector in it is in one line.

/// The bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// Initialized memory whose contents nobody needs any more when it grows.
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

    /// Makes it so many bytes at least. With debug assertions they hold what is no number that a test expects, so that it is seen when something is
    /// read that nobody has written.
    pub fn grow(&mut self, bytes: usize) {
        // One line more: the first one begins somewhere in it.
        let words = (bytes.next_multiple_of(LINE) + LINE) / size_of::<u64>();
        if self.words.len() < words {
            self.words = vec![0; words];
        }
        if cfg!(debug_assertions) {
            self.words.fill(0xA5A5_A5A5_A5A5_A5A5);
        }
    }

    /// The bytes there are.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>() - LINE
    }

    /// The first byte, at a cache line.
    pub fn begin(&mut self) -> *mut u8 {
        let words = self.words.as_mut_ptr().cast::<u8>();
        words.wrapping_add(words.addr().wrapping_neg() % LINE)
    }
}
