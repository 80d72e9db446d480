//! Mutated IR: texts and RON forms with bytes flipped, tokens swapped, lines doubled and numbers changed.
//! Whatever comes of them is a result or an error: never a panic, never a hang, never more memory than the
//! limits allow. What still is a program must print and read back the same, and give the same results
//! before and after the default pipeline, and compiled.
//!
//! `REWRIGHT_MUTATIONS` is how many are tried (20,000 if it is not set), `REWRIGHT_MUTATION_SEED` where the
//! numbers begin, and `REWRIGHT_MUTATION` the number of a single one, which is shown.

mod mutate;
mod program;
mod watch;

use mutate::{Corpus, mutated};
use program::try_input;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use watch::Watch;

/// Native code and deep recursion get what a thread of a program gets by default.
const STACK: usize = 2 << 20;

/// How far inputs came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reached {
    /// It is no program.
    Refused,
    /// It is too large for more, or has no functions.
    Parsed,
    /// Its arguments would be too large.
    Rewritten,
    /// The reference evaluator ran it before and after.
    Evaluated,
    /// Machine code did, too.
    Compiled,
}

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// A failure: by its first line, the number of the first case that showed it, how many did, and the whole
/// message.
type Failures = BTreeMap<String, (u64, u64, String)>;

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.replace('_', "").parse().unwrap_or_else(|_| panic!("{name} is no number")))
}

fn case(corpus: &Corpus, number: u64) -> Result<Reached, String> {
    let input = mutated(corpus, number);
    match catch_unwind(AssertUnwindSafe(|| try_input(&input, number))) {
        Ok(result) => result.map_err(|message| format!("{message}\n--- input\n{}", input.text)),
        Err(_) => {
            let place = PANIC.with(|p| p.borrow().clone());
            Err(format!("panicked {place}\n--- input\n{}", input.text))
        }
    }
}

#[test]
fn mutated_inputs_give_results_or_errors() {
    try_inputs(from_env("REWRIGHT_MUTATIONS").unwrap_or(4_000));
}

#[test]
#[ignore = "a sweep: 20000 mutated inputs"]
fn many_mutated_inputs_give_results_or_errors() {
    try_inputs(20_000);
}

fn try_inputs(count: u64) {
    std::panic::set_hook(Box::new(|info| {
        let place = info.location().map(|l| format!("at {l}")).unwrap_or_default();
        let message = format!("{place}: {}", info.payload_as_str().unwrap_or("no message"));
        PANIC.with(|p| *p.borrow_mut() = message);
    }));
    let corpus = Corpus::load();
    if let Some(number) = from_env("REWRIGHT_MUTATION") {
        println!("{}", mutated(&corpus, number).text);
        match case(&corpus, number) {
            Ok(reached) => return println!("{reached:?}"),
            Err(message) => fail(&message),
        }
    }
    let first = from_env("REWRIGHT_MUTATION_SEED").unwrap_or(0);
    let end = first + count;
    let next = AtomicU64::new(first);
    let failures = Mutex::new(Failures::new());
    let reached = Mutex::new(BTreeMap::<Reached, u64>::new());
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let watch = Watch::new(workers);
    std::thread::scope(|scope| {
        let handles: Vec<_> = (0..workers)
            .map(|worker| {
                let (next, watch, corpus) = (&next, &watch, &corpus);
                let (failures, reached) = (&failures, &reached);
                let work = move || {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= end {
                            return watch.done(worker);
                        }
                        watch.begin(worker, number);
                        match case(corpus, number) {
                            Ok(r) => *reached.lock().unwrap_or_else(|e| e.into_inner()).entry(r).or_default() += 1,
                            Err(message) => {
                                note(&mut failures.lock().unwrap_or_else(|e| e.into_inner()), number, message)
                            }
                        }
                    }
                };
                std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work)
            })
            .collect();
        assert!(handles.iter().all(Result::is_ok), "threads can't be started");
        watch.run();
    });
    let failures = failures.into_inner().unwrap_or_else(|e| e.into_inner());
    let reached = reached.into_inner().unwrap_or_else(|e| e.into_inner());
    println!("{} cases: {reached:?}", end - first);
    if !failures.is_empty() {
        let list = failures.values().map(|(number, count, m)| format!("=== case {number}, {count} times: {m}\n"));
        fail(&list.collect::<String>());
    }
    // A corpus that no mutation leaves a program would test nothing.
    assert!(end - first < 1000 || reached.keys().any(|r| *r >= Reached::Evaluated), "{reached:?}");
}

fn note(failures: &mut Failures, number: u64, message: String) {
    let key = message.lines().next().unwrap_or_default().chars().take(160).collect();
    let entry = failures.entry(key).or_insert((number, 0, message));
    entry.1 += 1;
}

/// Ends the test with a message; the panic hook is quiet.
fn fail(message: &str) -> ! {
    eprintln!("{message}");
    let _ = std::panic::take_hook();
    panic!("see above")
}
