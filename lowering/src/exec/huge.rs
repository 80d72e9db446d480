//! Huge pages.

/// From so many bytes on blocks have them.
const LARGE: usize = 2 << 20;

/// Asks the system for huge pages behind memory of 2 MiB or more that nothing was written to yet, such as
/// [`Vec::spare_capacity_mut`] has: taking a fault for every small page costs more than computing what is written to it, and reading from so
/// many pages is slower. Results of calls are in such memory. Where the system has none of this, nothing happens.
pub fn prefer_huge_pages<T>(memory: &mut [std::mem::MaybeUninit<T>]) {
    prefer(memory.as_ptr().addr(), size_of_val(memory));
}

/// The same for a block that begins at an address.
#[cfg(target_os = "linux")]
pub(super) fn prefer(start: usize, bytes: usize) {
    if bytes < LARGE {
        return;
    }
    // SAFETY: this only asks for a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(LARGE);
    // The first page too, which the allocator has its notes in: what is asked for may not begin inside of a huge page.
    let first = start / page * page;
    let end = (start + bytes) / page * page;
    // SAFETY: such advice does not change what any memory holds. Where it is refused nothing happens.
    unsafe { libc::madvise(std::ptr::without_provenance_mut(first), end.saturating_sub(first), libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
pub(super) fn prefer(_: usize, _: usize) {}
