//! Processor affinity of worker threads.
//!
//! An operating system may wake a worker on the processor of the thread that woke it, although another
//! processor is idle. It moves the worker only some milliseconds later; on machines with few processors this
//! is common. Workers therefore leave the caller's processor themselves.

/// The processor on which this thread runs at the moment, where the system provides it.
pub fn here() -> Option<usize> {
    #[cfg(target_os = "linux")]
    // SAFETY: no arguments.
    return usize::try_from(unsafe { libc::sched_getcpu() }).ok();
    #[cfg(not(target_os = "linux"))]
    None
}

/// Moves this thread off `processor`, if it runs there and its affinity mask allows other processors.
pub fn leave(processor: Option<usize>) {
    if processor.is_none() || processor != here() {
        return;
    }
    #[cfg(target_os = "linux")]
    if let Some(processor) = processor {
        // SAFETY: all zeros is the empty set.
        let mut allowed: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        let size = size_of_val(&allowed);
        // SAFETY: the calls concern this thread and a set of the size that they are given. `processor` is
        // less than the number of bits of the set.
        unsafe {
            if libc::sched_getaffinity(0, size, &mut allowed) != 0 || processor >= 8 * size {
                return;
            }
            let mut others = allowed;
            libc::CPU_CLR(processor, &mut others);
            if libc::CPU_COUNT(&others) > 0
                && libc::sched_setaffinity(0, size, &others) == 0
                && libc::sched_setaffinity(0, size, &allowed) != 0
            {
                // The system has meanwhile withdrawn every processor of the old mask from this process.
                // Allow all processors; the system removes those that are not available.
                libc::memset((&raw mut allowed).cast(), 0xff, size);
                libc::sched_setaffinity(0, size, &allowed);
            }
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_leaves_is_elsewhere_and_may_come_back() {
        std::thread::spawn(|| {
            let allowed = || {
                // SAFETY: as in `leave`.
                unsafe {
                    let mut allowed: libc::cpu_set_t = std::mem::zeroed();
                    assert_eq!(libc::sched_getaffinity(0, size_of_val(&allowed), &mut allowed), 0);
                    libc::CPU_COUNT(&allowed)
                }
            };
            let (before, processors) = (here(), allowed());
            assert!(before.is_some());
            leave(before);
            assert_eq!(allowed(), processors);
            if processors > 1 {
                // The system may move the thread back at any time, but not every time.
                let left = |_| {
                    let before = here();
                    leave(before);
                    here() != before
                };
                assert!((0..100).any(left));
            }
            assert_eq!(allowed(), processors);
        })
        .join()
        .unwrap();
    }
}
