//! The thread pool: shares numbered pieces of work among threads.
//!
//! The caller does not wait for other threads to begin. It takes piece after piece itself, and workers take
//! some of the rest as soon as they wake up. A call therefore costs hardly more than on one thread, however
//! late the workers are.
//!
//! Calls come in series, and waking a sleeping thread takes longer than many calls. Workers therefore linger
//! after a job: they poll for new jobs about as long as they worked, and yield their processor to other
//! threads meanwhile.
//!
//! A panic in a piece on a worker aborts the process, since the results of the piece would be missing.

use super::affinity;
use rayon::{ThreadPool, ThreadPoolBuilder};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// The number of polls of a waiting thread before it yields.
const LOOKS: u32 = 30;
/// The bounds of the time that a thread lingers. Between them it is the time that the thread worked.
pub(super) const LINGER: [Duration; 2] = [Duration::from_micros(100), Duration::from_millis(2)];

/// A piece of work by its number.
type Piece<'a> = &'a (dyn Fn(usize) + Sync);

struct Job {
    /// Valid until all pieces are done.
    piece: *const (dyn Fn(usize) + Sync),
    /// The partition of the pieces. Each thread begins with the same section in each job, whose data its
    /// caches may still hold. Afterwards it helps with the others.
    sections: SmallVec<[Section; 4]>,
    pieces: usize,
    done: AtomicUsize,
    caller: Thread,
    /// The processor of the caller.
    place: Option<usize>,
}

// SAFETY: `piece` is `Sync`, and is called only while the caller of `share` waits.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

/// Consecutive pieces, taken from the first one on, or from the last one back.
struct Section {
    begin: usize,
    next: AtomicUsize,
    end: usize,
    backwards: bool,
}

impl Section {
    fn take(&self) -> Option<usize> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.end).then(|| if self.backwards { self.begin + self.end - 1 - number } else { number })
    }

    /// Takes all remaining pieces, and returns their number.
    fn close(&self) -> usize {
        self.end.saturating_sub(self.next.fetch_max(self.end, Ordering::AcqRel))
    }
}

impl Job {
    /// Takes pieces until none is left, those of section `first` first.
    fn work(&self, first: usize) {
        let (before, from) = self.sections.split_at(first % self.sections.len());
        for section in from.iter().chain(before) {
            while let Some(number) = section.take() {
                // Counts the piece even if it panics, since the caller waits for it.
                let _count = Count(self);
                // SAFETY: this piece is not done, so the caller still waits, and the data that it borrows is
                // alive.
                unsafe { (*self.piece)(number) };
            }
        }
    }

    /// Whether no piece is left to take.
    fn is_taken(&self) -> bool {
        self.sections.iter().all(|section| section.next.load(Ordering::Relaxed) >= section.end)
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

/// Waits on drop until all pieces are done, also after a panic.
struct Wait<'a>(&'a Arc<Job>);

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        queue(|queue| queue.close(self.0));
        // After a panic of a piece on this thread, pieces that no thread has begun are skipped.
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

/// Polls a condition for a while, and yields if it does not hold.
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

/// The queue of open jobs, and the counts of workers.
struct JobQueue {
    /// Workers that are awake or were called.
    awake: usize,
    /// The workers among them that have no job.
    idle: usize,
    /// Open jobs, first in, first out, so that no job waits for a later one.
    jobs: VecDeque<Open>,
}

/// A job, and the number of additional threads that it wants.
struct Open {
    job: Arc<Job>,
    wanted: usize,
}

static QUEUE: Mutex<JobQueue> = Mutex::new(JobQueue { awake: 0, idle: 0, jobs: VecDeque::new() });
/// Copies of `jobs.len()` and `idle` that are read without the lock.
static JOBS: AtomicUsize = AtomicUsize::new(0);
static IDLE: AtomicUsize = AtomicUsize::new(0);

/// Changes the queue under its lock, and updates the copies of its counts.
fn queue<T>(change: impl FnOnce(&mut JobQueue) -> T) -> T {
    let mut queue = QUEUE.lock().unwrap_or_else(|e| e.into_inner());
    let result = change(&mut queue);
    JOBS.store(queue.jobs.len(), Ordering::Relaxed);
    IDLE.store(queue.idle, Ordering::Relaxed);
    result
}

impl JobQueue {
    /// Enqueues a job that wants `wanted` of `all` workers. Returns the number of workers to call. Busy
    /// workers take the job later, if it still wants threads then.
    fn open(&mut self, job: &Arc<Job>, wanted: usize, all: usize) -> usize {
        let promised: usize = self.jobs.iter().map(|open| open.wanted).sum();
        let called = wanted.saturating_sub(self.idle.saturating_sub(promised)).min(all - self.awake);
        self.awake += called;
        self.idle += called;
        self.jobs.push_back(Open { job: job.clone(), wanted });
        called
    }

    /// Removes a job from the queue.
    fn close(&mut self, job: &Arc<Job>) {
        self.jobs.retain(|open| !Arc::ptr_eq(&open.job, job));
    }

