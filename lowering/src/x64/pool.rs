//! The constant pool of a kernel. It is in the same pages as the code, before it.

use super::machine::{Origin, Width};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The bytes of all constants, each stored once.
#[derive(Default)]
pub struct Pool {
    bytes: Vec<u8>,
    known: FxHashMap<SmallVec<[u8; 16]>, u32>,
}

impl Pool {
    /// An element that is broadcast to all lanes. If instructions can't broadcast it from memory, the pool
    /// holds all lanes.
    pub fn repeated(&mut self, bits: u64, size: usize, width: Width, evex: bool) -> Origin {
        let element = &bits.to_le_bytes()[..size];
        if evex && size >= 4 {
            return Origin::Pool { offset: self.place(element), element: size as u8 };
        }
        self.whole(&element.repeat(width.bytes() / size))
    }
    /// A vector by its bytes, or a mask by its 8 bytes.
    pub fn whole(&mut self, bytes: &[u8]) -> Origin {
        Origin::Pool { offset: self.place(bytes), element: 0 }
    }
    /// The offset of these bytes in the pool; their number is a power of two.
    pub fn place(&mut self, bytes: &[u8]) -> u32 {
        if let Some(&known) = self.known.get(bytes) {
            return known;
        }
        // Sizes are powers of two: a constant that is aligned to its size is in one cache line.
        self.bytes.resize(self.bytes.len().next_multiple_of(bytes.len()), 0);
        let offset = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        self.known.insert(SmallVec::from_slice(bytes), offset);
        offset
    }
    /// The bytes of the pool.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
