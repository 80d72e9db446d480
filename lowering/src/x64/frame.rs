//! The places of a call's frame, counted from the stack pointer.

/// Hands out places.
#[derive(Default)]
pub struct Frame {
    end: u32,
}

impl Frame {
    /// Room for so many bytes, aligned to 8, or to 64 if it is a vector's.
    pub fn place(&mut self, bytes: usize) -> u32 {
        let align = if bytes >= 16 { 64 } else { 8 };
        let at = self.end.next_multiple_of(align);
        self.end = at + bytes as u32;
        at
    }
    /// A 64-bit word for each of so many.
    pub fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.place(8)).collect()
    }
    /// All bytes so far.
    pub fn size(&self) -> u32 {
        self.end.next_multiple_of(64)
    }
}
