//! Running the tool.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// What a run ended with.
pub struct Ended {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Runs passdump with a text on the standard input.
pub fn passdump(args: &[&str], input: &str) -> Ended {
    let exe = std::env::current_exe().unwrap_or_else(|e| panic!("{e}"));
    let mut command = Command::new(exe);
    command.args(args).env("PASSDUMP_SEEDED", "1").env_remove("NO_COLOR");
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.unwrap_or_else(|e| panic!("{e}"));
    if let Some(mut stdin) = child.stdin.take() {
        // A child that doesn't read its input closes it.
        let _ = stdin.write_all(input.as_bytes());
    }
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap_or_else(|e| panic!("{e}"));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    // Messages are broken into lines where the width of a terminal wants it.
    let err = text(stderr).replace("\n  │ ", " ");
    Ended { status: status.code(), out: text(stdout), err }
}

/// Checks that a text has parts, in this order.
#[track_caller]
pub fn has(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("no {part:?} (in this place) in:\n{text}"));
        rest = &rest[at + part.len()..];
    }
}
