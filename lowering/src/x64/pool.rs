//! Constants of a kernel's code. They are in the same pages, before the code.

use super::machine::{Origin, Width};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The bytes of all constants, each once.
#[derive(Default)]
pub struct Pool {
    bytes: Vec<u8>,
    known: FxHashMap<SmallVec<[u8; 16]>, u32>,
}

impl Pool {
    /// An element that all lanes repeat. Where instructions can't repeat elements of memory themselves, all lanes are in the pool.
    pub fn repeated(&mut self, bits: u64, size: usize, width: Width, evex: bool) -> Origin {
        let element = &bits.to_le_bytes()[..size];
        if evex && size >= 4 {
            return Origin::Pool { offset: self.place(element), element: size as u8 };
        }
        self.whole(&element.repeat(width.bytes() / size))
    }
    /// A vector by its bytes, or a mask by its 8.
    pub fn whole(&mut self, bytes: &[u8]) -> Origin {
        Origin::Pool { offset: self.place(bytes), element: 0 }
    }
    /// How far into the pool these bytes are, a power of two of them.
    pub fn place(&mut self, bytes: &[u8]) -> u32 {
        if let Some(&known) = self.known.get(bytes) {
            return known;
        }
        // Sizes are powers of two: what is aligned to its size is in one cache line.
        self.bytes.resize(self.bytes.len().next_multiple_of(bytes.len()), 0);
        let offset = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        self.known.insert(SmallVec::from_slice(bytes), offset);
        offset
    }
    /// All of it.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
