//! Scratch memory of calls. Each thread keeps its memory from one call to the next, since fresh memory costs
//! a page fault for each page.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;

/// Memory that is not initialized.
struct Memory {
    start: *mut u8,
    layout: Layout,
}

impl Memory {
    fn new(layout: Layout) -> Memory {
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Memory { start, layout }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.start, self.layout) }
    }
}

thread_local! {
    static KEPT: Cell<Option<Memory>> = const { Cell::new(None) };
}

/// Calls `f` with the address of memory of this layout. Calls may be nested.
pub fn with_scratch<T>(layout: Layout, f: impl FnOnce(*mut u8) -> T) -> T {
    if layout.size() == 0 {
        return f(std::ptr::without_provenance_mut(layout.align()));
    }
    let fits = |memory: &Memory| memory.layout.size() >= layout.size() && memory.layout.align() >= layout.align();
    // A nested call finds nothing here, and takes memory of its own.
    let memory = KEPT.take().filter(fits).unwrap_or_else(|| Memory::new(layout));
    let result = f(memory.start);
    KEPT.set(Some(memory));
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_calls_have_memory_of_their_own() {
        let layout = |bytes| Layout::from_size_align(bytes, 64).unwrap();
        let first = with_scratch(layout(1000), |outer| {
            let inner = with_scratch(layout(100), |inner| inner);
            assert_ne!(outer, inner);
            assert_eq!(outer.align_offset(64), 0);
            outer
        });
        // The memory of the outer call is kept.
        with_scratch(layout(1000), |again| assert_eq!(first, again));
        with_scratch(layout(0), |_| ());
    }
}
