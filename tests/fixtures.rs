//! Checks every fixture: one test a file, named as the file is, so that `cargo test fusion` checks those of
//! one topic.

use libtest_mimic::{Arguments, Failed, Trial};
use rewright_passdump::fixture::{Status, check_file, discover};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The command that blesses a fixture, for the advice that failures give.
const BLESS: &str = "cargo run -p rewright-passdump -- test FILE --bless";

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    match discover(std::slice::from_ref(&root)) {
        Ok(paths) => libtest_mimic::run(&args, paths.into_iter().map(|path| trial(&root, path)).collect()).exit_code(),
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn trial(root: &Path, path: PathBuf) -> Trial {
    let name = path.strip_prefix(root).unwrap_or(&path).with_extension("").display().to_string();
    Trial::test(name, move || match check_file(&path, false, BLESS).map_err(|e| Failed::from(e.to_string()))? {
        Status::Failed(why) => Err(why.into()),
        Status::Passed | Status::Blessed => Ok(()),
    })
}
