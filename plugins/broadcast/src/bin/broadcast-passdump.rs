//! passdump with this crate's storage styles in it.

use rewright_broadcast as _;

fn main() -> std::process::ExitCode {
    rewright_passdump::main()
}
