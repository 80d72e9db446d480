//! Streaming stores: elements of a large result go to memory past the caches, which have no room for them
//! until they are read again. So the caches keep what they have, and no line is read before it is written.

use super::walk::each_access;
use super::{Program, Storage};

impl Program {
    /// Marks buffers of the caller that are streamed. Those that the program reads are not.
    pub fn stream(&mut self, buffers: impl Iterator<Item = u32>) {
        let mut read = vec![false; self.buffers.len()];
        each_access(&self.body, &mut |buffer, _, is_written| read[buffer as usize] |= !is_written);
        for buffer in buffers.map(|buffer| buffer as usize) {
            if let Storage::Caller { streamed, .. } = &mut self.buffers[buffer].storage {
                *streamed = !read[buffer];
            }
        }
    }
}
