//! passdump with an op, a rewrite, a rule and a storage style of its own.

mod form_softsign;
mod how_compiled;
mod softsign;
mod toeplitz;

fn main() -> std::process::ExitCode {
    rewright_passdump::main()
}
