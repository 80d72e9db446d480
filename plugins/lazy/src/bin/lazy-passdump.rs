//! passdump with lazy arrays in it.

use rewright_lazy as _;

fn main() -> std::process::ExitCode {
    rewright_passdump::main()
}
