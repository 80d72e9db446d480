//! `passdump test`: checks fixtures.

use crate::args::TestArgs;
use crate::error::Error;
use crate::fixture::{Status, check_each, discover};
use crate::output::{Out, Tone};
use crate::progress::Progress;
use std::io::{self, Write};
use std::path::Path;

/// Checks the selected fixtures; true if all pass. Reports each failure as soon as all earlier fixtures
/// are done.
pub fn test(out: &mut Out, args: &TestArgs) -> Result<bool, Error> {
    let tool = std::env::args().next().unwrap_or_else(|| "passdump".into());
    let command = format!("{tool} test FILE --bless");
    let (mut passed, mut failed, mut blessed) = (0, 0, 0);
    let paths = discover(&args.paths)?;
    let mut progress = Progress::new("testing", Some(paths.len() as u64));
    let mut told: Result<(), Error> = Ok(());
    check_each(&paths, args.bless, &command, |path, result| {
        progress.step(path.display().to_string());
        let done = result.and_then(|status| {
            match &status {
                Status::Passed => passed += 1,
                Status::Blessed => blessed += 1,
                Status::Failed(_) => failed += 1,
            }
            Ok(progress.aside(|| tell(out, path, &status))?)
        });
        if told.is_ok() {
            told = done;
        }
    });
    progress.finish();
    told?;
    let tone = if failed == 0 { Tone::Good } else { Tone::Bad };
    let also = if blessed > 0 { format!(", {blessed} blessed") } else { String::new() };
    out.line(tone, format!("{passed} passed, {failed} failed{also}"))?;
    Ok(failed == 0)
}

/// Prints the status of a fixture, unless it passed.
fn tell(out: &mut Out, path: &Path, status: &Status) -> io::Result<()> {
    let name = path.display();
    match status {
        Status::Passed => return Ok(()),
        Status::Blessed => writeln!(out, "{} {name}", out.tone(Tone::Good, "blessed"))?,
        Status::Failed(why) => {
            writeln!(out, "{} {name}", out.tone(Tone::Bad, "FAILED"))?;
            for line in why.lines() {
                writeln!(out, "  {line}")?;
            }
            writeln!(out)?;
        }
    }
    out.flush()
}
