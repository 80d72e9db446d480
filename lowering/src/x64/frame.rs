//! The stack frame of a call, with offsets from the stack pointer.

/// Allocates places in the frame.
#[derive(Default)]
pub struct Frame {
    end: u32,
}

impl Frame {
    /// Allocates `bytes` bytes, aligned to 64 from 16 bytes on, else to 8.
    pub fn place(&mut self, bytes: usize) -> u32 {
        let align = if bytes >= 16 { 64 } else { 8 };
        let at = self.end.next_multiple_of(align);
        self.end = at + bytes as u32;
        at
    }
    /// Allocates `count` 64-bit words.
    pub fn words(&mut self, count: usize) -> Vec<u32> {
        (0..count).map(|_| self.place(8)).collect()
    }
    /// The size of the frame so far.
    pub fn size(&self) -> u32 {
        self.end.next_multiple_of(64)
    }
}
