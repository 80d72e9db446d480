//! Broken input of every kind: fixture files and IR texts with bytes and words changed at random. Each ends
//! with an error or a result, within its limits; none with a panic.
//!
//! `REWRIGHT_MUTATIONS` says how many there are. A failure names its number and shows its text;
//! `REWRIGHT_MUTATION` tries that one alone.

use rayon::prelude::*;
use rewright::Limits;
use rewright_passdump::fixture::{Case, check_within, discover};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// How many are tried where the environment doesn't say.
const COUNT: u64 = 600;

/// How many the sweep tries.
const SWEEP: u64 = 3000;

/// What a program may use: enough for those of the fixtures, but for the largest.
const LIMITS: Limits = Limits { steps: 1 << 16, elements: 1 << 14, bytes: 1 << 22, depth: 32 };

struct Random(fastrand::Rng);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n.max(1))
    }
    fn one_of<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        list.get(self.below(list.len()))
    }
}

/// The replacements of numbers and names: ends of ranges, and words with a meaning elsewhere.
const WORDS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "255",
    "256",
    "-129",
    "2147483648",
    "-9223372036854775808",
    "18446744073709551615",
    "340282366920938463463374607431768211456",
    "0.5",
    "-0.0",
    "1e400",
    "NaN",
    "inf",
    "n",
    "m",
    "?",
    "f64",
    "bool",
    "c128",
    "i8",
    "%x",
    "%0",
    "%1",
    "@f",
    "entry",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ",",
    ":",
    "=",
    "->",
    ";",
    "\"",
    "#",
    "\n",
    "ret",
    "jump",
    "br_if",
    "switch",
    "raise",
    "call",
    "ufunc",
    "store",
    "del",
    "print",
    "arrayexpr",
    "yield",
    "sum",
    "sort",
    "reshape",
    "slice",
    "where",
    "constant",
    "axes=[0]",
    "axes=[-1]",
    "keepdims=true",
    "dims=[n]",
    "to=u8",
    "é",
    "\u{0}",
    "\u{feff}",
    "//",
];

/// Where words begin and end: letters and digits together, every other character alone.
fn words(text: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut in_word = false;
    for (at, c) in text.char_indices() {
        let part = c.is_alphanumeric() || c == '_';
        match found.last_mut() {
            Some(last) if part && in_word => last.1 = at + c.len_utf8(),
            _ => found.push((at, at + c.len_utf8())),
        }
        in_word = part;
    }
    found
}

/// A text with a few changes.
fn mutated(random: &mut Random, text: &str, other: &str) -> String {
    let mut text = text.to_string();
    for _ in 0..1 + random.below(3) {
        let places = words(&text);
        let Some(&(start, end)) = random.one_of(&places) else { break };
        match random.below(8) {
            0 => text.replace_range(start..end, ""),
            1 | 2 => text.replace_range(start..end, random.one_of(WORDS).copied().unwrap_or_default()),
            3 => text.insert_str(start, random.one_of(WORDS).copied().unwrap_or_default()),
            4 => {
                // A word of the text itself, in another place.
                let (from, to) = *random.one_of(&places).unwrap_or(&(0, 0));
                let word = text[from..to].to_string();
                text.replace_range(start..end, &word);
            }
            5 => {
                // A line of the text, or of another one, once more.
                let lines: Vec<&str> =
                    if random.below(2) == 0 { text.lines().collect() } else { other.lines().collect() };
                let line = random.one_of(&lines).copied().unwrap_or_default().to_string();
                let at = text[..start].rfind('\n').map_or(0, |i| i + 1);
                text.insert_str(at, &format!("{line}\n"));
            }
            6 => {
                let at = text[..start].rfind('\n').map_or(0, |i| i + 1);
                let until = text[at..].find('\n').map_or(text.len(), |i| at + i + 1);
                text.replace_range(at..until, "");
            }
            _ => text.truncate(start),
        }
    }
    text
}

/// Tries one mutation; what went wrong, if anything did.
fn try_one(number: u64, cases: &[Case]) -> Option<String> {
    let mut random = Random(fastrand::Rng::with_seed(number));
    let (case, other) = (random.one_of(cases)?, random.one_of(cases)?);
    let text = mutated(&mut random, &case.text, &other.text);
    let tried = catch_unwind(AssertUnwindSafe(|| {
        // Most are no fixtures any more. Those that are, are checked in full: it does not matter whether
        // they hold.
        if let Ok(case) = Case::read(&case.path, text.clone()) {
            check_within(&case, LIMITS);
        }
    }));
    tried.err().map(|_| format!("number {number}, {}:\n{text}", case.path.display()))
}

#[test]
fn broken_input_ends_with_an_error_or_a_result() {
    let number = |name: &str| std::env::var(name).ok().and_then(|n| n.parse::<u64>().ok());
    try_all(match number("REWRIGHT_MUTATION") {
        Some(one) => one..one + 1,
        None => 0..number("REWRIGHT_MUTATIONS").unwrap_or(COUNT),
    });
}

#[test]
#[ignore = "a sweep: 3000 mutated fixtures"]
fn much_broken_input_ends_with_an_error_or_a_result() {
    try_all(0..SWEEP);
}

fn try_all(numbers: Range<u64>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let paths: Vec<PathBuf> = discover(&[root]).unwrap_or_else(|e| panic!("{e}"));
    let cases: Vec<Case> = paths.iter().filter_map(|path| Case::load(path).ok()).collect();
    assert_eq!(cases.len(), paths.len());
    let failures: Vec<String> = numbers.into_par_iter().filter_map(|n| try_one(n, &cases)).collect();
    let shown: Vec<&str> = failures.iter().take(5).map(String::as_str).collect();
    assert!(failures.is_empty(), "{} panicked, the first of them:\n{}", failures.len(), shown.join("\n\n"));
}
