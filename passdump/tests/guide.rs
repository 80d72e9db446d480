//! The programs and commands of pages: each `console` block is run, and its output compared. A block whose
//! fence names a file, as `ir level.ir`, is the contents of that file.

use std::path::Path;
use std::process::Command;

const START: &str = include_str!("../../docs/start.md");
const DEBUG: &str = include_str!("../../docs/debug.md");
const PASSDUMP: &str = include_str!("../../docs/passdump.md");
const INDEX_NOTATION: &str = include_str!("../../docs/index-notation.md");

/// The fenced blocks of a page: the info string behind the fence, and the text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once("\n```") {
        let (info, after) = after.split_once('\n').unwrap_or((after, ""));
        let (text, after) = after.split_once("```\n").unwrap_or((after, ""));
        found.push((info, text));
        rest = after;
    }
    found
}

/// A command line's words; single quotes keep one together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words
}

/// What a command prints, errors too.
fn printed(folder: &Path, command: &str) -> String {
    let words = words(command);
    assert_eq!(words[0], "passdump", "{command}");
    let done = Command::new(env!("CARGO_BIN_EXE_passdump"))
        .args(&words[1..])
        .env("REWRIGHT_CACHE", env!("CARGO_TARGET_TMPDIR"))
        .current_dir(folder)
        .output()
        .unwrap();
    String::from_utf8(done.stdout).unwrap() + &String::from_utf8(done.stderr).unwrap()
}

/// True if the lines are those wanted, where `...` stands for any.
fn agree(wanted: &[&str], found: &[&str]) -> bool {
    match (wanted.first(), found.first()) {
        (None, None) => true,
        (Some(&"..."), _) if wanted.len() == 1 => true,
        (Some(&"..."), _) => (0..=found.len()).any(|skip| agree(&wanted[1..], &found[skip..])),
        (Some(wanted_line), Some(line)) => {
            wanted_line.trim_end() == line.trim_end() && agree(&wanted[1..], &found[1..])
        }
        _ => false,
    }
}

#[test]
fn commands_print_what_the_first_page_says() {
    check(START, 5);
}

#[test]
fn commands_print_what_the_page_of_debugging_says() {
    check(DEBUG, 13);
}

#[test]
fn commands_print_what_the_page_of_the_tool_says() {
    check(PASSDUMP, 3);
}

#[test]
fn commands_print_what_the_page_of_index_notation_says() {
    check(INDEX_NOTATION, 3);
}

/// Runs the commands of a page, of which there are at least `least`.
fn check(page: &str, least: usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut commands = 0;
    for (info, text) in blocks(page) {
        if let Some((_, name)) = info.split_once(' ') {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        if info != "console" {
            continue;
        }
        for block in text.split("$ ").skip(1) {
            let (command, wanted) = block.split_once('\n').unwrap();
            let found = printed(folder.path(), command);
            let wanted: Vec<&str> = wanted.lines().collect();
            let found_lines: Vec<&str> = found.lines().filter(|l| !l.is_empty() || wanted.contains(&"")).collect();
            assert!(
                agree(&wanted, &found_lines),
                "$ {command}\nshould print\n{}\nit prints\n{found}",
                wanted.join("\n")
            );
            commands += 1;
        }
    }
    assert!(commands >= least, "{commands} commands");
}