    /// The next job for an idle worker, if a job has pieces left.
    fn take(&mut self) -> Option<Arc<Job>> {
        while self.jobs.front().is_some_and(|open| open.job.is_taken()) {
            self.jobs.pop_front();
        }
        let open = self.jobs.front_mut()?;
        let job = open.job.clone();
        open.wanted -= 1;
        if open.wanted == 0 {
            self.jobs.pop_front();
        }
        self.idle -= 1;
        Some(job)
    }
}

/// The main function of a worker that was called: runs jobs until none has come for a while.
fn serve() {
    let mut until = Instant::now() + LINGER[0];
    while let Some(job) = linger(until) {
        let begin = Instant::now();
        affinity::leave(job.place);
        job.work(1 + rayon::current_thread_index().unwrap_or(0));
        drop(job);
        let end = Instant::now();
        until = end + (end - begin).clamp(LINGER[0], LINGER[1]);
        queue(|queue| queue.idle += 1);
    }
}

/// Polls for the next job until the deadline. Without a job the worker then goes to sleep.
fn linger(until: Instant) -> Option<Arc<Job>> {
    loop {
        let found = look(|| JOBS.load(Ordering::Relaxed) > 0);
        let late = Instant::now() >= until;
        if found || late {
            let job = queue(|queue| {
                let job = queue.take();
                if job.is_none() && late {
                    queue.awake -= 1;
                    queue.idle -= 1;
                }
                job
            });
            if job.is_some() || late {
                return job;
            }
        }
    }
}

/// The number of workers without a job that are awake, or will soon be.
pub fn idle() -> usize {
    IDLE.load(Ordering::Relaxed)
}

/// The workers; none if the system can't start threads.
fn pool() -> Option<&'static ThreadPool> {
    static POOL: LazyLock<Option<ThreadPool>> = LazyLock::new(|| {
        let others = super::facts().cores.saturating_sub(1).max(1) as usize;
        let named = |n| format!("rewright-{n}");
        ThreadPoolBuilder::new().num_threads(others).thread_name(named).build().ok()
    });
    POOL.as_ref()
}

/// Does all pieces of work, each once, on up to `threads` threads.
pub fn share(threads: usize, pieces: usize, piece: Piece<'_>) {
    share_towards(threads, pieces, false, piece);
}

/// As [`share`]. With `backwards`, each thread takes its own pieces from the last one back.
pub fn share_towards(threads: usize, pieces: usize, backwards: bool, piece: Piece<'_>) {
    let others = threads.min(pieces).saturating_sub(1);
    let Some(pool) = (if others > 0 { pool() } else { None }) else {
        return (0..pieces).for_each(|n| piece(if backwards { pieces - 1 - n } else { n }));
    };
    // SAFETY: only the lifetime changes. `Wait` keeps this function from returning before all pieces are
    // done, and a late worker finds no piece.
    let piece = unsafe { std::mem::transmute::<Piece<'_>, Piece<'static>>(piece) };
    let count = others + 1;
    let section = |n| {
        let (begin, end) = (n * pieces / count, (n + 1) * pieces / count);
        Section { begin, next: AtomicUsize::new(begin), end, backwards }
    };
    let (sections, done) = ((0..count).map(section).collect(), AtomicUsize::new(0));
    let (caller, place) = (std::thread::current(), affinity::here());
    let job = Arc::new(Job { piece, sections, pieces, done, caller, place });
    let all = pool.current_num_threads();
    let called = queue(|queue| queue.open(&job, others.min(all), all));
    let _wait = Wait(&job);
    (0..called).for_each(|_| pool.spawn(serve));
    if called > 0 {
        // Lets a worker that wakes on this processor move to another one.
        std::thread::yield_now();
    }
    job.work(0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_piece_is_done_once() {
        let shapes = [(1, 5), (2, 1), (2, 100), (8, 3), (3, 0)];
        for ((threads, pieces), backwards) in shapes.into_iter().flat_map(|shape| [(shape, false), (shape, true)]) {
            let counts: Vec<AtomicUsize> = (0..pieces).map(|_| AtomicUsize::new(0)).collect();
            share_towards(threads, pieces, backwards, &|n| {
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

    /// A job without pieces.
    fn job() -> Arc<Job> {
        let piece: Piece<'static> = &|_| ();
        let section = Section { begin: 0, next: AtomicUsize::new(0), end: 1, backwards: false };
        let (sections, caller) = (SmallVec::from_iter([section]), std::thread::current());
        Arc::new(Job { piece, sections, pieces: 0, done: AtomicUsize::new(0), caller, place: None })
    }

    #[test]
    fn threads_are_called_once_however_late_they_are() {
        let mut queue = JobQueue { awake: 0, idle: 0, jobs: VecDeque::new() };
        let [first, second, third] = [(); 3].map(|()| job());
        assert_eq!([queue.open(&first, 2, 3), queue.idle], [2, 2]);
        // The queue has promised those two to the first job.
        assert_eq!([queue.open(&second, 2, 3), queue.idle], [1, 3]);
        queue.close(&first);
        for _ in 0..1000 {
            assert_eq!(queue.open(&third, 1, 3), 0);
            queue.close(&third);
        }
        assert_eq!([queue.jobs.len(), queue.awake], [1, 3]);
        // Workers take the jobs in order, and are not idle then.
        queue.open(&third, 3, 3);
        let taken: Vec<Arc<Job>> = (0..3).filter_map(|_| queue.take()).collect();
        assert!(taken.iter().zip([&second, &second, &third]).all(|(taken, job)| Arc::ptr_eq(taken, job)));
        assert_eq!([queue.idle, queue.jobs[0].wanted], [0, 2]);
        // All workers are busy; a worker takes the job when it has finished its own.
        assert_eq!(queue.open(&first, 3, 3), 0);
        queue.close(&third);
        queue.idle += 1;
        assert!(queue.take().is_some_and(|job| Arc::ptr_eq(&job, &first)));
    }

    #[test]
    fn others_help() {
        let threads = Mutex::new(Vec::new());
        let begin = Instant::now();
        share(2, 2, &|_| {
            threads.lock().unwrap().push(std::thread::current().id());
            // Waits until the other piece has begun, which takes a second thread.
            while threads.lock().unwrap().len() < 2 && begin.elapsed() < Duration::from_secs(60) {
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let threads = threads.into_inner().unwrap();
        assert_ne!(threads[0], threads[1]);
    }
}
