//! Choices decoded from bytes.

/// A list of choices. When the bytes run out every choice is the first, which is the simplest.
pub struct Choices<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Choices<'a> {
    /// Choices from bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Choices { bytes, at: 0 }
    }

    fn byte(&mut self) -> usize {
        self.at += 1;
        self.bytes.get(self.at - 1).copied().unwrap_or(0).into()
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        let number = if n > 256 { self.byte() * 256 + self.byte() } else { self.byte() };
        number % n.max(1)
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        n > 0 && self.below(n) == n - 1
    }

    /// One of a list that is not empty.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// One of a list, most often one of the last; none of an empty one.
    pub fn late<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        let n = list.len();
        let back = if self.one_in(3) { self.below(n) } else { self.below(n.min(3)) };
        list.get(n.checked_sub(1 + back)?).copied()
    }
}
