//! Which processor a thread is on.
//!
//! A system may wake a thread up on the processor of who woke it, while another one is idle, and think better of it only some milliseconds later: on few
//! processors that is not rare. Threads that share work look after that themselves.

/// The processor that this thread is on at the moment, where the system tells.
pub fn here() -> Option<usize> {
    #[cfg(target_os = "linux")]
    // SAFETY: no arguments.
    return usize::try_from(unsafe { libc::sched_getcpu() }).ok();
    #[cfg(not(target_os = "linux"))]
    None
}

/// Goes to another processor than this one, if the thread is on it and may be on others.
pub fn leave(processor: Option<usize>) {
    if processor.is_none() || processor != here() {
        return;
    }
    #[cfg(target_os = "linux")]
    if let Some(processor) = processor {
        // SAFETY: all zero is the empty set.
        let mut allowed: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        let size = size_of_val(&allowed);
        // SAFETY: of this thread, into a set of this size, which has a bit for `processor` if it has one for each processor there is.
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
                // None of those is left to this process by now: the system leaves out of all processors what may not be used.
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
                // It may be sent back at any time, but not each time.
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
