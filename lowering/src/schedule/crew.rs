//! Sharing numbered pieces of work among threads.
//!
//! Who calls does not wait for others to begin: it works itself, on piece after piece, and others take of what is left as soon as they wake up. So a call
//! costs hardly more than without them, however late they are.
//!
//! Calls come in series, and a thread that sleeps is late for the next one by more than many of them take. So the others linger when their work is done:
//! they look for more, about as long as they worked, and let whoever wants to run have their processor.

use super::place;
use rayon::{ThreadPool, ThreadPoolBuilder};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// How often somebody who waits looks before it lets others run.
const LOOKS: u32 = 30;
/// A series of calls that took so long is likely to go on for as long as waking up takes.
const SERIES_NANOS: u64 = 500_000;
/// Threads linger as long as they worked, but no shorter and no longer than this.
const LINGER: [Duration; 2] = [Duration::from_micros(100), Duration::from_millis(2)];

/// A piece of work by its number.
type Piece<'a> = &'a (dyn Fn(usize) + Sync);

struct Job {
    /// Valid until all pieces are done.
    piece: *const (dyn Fn(usize) + Sync),
    /// A thread begins with a section of the pieces, always the same one, which its caches may still hold, and helps with the others then.
    sections: SmallVec<[Section; 4]>,
    pieces: usize,
    done: AtomicUsize,
    caller: Thread,
    /// Where the caller is.
    place: Option<usize>,
}

// SAFETY: `piece` is `Sync`, and is called only while the caller of `share` waits for that.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

/// Pieces from one that nobody took to an end.
struct Section {
    next: AtomicUsize,
    end: usize,
}

impl Section {
    fn take(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.end).then_some(number)
    }

    /// Takes all that are left; how many these are.
    fn close(&self) -> usize {
        self.end.saturating_sub(self.next.fetch_max(self.end, Ordering::AcqRel))
    }
}

impl Job {
    /// Takes pieces, those of one section first, until none is left.
    fn work(&self, first: usize) {
        let (before, from) = self.sections.split_at(first % self.sections.len());
        for section in from.iter().chain(before) {
            while let Some(number) = section.take() {
                // Counted even if it panics: somebody waits.
                let _count = Count(self);
                // SAFETY: this piece is not done, so the caller still waits, and what it borrowed is alive.
                unsafe { (*self.piece)(number) };
            }
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
        let left = self.0.sections.iter().map(Section::close).sum();
        self.0.done.fetch_add(left, Ordering::AcqRel);
        let until = Instant::now() + LINGER[0];
        while !look(|| self.0.is_done()) {
            if Instant::now() > until {
                std::thread::park();
            }
        }
    }
}

/// Looks for a while whether something is so, and lets others run if not.
fn look(is_so: impl Fn() -> bool) -> bool {
    for _ in 0..LOOKS {
        if is_so() {
            return true;
        }
        std::hint::spin_loop();
    }
    std::thread::yield_now();
    is_so()
}

/// Threads that are awake, and jobs for them.
struct Lobby {
    /// How many there are; no fewer than jobs. Who is still busy takes the next one soon.
    awake: usize,
    /// In the order in which they came, so that none waits for those after it.
    jobs: VecDeque<Arc<Job>>,
}

static LOBBY: Mutex<Lobby> = Mutex::new(Lobby { awake: 0, jobs: VecDeque::new() });
/// How many jobs are in the lobby, to look at without a lock.
static JOBS: AtomicUsize = AtomicUsize::new(0);

fn lobby() -> MutexGuard<'static, Lobby> {
    LOBBY.lock().unwrap_or_else(|e| e.into_inner())
}

impl Lobby {
    /// Gives a job to so many threads, or to fewer if no more are awake; how many these are.
    fn give(&mut self, job: &Arc<Job>, threads: usize) -> usize {
        let given = threads.min(self.awake - self.jobs.len());
        self.jobs.extend(std::iter::repeat_n(job, given).cloned());
        JOBS.store(self.jobs.len(), Ordering::Relaxed);
        given
    }

    fn take(&mut self) -> Option<Arc<Job>> {
        let job = self.jobs.pop_front();
        JOBS.store(self.jobs.len(), Ordering::Relaxed);
        job
    }
}

/// Does a job, and others that there are soon after.
fn serve(first: Arc<Job>) {
    lobby().awake += 1;
    let mut next = Some(first);
    while let Some(job) = next {
        let begin = Instant::now();
        place::leave(job.place);
        job.work(1 + rayon::current_thread_index().unwrap_or(0));
        drop(job);
        let end = Instant::now();
        let until = end + (end - begin).clamp(LINGER[0], LINGER[1]);
        next = linger(until);
    }
}

/// The next job, if there is one before that time; otherwise this thread goes to sleep.
fn linger(until: Instant) -> Option<Arc<Job>> {
    loop {
        let found = look(|| JOBS.load(Ordering::Relaxed) > 0);
        let late = Instant::now() >= until;
        if found || late {
            let mut lobby = lobby();
            let job = lobby.take();
            if job.is_some() {
                return job;
            }
            if late {
                lobby.awake -= 1;
                return None;
            }
        }
    }
}

/// True if other threads are awake, or are worth waking up for the series of calls which this one, of so many nanoseconds, is in.
pub fn are_awake(nanos: f64) -> bool {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    /// When the latest call began, in microseconds, and what the series took until then, in nanoseconds.
    static LATEST: AtomicU64 = AtomicU64::new(0);
    static SERIES: AtomicU64 = AtomicU64::new(0);
    if lobby().awake > 0 {
        return true;
    }
    let now = FIRST.elapsed().as_micros() as u64;
    let ended = now.saturating_sub(LATEST.swap(now, Ordering::Relaxed)) > LINGER[0].as_micros() as u64;
    let series = nanos as u64 + if ended { 0 } else { SERIES.load(Ordering::Relaxed) };
    let long = series >= SERIES_NANOS;
    SERIES.store(if long { 0 } else { series }, Ordering::Relaxed);
    long
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
    let Some(pool) = (if others > 0 { pool() } else { None }) else { return (0..pieces).for_each(piece) };
    // SAFETY: only the lifetime changes. `Wait` keeps this function from ending before all pieces are done, and who comes later finds no piece.
    let piece = unsafe { std::mem::transmute::<Piece<'_>, Piece<'static>>(piece) };
    let count = others + 1;
    let section = |n| Section { next: AtomicUsize::new(n * pieces / count), end: (n + 1) * pieces / count };
    let (sections, done) = ((0..count).map(section).collect(), AtomicUsize::new(0));
    let (caller, place) = (std::thread::current(), place::here());
    let job = Arc::new(Job { piece, sections, pieces, done, caller, place });
    let others = others.min(pool.current_num_threads());
    let given = lobby().give(&job, others);
    for _ in given..others {
        let job = job.clone();
        pool.spawn(move || serve(job));
    }
    if given < others {
        // Who wakes up here goes elsewhere.
        std::thread::yield_now();
    }
    let _wait = Wait(&job);
    job.work(0);
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
        let begin = Instant::now();
        share(2, 2, &|_| {
            threads.lock().unwrap().push(std::thread::current().id());
            // Until the other piece is begun, which takes another thread.
            while threads.lock().unwrap().len() < 2 && begin.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let threads = threads.into_inner().unwrap();
        assert_ne!(threads[0], threads[1]);
    }
}
