//! Running the tool.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs it with an input.
pub fn passdump(args: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_passdump"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A child that doesn't read its input closes it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// The same, which succeeds; what it prints.
pub fn done(args: &[&str], input: &str) -> String {
    let output = passdump(args, input);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
