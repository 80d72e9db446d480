//! passdump with this crate's op and rewrite in it.

use rewright_template as _;

fn main() -> std::process::ExitCode {
    rewright_passdump::main()
}
