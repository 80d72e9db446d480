//! `passdump test`: checks fixtures.

use crate::args::TestArgs;
use crate::error::Error;
use crate::fixture::{Status, check_files, discover};
use crate::output::{Out, Tone};
use std::io::Write;

/// Checks every fixture that is meant; true if all hold.
pub fn test(out: &mut Out, args: &TestArgs) -> Result<bool, Error> {
    let tool = std::env::args().next().unwrap_or_else(|| "passdump".into());
    let (mut passed, mut failed, mut blessed) = (0, 0, 0);
    let paths = discover(&args.paths)?;
    for (path, result) in paths.iter().zip(check_files(&paths, args.bless, &tool)) {
        let name = path.display();
        match result? {
            Status::Passed => passed += 1,
            Status::Blessed => {
                blessed += 1;
                writeln!(out, "{} {name}", out.tone(Tone::Good, "blessed"))?;
            }
            Status::Failed(why) => {
                failed += 1;
                writeln!(out, "{} {name}", out.tone(Tone::Bad, "FAILED"))?;
                for line in why.lines() {
                    writeln!(out, "  {line}")?;
                }
                writeln!(out)?;
            }
        }
    }
    let tone = if failed == 0 { Tone::Good } else { Tone::Bad };
    let also = if blessed > 0 { format!(", {blessed} blessed") } else { String::new() };
    out.line(tone, format!("{passed} passed, {failed} failed{also}"))?;
    Ok(failed == 0)
}
