//! Reports the emulated instructions, so that a test run can prove that the emulator ran.

use iced_x86::Mnemonic;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static SIGNALS: AtomicU64 = AtomicU64::new(0);
static INSTRUCTIONS: AtomicU64 = AtomicU64::new(0);
static KINDS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Counts a signal.
pub fn signal() {
    SIGNALS.fetch_add(1, Relaxed);
}

/// Counts `count` interpreted instructions.
pub fn instructions(count: usize) {
    INSTRUCTIONS.fetch_add(count as u64, Relaxed);
}

/// Records the kind of a decoded instruction.
pub fn kind(mnemonic: Mnemonic) {
    if let Ok(mut kinds) = KINDS.lock() {
        kinds.insert(mnemonic as u32);
    }
}

/// Registers the report for the exit of the program, if it is requested.
pub fn start() {
    if std::env::var_os("REWRIGHT_EMULATOR_REPORT").is_some() {
        // SAFETY: a function of the right type, with static lifetime.
        unsafe { libc::atexit(write) };
    }
}

extern "C" fn write() {
    let kinds = KINDS.lock().map_or(0, |kinds| kinds.len());
    let (instructions, signals) = (INSTRUCTIONS.load(Relaxed), SIGNALS.load(Relaxed));
    eprintln!("emulated: {instructions} instructions of {kinds} kinds, after {signals} signals");
}
