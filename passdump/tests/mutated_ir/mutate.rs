//! The corpus and its mutations.

use rewright::parse_module;
use rewright_passdump::fixture::{self, Fixture, discover};
use std::path::Path;

/// What kind of text an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Ir,
    Ron,
}

/// A text to be read.
pub struct Input {
    pub form: Form,
    pub text: String,
}

pub struct Corpus {
    inputs: Vec<Input>,
    /// Tokens of all texts, each once.
    tokens: Vec<String>,
}

const SEEDS: &str = include_str!("seeds.ir");

/// Larger texts take too long, a million times.
const MAX_LEN: usize = 6000;

impl Corpus {
    /// The IR of all fixtures, its RON form, and texts with constructs that are rare in fixtures.
    pub fn load() -> Corpus {
        let mut inputs = Vec::new();
        let mut irs: Vec<String> = SEEDS.split("// ---\n").map(str::to_string).collect();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
        for file in discover(&[folder]).expect("the fixtures are there") {
            let text = std::fs::read_to_string(&file).expect("a fixture can be read");
            let fixture = Fixture::read(&text).expect("a fixture can be read");
            if let fixture::Input::Text(input) = fixture.input {
                irs.push(input);
            }
            irs.extend(fixture.output);
        }
        irs.sort();
        irs.dedup();
        for text in irs {
            if let Ok(module) = parse_module(&text, "corpus.ir") {
                let text = rewright::ir::ron::to_ron(&module).expect("a verified module has a RON form");
                inputs.push(Input { form: Form::Ron, text });
            }
            inputs.push(Input { form: Form::Ir, text });
        }
        inputs.retain(|i| i.text.len() <= MAX_LEN);
        let mut tokens: Vec<String> =
            inputs.iter().flat_map(|i| tokens(&i.text)).map(|(s, e, i)| i[s..e].to_string()).collect();
        tokens.sort();
        tokens.dedup();
        Corpus { inputs, tokens }
    }
}

/// Words with their sigils, numbers, and single marks.
fn tokens(text: &str) -> Vec<(usize, usize, &str)> {
    let word = |c: char| c.is_alphanumeric() || "_%@.".contains(c);
    let mut found = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let mut end = start + c.len_utf8();
        if word(c) {
            while let Some(&(at, c)) = chars.peek().filter(|(_, c)| word(*c)) {
                end = at + c.len_utf8();
                chars.next();
            }
        }
        if !c.is_whitespace() {
            found.push((start, end, text));
        }
    }
    found
}

pub struct Rng(fastrand::Rng);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(fastrand::Rng::with_seed(seed))
    }
    pub fn next(&mut self) -> u64 {
        self.0.u64(..)
    }
    pub fn below(&mut self, n: usize) -> usize {
        self.0.usize(..n.max(1))
    }
    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
    /// A range of at most `longest` within `len`.
    fn range(&mut self, len: usize, longest: usize) -> std::ops::Range<usize> {
        let start = self.below(len);
        let end = (start + 1 + self.below(longest)).min(len);
        start..end
    }
}

const NUMBERS: [&str; 24] = [
    "0",
    "1",
    "2",
    "3",
    "-1",
    "7",
    "8",
    "64",
    "127",
    "128",
    "255",
    "256",
    "1000",
    "65536",
    "2147483647",
    "-2147483648",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "1e308",
    "NaN",
    "inf",
    "0.5",
];

const INSERTIONS: [&str; 16] = [
    "?",
    "[]",
    "()",
    "\"",
    "\\",
    "{",
    "}",
    "\n",
    ", ",
    "reduce ",
    "gather(%x[i])",
    "pad(i, 0)",
    " // ",
    "\u{0}",
    "é",
    ": f64",
];

/// The input of a number: the same for the same corpus.
pub fn mutated(corpus: &Corpus, number: u64) -> Input {
    let mut rng = Rng::new(number);
    let Input { form, text } = rng.pick(&corpus.inputs);
    let mut text = text.clone().into_bytes();
    // Most inputs are changed little, so that they still are programs.
    let changes = 1 + rng.below(2) * rng.below(2) * rng.below(6);
    for _ in 0..changes {
        if !text.is_empty() {
            mutate(&mut text, corpus, *form, &mut rng);
        }
    }
    text.truncate(4 * MAX_LEN);
    Input { form: *form, text: String::from_utf8_lossy(&text).into_owned() }
}

fn mutate(text: &mut Vec<u8>, corpus: &Corpus, form: Form, rng: &mut Rng) {
    match rng.below(14) {
        0 => {
            let at = rng.below(text.len());
            text[at] ^= 1 << rng.below(8);
        }
        1 => {
            let at = rng.below(text.len());
            text[at] = rng.next() as u8;
        }
        2 => {
            let range = rng.range(text.len(), 12);
            text.drain(range);
        }
        3 => {
            let range = rng.range(text.len(), 60);
            let copy = text[range.clone()].to_vec();
            text.splice(range.end..range.end, copy);
        }
        4 => lines(text, rng),
        5 => {
            let other: Vec<_> = corpus.inputs.iter().filter(|i| i.form == form).collect();
            let other = rng.pick(&other).text.as_bytes();
            let (cut, begin) = (rng.below(text.len()), rng.below(other.len()));
            text.truncate(cut);
            text.extend_from_slice(&other[begin..]);
        }
        6 => {
            let at = rng.below(text.len());
            let insertion = *rng.pick(&INSERTIONS);
            let count = if rng.below(20) == 0 { 200 } else { 1 };
            text.splice(at..at, insertion.repeat(count).into_bytes());
        }
        _ => token(text, corpus, rng),
    }
}

/// Drops, doubles or swaps lines.
fn lines(text: &mut Vec<u8>, rng: &mut Rng) {
    let mut lines: Vec<Vec<u8>> = text.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
    let (a, b) = (rng.below(lines.len()), rng.below(lines.len()));
    match rng.below(3) {
        0 => drop(lines.remove(a)),
        1 => lines.insert(b, lines[a].clone()),
        _ => lines.swap(a, b),
    }
    *text = lines.join(&b'\n');
}

/// Replaces a token: by another of this text, of any text, or a number by a number.
fn token(text: &mut Vec<u8>, corpus: &Corpus, rng: &mut Rng) {
    let source = String::from_utf8_lossy(text).into_owned();
    let all = tokens(&source);
    if all.is_empty() {
        return;
    }
    let numbers: Vec<_> = all.iter().copied().filter(|(s, ..)| source.as_bytes()[*s].is_ascii_digit()).collect();
    let kind = rng.below(6);
    let &(start, end, _) = if kind < 2 && !numbers.is_empty() { rng.pick(&numbers) } else { rng.pick(&all) };
    let other = match kind {
        0 | 1 => rng.pick(&NUMBERS).to_string(),
        2 => rng.pick(&corpus.tokens).clone(),
        // One of the same kind: a value for a value, a name for a name.
        _ => {
            let first = source.as_bytes()[start];
            let class = |b: u8| {
                if b.is_ascii_alphabetic() {
                    b'a'
                } else if b.is_ascii_digit() {
                    b'0'
                } else {
                    b
                }
            };
            let alike: Vec<_> = all.iter().filter(|(s, ..)| class(source.as_bytes()[*s]) == class(first)).collect();
            let (s, e, _) = **rng.pick(&alike);
            source[s..e].to_string()
        }
    };
    *text = [&source[..start], &other, &source[end..]].concat().into_bytes();
}
