//! The examples of every `--help` text: each command has three that do what they say.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The least number of examples of a command.
const LEAST: usize = 3;

/// The files of the repository that examples name.
const FILES: [&str; 3] = ["fixtures", "benches/peers/workloads", "rewrites/tests/rules/unsound"];

/// Copies a folder.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        match path.is_dir() {
            true => copy(&path, &to),
            false => {
                fs::copy(&path, &to).unwrap();
            }
        }
    }
}

/// Runs a shell command in a folder. `passdump` is the tool that is tested.
fn shell(line: &str, folder: &Path) -> Output {
    let tool = PathBuf::from(env!("CARGO_BIN_EXE_passdump"));
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(tool.parent().unwrap().to_path_buf()).chain(std::env::split_paths(&paths));
    Command::new("sh")
        .args(["-c", line])
        .env("PATH", std::env::join_paths(paths).unwrap())
        .env("REWRIGHT_CACHE", env!("CARGO_TARGET_TMPDIR"))
        .current_dir(folder)
        .output()
        .unwrap()
}

/// The help of a command; of the tool itself for an empty name.
fn help(command: &str) -> String {
    let output = shell(&format!("passdump {command} --help"), Path::new("."));
    assert!(output.status.success(), "{command}");
    String::from_utf8(output.stdout).unwrap()
}

/// The commands that the help of the tool lists.
fn commands() -> Vec<String> {
    let help = help("");
    let (_, list) = help.split_once("Commands:\n").unwrap();
    let lines = list.lines().take_while(|line| line.starts_with("  "));
    // Further lines of a description are indented more.
    let names = lines.filter(|line| !line.starts_with("   ")).map(|line| line.split_whitespace().next().unwrap());
    names.filter(|name| *name != "help").map(String::from).collect()
}

/// The examples of a help text, each with its exit status.
fn examples(help: &str) -> Vec<(&str, i32)> {
    let Some((_, list)) = help.split_once("Examples:\n") else { return Vec::new() };
    let lines = list.lines().map(str::trim).take_while(|line| line.starts_with("passdump "));
    let status = |line: &str| {
        let (_, says) = line.split_once("# exit status ")?;
        says[..says.find(|c: char| !c.is_ascii_digit()).unwrap_or(says.len())].parse().ok()
    };
    lines.map(|line| (line, status(line).unwrap_or(0))).collect()
}

#[test]
fn the_examples_of_every_help_text_run() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    FILES.iter().for_each(|file| copy(&root.join(file), &folder.path().join(file)));
    let mut wrong = Vec::new();
    for command in commands().iter().map(String::as_str).chain([""]) {
        let help = help(command);
        let examples = examples(&help);
        assert!(examples.len() >= LEAST, "{command} has {} examples", examples.len());
        let is_own = |(line, _): &(&str, i32)| line.starts_with(&format!("passdump {command}"));
        assert!(examples.iter().any(is_own), "{command}");
        for (line, status) in examples {
            let output = shell(line, folder.path());
            if output.status.code() != Some(status) {
                let said = String::from_utf8_lossy(&output.stderr);
                wrong.push(format!("{line}\n  ends with {}, not {status}\n{said}", output.status));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn help_texts_fit_the_screen() {
    for command in commands().iter().map(String::as_str).chain([""]) {
        for line in help(command).lines() {
            assert!(line.chars().count() <= 100, "{command}: {line}");
        }
    }
}
