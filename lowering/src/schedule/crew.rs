//! Sharing numbered pieces of work among threads.
//!
//! Who calls does not wait for others to begin: it works itself, on piece after piece, and others take of what is left as soon as they wake up. So a call
//! costs hardly more than without them, however late they are.

use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread::Thread;

/// How often the caller looks whether the last pieces are done before it sleeps.
const LOOKS: u32 = 2000;

/// A piece of work by its number.
type Piece<'a> = &'a (dyn Fn(usize) + Sync);

struct Job {
    /// Valid until all pieces are done.
    piece: *const (dyn Fn(usize) + Sync),
    pieces: usize,
    next: AtomicUsize,
    done: AtomicUsize,
    caller: Thread,
}

// SAFETY: `piece` is `Sync`, and is called only while the caller of `share` waits for that.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Job {
    /// Takes pieces until none is left.
    fn work(&self) {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= self.pieces {
                return;
            }
            // Counted even if it panics: somebody waits.
            let _count = Count(self);
            // SAFETY: this piece is not done, so the caller still waits, and what it borrowed is alive.
            unsafe { (*self.piece)(number) };
        }
    }

    fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire) >= self.pieces
    }
}

struct Count<'a>(&'a Job);

impl Drop for Count<'_> {
    fn drop(&mut self) {
        if self.0.done.fetch_add(1, Ordering::AcqRel) + 1 == self.0.pieces {
            self.0.caller.unpark();
        }
    }
}

/// Waits until all pieces are done, come what may.
struct Wait<'a>(&'a Job);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        // After a panic of this thread's piece those that nobody began are not done any more.
        let begun = self.0.next.fetch_max(self.0.pieces, Ordering::AcqRel).min(self.0.pieces);
        self.0.done.fetch_add(self.0.pieces - begun, Ordering::AcqRel);
        for _ in 0..LOOKS {
            if self.0.is_done() {
                return;
            }
            std::hint::spin_loop();
        }
        while !self.0.is_done() {
            std::thread::park();
        }
    }
}

/// The threads besides callers; none if there can't be any.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
        let others = super::facts().cores.saturating_sub(1).max(1) as usize;
        let named = |n| format!("rewright-{n}");
        ThreadPoolBuilder::new().num_threads(others).thread_name(named).build().ok()
    });
    POOL.as_ref()
}

/// Does all pieces of work, each once, on up to so many threads.
pub fn share(threads: usize, pieces: usize, piece: Piece<'_>) {
    let others = threads.min(pieces).saturating_sub(1);
    let Some(pool) = pool().filter(|_| others > 0) else { return (0..pieces).for_each(piece) };
    // SAFETY: only the lifetime changes. `Wait` keeps this function from ending before all pieces are done, and who comes later finds no piece.
    let piece = unsafe { std::mem::transmute::<Piece<'_>, Piece<'static>>(piece) };
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let job = Arc::new(Job { piece, pieces, next, done, caller: std::thread::current() });
    for _ in 0..others.min(pool.current_num_threads()) {
        let job = job.clone();
        pool.spawn(move || job.work());
    }
    let _wait = Wait(&job);
    job.work();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_piece_is_done_once() {
        for (threads, pieces) in [(1, 5), (2, 1), (2, 100), (8, 3), (3, 0)] {
            let counts: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
            share(threads, pieces, &|n| {
                counts[n].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1), "{threads} {pieces}");
        }
    }

    #[test]
    fn jobs_within_jobs_and_beside_each_other_end() {
        let done = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        share(4, 7, &|_| {
                            share(2, 3, &|_| {
                                done.fetch_add(1, Ordering::Relaxed);
                            })
                        });
                    }
                });
            }
        });
        assert_eq!(done.into_inner(), 4 * 50 * 7 * 3);
    }

    #[test]
    fn others_help() {
        let threads = Mutex::new(Vec::new());
        share(2, 2, &|_| {
            threads.lock().unwrap().push(std::thread::current().id());
            std::thread::sleep(std::time::Duration::from_millis(200));
        });
        let threads = threads.into_inner().unwrap();
        assert_ne!(threads[0], threads[1]);
    }
}
