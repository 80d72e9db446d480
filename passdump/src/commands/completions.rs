//! `passdump completions`: generates shell completions.

use crate::args::Cli;
use crate::output::Out;
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use std::io::{self, Write};

/// Prints the script, for the name by which the tool was called.
pub fn completions(out: &mut Out, shell: Shell) -> io::Result<()> {
    let called = std::env::args_os().next().map(std::path::PathBuf::from);
    let name = called.as_deref().and_then(|path| path.file_stem()?.to_str()).unwrap_or("passdump").to_string();
    // `generate` panics if a write fails.
    let mut script = Vec::new();
    generate(shell, &mut Cli::command(), name, &mut script);
    out.write_all(&script)
}
