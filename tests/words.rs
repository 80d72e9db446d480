//! Comments, pages, string literals and names of functions are written in plain, standard words: none has a
//! phrase of `words/phrases.txt`, and no line of a comment or a page is longer than 110 columns.
//!
//! A quotation, or a question to the reader, is exempt where its line says `words: quoted` in a comment.

use regex::{Regex, RegexSet, RegexSetBuilder};
use std::fs;
use std::path::{Path, PathBuf};

/// The longest line of prose, in columns.
const MAX_COLUMNS: usize = 110;

/// The marker of lines that are exempt.
const QUOTED: &str = "words: quoted";

/// Folders and files that are no prose, and those that are not revised yet: the list gets shorter.
const EXEMPT: [&str; 5] = ["target", "tests/words", "tests/words.rs", "lowering/benches", "lowering/tests"];

/// Folders and files inside of exempt ones that are revised, or new: the list gets longer until it is spared.
const REVISED: [&str; 4] = [
    "lowering/tests/distribution.rs",
    "lowering/tests/general",
    "lowering/tests/programs.rs",
    "lowering/tests/schedules",
];

/// A line of prose and its number.
struct Line {
    number: usize,
    text: String,
}

#[test]
fn prose_is_short_and_plain() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let phrases = phrases(root);
    let mut files = Vec::new();
    collect(root, root, &mut files);
    for path in REVISED.map(|path| root.join(path)) {
        assert!(path.exists(), "{} is not there", path.display());
        if path.is_dir() { collect(root, &path, &mut files) } else { files.push(path) }
    }
    assert!(files.len() > 300, "only {} files", files.len());
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let is_page = file.extension().is_some_and(|e| e == "md");
        let prose = if is_page { page(&text) } else { comments(&text) };
        let code = if is_page { Vec::new() } else { literals_and_names(&text) };
        let file = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        let quoted: Vec<bool> = text.lines().map(|line| line.contains(QUOTED)).collect();
        for Line { number, text } in prose.iter().filter(|line| !quoted[line.number - 1]) {
            let columns = text.chars().count();
            if columns > MAX_COLUMNS {
                found.push(format!("{file}:{number}: {columns} columns"));
            }
        }
        for Line { number, text } in prose.into_iter().chain(code).filter(|line| !quoted[line.number - 1]) {
            for phrase in phrases.matches(&text) {
                found.push(format!("{file}:{number}: `{}`: {}", phrases.patterns()[phrase], text.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{} lines:\n{}", found.len(), found.join("\n"));
}

#[test]
fn comments_are_told_from_code() {
    let text = "let url = \"https://a\"; // what is it\n/// so many\nlet x = '\"'; // nobody\n";
    let found: Vec<usize> = comments(text).iter().map(|line| line.number).collect();
    assert_eq!(found, [1, 2, 3]);
    assert!(comments("let text = \"// what is it\";\n").is_empty());
    let phrases = phrases(Path::new(env!("CARGO_MANIFEST_DIR")));
    assert!(phrases.is_match("What is read") && phrases.is_match("so many units") && !phrases.is_match("whatever"));
}

#[test]
fn literals_and_names_are_told_from_code() {
    let text = "/// \"what is\"\nfn so_many<'a>(c: char) {\n    f('\"', \"nobody \\\" as\\\n  ever\", r#\"all \"else\"#); // \"no\"\n}\n";
    let found: Vec<(usize, String)> =
        literals_and_names(text).into_iter().map(|line| (line.number, line.text)).collect();
    let expected = [(2, "so many"), (3, "nobody \\\" as\\"), (4, "  ever"), (4, "all \"else")];
    assert_eq!(found, expected.map(|(number, text)| (number, text.to_string())));
}

fn phrases(root: &Path) -> RegexSet {
    let text = fs::read_to_string(root.join("tests/words/phrases.txt")).expect("the list of phrases");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    RegexSetBuilder::new(lines).case_insensitive(true).build().expect("regular expressions")
}

/// The Rust files and pages below a folder.
fn collect(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for path in entries {
        let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let is_hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_hidden || EXEMPT.contains(&relative.as_str()) || relative.ends_with("/target") {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "md") {
            files.push(path);
        }
    }
}

/// The prose of a page: no code, and no rows of tables, which can't be wrapped.
fn page(text: &str) -> Vec<Line> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        if !in_code && !is_fence && !line.starts_with("    ") && !line.trim_start().starts_with('|') {
            lines.push(Line { number: at + 1, text: line.to_string() });
        }
    }
    lines
}

/// The comments of a Rust file, line by line, without their code; the columns before a comment are blanks.
fn comments(text: &str) -> Vec<Line> {
    let mut in_code = false;
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some(begin) = comment_start(line) else {
            in_code = false;
            continue;
        };
        let is_fence = line[begin..].trim_start_matches(['/', '!', ' ']).starts_with("```");
        in_code ^= is_fence;
        if !in_code && !is_fence {
            let blank = " ".repeat(line[..begin].chars().count());
            lines.push(Line { number: at + 1, text: format!("{blank}{}", &line[begin..]) });
        }
    }
    lines
}

/// The string literals of a Rust file, line by line, and the names of its functions, with blanks between
/// their words.
fn literals_and_names(text: &str) -> Vec<Line> {
    let token = Regex::new(concat!(
        r#"(?s)//[^\n]*|/\*.*?\*/|'(?:\\.[^']*|[^'\\])'|"#,
        r###"r##"(.*?)"##|r#"(.*?)"#|r"([^"]*)"|"###,
        r#""((?:\\.|[^"\\])*)"|\bfn (\w+)"#,
    ))
    .expect("a regular expression");
    let mut lines = Vec::new();
    for found in token.captures_iter(text) {
        let Some((kind, group)) = (1..=5).find_map(|kind| Some((kind, found.get(kind)?))) else { continue };
        let first = text[..group.start()].matches('\n').count() + 1;
        let name = group.as_str().replace('_', " ");
        let group = if kind == 5 { &name } else { group.as_str() };
        lines.extend(group.lines().enumerate().map(|(n, line)| Line { number: first + n, text: line.to_string() }));
    }
    lines
}

/// Where `//` begins a comment on a line: at its start, or after the end of an expression or statement. In
/// the text of programs `//` is a division.
fn comment_start(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let (mut at, mut in_string) = (0, false);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'\'' if !in_string && bytes.get(at + 2) == Some(&b'\'') => at += 2,
            b'/' if !in_string && bytes.get(at + 1) == Some(&b'/') => {
                let before = line[..at].trim_end();
                return (before.is_empty() || before.ends_with([';', ',', '{', '}'])).then_some(at);
            }
            _ => {}
        }
        at += 1;
    }
    None
}
