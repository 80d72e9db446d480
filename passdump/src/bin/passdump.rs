//! The tool with the rewrites of Rewright itself.

use std::process::ExitCode;

fn main() -> ExitCode {
    rewright_passdump::main()
}
