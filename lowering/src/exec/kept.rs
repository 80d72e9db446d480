//! Memory that outlives calls: blocks of dropped results and of temporaries, for later calls.

use super::buffers::{LINE, RawBuffer, block_bytes, suits};
use super::small::is_like;
use rewright_ir::{Array, DType, with_array, with_dtype};
use smallvec::SmallVec;
use std::alloc::Layout;
use std::sync::{Mutex, MutexGuard};

/// The unused memory of an executable.
#[derive(Debug)]
pub struct Kept {
    /// The upper bound in bytes.
    most: u64,
    store: Mutex<Store>,
}

/// The kept blocks, the oldest first.
#[derive(Debug, Default)]
struct Store {
    entries: Vec<Entry>,
    bytes: u64,
}

/// A block of memory.
#[derive(Debug)]
enum Entry {
    /// The block of a result, which a result of the same dtype, shape and strides can overwrite.
    Whole(Array),
    /// Any other block.
    Block(RawBuffer),
}

/// The most blocks that are kept, to bound the time of a search.
const MOST_BLOCKS: usize = 64;

/// Evicted blocks, which are dropped after the lock is released.
type Evicted = SmallVec<[Entry; 2]>;

impl Kept {
    /// Keeps at most this number of bytes.
    pub fn new(most: u64) -> Kept {
        Kept { most, store: Mutex::default() }
    }

    /// An array of this dtype, shape and strides (in bytes), which no other value shares.
    pub fn array(&self, dtype: DType, shape: &[usize], strides: &[isize]) -> Option<Array> {
        let mut store = self.store();
        let same = |entry: &Entry| matches!(entry, Entry::Whole(array) if is_like(array, dtype, shape, strides));
        // The latest block first, since it is the likeliest to be in the caches.
        let at = store.entries.iter().rposition(same)?;
        match store.remove(at) {
            Entry::Whole(array) => Some(array),
            Entry::Block(_) => None,
        }
    }

    /// A block that has room for elements of this layout, of `size` bytes each.
    pub fn block(&self, layout: Layout, size: usize) -> Option<RawBuffer> {
        let mut store = self.store();
        let suits = |entry: &Entry| match entry {
            Entry::Whole(array) => whole_suits(array, layout, size),
            Entry::Block(block) => block.suits(layout, size),
        };
        let at = store.entries.iter().rposition(suits)?;
        let entry = store.remove(at);
        drop(store);
        match entry {
            Entry::Whole(array) => RawBuffer::of(array),
            Entry::Block(block) => Some(block),
        }
    }

    /// Keeps the block of an unshared result. The elements of the result fill the block.
    pub fn keep_array(&self, array: Array) {
        if with_array!(&array, |a| a.is_unique()) {
            self.keep(Entry::Whole(array));
        }
    }

    /// Keeps a block.
    pub fn keep_block(&self, block: RawBuffer) {
        self.keep(Entry::Block(block));
    }

    /// The number of bytes that are kept.
    pub fn bytes(&self) -> u64 {
        self.store().bytes
    }

    /// Frees all blocks.
    pub fn clear(&self) {
        let all = std::mem::take(&mut *self.store());
        drop(all);
    }

    /// Keeps a block, and evicts the oldest blocks to make room.
    fn keep(&self, entry: Entry) {
        let bytes = entry.bytes();
        if bytes == 0 || bytes > self.most {
            return;
        }
        let mut evicted = Evicted::new();
        let mut store = self.store();
        while store.bytes > self.most - bytes || store.entries.len() >= MOST_BLOCKS {
            evicted.push(store.remove(0));
        }
        store.bytes += bytes;
        store.entries.push(entry);
        drop(store);
        drop(evicted);
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(|e| e.into_inner())
    }
}

impl Store {
    fn remove(&mut self, at: usize) -> Entry {
        let entry = self.entries.remove(at);
        self.bytes -= entry.bytes();
        entry
    }
}

impl Entry {
    fn bytes(&self) -> u64 {
        match self {
            Entry::Whole(array) => whole_bytes(array) as u64,
            Entry::Block(block) => block.bytes() as u64,
        }
    }
}

/// The bytes of the block of an array whose elements fill the block.
fn whole_bytes(array: &Array) -> usize {
    block_bytes(array.len() * array.dtype().size())
}

/// Whether other elements fit in the block of such an array.
fn whole_suits(array: &Array, layout: Layout, size: usize) -> bool {
    let align = with_dtype!(array.dtype(), T => align_of::<T>());
    let bytes = whole_bytes(array);
    suits(bytes, bytes.min(LINE), align, layout, size)
}
