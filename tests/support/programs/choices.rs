//! Choices decoded from bytes.

/// A sequence of choices. After the last byte every choice is the first alternative, which is the
/// simplest.
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

    /// True with probability 1 / `n`.
    pub fn one_in(&mut self, n: usize) -> bool {
        n > 0 && self.below(n) == n - 1
    }

    /// An element of a list, which must not be empty.
    pub fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// An element of a list, most often one of the last; `None` if the list is empty.
    pub fn late<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        let n = list.len();
        let back = if self.one_in(3) { self.below(n) } else { self.below(n.min(3)) };
        list.get(n.checked_sub(1 + back)?).copied()
    }
}
