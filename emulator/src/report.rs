//! Reports the emulated instructions, so that a test run can prove that the emulator ran.

use iced_x86::Mnemonic;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static SIGNALS: AtomicU64 = AtomicU64::new(0);
static INSTRUCTIONS: AtomicU64 = AtomicU64::new(0);
static KINDS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A signal was raised.
pub fn signal() {
    SIGNALS.fetch_add(1, Relaxed);
}

/// Counts `count` interpreted instructions.
pub fn instructions(count: usize) {
    INSTRUCTIONS.fetch_add(count as u64, Relaxed);
}

/// An instruction of this kind was decoded.
pub fn kind(mnemonic: Mnemonic) {
    if let Ok(mut kinds) = KINDS.lock() {
        kinds.insert(mnemonic as u32);
    }
}

/// Has the report written when the program ends, if it is asked for.
pub fn start() {
    if std::env::var_os("REWRIGHT_EMULATOR_REPORT").is_some() {
        // SAFETY: a function of the right type, which stays.
        unsafe { libc::atexit(write) };
    }
}

extern "C" fn write() {
    let kinds = KINDS.lock().map_or(0, |kinds| kinds.len());
    let (instructions, signals) = (INSTRUCTIONS.load(Relaxed), SIGNALS.load(Relaxed));
    eprintln!("emulated: {instructions} instructions of {kinds} kinds, after {signals} signals");
}
