//! passdump with an op, a rewrite and a rule of its own.

mod form_softsign;
mod softsign;

fn main() -> std::process::ExitCode {
    rewright_passdump::main()
}
