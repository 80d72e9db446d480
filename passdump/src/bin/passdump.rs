//! The tool with the rewrites of Rewright and of the plug-ins in this repository.

use rewright_broadcast as _;
use rewright_index as _;
use rewright_lazy as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    rewright_passdump::main()
}
