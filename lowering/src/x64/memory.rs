//! Memory for code: writable first, then readable and executable, never both.

use memmap2::{Mmap, MmapMut};
use std::io;

/// Pages with constants and code.
pub struct CodeMemory {
    map: Mmap,
}

impl CodeMemory {
    /// New pages with these bytes, executable and not writable.
    pub fn new(bytes: &[u8]) -> io::Result<CodeMemory> {
        let mut map = MmapMut::map_anon(bytes.len().max(1))?;
        map[..bytes.len()].copy_from_slice(bytes);
        Ok(CodeMemory { map: map.make_exec()? })
    }
    /// The bytes of the pages.
    pub fn bytes(&self) -> &[u8] {
        &self.map
    }
}
