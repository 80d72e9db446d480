//! Huge pages for large blocks.

/// The least bytes of a block with huge pages.
const LARGE: usize = 2 << 20;

/// Requests huge pages for memory of 2 MiB or more that was not written yet, such as
/// [`Vec::spare_capacity_mut`]. A page fault for each small page costs more than computing its elements, and
/// reading through many small pages is slower. Results of calls are in such memory. Systems without huge
/// pages ignore the request.
pub fn prefer_huge_pages<T>(memory: &mut [std::mem::MaybeUninit<T>]) {
    prefer(memory.as_ptr().addr(), size_of_val(memory));
}

/// As [`prefer_huge_pages`], for a block that begins at an address.
#[cfg(target_os = "linux")]
pub(super) fn prefer(start: usize, bytes: usize) {
    if bytes < LARGE {
        return;
    }
    // SAFETY: the call only returns a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(LARGE);
    // Include the first page, which has the allocator's header: the range must begin at a page boundary.
    let first = start / page * page;
    let end = (start + bytes) / page * page;
    // SAFETY: the advice does not change the content of memory. If the system refuses it, nothing happens.
    unsafe { libc::madvise(std::ptr::without_provenance_mut(first), end.saturating_sub(first), libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
pub(super) fn prefer(_: usize, _: usize) {}
