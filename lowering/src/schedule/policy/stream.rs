//! Results that are streamed: the last-level cache, which other processes use, too, would evict them before
//! they are read again.

use super::super::Facts;

/// True if results are written past the caches, for this many bytes of all arrays. Less are worth it if the
/// memory of the results was written before.
pub fn exceeds_caches(facts: &Facts, bytes: u64, was_written: bool) -> bool {
    bytes > facts.last_level / if was_written { 3 } else { 1 }
}

/// The bytes that a gather accesses. It reads of an operand no more than about as much as it writes.
pub fn bytes_of_gather(written: u64, operands: impl Iterator<Item = u64>) -> u64 {
    operands.map(|bytes| bytes.min(written)).fold(written, u64::saturating_add)
}
