//! The machine on which functions run: its threads and its vector instructions, and the choice among them.

use crate::output::{Out, Tone};
use std::env;
use std::io;
use std::thread;

/// The environment variable that limits the vector instructions.
const LIMIT: &str = "REWRIGHT_X64";

/// Prints the instruction set of machine code, the reason for it, and the number of threads.
pub fn describe(out: &mut Out) -> io::Result<()> {
    let limit = match env::var_os(LIMIT) {
        Some(value) => format!("{LIMIT} is `{}`", value.to_string_lossy()),
        None => format!("{LIMIT} is not set"),
    };
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    let rows = [
        ("instructions", chosen()),
        ("found", features()),
        ("limit", format!("{limit}; the environment variable may be avx512, avx2 or none")),
        ("threads", format!("{threads} for one kernel, as many as this process runs at once")),
        ("options", "`--backend B` chooses another backend, `--threads N` fewer threads".to_string()),
    ];
    for (name, value) in rows {
        let name = out.tone(Tone::Strong, format!("{name:<14}"));
        out.wrapped(&format!("{name}{value}"), 14)?;
    }
    Ok(())
}

/// The vector instructions of machine code, and why these.
#[cfg(target_arch = "x86_64")]
fn chosen() -> String {
    use rewright::lowering::internals::x64::{Level, X64};
    let refusal = |level| X64::at(level).err().map(|why| why.to_string());
    match [Level::Avx512, Level::Avx2].map(refusal) {
        [None, _] => "AVX-512, the best that Rewright generates".to_string(),
        [Some(why), None] => format!("AVX2, not AVX-512: {why}"),
        [_, Some(why)] => format!("those of Cranelift, not AVX2: {why}"),
    }
}

/// The vector instructions of machine code, and why these.
#[cfg(not(target_arch = "x86_64"))]
fn chosen() -> String {
    "those of Cranelift: the processor is not an x86-64".to_string()
}

/// The features of the processor on which the choice depends.
#[cfg(target_arch = "x86_64")]
fn features() -> String {
    let all = [
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("bmi2", is_x86_feature_detected!("bmi2")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx512dq", is_x86_feature_detected!("avx512dq")),
        ("avx512bw", is_x86_feature_detected!("avx512bw")),
        ("avx512vl", is_x86_feature_detected!("avx512vl")),
        ("avx512cd", is_x86_feature_detected!("avx512cd")),
    ];
    let named = |found: bool| all.iter().filter(|(_, has)| *has == found).map(|(name, _)| *name).collect::<Vec<_>>();
    match (named(true), named(false)) {
        (found, missing) if missing.is_empty() => found.join(", "),
        (found, missing) if found.is_empty() => format!("none of {}", missing.join(", ")),
        (found, missing) => format!("{}; not found: {}", found.join(", "), missing.join(", ")),
    }
}

/// The features of the processor on which the choice depends.
#[cfg(not(target_arch = "x86_64"))]
fn features() -> String {
    format!("a processor of {}", env::consts::ARCH)
}
